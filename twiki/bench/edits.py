"""``twiki bench edits``: article edits through the engine on RocksDB, by size and by kind.

A replay: a month's pages are in the state as of its start, then come edits, an event each,
committed in batches as the stream commits them. Peer, in the same run and on the same edits:
both revisions split and cleaned whole, then compared. Rates count the processor time of all
threads, RocksDB's own included, so that what else the machine does counts little.
"""

import random
import resource
import statistics
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from time import process_time, thread_time

from twiki.bench import pages
from twiki.bench.figures import Figure, figure
from twiki.bench.pages import Kind, Page
from twiki.config import CoreConfig, TextConfig
from twiki.engine import Engine
from twiki.records import Change, ChangeKind, Revision
from twiki.state.rocks import RocksKeyValues
from twiki.state.store import Store
from twiki.text.clean import Cleaner
from twiki.text.siteinfo import SiteInfo

_BUDGET = 1_000
_SLOPE_BUDGET = 2.0
_START = datetime(2026, 11, 1, tzinfo=UTC)
_BATCH = 256
"""Revisions in a write, as many as the stream takes at once."""
_SHARES = {
    Kind.WORD: 30,
    Kind.SENTENCE: 20,
    Kind.REFERENCE: 20,
    Kind.INFOBOX: 12,
    Kind.PARAGRAPH: 8,
    Kind.REVERT: 7,
    Kind.REWRITE: 3,
}
"""How often each kind of edit comes, of a hundred."""
_SIZES = (5_000, 50_000, 200_000, 500_000)
_SMALL, _LARGE = _SIZES[0], _SIZES[2]


class Replay:
    """A state with ``count`` pages as of the month's start, and edits to them."""

    def __init__(self, folder: Path, sizes: list[int], seed: int) -> None:
        self.store = Store(RocksKeyValues(folder, create=True))
        self.engine = Engine.open(self.store, CoreConfig(), as_of=_START)
        self._draw = random.Random(seed)
        self._revision = 0
        self._now = _START
        self.pages = [pages.page(size, f"{seed}:{n}") for n, size in enumerate(sizes)]
        self._before: dict[int, Page] = {}
        self._revs = [0] * len(sizes)
        for number, page in enumerate(self.pages):
            self.engine.apply(self._made(number, page, at=_START - timedelta(days=30)))
            if number % _BATCH == 0:
                self.engine.commit()
        self.engine.commit()

    def edit(self, number: int, kind: Kind) -> Revision:
        """Edit page ``number``; the revision that comes of it."""
        old = self.pages[number]
        new = pages.edited(old, kind, self._revision, self._before.get(number))
        self._before[number] = old
        return self._made(number, new)

    def edits(self, count: int) -> Iterator[tuple[Kind, str, Revision]]:
        """Yield ``count`` edits of all kinds to any page: kind, text before, revision."""
        for kind in self._draw.choices(list(_SHARES), list(_SHARES.values()), k=count):
            number = self._draw.randrange(len(self.pages))
            before = self.pages[number].text
            yield kind, before, self.edit(number, kind)

    def close(self) -> None:
        """Release the store."""
        self.store.close()

    def _made(self, number: int, page: Page, *, at: datetime | None = None) -> Revision:
        self._revision += 1
        self._now += timedelta(seconds=1)
        parent, self._revs[number] = self._revs[number], self._revision
        self.pages[number] = page
        moment = at or self._now
        return Revision(
            change=Change(
                wiki="enwiki",
                kind=ChangeKind.EDIT if parent else ChangeKind.CREATE,
                page_id=number + 1,
                title=f"Page {number + 1}",
                namespace=0,
                rev_id=self._revision,
                parent_rev_id=parent,
                rev_dt=moment,
                redirect=False,
                effective_time=moment,
                arrival_time=moment,
            ),
            content=page.text,
            boundary=None if at is None else _START,
        )


