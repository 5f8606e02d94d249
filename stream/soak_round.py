"""One round of the soak: a world, its weather, and the fates of the worker that follows it."""

import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import requests
from msgspec.structs import replace

from stream.position import Positions
from stream.sandbox.dump_files import write_dumps
from stream.sandbox.faults import Faults
from stream.sandbox.model import ENWIKI, WIKIDATA
from stream.sandbox.rehearsal import settings_for
from stream.sandbox.server import SandboxServer
from stream.sandbox.verdict import judge
from stream.sandbox.world import World
from stream.settings import Settings
from stream.soak_worker import Job, encode
from twiki.engine import Engine
from twiki.errors import DatasetError
from twiki.state.asof import Missing
from twiki.state.rocks import RocksKeyValues
from twiki.state.store import Store
from twiki.times import to_ms
from twiki.windows import versions
from twiki.windows.bootstrap import bootstrap
from twiki.windows.dataset import Dataset

_ID = re.compile(rb'"id":"([0-9a-f-]{36})"')
_KILL_SECONDS = (1.5, 5.0)
_ROUND_SECONDS = 300.0
_STARTED_SECONDS = 30.0
_FROZEN_SECONDS = 2.0
_INSTANT = timedelta(milliseconds=1)
"""A boundary belongs to the window after it; the world answers up to and including a moment."""
_LAG_SECONDS = 0.25
_FATES = {"killed": 12, "terminated": 2, "frozen": 1, "disk full": 1, "rival": 1}


class Outcome(msgspec.Struct, kw_only=True):
    """What became of the rounds so far."""

    rounds: int = 0
    sent: int = 0
    applied: int = 0
    rejected: Counter[str] = msgspec.field(default_factory=Counter)
    repeated: int = 0
    lost: int = 0
    wrong: int = 0
    ends: Counter[str] = msgspec.field(default_factory=Counter)
    seconds: float = 0.0
    lag: float = 0.0
    examples: list[str] = msgspec.field(default_factory=list)

    def blame(self, what: str, examples: list[str]) -> None:
        """Keep a few examples of what is wrong."""
        self.examples += [f"{what}: {example}" for example in examples[:5]]


