"""``twiki bench serve``: pages over a generated window, beside a worker.

The pages run as they do for people: ``twiki serve`` in a process of its own, asked over HTTP. Each
kind of page is asked many times, each time for another article, fact, place or word. The worker's
rate is that of edits through the engine, by wall clock, with a page open that follows it and
without any server; the rounds alternate, the best of each counts.
"""

import http.client
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from urllib.parse import urlencode, urlsplit

from stream import bench_serve_data as window
from stream.pages import index
from stream.pages.reading import mark, object_digest
from twiki.bench.figures import Figure, figure
from twiki.config import CoreConfig
from twiki.engine import Engine
from twiki.errors import EngineError
from twiki.records import Change, ChangeKind, Revision
from twiki.state.rocks import RocksKeyValues
from twiki.state.store import Store
from twiki.windows.dataset import Dataset
from twiki.windows.schema import Part

SENTENCES, FACTS, REQUESTS = 10_000_000, 100_000, 200
P50_MS, P99_MS, MEMORY_MIB, INDEX_SECONDS, RATIO = 100.0, 300.0, 500.0, 300.0, 0.95
_WARM = 5
_ROUNDS = 4
_EDITS = 3_000


def run(
    sentences: int = SENTENCES,
    facts: int = FACTS,
    requests: int = REQUESTS,
    edits: int = _EDITS,
    rounds: int = _ROUNDS,
    folder: Path | None = None,
) -> list[Figure]:
    """Measure index, pages, memory and the worker; ``folder`` keeps what was made for again."""
    with tempfile.TemporaryDirectory(prefix="twiki-bench-serve-") as scratch:
        base = folder or Path(scratch)
        datasets, cache, state = base / "datasets", base / "cache", Path(scratch) / "state"
        path = datasets / "enwiki" / window.WINDOW.name / "v1"
        if not path.is_dir():
            path = window.write(datasets, sentences=sentences, facts=facts)
        found = _index(path, cache)
        worker = _Worker(state)
        try:
            with _serving(datasets, cache, state) as (server, address):
                for name, ask in _pages(path, facts).items():
                    found += _asked(name, address, ask, requests)
                memory = figure(
                    "memory of the server",
                    _memory_mib(server.pid),
                    "MiB",
                    budget=MEMORY_MIB,
                    better="less",
                )
            found.append(memory)
            found.append(_beside(worker, datasets, cache, state, edits, rounds))
        finally:
            worker.close()
    return found


def _index(path: Path, cache: Path) -> list[Figure]:
    """The search index, in a process of its own as the pages make it; nothing where it is there."""
    target = index.path_of(cache, window.digest(path))
    if target.exists():
        return []
    command = [sys.executable, "-m", "stream.pages.index", str(path), str(target)]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own module
    seconds, after = perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [
        figure("search index", seconds, "s", budget=INDEX_SECONDS, better="less"),
        figure("search index, processor time", worked, "s"),
    ]


def _pages(path: Path, facts: int) -> dict[str, Callable[[random.Random], str]]:
    """Each kind of page with an address by chance."""
    at = f"/datasets/{window.ID}"
    articles = Dataset.open(path).counts[Part.DIFFSET]
    vocabulary = window.words(random.Random(1), 60_000)

    def page(draw: random.Random) -> int:
        return draw.randrange(1, articles + 1)

    def fact(draw: random.Random) -> str:
        number = draw.randrange(1, facts + 1)
        return f"{at}/facts/probes_changed/Q{number}/P131/{object_digest(f'Q9{number}')}"

    def search(draw: random.Random) -> str:
        asked = " ".join(draw.choices(vocabulary, k=2))
        return f"/search?{urlencode({'q': asked, 'dataset': window.ID})}"

    def rows(draw: random.Random) -> str:
        after = mark(Part.SENTENCES, {"id": page(draw), "ordinal": 2})
        return f"/api/v1{at}/rows/sentences?after={after}"

    return {
        "now": lambda _draw: "/now",
        "windows": lambda _draw: "/windows",
        "data sheet": lambda _draw: at,
        "articles": lambda draw: f"{at}/articles?after={mark(Part.DIFFSET, {'id': page(draw)})}",
        "article": lambda draw: f"{at}/articles/{page(draw)}",
        "facts": lambda _draw: f"{at}/facts/probes_unchanged",
        "fact": fact,
        "search, two words": search,
        "search, a frequent word": lambda draw: f"/search?q={vocabulary[draw.randrange(20)]}",
        "search in facts": lambda draw: f"/search?in=facts&q=q{draw.randrange(1, facts)}",
        "models": lambda _draw: "/models",
        "rows, API": rows,
    }


