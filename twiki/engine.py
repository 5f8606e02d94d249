"""Revisions into the store, in batches: what stream, replay, bootstrap and reconcile share.

The engine owns the write side of a state. It applies revisions in the order given, moves the
watermark, closes windows and counts; :meth:`Engine.commit` lands all of it, with whatever
position the caller adds, in **one** write (L16)::

    engine = Engine.open(store, config)
    engine.arrived("mediawiki.recentchange", change.arrival_time)   # may close windows
    engine.apply(revision)
    engine.commit(positions=…)
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

import msgspec

from twiki import context as contexts
from twiki import suppression
from twiki.apply import Applied, apply
from twiki.config import CoreConfig
from twiki.context import Context
from twiki.errors import ConfigError, StateError
from twiki.live import Output
from twiki.records import Revision, Window
from twiki.state import codec, layout
from twiki.state.asof import AsOf
from twiki.state.layout import Id
from twiki.state.store import Batch, Store
from twiki.times import from_ms, to_ms
from twiki.windows import calendar

META = "engine"
_AHEAD = timedelta(days=1)
"""An event from further in the future than this has a wrong time."""
_SPARE_WINDOWS = 2
LETTERS_KEPT = 100_000
"""Dead letters kept; the oldest go first, the counters know of all."""


class Progress(msgspec.Struct, kw_only=True):
    """How far a state is; one record, written with every batch."""

    wiki: str
    repository: str
    first: int = 0
    """The oldest boundary kept, milliseconds; 0: nothing has arrived yet."""
    bootstrapped: bool = False
    """The first boundary is that of a dump: what it lacks was not there."""
    fixed: tuple[int, ...] = ()
    """Boundaries given by hand; empty: calendar months from ``first``."""
    closed: int = 0
    """End of the last window that closed."""
    watermarks: dict[str, int] = {}
    """Greatest arrival time of each stream, milliseconds."""
    reconciled: dict[int, str] = {}
    """Start of a window that a dump was reconciled with -> its policy."""
    positions: bytes = b""
    outbox: int = 0
    marks: dict[int, int] = {}
    """End of a window that closed -> how many outputs there were then: there feed segments end."""
    dead: int = 0
    late: int = 0
    counts: dict[str, int] = {}


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """Something that could not be used, with enough to look into it."""

    reason: str
    detail: str = ""
    raw: bytes = b""
    position: str = ""


class LateEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event for a window that had closed: it waits for a correction (L17)."""

    window_start: int
    key: Id
    rev_id: int