def run(
    held: int = 300,
    edits: int = 1_536,
    rounds: int = 3,
    sampled: int = 60,
    naive: int = 40,
    seed: int = 1,
) -> list[Figure]:
    """Edits a second; the cost of one sentence by the size of the page; memory.

    Args:
        held: pages in the state.
        edits: how many are replayed.
        rounds: how often, each on a state of its own; the best counts.
        sampled: one-sentence edits that are timed for each size of page.
        naive: how many of the edits go through the peer.
        seed: of pages and edits.
    """
    with tempfile.TemporaryDirectory() as folder:
        found = _rates(
            Path(folder) / "many", held=held, edits=edits, rounds=rounds, naive=naive, seed=seed
        )
        slope = _costs(Path(folder), sampled, seed)
    found += [
        figure(f"one sentence at {size // 1000} KB, median thread time", slope[size], "ms")
        for size in _SIZES
    ]
    found.append(
        figure(
            "one sentence at 200 KB over one at 5 KB, median thread time",
            slope[_LARGE],
            "ms",
            peer=slope[_SMALL],
            budget=_SLOPE_BUDGET,
            budget_of="ratio",
            better="less",
        )
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [*found, figure("peak memory", peak, "MiB")]


def _rates(
    folder: Path, *, held: int, edits: int, rounds: int, naive: int, seed: int
) -> list[Figure]:
    """Edits of all kinds a second, and each kind by itself: the best of ``rounds`` replays."""
    kinds: dict[Kind, list[float]] = defaultdict(list)
    rates: list[float] = []
    peers: list[float] = []
    for turn in range(rounds):
        replay = Replay(folder / str(turn), pages.lengths(held, seed), seed)
        rate, texts = _replayed(replay, edits, naive, kinds)
        rates.append(rate)
        peers.append(_naive(texts))
        replay.close()
    return [
        figure(
            "article edits a second of one core (processor time), peer: both parsed whole",
            max(rates),
            "edits/s",
            budget=_BUDGET,
            peer=max(peers),
        ),
        *(
            figure(f"{kind}, median thread time", 1e3 * statistics.median(kinds[kind]), "ms")
            for kind in Kind
            if kinds[kind]
        ),
    ]


def _replayed(
    replay: Replay, edits: int, keep: int, kinds: dict[Kind, list[float]]
) -> tuple[float, list[tuple[str, str]]]:
    """Edits a second, and the texts before and after of ``keep`` of them."""
    taken, done = 0.0, 0
    texts: list[tuple[str, str]] = []
    coming = replay.edits(edits)
    while batch := list(islice(coming, _BATCH)):
        start = process_time()
        for kind, _, revision in batch:
            began = thread_time()
            _apply(replay.engine, revision)
            kinds[kind].append(thread_time() - began)
        replay.engine.commit()
        taken += process_time() - start
        done += len(batch)
        texts += [(old, r.content or "") for _, old, r in batch[: max(keep - len(texts), 0)]]
    return done / taken, texts


def _costs(folder: Path, count: int, seed: int) -> dict[int, float]:
    """Median milliseconds of a one-sentence edit by the size of its page, the write included.

    The sizes take turns, so that what else the machine does falls on all of them; each edit
    goes to another page than the one before: what was read for it helps no other.
    """
    held = max(2, count // 2)
    replays = {size: Replay(folder / str(size), [size] * held, seed) for size in _SIZES}
    times: dict[int, list[float]] = defaultdict(list)
    for turn in range(count + 1):
        for size, replay in replays.items():
            revision = replay.edit(turn % held, Kind.SENTENCE)
            start = thread_time()
            _apply(replay.engine, revision)
            replay.engine.commit()
            times[size].append(thread_time() - start)
    for replay in replays.values():
        replay.close()
    return {size: 1e3 * statistics.median(taken[1:]) for size, taken in times.items()}


def _apply(engine: Engine, revision: Revision) -> None:
    engine.arrived("replay", revision.change.arrival_time)
    engine.apply(revision)


def _naive(texts: list[tuple[str, str]]) -> float:
    """Edits a second of one core where both revisions are split and cleaned whole."""
    site, settings = SiteInfo.english(), TextConfig()
    start = process_time()
    for old, new in texts:
        before = Cleaner(site, settings).article(old)
        after = Cleaner(site, settings).article(new)
        known = Counter(s for paragraph in before for s in paragraph.sentences)
        Counter(s for paragraph in after for s in paragraph.sentences).subtract(known)
    return len(texts) / (process_time() - start)