def _asked(
    name: str, address: str, ask: Callable[[random.Random], str], requests: int
) -> list[Figure]:
    draw = random.Random(name)
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    times: list[float] = []
    for number in range(_WARM + requests):
        path = ask(draw)
        started = perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        if number >= _WARM:
            times.append((perf_counter() - started) * 1000)
        if answer.status != http.client.OK:
            raise EngineError(f"{path}: expected 200, found {answer.status}")
    connection.close()
    cut = statistics.quantiles(times, n=100)
    return [
        figure(f"{name}, p50", cut[49], "ms", budget=P50_MS, better="less"),
        figure(f"{name}, p99", cut[98], "ms", budget=P99_MS, better="less"),
    ]


@contextmanager
def _serving(
    datasets: Path, cache: Path, state: Path
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The pages in a process of their own, and their address."""
    command = [sys.executable, "-m", "twiki", "serve", "--json", "--port", "0"]
    command += ["--datasets", str(datasets), "--cache", str(cache), "--state", str(state)]
    with subprocess.Popen(  # noqa: S603 - this Python and our own command
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            line = server.stdout.readline() if server.stdout else ""
            if not line:
                raise EngineError(f"{' '.join(command)}: expected an address, found none")
            yield server, json.loads(line)["url"]
        finally:
            server.terminate()


def _memory_mib(process: int) -> float:
    """The highest memory of a process."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    line = next(one for one in status.splitlines() if one.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def _beside(
    worker: "_Worker", datasets: Path, cache: Path, state: Path, edits: int, rounds: int
) -> Figure:
    """The worker's rate with a page open, beside that without any server."""
    alone, watched = [], []
    for _ in range(rounds):
        alone.append(worker.rate(edits))
        with _serving(datasets, cache, state) as (_, address), _page_open(address):
            watched.append(worker.rate(edits))
    return figure(
        "worker with a page open, of its rate without",
        max(watched),
        "edits/s",
        budget=RATIO,
        peer=max(alone),
        budget_of="ratio",
    )


@contextmanager
def _page_open(address: str) -> Iterator[None]:
    """A reader of the live page's stream."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    connection.request("GET", "/now/feed")
    answer = connection.getresponse()
    ended = threading.Event()

    def follow() -> None:
        while not ended.is_set() and answer.readline():
            pass

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(timeout=5)
        connection.close()


class _Worker:
    """The write side of a state, fed with edits of one sentence."""

    def __init__(self, state: Path) -> None:
        self._store = Store(RocksKeyValues(state / "db", create=True))
        start = datetime(2026, 11, 1, tzinfo=UTC)
        self._engine = Engine.open(self._store, CoreConfig(), as_of=start)
        self._now = start
        self._number = 0
        self.rate(200)

    def rate(self, edits: int) -> float:
        """Apply so many edits; return how many a second."""
        started = perf_counter()
        for count in range(edits):
            self._number += 1
            self._now += timedelta(milliseconds=100)
            self._engine.apply(self._edit(self._number))
            if count % 50 == 49:  # noqa: PLR2004 - a batch of the live stream
                self._engine.arrived("mediawiki.recentchange", self._now)
                self._engine.commit()
        self._engine.commit()
        return edits / (perf_counter() - started)

    def _edit(self, number: int) -> Revision:
        page = 1 + number % 500
        change = Change(
            wiki="enwiki",
            kind=ChangeKind.EDIT if number > 500 else ChangeKind.CREATE,  # noqa: PLR2004 - the pages
            effective_time=self._now,
            arrival_time=self._now,
            page_id=page,
            title=f"Page {page}",
            namespace=0,
            rev_id=number,
            parent_rev_id=max(0, number - 500),
            rev_dt=self._now,
        )
        text = "\n\n".join(f"Paragraph {n} of page {page} stands as it was." for n in range(40))
        return Revision(change=change, content=f"{text}\n\nEdit {number} was made here.")

    def close(self) -> None:
        """Release the state."""
        self._store.close()
