"""The state beside a running worker: how far it is, and what it tells, as it tells it.

A RocksDB *secondary* reads what the worker has written and never writes or locks anything of it.
Records of the outbox are numbered in the order in which they were told; a reader that names the
last number it saw goes on behind it, as long as the record's window is kept::

    feed = LiveFeed(Path("state"), settings, SystemClock())
    feed.poll()                        # catch up; done in the background by run()
    feed.after(1200, limit=100)        # [(1201, LiveSentence(…)), …]
    feed.now()                         # Now(…)
"""

import os
import threading
from collections import Counter, deque
from itertools import islice
from pathlib import Path

import msgspec

from stream.clock import Clock
from stream.pages.told import Now, Rate, Sample, kind_of
from stream.position import Positions
from stream.settings import Settings
from stream.sides import SideRecord
from stream.telling import FILE, Told, read
from twiki.engine import LateEvent, Progress, read_progress, reading
from twiki.errors import TwikiError
from twiki.live import Output
from twiki.records import SourcePosition, Window
from twiki.state import codec, layout
from twiki.state.rocks import RocksKeyValues
from twiki.state.store import Store
from twiki.times import from_ms, to_ms

DB = "db"
POLL_SECONDS = 0.5
_KEPT_SECONDS = 3600.0
_SAMPLE_SECONDS = 10.0
_RATE_SECONDS = 15.0
_MOST_DECODED = 2_000
"""Records of one poll that are looked into; of more, the newest."""
_OLD_SECONDS = 10.0
"""How long a reader that was replaced stays open for those who still read from it."""
_MOST_SIDES = 10_000
_MOST_LATE = 100_000


