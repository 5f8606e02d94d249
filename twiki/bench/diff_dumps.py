"""``twiki bench diff-dumps``: a pair of dumps to a diffset, beside the published procedure.

Both read the same two files: generated pages of which some were edited in prose, some only in
references and infoboxes, most not at all. Ours is what ``twiki diff`` does, but for the sample
of unchanged passages, which the published procedure does not make. Times are those of
processors, in all threads and processes. What is found is counted against what was edited.

The dumps are plain XML: to unpack both from bzip2 alone takes a tenth of the published way's
time, whoever does it. Pages are as long as in the sample of :mod:`twiki.bench.pages`; where
they are shorter, what a page costs whatever its length tells more (``length``).
"""

import random
import resource
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import process_time
from typing import NamedTuple

import pyarrow.parquet as pq

from twiki.bench import pages, reference
from twiki.bench.dumpfile import DumpedPage, DumpWriter
from twiki.bench.figures import Figure, figure
from twiki.bench.pages import Kind
from twiki.config import CoreConfig, WindowConfig
from twiki.engine import Engine
from twiki.records import Policy
from twiki.state.rocks import RocksKeyValues
from twiki.state.store import Store
from twiki.windows import calendar
from twiki.windows.bootstrap import bootstrap
from twiki.windows.publishing import reconcile_and_cut
from twiki.windows.schema import Part

_BUDGET = 20.0
_WINDOW = calendar.parse("2026-10")
_START = datetime(2026, 10, 1, tzinfo=UTC)
_PROSE = (Kind.WORD, Kind.SENTENCE, Kind.PARAGRAPH)
_BESIDE = (Kind.REFERENCE, Kind.INFOBOX)
"""Edits that change nothing that a reader of the prose sees."""
_PROSE_SHARE = 0.8
_SETTINGS = CoreConfig(windows=WindowConfig(policy="dump", nondiff_characters=0))


class _Pair(NamedTuple):
    """Two dumps of the same pages, and the ids of those whose prose was edited."""

    old: Path
    new: Path
    edited: set[int]


def run(
    count: int = 20_000, length: int = pages.MEDIAN, changed: float = 0.05, seed: int = 1
) -> list[Figure]:
    """Pages a second from dump pair to diffset, and the edits found.

    Args:
        count: pages in each dump.
        length: median characters of a page.
        changed: share of the pages that were edited.
        seed: of pages and edits.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pair = _write(folder, count, length, changed, seed)
        start = process_time()
        ours = _ours(folder, pair)
        seconds = process_time() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        theirs, peer = _theirs(folder, pair) if reference.installed() else (None, None)
        megabytes = pair.new.stat().st_size / 1e6
    right, wrong = _counts(ours, pair.edited)
    peer_right, peer_wrong = (None, None) if theirs is None else _counts(theirs, pair.edited)
    return [
        figure(
            "pages from dump pair to diffset a second of processor time, peer: the published way",
            count / seconds,
            "pages/s",
            peer=None if peer is None else count / peer,
            budget=_BUDGET,
            budget_of="ratio",
        ),
        figure(
            "edited articles found", right, "articles", budget=len(pair.edited), peer=peer_right
        ),
        figure("articles found without an edit", wrong, "articles", peer=peer_wrong),
        figure("size of a dump", megabytes, "MB"),
        figure("peak memory before the peer", peak, "MiB"),
    ]


def _counts(found: set[int], edited: set[int]) -> tuple[int, int]:
    return len(found & edited), len(found - edited)


def _write(folder: Path, count: int, length: int, changed: float, seed: int) -> _Pair:
    draw = random.Random(seed)
    pair = _Pair(folder / "old.xml", folder / "new.xml", set())
    with DumpWriter(pair.old) as old, DumpWriter(pair.new) as new:
        for number in range(1, count + 1):
            page = pages.page(int(length * draw.lognormvariate(0, 0.7)), f"{seed}:{number}")
            written = _START - timedelta(days=9)
            dumped = DumpedPage(number, f"Page {number}", number, written, page.text)
            old.add(dumped)
            if draw.random() < changed:
                prose = draw.random() < _PROSE_SHARE
                text = pages.edited(page, draw.choice(_PROSE if prose else _BESIDE), number).text
                moment = _START + timedelta(seconds=number)
                dumped = dumped._replace(rev_id=count + number, moment=moment, text=text)
                if prose:
                    pair.edited.add(number)
            new.add(dumped)
    return pair


def _ours(folder: Path, pair: _Pair) -> set[int]:
    """The pages in the diffset of the pair."""
    store = Store(RocksKeyValues(folder / "state", create=True))
    engine = Engine.open(store, _SETTINGS, fixed=(_WINDOW.start, _WINDOW.end), passing=True)
    bootstrap(engine, [pair.old])
    engine.close(_WINDOW)
    _, made = reconcile_and_cut(
        engine,
        _WINDOW,
        [pair.new],
        [],
        folder / "datasets",
        policy=Policy.DUMP,
        source="dump pair",
    )
    store.close()
    table = pq.read_table(made.folder / Part.DIFFSET.file, columns=["id"])
    return set(table.column("id").to_pylist())


def _theirs(folder: Path, pair: _Pair) -> tuple[set[int], float]:
    """The pages that the published procedure finds, and the processor seconds that it takes."""
    start = process_time() + _children()
    old = reference.extract(pair.old, folder / "text-old")
    new = reference.extract(pair.new, folder / "text-new")
    found = reference.changed(old, new)
    return found, process_time() + _children() - start


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