class Round:
    """One world from its first boundary to its reconciled window."""

    def __init__(
        self, seed: int, folder: Path, outcome: Outcome, articles: int, rate: float
    ) -> None:
        self._chance = random.Random(f"soak {seed}")
        self._seed = seed
        self._folder = folder
        self._outcome = outcome
        self._world = World(seed, articles=articles, months=1)
        self._rate = rate
        self._state = folder / "state"
        self._datasets = folder / "datasets"

    def run(self) -> None:
        """Play the round and judge it."""
        began = time.monotonic()
        with ExitStack() as stack:
            server = stack.enter_context(self._server())
            settings = self._settings(server)
            self._bootstrap(settings)
            lag = stack.enter_context(_Lag(server))
            self._suffer(settings, lag, began)
            self._outcome.lag = max(self._outcome.lag, lag.largest)
            self._outcome.sent += server.streams.served.count
            self._outcome.repeated += _repeated(server)
        self._outcome.seconds += time.monotonic() - began
        self._outcome.rounds += 1
        self._judge(settings)

    def _server(self) -> SandboxServer:
        chance = self._chance
        faults = Faults(
            seed=self._seed,
            duplicates=chance.choice((0.0, 0.02, 0.1)),
            disorder=timedelta(seconds=chance.choice((0, 20, 55))),
            losses=chance.choice((0.0, 0.0, 0.01)),
            redactions=0.02,
            huge=chance.choice((0, 1)),
            switch_at=chance.choice((None, 0.5)),
            cuts=chance.randrange(4, 12),
            cut_bytes=256 << 10,
            mutes=chance.choice((0, 1)),
            refusals=chance.randrange(1, 5),
            errors=chance.randrange(0, 3),
            api_refusals=0.02,
            maxlag=0.02,
        )
        return SandboxServer(
            self._world,
            rate=self._rate,
            faults=faults,
            hold=True,
            heartbeat_seconds=0.2,
            ids=chance.choice(("timestamp", "offset")),
            gzip_stream=chance.choice((True, False)),
            chunk_bytes=chance.choice((None, 1, 7, 1000)),
            grace=None,
            gated=True,
            dumps_folder=self._folder / "site",
        )

    def _settings(self, server: SandboxServer) -> Settings:
        base = settings_for(Settings(), server)
        return replace(
            base,
            stream=replace(
                base.stream,
                read_seconds=1.5,
                dwell_seconds=self._chance.choice((0.0, 600.0)),
            ),
            service=replace(
                base.service,
                dumps_site=server.dumps_url,
                dump_poll_seconds=0.3,
                port=0,
                sync_seconds=1.0,
                suppression_seconds=0.5,
            ),
        )

    def _bootstrap(self, settings: Settings) -> None:
        first = self._world.boundaries[0]
        dumps = write_dumps(self._world, first, self._folder / "first")
        store = Store(RocksKeyValues(self._state / "db", create=True))
        engine = Engine.open(store, settings, as_of=first)
        bootstrap(engine, dumps.articles, [dumps.entities])
        store.close()

    def _suffer(self, settings: Settings, lag: "_Lag", began: float) -> None:
        """Start the worker again and again until it ends by itself."""
        job = Job(
            settings=settings,
            state=self._state,
            datasets=self._datasets,
            until=self._world.dump_complete(self._world.boundaries[-1]),
            jumps=0.05,
        )
        number = 0
        while True:
            number += 1
            fate = self._chance.choices(list(_FATES), list(_FATES.values()))[0]
            late = time.monotonic() - began > _ROUND_SECONDS
            if fate == "disk full":
                told = replace(job, seed=number, file_bytes=self._chance.randrange(20_000, 200_000))
            else:
                told = replace(job, seed=number)
            process = self._start(told, number)
            lag.follow(process)
            code = self._end(process, "none" if late else fate, told)
            if code == 0 and fate != "terminated":
                return
            if late and code != 0:
                self._outcome.wrong += 1
                self._outcome.blame(f"round {self._seed}", [f"ended with {code}", self._errors()])
                return

    def _start(self, job: Job, number: int) -> "subprocess.Popen[str]":
        path = self._folder / f"job{number}.json"
        path.write_bytes(encode(job))
        with (self._folder / "errors.txt").open("a", encoding="utf-8") as errors:
            return subprocess.Popen(  # noqa: S603 - our own worker
                [sys.executable, "-m", "stream.soak_worker", str(path)],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def _end(self, process: "subprocess.Popen[str]", fate: str, job: Job) -> int:
        """Let the worker live for a while, then let its fate come true; its exit code."""
        try:
            wait = None if fate in ("none", "disk full") else self._chance.uniform(*_KILL_SECONDS)
            code = process.wait(_ROUND_SECONDS if wait is None else wait)
        except subprocess.TimeoutExpired:
            self._outcome.ends[fate if fate != "none" else "killed"] += 1
            if fate == "frozen":
                _freeze(process)
            elif fate == "rival":
                self._rival(job, process)
            elif fate == "terminated":
                process.terminate()
                return _wait_or_kill(process)
            process.kill()
            return process.wait()
        self._outcome.ends["by itself" if code == 0 else fate] += 1
        return code

    def _rival(self, job: Job, first: "subprocess.Popen[str]") -> None:
        """A second worker on the same state must refuse, and harm nothing."""
        rival = self._start(job, 0)
        try:
            code = rival.wait(_STARTED_SECONDS)
        except subprocess.TimeoutExpired:
            rival.kill()
            code = rival.wait()
        refused = code == 1 and "StateLocked" in self._errors()
        if not refused and first.poll() is None:
            self._outcome.wrong += 1
            self._outcome.blame(f"round {self._seed}", [f"a second process ended with {code}"])

    def _errors(self) -> str:
        return (self._folder / "errors.txt").read_text(encoding="utf-8")[-3000:]

    def _judge(self, settings: Settings) -> None:
        window = self._world.windows[0]
        store = Store(RocksKeyValues(self._state / "db"))
        engine = Engine.open(store, settings)
        counts, outcome = engine.counts, self._outcome
        outcome.applied += counts.get("revisions", 0)
        for name, n in counts.items():
            if name.startswith("rejected:"):
                outcome.rejected[name.removeprefix("rejected:")] += n
        positions = Positions.from_bytes(engine.progress.positions)
        left = [gap for gap in positions.gaps() if gap.before_ms < to_ms(window.end)]
        outcome.lost += sum(gap.last - gap.first + 1 for gap in left)
        outcome.blame(f"round {self._seed}: gap", [str(gap) for gap in left])
        for boundary in (window.start, window.end):
            self._judge_state(engine, boundary)
        store.close()
        folder = versions.window_folder(self._datasets, settings.wiki.name, window.name)
        try:
            verdict = judge(Dataset.open(folder), self._world.books(window))
        except DatasetError as error:
            outcome.lost += 1
            outcome.blame(f"round {self._seed}", [str(error), self._errors()])
            return
        outcome.lost += verdict.missing
        outcome.wrong += verdict.unexpected
        outcome.blame(f"round {self._seed}", list(verdict.examples))
        shutil.rmtree(self._datasets)

    def _judge_state(self, engine: Engine, boundary: datetime) -> None:
        """Every article and item of the world at the boundary, by its revision."""
        state, at = engine.as_of(), to_ms(boundary)
        wrong = []
        for wiki in (ENWIKI, WIKIDATA):
            for page in self._world.pages(wiki, boundary - _INSTANT):
                if page.namespace != 0 or page.redirect is not None:
                    continue
                found = (
                    state.article(page.page_id, at).article
                    if wiki == ENWIKI
                    else state.entity(page.title, at)
                )
                hidden = found is Missing.HIDDEN
                rev = None if found is None or isinstance(found, Missing) else found.rev_id
                if rev != page.rev_id and not hidden:
                    wrong.append(f"{boundary} {page.title}: {page.rev_id}, found {found}"[:300])
        self._outcome.wrong += len(wrong)
        self._outcome.blame(f"round {self._seed}: state", wrong)


class _Lag:
    """How long after it was sent an event was applied: by the watermark that health tells."""

    def __init__(self, server: SandboxServer) -> None:
        self._server = server
        self._sent: list[tuple[float, datetime]] = []
        self._url: str | None = None
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.largest = 0.0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ends.set()
        self._thread.join()

    def follow(self, process: "subprocess.Popen[str]") -> None:
        """Ask this worker from now on; it tells its address when it listens."""

        def listen() -> None:
            line = process.stdout.readline() if process.stdout is not None else ""
            self._url = line.strip() or None

        self._url = None
        threading.Thread(target=listen, daemon=True).start()

    def _watch(self) -> None:
        while not self._ends.wait(_LAG_SECONDS):
            now = time.monotonic()
            self._sent.append((now, self._server.now))
            watermark = self._watermark()
            if watermark is None:
                continue
            while len(self._sent) > 1 and self._sent[1][1] <= watermark:
                self._sent.pop(0)
            self.largest = max(self.largest, now - self._sent[0][0])

    def _watermark(self) -> datetime | None:
        url = self._url
        if url is None:
            return None
        try:
            told = requests.get(f"{url}/healthz", timeout=1).json()["watermark"]
        except (requests.RequestException, ValueError, KeyError):
            return None
        return None if told is None else datetime.fromisoformat(told)


def _freeze(process: "subprocess.Popen[str]") -> None:
    """Stop it for longer than its source waits, and let it go on before it is killed."""
    process.send_signal(signal.SIGSTOP)
    time.sleep(_FROZEN_SECONDS)
    process.send_signal(signal.SIGCONT)
    time.sleep(_FROZEN_SECONDS)


def _wait_or_kill(process: "subprocess.Popen[str]") -> int:
    try:
        return process.wait(_STARTED_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _repeated(server: SandboxServer) -> int:
    """Messages of the log whose event stands in it a second time."""
    ids = Counter(_ID.findall(m.data)[0] for m in server.streams.log.messages)
    return sum(n - 1 for n in ids.values())
