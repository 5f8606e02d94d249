"""Sorting what a dump and a state hold into classes, and repairing what can be repaired (L18).

:class:`Census` takes the revisions of a dump one by one, then what the state holds beside them;
every page or entity ends in exactly one :class:`Found`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime
from enum import StrEnum

import msgspec

from twiki.engine import Engine
from twiki.records import Change, ChangeKind, Policy, Revision, Window
from twiki.state import codec, layout
from twiki.state.codec import Held
from twiki.state.layout import Id
from twiki.state.ledger import Entry, EntryKind, Standing, only, standing
from twiki.times import from_ms, to_ms
from twiki.windows.seen import Seen

_EXAMPLES = 5
_COMMIT_EVERY = 500
_TELL_EVERY = 1000
Progress = Callable[[str, int], None]


class Found(StrEnum):
    """Where a page or entity ends."""

    CONFIRMED = "confirmed"
    """The ledger has the dump's revision."""
    STREAM_AHEAD = "stream_ahead"
    """At the boundary the ledger has a newer one than the dump."""
    REPAIRED = "repaired_from_dump"
    """The stream missed the dump's revision; it is in the state now."""
    RESTORED = "restored_from_dump"
    """The ledger says deleted, the dump has it: the stream missed a restore."""
    UNKNOWN_AT_BOUNDARY = "unknown_at_boundary"
    """The dump's revision is younger than the boundary and its parent is not known."""
    UNREADABLE = "unreadable"
    """The dump has its revision without its text."""
    DELETED = "deleted"
    DELETED_LATER = "deleted_after_boundary"
    """Deleted between the boundary and the moment when the dump read it."""
    REDIRECT = "redirect_not_in_dump"
    """Entity dumps leave redirects out."""
    MISSING = "missing_in_dump"
    """It stands in the state and nothing says why the dump lacks it."""


class Tally(msgspec.Struct, kw_only=True):
    """The outcome for pages, or for entities."""

    in_dump: int = 0
    had: int = 0
    """How many of the dump's revisions the ledger had."""
    redirects: int = 0
    """Redirects among the pages of the dump that the state follows."""
    other_namespaces: int = 0
    """Pages of the dump that the state does not follow."""
    classes: dict[str, int] = {}
    examples: dict[str, list[str]] = {}

    @property
    def completeness(self) -> float | None:
        """Share of the dump's revisions that the stream already had; None: an empty dump."""
        return self.had / self.in_dump if self.in_dump else None


