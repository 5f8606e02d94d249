"""One round of the soak: a world, its weather, and the fates of the worker that follows it."""

import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import msgspec
from msgspec.structs import replace

from stream.position import Positions
from stream.sandbox.dump_files import write_dumps
from stream.sandbox.faults import Faults
from stream.sandbox.rehearsal import settings_for
from stream.sandbox.server import SandboxServer
from stream.sandbox.verdict import judge
from stream.sandbox.world import World
from stream.settings import Settings
from stream.soak_state import strays
from stream.soak_twin import Twin
from stream.soak_watch import Watch
from stream.soak_worker import Job, encode
from twiki.engine import Engine
from twiki.errors import DatasetError
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
    memory: float = 0.0
    """Most memory of a worker, MB."""
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
            faults = self._faults()
            server = stack.enter_context(self._server(faults))
            settings = self._settings(server)
            self._bootstrap(settings)
            ordered = not faults.losses and not settings.stream.dwell_seconds
            twin = Twin(self._world, faults, self._state, self._folder / "twin", ordered=ordered)
            stack.enter_context(twin)
            watch = stack.enter_context(Watch(server))
            self._suffer(settings, watch, began, twin)
            self._outcome.lag = max(self._outcome.lag, watch.largest_lag)
            self._outcome.memory = max(self._outcome.memory, watch.peak_memory)
            self._outcome.sent += server.streams.served.count
            self._outcome.repeated += _repeated(server)
        self._outcome.seconds += time.monotonic() - began
        self._outcome.rounds += 1
        self._judge(settings, twin)

    def _faults(self) -> Faults:
        chance = self._chance
        return Faults(
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

    def _server(self, faults: Faults) -> SandboxServer:
        chance = self._chance
        return SandboxServer(
            self._world,
            rate=self._rate,
            faults=faults,
            hold=True,
            heartbeat_seconds=0.2,
            ids=chance.choice(("timestamp", "offset")),
            gzip_stream=chance.choice((True, False)),
            chunk_bytes=_pieces(chance.choice((None, 1, 7, 1000)), huge=bool(faults.huge)),
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

    def _suffer(self, settings: Settings, watch: Watch, began: float, twin: Twin) -> None:
        """Start the worker again and again until it ends by itself; its twin once."""
        job = Job(
            settings=settings,
            state=self._state,
            datasets=self._datasets,
            until=self._world.dump_complete(self._world.boundaries[-1]),
            jumps=0.05,
        )
        calm = self._start(twin.job(job), -1)
        try:
            self._die_and_rise(job, watch, began)
            ended = calm.wait(_ROUND_SECONDS) == 0
        except subprocess.TimeoutExpired:
            ended = False
        finally:
            calm.kill()
        if not ended:
            self._wrong("the undisturbed worker", ["did not come to its end", self._errors()])

    def _die_and_rise(self, job: Job, watch: Watch, began: float) -> None:
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
            watch.follow(process)
            code = self._end(process, "none" if late else fate, told)
            if code == 0 and fate != "terminated":
                return
            if late and code != 0:
                self._wrong("the worker", [f"ended with {code}", self._errors()])
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
            self._wrong("a second process", [f"ended with {code}"])

    def _errors(self) -> str:
        return (self._folder / "errors.txt").read_text(encoding="utf-8")[-3000:]

    def _wrong(self, what: str, examples: list[str]) -> None:
        """Count one thing that is wrong."""
        self._outcome.wrong += 1
        self._outcome.blame(f"round {self._seed}: {what}", examples)

    def _judge(self, settings: Settings, twin: Twin) -> None:
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
            wrong = list(strays(engine, self._world, boundary))
            outcome.wrong += len(wrong)
            outcome.blame(f"round {self._seed}: state", wrong)
        differs = twin.against(engine, window.end)
        outcome.wrong += len(differs)
        outcome.blame(f"round {self._seed}: not as undisturbed", [one[:500] for one in differs])
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


def _pieces(chunk_bytes: int | None, *, huge: bool) -> int | None:
    """No event of megabytes byte by byte: to read it would take longer than a worker lives."""
    return max(chunk_bytes, 1000) if chunk_bytes and huge else chunk_bytes


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
