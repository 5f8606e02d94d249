"""``twiki bench cut``: a window's cut costs what the window touched, not what the state holds.

Two states on RocksDB, one with ten times the pages of the other; in both the same number of
pages is edited in the window. Both are cut in turn, and the best of each is compared.
"""

import resource
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import process_time

from twiki.bench import pages
from twiki.bench.figures import Figure, figure
from twiki.bench.pages import Kind
from twiki.config import CoreConfig, WindowConfig
from twiki.engine import Engine
from twiki.records import Change, ChangeKind, Revision
from twiki.state.rocks import RocksKeyValues
from twiki.state.store import Store
from twiki.windows import calendar
from twiki.windows.publishing import cut_closed

_BUDGET = 1.3
_START = datetime(2026, 10, 1, tzinfo=UTC)
_WINDOW = calendar.parse("2026-10")
_LENGTH = 3_000
_SETTINGS = CoreConfig(windows=WindowConfig(nondiff_characters=2_000_000))
"""A sample of unchanged passages that the smaller state can fill as well."""
_TEXTS = 500
"""Different texts among the pages held."""
_COMMIT_EVERY = 1_000


def run(
    few: int = 10_000, many: int = 100_000, touched: int = 500, rounds: int = 3, seed: int = 1
) -> list[Figure]:
    """Time of a cut with ``many`` pages held over that with ``few``, ``touched`` in both."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        engines = {held: _state(folder / str(held), held, touched, seed) for held in (few, many)}
        times: dict[int, list[float]] = {few: [], many: []}
        rows = {}
        for turn in range(rounds):
            for held, engine in engines.items():
                out = folder / f"out{turn}-{held}"
                start = process_time()
                report = cut_closed(engine, _WINDOW, out)
                times[held].append(process_time() - start)
                rows[held] = report.counts["sentences"]
                shutil.rmtree(out)
        for engine in engines.values():
            engine.store.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        figure(
            f"cut with {touched:,} of {many:,} pages touched (processor time), peer: of {few:,}",
            min(times[many]),
            "s",
            peer=min(times[few]),
            budget=_BUDGET,
            budget_of="ratio",
            better="less",
        ),
        figure("diff sentences", rows[many], "sentences", peer=rows[few]),
        figure("peak memory", peak, "MiB"),
    ]


def _state(folder: Path, held: int, touched: int, seed: int) -> Engine:
    """A state with ``held`` pages, of which every so many-th was edited in the window."""
    engine = Engine.open(Store(RocksKeyValues(folder, create=True)), _SETTINGS, as_of=_START)
    texts = [pages.page(_LENGTH, f"{seed}:{n}") for n in range(_TEXTS)]
    for number in range(held):
        text = texts[number % _TEXTS].text
        engine.apply(_revision(number, 2 * number + 1, 0, text, _START - timedelta(days=9)))
        if number % _COMMIT_EVERY == 0:
            engine.commit()
    for turn in range(touched):
        number = turn * (held // touched)
        edited = pages.edited(texts[number % _TEXTS], Kind.SENTENCE, turn)
        moment = _START + timedelta(minutes=turn)
        engine.apply(_revision(number, 2 * number + 2, 2 * number + 1, edited.text, moment))
    engine.arrived("replay", _WINDOW.end + timedelta(days=1))
    engine.commit()
    return engine


def _revision(number: int, rev: int, parent: int, text: str, moment: datetime) -> Revision:
    return Revision(
        change=Change(
            wiki="enwiki",
            kind=ChangeKind.EDIT if parent else ChangeKind.CREATE,
            page_id=number + 1,
            title=f"Page {number + 1}",
            namespace=0,
            rev_id=rev,
            parent_rev_id=parent,
            rev_dt=moment,
            redirect=False,
            effective_time=moment,
            arrival_time=moment,
        ),
        content=text,
        boundary=None if parent else _START,
    )