class Census:
    """Sorts pages, or entities, into classes and repairs what can be repaired."""

    def __init__(self, engine: Engine, window: Window, policy: Policy, *, articles: bool) -> None:
        self.engine = engine
        self._end = to_ms(window.end)
        self._start = to_ms(window.start)
        self._start_is_known = _start_is_known(engine, self._start)
        self.boundary = window.end
        self._pins = policy is Policy.DUMP
        self._articles = articles
        self._family = layout.PAGE if articles else layout.ENTITY
        self._seen = Seen(self._family)
        self._classes: Counter[Found] = Counter()
        self._examples: dict[Found, list[str]] = defaultdict(list)
        self._tally = Tally()
        self._confirmed = 0
        """Confirmed by :meth:`known`."""
        self._held_at = engine.store.held_at
        self._asked: tuple[Id | None, Held | None] = None, None
        """What :meth:`known` read last: the record of the line that the dump is at."""
        self.fetch: list[tuple[Id, int]] = []
        self.since_commit = 0

    def known(self, key: Id, rev: int) -> bool:
        """Whether a revision of the dump needs no look: it is what the ledger says."""
        record = layout.record(key)
        held = self._held_at(record)
        self._asked = key, held
        if held is None or rev in held.needs:
            return False
        stood: Standing | Entry | None = only(held.entries, self._end)
        if stood is None:
            stood = standing(held.entries, self._end)
            if stood is None or not stood.known or stood.title is None:
                return False
        if stood.rev != rev:
            return False
        self._seen.add(record)
        self._confirmed += 1
        if stood.redirect:
            self._tally.redirects += 1
        return True

    def held(self, key: Id) -> Held | None:
        """The state's record of what the dump is at, as committed."""
        asked, held = self._asked
        return held if asked == key else self.engine.store.held(key)

    def take(self, key: Id, revision: Revision) -> None:
        """Sort one revision of the dump, and repair the state from it."""
        self._seen.add(layout.record(key))
        change = revision.change
        self._tally.in_dump += 1
        self._tally.redirects += bool(change.redirect)
        held = self.held(key) or Held()
        self._asked = None, None
        had = any(e.rev == change.rev_id and e.kind in _OWN for e in held.entries)
        self._tally.had += had
        stood = standing(held.entries, self._end)
        found = self._sort(held, stood, change, had=had)
        if found is Found.RESTORED or (not had and self._came_within(change)):
            self._restore(key, revision)
        elif not had or change.rev_id in held.needs or (self._pins and not _is(stood, change)):
            self.engine.apply(self._pinned(revision) if self._pins else _plain(revision), key)
        if found is Found.UNKNOWN_AT_BOUNDARY and change.parent_rev_id:
            self.fetch.append((key, change.parent_rev_id))
        readable = revision.content is not None or change.visible is False
        self._note(found if readable else Found.UNREADABLE, key)
        self._step()

    def has(self, key: Id) -> bool:
        """Whether the state follows it at the boundary: a page that has left by the dump's word."""
        held = self.engine.store.held(key)
        stood = None if held is None else standing(held.entries, self._end)
        return stood is not None and self._follows(stood)

    def other(self) -> None:
        """Count a page of the dump that the state does not follow."""
        self._tally.other_namespaces += 1

    def absent(self, progress: Progress) -> None:
        """Sort what stands in the state at the boundary and is not in the dump."""
        for number, (record, value) in enumerate(self.engine.store.kv.scan(self._family), 1):
            if number % _TELL_EVERY == 0:
                progress("state", _TELL_EVERY)
            if record in self._seen:
                continue
            key, held = layout.parse(record), codec.decode_held(value)
            stood = standing(held.entries, self._end)
            if stood is not None and not self._follows(stood):
                continue
            found = _why_absent(held.entries, stood, self._end)
            if found is None:
                continue
            self._note(found, key)
            if self._pins and stood is not None:
                self.engine.apply(_absence(self.engine, key, self.boundary), key)
                self._step()

    def tally(self) -> Tally:
        """The counts; nothing may be sorted after it."""
        self._tally.in_dump += self._confirmed
        self._tally.had += self._confirmed
        self._classes[Found.CONFIRMED] += self._confirmed
        self._tally.classes = {found.value: self._classes[found] for found in Found}
        self._tally.examples = {f.value: keys for f, keys in sorted(self._examples.items())}
        return self._tally

    def _sort(self, held: Held, stood: Standing | None, change: Change, *, had: bool) -> Found:
        younger = change.rev_dt is not None and to_ms(change.rev_dt) >= self._end
        if had:
            if stood is None and not younger and _stays_deleted(held.entries, self._end):
                return Found.RESTORED
            later = younger or stood is None
            return Found.CONFIRMED if later or _is(stood, change) else Found.STREAM_AHEAD
        if not younger:
            return Found.REPAIRED
        parent = change.parent_rev_id
        told = parent is None or parent == 0 or (stood is not None and stood.rev == parent)
        return Found.REPAIRED if told else Found.UNKNOWN_AT_BOUNDARY

    def _came_within(self, change: Change) -> bool:
        """Whether a revision older than the window became current inside it.

        An import or a restore brings such a one, and the stream missed it: at the window's
        start, which a dump confirmed, it did not stand.
        """
        old = change.rev_dt is not None and to_ms(change.rev_dt) < self._start
        return old and self._start_is_known

    def _pinned(self, revision: Revision) -> Revision:
        return msgspec.structs.replace(revision, pinned=True, boundary=self.boundary)

    def _restore(self, key: Id, revision: Revision) -> None:
        moment = from_ms(self._end - 1)
        change = msgspec.structs.replace(
            revision.change, kind=ChangeKind.RESTORE, effective_time=moment, arrival_time=moment
        )
        self.engine.apply(_plain(msgspec.structs.replace(revision, change=change)), key)

    def _follows(self, stood: Standing) -> bool:
        tracked = self.engine.context.namespaces
        return not self._articles or tracked is None or stood.namespace in tracked

    def _note(self, found: Found, key: Id) -> None:
        self._classes[found] += 1
        if found is not Found.CONFIRMED and len(self._examples[found]) < _EXAMPLES:
            self._examples[found].append(str(key))

    def _step(self) -> None:
        self.since_commit += 1
        if self.since_commit >= _COMMIT_EVERY:
            self.engine.commit()
            self.since_commit = 0


_OWN = (EntryKind.REVISION, EntryKind.MOVE, EntryKind.RESTORE, EntryKind.MERGE)


def _start_is_known(engine: Engine, start: int) -> bool:
    """Whether a dump was held against the boundary where the window starts."""
    progress = engine.progress
    if start == progress.first:
        return progress.bootstrapped
    before = [b for b in engine.context.boundaries if b < start]
    return bool(before) and before[-1] in progress.reconciled


def _is(stood: Standing | None, change: Change) -> bool:
    return stood is not None and stood.rev == change.rev_id


def _plain(revision: Revision) -> Revision:
    return msgspec.structs.replace(revision, pinned=False)


def _last_cut(entries: Iterable[Entry], end: int) -> Entry | None:
    """The last deletion before ``end``, if nothing after it brought the page back."""
    cuts = [e for e in entries if e.effective < end and e.kind in _CUTS]
    return cuts[-1] if cuts else None


def _stays_deleted(entries: Iterable[Entry], end: int) -> bool:
    """Whether it was deleted before ``end`` and nothing is known to have brought it back."""
    back = any(e.kind is EntryKind.RESTORE and e.effective >= end for e in entries)
    return not back and _last_cut(entries, end) is not None


_CUTS = (EntryKind.DELETE, EntryKind.MERGE)


def _why_absent(entries: tuple[Entry, ...], stood: Standing | None, end: int) -> Found | None:
    if stood is None:
        return Found.DELETED if _last_cut(entries, end) else None
    later = (e for e in entries if e.effective >= end and e.kind in _CUTS)
    if any(e.kind is EntryKind.DELETE or not e.rev for e in later):  # a deletion names what it took
        return Found.DELETED_LATER
    return Found.REDIRECT if stood.redirect else Found.MISSING


def _absence(engine: Engine, key: Id, boundary: datetime) -> Revision:
    is_page = isinstance(key, int)
    wiki = engine.config.wiki
    return Revision(
        change=Change(
            wiki=wiki.name if is_page else wiki.repository,
            kind=ChangeKind.EDIT,
            page_id=key if isinstance(key, int) else None,
            title=None if is_page else str(key),
            effective_time=boundary,
            arrival_time=boundary,
        ),
        pinned=True,
        boundary=boundary,
        absent=True,
    )
