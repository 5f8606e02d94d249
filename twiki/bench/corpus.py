"""``twiki bench corpus``: whole articles a second on two cores, beside WikiExtractor.

The same generated dump for both: WikiExtractor reads it with two extracting processes, ours is
in a state first (its own figure), from which ``twiki corpus`` writes with two workers. They
take turns and the best of each is compared; processor time, of all processes, says the same
where other work slows both.
"""

import resource
import shutil
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from time import perf_counter

from twiki.bench import pages, reference
from twiki.bench.dumpfile import DumpedPage, DumpWriter
from twiki.bench.figures import Figure, figure
from twiki.config import CoreConfig
from twiki.engine import Engine
from twiki.state.rocks import RocksKeyValues
from twiki.state.store import Store
from twiki.windows import corpus
from twiki.windows.bootstrap import bootstrap

_BUDGET = 1.0
_AT = datetime(2026, 11, 1, tzinfo=UTC)
_WORKERS = 2

_Times = tuple[float, float]
"""Seconds: by the clock, of processors."""


def run(count: int = 400, rounds: int = 2, seed: int = 1) -> list[Figure]:
    """Articles a second of both, ``count`` articles, the best of ``rounds``."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dump = folder / "pages.xml.bz2"
        with DumpWriter(dump) as writer:
            for number, size in enumerate(pages.lengths(count, seed), 1):
                text = pages.page(size, f"{seed}:{number}").text
                moment = _AT - timedelta(days=9)
                writer.add(DumpedPage(number, f"Page {number}", number, moment, text))
        store = Store(RocksKeyValues(folder / "state", create=True))
        engine = Engine.open(store, CoreConfig(), as_of=_AT)
        filled = _timed(partial(bootstrap, engine, [dump]))
        ours: list[_Times] = []
        theirs: list[_Times] = []
        for turn in range(rounds):
            out = folder / f"out{turn}"
            ours.append(_timed(partial(_corpus, engine, out / "ours")))
            if reference.installed():
                extract = partial(reference.extract, dump, out / "theirs", processes=_WORKERS)
                theirs.append(_timed(extract))
            shutil.rmtree(out)
        store.close()
    clock, work = (min(times[kind] for times in ours) for kind in (0, 1))
    peer = min((times[0] for times in theirs), default=None)
    peer_work = min((times[1] for times in theirs), default=None)
    peaks = [resource.getrusage(who).ru_maxrss for who in _WHO]
    return [
        figure(
            "articles a second on two cores, peer: WikiExtractor with two processes",
            count / clock,
            "articles/s",
            peer=peer and count / peer,
            budget=_BUDGET,
            budget_of="ratio",
        ),
        figure(
            "articles a second of processor time",
            count / work,
            "articles/s",
            peer=peer_work and count / peer_work,
        ),
        figure("articles a second into the state before", count / filled[0], "articles/s"),
        figure("peak memory of the greatest process", max(peaks) / 1024, "MiB"),
    ]


def _corpus(engine: Engine, out: Path) -> None:
    corpus.write(engine.as_of(), _AT, out, engine.config, workers=_WORKERS)


_WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def _timed(work: Callable[[], object]) -> _Times:
    clock, used = perf_counter(), _used()
    work()
    return perf_counter() - clock, _used() - used


def _used() -> float:
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, _WHO))
