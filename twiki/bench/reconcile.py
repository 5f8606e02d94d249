"""``twiki bench reconcile``: an XML dump held against a state, beside its decompression.

A state that was filled from a month's dump is reconciled with the next, in which some pages
have another revision that the stream never told. Floor, in the same run: reading the same
file through the same decompressor and doing nothing with it.
"""

import random
import resource
import shutil
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import TypeVar

from twiki.bench import pages
from twiki.bench.dumpfile import DumpedPage, DumpWriter
from twiki.bench.figures import Figure, figure
from twiki.config import CoreConfig
from twiki.dumps.files import open_dump
from twiki.engine import Engine
from twiki.records import Policy
from twiki.state.rocks import RocksKeyValues
from twiki.state.store import Store
from twiki.windows.bootstrap import bootstrap
from twiki.windows.reconcile import reconcile

_BUDGET = 1.25
_OCTOBER, _NOVEMBER = datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)
_WRITTEN = _OCTOBER - timedelta(days=9)


def run(
    count: int = 6_000, length: int = 12_000, changed: float = 0.05, rounds: int = 3, seed: int = 1
) -> list[Figure]:
    """Time of a reconcile over that of decompressing its dump; the best of ``rounds`` each.

    Args:
        count: pages in the dump.
        length: characters of a page; lengths spread about it.
        changed: share of the pages with another revision.
        rounds: how often both are measured, in turn, each on a copy of the same state.
        seed: of the pages and the choice of those that changed.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        old, new = folder / "old.xml.bz2", folder / "new.xml.bz2"
        _write(old, new, count=count, length=length, changed=changed, seed=seed)
        _fill(folder / "state", old)
        floors, ours = [], []
        for turn in range(rounds):
            floors.append(_timed(partial(_decompress, new))[1])
            copy = folder / f"state{turn}"
            shutil.copytree(folder / "state", copy)
            store = Store(RocksKeyValues(copy))
            engine = Engine.open(store, CoreConfig())
            engine.arrived("replay", _NOVEMBER + timedelta(days=1))
            window = engine.windows()[0]
            work = partial(reconcile, engine, window, [new], policy=Policy.DUMP)
            made, taken = _timed(work)
            ours.append(taken)
            store.close()
            shutil.rmtree(copy)
        size = new.stat().st_size / 1e6
    cpu_floor, cpu = min(c for _, c in floors), min(c for _, c in ours)
    wall_floor, wall = min(w for w, _ in floors), min(w for w, _ in ours)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        figure(
            "XML dump reconciled (processor time), peer: decompressing it",
            cpu,
            "s",
            peer=cpu_floor,
            budget=_BUDGET,
            budget_of="ratio",
            better="less",
        ),
        figure("the same by the clock", wall, "s", peer=wall_floor),
        figure("pages repaired", made.pages.classes["repaired_from_dump"], "pages"),
        figure("compressed dump", size, "MB"),
        figure("peak memory", peak, "MiB"),
    ]


def _write(old: Path, new: Path, *, count: int, length: int, changed: float, seed: int) -> None:
    """Two months' dumps of the same pages, of which a share was edited in between."""
    draw = random.Random(seed)
    with DumpWriter(old) as before, DumpWriter(new) as after:
        for number in range(1, count + 1):
            page = pages.page(int(length * draw.lognormvariate(0, 0.7)), f"{seed}:{number}")
            dumped = DumpedPage(number, f"Page {number}", number, _WRITTEN, page.text)
            before.add(dumped)
            if draw.random() < changed:
                text = pages.edited(page, pages.Kind.SENTENCE, number).text
                moment = _OCTOBER + timedelta(days=3)
                dumped = dumped._replace(rev_id=number + count, moment=moment, text=text)
            after.add(dumped)


def _fill(folder: Path, dump: Path) -> None:
    store = Store(RocksKeyValues(folder, create=True))
    bootstrap(Engine.open(store, CoreConfig(), as_of=_OCTOBER), [dump])
    store.close()


def _decompress(path: Path) -> None:
    with open_dump(path) as dump:
        for _ in dump.chunks():
            pass


T = TypeVar("T")


def _timed(work: Callable[[], T]) -> tuple[T, tuple[float, float]]:
    """What ``work`` gives, and the seconds that it took: by the clock, of the processor."""
    wall, cpu = perf_counter(), process_time()
    made = work()
    return made, (perf_counter() - wall, process_time() - cpu)