class LiveFeed:
    """What a worker writes, read beside it. Threads may share it."""

    def __init__(self, state: Path, settings: Settings, clock: Clock) -> None:
        self._files = _files(state / DB)
        self._kv = RocksKeyValues(state / DB, reader=True)
        self._store = Store(self._kv)
        self._old: list[tuple[float, Store]] = []
        self._state = state
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._progress = read_progress(self._store) or Progress(wiki="", repository="")
        self._starts: tuple[int, ...] = ()
        self._samples: deque[Sample] = deque()
        self._outputs: deque[tuple[float, Counter[tuple[str, str]]]] = deque()
        self._changes: deque[tuple[float, Told]] = deque()
        self._seen = self._progress.outbox
        self._sides: tuple[int, dict[str, int]] = (-1, {})
        self._windows: tuple[tuple[int, int, int], list[Window]] = ((-1, -1, -1), [])
        self._late: tuple[int, Counter[int]] = (0, Counter())
        self.problem = ""
        """Why the worker cannot be followed at the moment; tried again all the same."""
        self._thread: threading.Thread | None = None

    # --- following ---

    def start(self) -> None:
        """Follow the worker in the background until :meth:`close`."""
        self.poll()
        self._thread = threading.Thread(target=self._run, daemon=True, name="livefeed")
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.wait(POLL_SECONDS):
            try:
                self.poll()
                self.problem = ""
            except TwikiError as error:
                self.problem = str(error)

    def poll(self) -> None:
        """Catch up with the worker once."""
        with self._lock:
            at = self._clock.monotonic()
            self._kv.catch_up()
            progress = read_progress(self._store)
            if progress == self._progress and self._reopen(at):
                progress = read_progress(self._store)
            if progress is None:
                return
            if progress.outbox < self._progress.outbox:
                self._seen = progress.outbox
            self._progress = progress
            self._starts = self._known_starts()
            self._sample(at)
            self._look(at)

    def close(self) -> None:
        """Stop following and release the state."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout=10)
        with self._lock:
            for store in (self._store, *(store for _, store in self._old)):
                store.close()
            self._old = []

    def _reopen(self, at: float) -> bool:
        """Read through a new reader where the tables are others than when this one was opened.

        A worker that stops writes what is in memory into a table. A secondary that has older
        values of the same keys in its own memory goes on to show those (RocksDB drops them only
        when the next log begins), for as long as no worker runs.
        """
        while self._old and at - self._old[0][0] > _OLD_SECONDS:
            self._old.pop(0)[1].close()
        files = _files(self._state / DB)
        if files == self._files:
            return False
        kv = RocksKeyValues(self._state / DB, reader=True)
        self._old.append((at, self._store))
        self._kv, self._store, self._files = kv, Store(kv), files
        return True

    # --- reading ---

    @property
    def last(self) -> int:
        """The number that the next record will have."""
        return self._progress.outbox

    def after(self, number: int, limit: int) -> list[tuple[int, Output]]:
        """The records behind ``number`` in the order in which they were told, at most ``limit``."""
        found: list[tuple[int, bytes]] = []
        for start in self._starts:
            prefix = layout.OUTBOX + layout.number(start)
            behind = prefix + layout.number(number) if number >= 0 else b""
            items = islice(self._kv.scan(prefix, behind), limit)
            found += [(int.from_bytes(key[-8:], "big"), value) for key, value in items]
        found.sort(key=lambda item: item[0])
        return [(n, codec.decode(value, Output)) for n, value in found[:limit]]  # type: ignore[arg-type]

    def windows(self) -> list[Window]:
        """The windows that the state keeps, the open one last."""
        progress = self._progress
        key = (progress.first, progress.closed, len(progress.fixed))
        if self._windows[0] != key and progress.wiki:
            self._windows = (key, reading(self._store, self._settings).windows())
        return self._windows[1]

    def late_of(self, window: Window) -> int:
        """Events that came after the window had closed."""
        if self._progress.late != self._late[0]:
            counted: Counter[int] = Counter()
            for _, value in islice(self._kv.scan(layout.LATE), _MOST_LATE):
                counted[codec.decode(value, LateEvent).window_start] += 1
            self._late = (self._progress.late, counted)
        return self._late[1][to_ms(window.start)]

    def label(self, entity: str) -> str | None:
        """The label of an entity at the open end, in the first language that has one."""
        held = self._store.held(entity)
        data = None if held is None else self._store.content(entity, held.stood)
        if data is None:
            return None
        labels = codec.decode_entity(data).labels
        return next(
            (labels[code] for code in self._settings.wiki.languages if code in labels), None
        )

    @property
    def progress(self) -> Progress:
        """The engine's own record."""
        return self._progress

    def now(self) -> Now:
        """How far the state is, with rates over the last seconds."""
        with self._lock:
            return self._now()

    def history(self) -> list[Sample]:
        """The last hour, a sample every few seconds, oldest first."""
        with self._lock:
            return list(self._samples)

    # --- inner ---

    def _now(self) -> Now:
        progress = self._progress
        marks = progress.watermarks.values()
        watermark = from_ms(min(marks)) if marks else None
        now = self._clock.now()
        revisions, told = self._rates()
        positions = self._positions(progress)
        worker = self._changes[-1][1] if self._changes else None
        open_window = next((w for w in reversed(self.windows())), None)
        return Now(
            wiki=progress.wiki,
            watermark=None if watermark is None else watermark.isoformat(),
            lag_seconds=None if watermark is None else (now - watermark).total_seconds(),
            window=None if open_window is None else open_window.name,
            revisions=progress.counts.get("revisions", 0),
            told=progress.outbox,
            revisions_per_second=revisions,
            told_per_second=told,
            events=self._event_rates(),
            outputs=self._output_rates(),
            positions=sorted(positions, key=lambda p: (p.topic, p.partition)),
            counts={n: c for n, c in progress.counts.items() if not n.startswith("dead:")},
            dead_letters=_grouped(progress.counts, "dead:"),
            sides=self._side_counts(),
            reconnects=None if worker is None else max(0, worker.connects - 1),
            late=progress.late,
            problem=self.problem,
        )

    def _positions(self, progress: Progress) -> tuple[SourcePosition, ...]:
        if not progress.positions:
            return ()
        try:
            return Positions.from_bytes(progress.positions, self._settings.stream).mark()
        except (ValueError, msgspec.MsgspecError):
            return ()  # of another release: nothing else here depends on them

    def _known_starts(self) -> tuple[int, ...]:
        """The windows that have records in the outbox."""
        found: list[int] = []
        after = b""
        while True:
            item = next(self._kv.scan(layout.OUTBOX, after), None)
            if item is None:
                return tuple(found)
            start = int.from_bytes(item[0][1:9], "big")
            found.append(start)
            after = layout.OUTBOX + layout.number(start) + b"\xff" * 8

    def _sample(self, at: float) -> None:
        marks = self._progress.watermarks.values()
        sample = Sample(
            at,
            self._progress.counts.get("revisions", 0),
            self._progress.outbox,
            min(marks) / 1000 if marks else 0.0,
        )
        # The newest sample moves along until it is old enough to stay.
        if len(self._samples) > 1 and self._samples[-1].at - self._samples[-2].at < _SAMPLE_SECONDS:
            self._samples.pop()
        self._samples.append(sample)
        while self._samples and at - self._samples[0].at > _KEPT_SECONDS:
            self._samples.popleft()
        worker = read(self._state / FILE)
        if worker is not None:
            self._changes.append((at, worker))
        while len(self._changes) > 1 and at - self._changes[0][0] > _RATE_SECONDS:
            self._changes.popleft()

    def _look(self, at: float) -> None:
        """Count what was told since the last poll, by wiki and kind."""
        last = self._progress.outbox
        first = max(self._seen, last - _MOST_DECODED)
        counted: Counter[tuple[str, str]] = Counter()
        for _, record in self.after(first - 1, _MOST_DECODED):
            counted[record.wiki, kind_of(record)] += 1
        left_out = first - self._seen
        if left_out and counted:
            whole = (last - self._seen) / max(sum(counted.values()), 1)
            counted = Counter({key: round(count * whole) for key, count in counted.items()})
        self._seen = last
        if counted:
            self._outputs.append((at, counted))
        while self._outputs and at - self._outputs[0][0] > _RATE_SECONDS:
            self._outputs.popleft()

    def _rates(self) -> tuple[float, float]:
        samples = list(self._samples)
        if len(samples) < 2:  # noqa: PLR2004 - a rate needs two
            return 0.0, 0.0
        newest = samples[-1]
        before = next(
            (s for s in reversed(samples) if newest.at - s.at >= _RATE_SECONDS), samples[0]
        )
        seconds = max(newest.at - before.at, 1e-3)
        revisions = (newest.revisions - before.revisions) / seconds
        return max(revisions, 0.0), max((newest.told - before.told) / seconds, 0.0)

    def _output_rates(self) -> list[Rate]:
        total: Counter[tuple[str, str]] = Counter()
        for _, counted in self._outputs:
            total.update(counted)
        return [
            Rate(wiki=wiki, kind=kind, per_second=count / _RATE_SECONDS)
            for (wiki, kind), count in sorted(total.items())
        ]

    def _event_rates(self) -> list[Rate]:
        if not self._changes:
            return []
        (began, first), (at, newest) = self._changes[0], self._changes[-1]
        seconds = max(at - began, POLL_SECONDS)
        return [
            Rate(
                wiki=label.partition(" ")[0],
                kind=label.partition(" ")[2],
                per_second=max(0.0, (count - first.changes.get(label, 0)) / seconds),
            )
            for label, count in sorted(newest.changes.items())
        ]

    def _side_counts(self) -> dict[str, int]:
        """The side records kept, by reason; counted anew only when the newest one changes."""
        newest = self._store.meta("beside", _Sides)
        number = 0 if newest is None else newest.sides
        if number != self._sides[0]:
            counted: Counter[str] = Counter()
            for _, value in islice(self._kv.scan(layout.SIDE), _MOST_SIDES):
                record = codec.decode(value, SideRecord)
                counted[f"{record.kind}: {record.reason}"] += 1
            self._sides = (number, dict(sorted(counted.items())))
        return self._sides[1]


def _files(folder: Path) -> frozenset[str]:
    """The tables of a state; none where the folder is gone."""
    try:
        return frozenset(one.name for one in os.scandir(folder) if one.name.endswith(".sst"))
    except OSError:
        return frozenset()


class _Sides(msgspec.Struct, kw_only=True):
    """Of :class:`stream.beside.Counted` what is needed here."""

    sides: int = 0


def _grouped(counts: dict[str, int], prefix: str) -> dict[str, int]:
    return {n.removeprefix(prefix): c for n, c in counts.items() if n.startswith(prefix)}