class Engine:
    """The write side of one state; get one by :meth:`open`."""

    def __init__(self, store: Store, config: CoreConfig, progress: Progress) -> None:
        self.store = store
        self.config = config
        self.progress = progress
        self.batch = Batch(store)
        self.closed_now: list[Window] = []
        """Windows that closed since the caller last emptied it."""
        self._lateness = timedelta(seconds=config.windows.lateness_seconds)
        self._counts: Counter[str] = Counter(progress.counts)
        self._context: Context | None = None
        self._closes = 0
        """Watermark, milliseconds, before which no window closes; 0: to be worked out."""
        self._template = contexts.build(config, ())

    @classmethod
    def open(
        cls,
        store: Store,
        config: CoreConfig,
        *,
        as_of: datetime | None = None,
        fixed: Sequence[datetime] = (),
        passing: bool = False,
    ) -> "Engine":
        """Open a state for writing, or begin an empty one.

        ``as_of`` is an empty state's first boundary, months follow; ``fixed`` gives all of
        its boundaries by hand. ``passing``: the state ends with this run, which alone reads it.

        Raises:
            StateError: the state is of another wiki.
        """
        progress = read_progress(store)
        if progress is None:
            progress = Progress(
                wiki=config.wiki.name,
                repository=config.wiki.repository,
                fixed=tuple(map(to_ms, fixed)),
            )
            first = fixed[0] if fixed else as_of
            progress.first = 0 if first is None else to_ms(first)
        if progress.wiki != config.wiki.name:
            raise StateError(
                f"this state is of {progress.wiki}, the settings name {config.wiki.name}: "
                "use the settings that it was made with, or another folder"
            )
        engine = cls(store, config, progress)
        engine._template = msgspec.structs.replace(engine._template, passing=passing)
        return engine

    # --- time ---

    @property
    def watermark(self) -> datetime | None:
        """The arrival time up to which every stream has told everything."""
        marks = self.progress.watermarks.values()
        return from_ms(min(marks)) if marks else None

    def arrived(self, stream: str, moment: datetime) -> None:
        """Note that ``stream`` has told something that arrived at ``moment``."""
        marks, ms = self.progress.watermarks, to_ms(moment)
        if ms <= marks.get(stream, 0):
            return
        marks[stream] = ms
        if not self.progress.first:
            self._begin(moment)
        if min(marks.values()) < self._closes:
            return
        while (window := self.open_window) is not None and calendar.is_closed(
            window, self.watermark, self._lateness
        ):
            self.close(window)
        if window is not None:
            self._closes = to_ms(calendar.closes_at(window, self._lateness))

    @property
    def open_window(self) -> Window | None:
        """The oldest window that has not closed; None before the first event or the last."""
        start = self.progress.closed or self.progress.first
        ends = [b for b in self.context.boundaries if b > start] if start else []
        return calendar.span(from_ms(start), from_ms(ends[0])) if ends else None

    def close(self, window: Window) -> None:
        """Close a window: what comes later for it is late."""
        self.progress.closed = to_ms(window.end)
        self.progress.marks[self.progress.closed] = self.progress.outbox
        self._context = None
        self.closed_now.append(window)
        self.release()

    def release(self) -> None:
        """Let go of windows that are past their correction horizon (ENGINE 3)."""
        horizon = self.config.windows.correction_windows
        while self.progress.first in self.progress.reconciled:
            later = [b for b in self.context.boundaries if self.progress.first < b]
            closed_after = [b for b in later[1:] if b <= self.progress.closed]
            if len(closed_after) < horizon:
                return
            self._forget(self.progress.first)
            self.progress.first = later[0]
            marks = self.progress.marks.items()
            self.progress.marks = {end: count for end, count in marks if end > later[0]}
            self._context = None

    def _forget(self, start: int) -> None:
        """Drop a released window's indexes and outbox; pages are folded when next touched."""
        del self.progress.reconciled[start]
        for family in (layout.TOUCHED, layout.OUTBOX, layout.ARTICLE, layout.MERGED):
            for key, _ in self.store.kv.scan(family + layout.number(start)):
                self.batch.delete(key)
        for key, value in self.store.kv.scan(layout.LATE):
            if codec.decode(value, LateEvent).window_start == start:
                self.batch.delete(key)

    def windows(self) -> list[Window]:
        """The windows kept, the open one last."""
        start = self.progress.closed or self.progress.first
        kept = [b for b in self.context.boundaries if b <= start]
        pairs = itertools.pairwise(kept)
        closed = [calendar.span(from_ms(a), from_ms(b)) for a, b in pairs]
        return closed + ([self.open_window] if self.open_window else [])

    # --- revisions ---

    @property
    def context(self) -> Context:
        """What :func:`twiki.apply.apply` is given."""
        if self._context is None:
            progress = self.progress
            latest = max([progress.first, progress.closed, *progress.watermarks.values()])
            self._context = self._make_context(latest)
        return self._context

    def key_of(self, revision: Revision) -> Id | None:
        """The page or entity that a revision belongs to; None where the event does not say."""
        change = revision.change
        if change.wiki == self.config.wiki.repository:
            title = change.title or ""
            return title.rpartition(":")[2] or None
        if change.page_id is not None:
            return change.page_id
        return self.page_titled(change.title) if change.title else None

    def page_titled(self, title: str) -> int | None:
        """The page that bears ``title`` at the open end: for events that name no page id."""
        for key in self.batch.keys(layout.title_prefix(title)):
            page_id = int.from_bytes(key[-8:], "big")
            held = self.batch.subject(page_id).held
            told = next((e for e in reversed(held.entries) if e.title is not None), None)
            if held.stood and told is not None and told.title == title:
                return page_id
        return None

    def apply(self, revision: Revision, key: Id | None = None) -> Applied | None:
        """Work a revision into the batch; None where it could not be used (dead letter)."""
        change = revision.change
        if key is None:
            key = self.key_of(revision)
        if key is None:
            self.dead_letter(DeadLetter(reason="no_page", detail=f"{change.kind} {change.title}"))
            return None
        if change.effective_time > change.arrival_time + _AHEAD:
            detail = f"{change.effective_time.isoformat()} for revision {change.rev_id}"
            self.dead_letter(DeadLetter(reason="from_the_future", detail=detail))
            return None
        return self._apply(key, revision, self._context_for(to_ms(change.effective_time)))

    def supply(self, key: Id, revision: Revision) -> Applied:
        """Work in a revision that was asked for by id, because the ledger names it.

        It was always there: it is never late, unless the event that named it was, and its
        page's title of today says nothing about then.
        """
        change = msgspec.structs.replace(revision.change, title=None, namespace=None)
        told = (e.epoch for e in self.batch.subject(key).held.entries if e.rev == change.rev_id)
        known = msgspec.structs.replace(self.context, closed=min(told, default=0))
        return self._apply(key, msgspec.structs.replace(revision, change=change), known)

    def dead_letter(self, letter: DeadLetter) -> None:
        """Keep what could not be used; counted by reason."""
        self._counts[f"dead:{letter.reason}"] += 1
        number = self.progress.dead
        self.batch.put(layout.DEAD + layout.number(number), codec.encode(letter))
        if number >= LETTERS_KEPT:
            self.batch.delete(layout.DEAD + layout.number(number - LETTERS_KEPT))
        self.progress.dead += 1

    def tell(self, window_ms: int, output: Output) -> None:
        """Put a record of the live feed into the outbox, under the window that begins then."""
        number = layout.number(window_ms) + layout.number(self.progress.outbox)
        self.batch.put(layout.OUTBOX + number, codec.encode(output))
        self.progress.outbox += 1

    def late_events(self) -> Iterator[LateEvent]:
        """What came for windows that had closed, in the order of arrival."""
        for _, value in self.store.kv.scan(layout.LATE):
            yield codec.decode(value, LateEvent)

    def count(self, name: str, more: int = 1) -> None:
        """Count something that has no record of its own."""
        self._counts[name] += more

    @property
    def counts(self) -> dict[str, int]:
        """All counters, by name."""
        return dict(sorted(self._counts.items()))

    def commit(self, *, positions: bytes | None = None, sync: bool = False) -> None:
        """Land everything since the last commit in one write."""
        if positions is not None:
            self.progress.positions = positions
        self.progress.counts = self.counts
        self.batch.put_meta(META, self.progress)
        self.batch.commit(sync=sync)

    def as_of(self, *, known: int | None = None, pins: Window | None = None) -> AsOf:
        """The state for reading, as committed.

        ``pins``: policy ``dump``, for the window given.
        """
        floor = 0 if pins is None else to_ms(pins.start)
        return AsOf(self.store, self.context, known=known, pins=pins is not None, floor=floor)

    # --- inner ---

    def _apply(self, key: Id, revision: Revision, context: Context) -> Applied:
        subject = self.batch.subject(key)
        applied = apply(subject, revision, context)
        self.batch.update(key, subject.held, applied)
        self._counts["revisions"] += applied.changed
        if applied.problem is not None:
            detail = f"{key} revision {revision.change.rev_id}: {applied.problem}"
            self.dead_letter(DeadLetter(reason="bad_content", detail=detail))
        start = context.window_start(to_ms(revision.change.effective_time))
        # What lies before the oldest boundary belongs to no window that is kept.
        for output in applied.outputs if start is not None else ():
            self.tell(start or 0, output)
        if applied.changed and suppression.concerns(subject.held, revision.change):
            self._counts["withheld"] += suppression.withhold(self, key, revision.change)
        if applied.late and applied.changed:
            event = LateEvent(window_start=start or 0, key=key, rev_id=revision.change.rev_id or 0)
            self.batch.put(layout.LATE + layout.number(self.progress.late), codec.encode(event))
            self.progress.late += 1
        return applied

    def _begin(self, moment: datetime) -> None:
        """A state that was not bootstrapped begins with the month of its first event."""
        self.progress.first = to_ms(calendar.window_of(moment).start)
        self._context, self._closes = None, 0

    def _context_for(self, effective: int) -> Context:
        if not self.progress.first:
            self._begin(from_ms(effective))
        if not self.progress.fixed and effective >= self.context.boundaries[-1]:
            self._context = self._make_context(effective)
        return self.context

    def _make_context(self, latest: int) -> Context:
        progress = self.progress
        if progress.fixed:
            bounds: Iterable[int] = progress.fixed
        elif progress.first:
            bounds = _months(progress.first, latest)
        else:
            bounds = ()
        return msgspec.structs.replace(
            self._template, boundaries=tuple(bounds), closed=progress.closed
        )


def read_progress(store: Store) -> Progress | None:
    """How far a state is; None where it is empty."""
    return store.meta(META, Progress)


def reading(store: Store, config: CoreConfig) -> Engine:
    """A state opened for reading; nothing may be applied to it.

    Raises:
        StateError: nothing has been written to it yet, or it is of another wiki.
    """
    if read_progress(store) is None:
        raise StateError("this state is empty: bootstrap it, or let the stream run first")
    return Engine.open(store, config)


def find_window(engine: Engine, name: str) -> Window:
    """The kept window of that name.

    Raises:
        ConfigError: there is no such window; the message lists those there are.
    """
    wanted = calendar.parse(name)
    for window in engine.windows():
        if window == wanted:
            return window
    names = ", ".join(window.name for window in engine.windows())
    raise ConfigError(f"window {name} is not kept in this state; there are: {names or 'none'}")


def _months(first: int, latest: int) -> list[int]:
    bounds, window = [first], calendar.window_of(from_ms(first))
    spare = _SPARE_WINDOWS
    while spare:
        bounds.append(to_ms(window.end))
        if bounds[-1] > latest:
            spare -= 1
        window = calendar.following(window)
    return bounds
