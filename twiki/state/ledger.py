"""The ledger of a page or entity: what happened, and which revision stands at a boundary.

A ledger is a *set* of entries: merging two is a union, so neither the order in which events
arrive nor their repetition matters (ENGINE 2). :func:`standing` reads it as of a time::

    entries ──before t──▶ drop what a deletion or merge removed ──▶ the revision that a restore
    or merge names, else the child of another, else the greatest (rev_dt, rev id) ──▶ Standing

Only the result is tested for redirect, namespace and visibility: testing first would bring
the old text of a page back that has since become a redirect. Times are integers,
milliseconds since 1970 in UTC; :data:`FOREVER` stands for the open end.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import TypeVar

import msgspec

FOREVER = 1 << 62
"""Later than every event."""


class EntryKind(IntEnum):
    """What an entry says; the numbers are part of the stored format."""

    REVISION = 1
    """A create or an edit. From a dump: with ``boundary``."""
    MOVE = 2
    DELETE = 3
    RESTORE = 4
    MERGE = 5
    VISIBILITY = 6
    ABSENT = 7
    """The dump for ``boundary`` does not have the page (policy ``dump`` only)."""


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False, omit_defaults=True):
    """One event of the ledger, about 60 bytes, no text."""

    kind: EntryKind
    effective: int
    rev: int = 0
    parent: int | None = None
    """0: the revision has no parent; None: not known."""
    rev_ms: int | None = None
    title: str | None = None
    namespace: int | None = None
    redirect: bool | None = None
    epoch: int = 0
    """End of the last window that had closed when it arrived; above ``effective``: late."""
    boundary: int | None = None
    """The dump for this boundary had this revision, whatever its time (pin)."""
    from_title: str | None = None
    from_namespace: int | None = None
    revs: tuple[int, ...] = ()
    visible: bool | None = None
    created: bool = False
    """REVISION: there was no page before it."""

    @property
    def identity(self) -> tuple[int, ...]:
        """Entries with the same identity are the same event, told more than once."""
        if self.kind is EntryKind.REVISION:
            return (1, self.rev, self.boundary or 0)
        if self.kind is EntryKind.VISIBILITY:
            return (6, self.effective, int(bool(self.visible)), *self.revs)
        return (int(self.kind), self.effective, self.rev, self.boundary or 0)


class Standing(msgspec.Struct, frozen=True):
    """The revision that stands for a page or entity at a time, before any test."""

    rev: int
    """0: something stood, but which revision is not known."""
    rev_ms: int | None
    title: str | None
    namespace: int | None
    redirect: bool | None
    known: bool = True
    """False: inferred from a later revision's parent; to be fetched by id."""


def union(entries: Sequence[Entry], more: Iterable[Entry]) -> tuple[Entry, ...]:
    """Merge ledgers: commutative, associative, idempotent. Sorted by time."""
    merged = {entry.identity: entry for entry in entries}
    for entry in more:
        held = merged.get(entry.identity)
        merged[entry.identity] = entry if held is None else _told_twice(held, entry)
    return tuple(sorted(merged.values(), key=_place))


def follows(entries: Sequence[Entry], more: Sequence[Entry]) -> bool:
    """Whether ``more`` is one new revision after all of a ledger: their union is both, joined."""
    if len(more) != 1 or more[0].kind is not EntryKind.REVISION:
        return False
    rev = more[0].rev
    if any(e.rev == rev and e.kind is EntryKind.REVISION for e in entries):
        return False
    return not entries or _place(entries[-1]) < _place(more[0])


def standing(
    entries: Sequence[Entry], at: int, *, known: int | None = None, pins: bool = False
) -> Standing | None:
    """Which revision stands as of ``at``; None where there is no page.

    Args:
        entries: a ledger, sorted as :func:`union` leaves it.
        at: the boundary, milliseconds; events at it or after it do not count.
        known: count only what had arrived when no later window had closed than the one that
            ends there. A window's first version knows what came before it closed itself:
            its own start.
        pins: policy ``dump``: the revision of the dump for ``at`` stands, whatever its time.
    """
    usable = entries if known is None else [e for e in entries if e.epoch <= known]
    if pins:
        for entry in usable:
            if entry.boundary == at:
                return None if entry.kind is EntryKind.ABSENT else _of(entry, entry, usable, at)
    return _plainly(usable, at) or _by_the_rules(usable, entries, at, pins=pins)


def only(entries: Sequence[Entry], at: int) -> Entry | None:
    """A ledger's only entry, where it is a titled revision of before ``at``: then it stands."""
    if len(entries) != 1:
        return None
    entry = entries[0]
    if entry.effective >= at or entry.title is None or not entry.rev:
        return None
    return entry if entry.kind is EntryKind.REVISION and entry.boundary is None else None


def _plainly(usable: Sequence[Entry], at: int) -> Standing | None:
    """What nothing but titled revisions say, which most ledgers are; None: ask all the rules."""
    best = last = None
    pinned = False
    for entry in usable:
        if entry.kind is not EntryKind.REVISION or not entry.rev or entry.title is None:
            return None
        if entry.boundary is not None:
            pinned = True
        if entry.effective >= at:
            continue
        last = entry
        if best is None or (entry.rev_ms or 0, entry.rev) > (best.rev_ms or 0, best.rev):
            best = entry
    if best is None or last is None:
        return None
    if len(usable) > 1 and any(e.parent == best.rev and e.effective < at for e in usable):
        return None  # two edits in one second, or a clock that stepped back
    if pinned and len({e.rev for e in usable}) < len(usable):
        return None  # a pin repeats an event
    return Standing(best.rev, best.rev_ms, last.title, last.namespace, best.redirect)


def _by_the_rules(
    usable: Sequence[Entry], entries: Sequence[Entry], at: int, *, pins: bool
) -> Standing | None:
    """What stands where deletions, moves, merges, imports and pins have their say."""
    # A pin repeats what an event told better: an import's own time, say.
    told = {e.rev for e in usable if e.boundary is None and e.kind is not EntryKind.DELETE}
    before = [
        e
        for e in usable
        if e.effective < at
        and e.kind is not EntryKind.ABSENT
        and (e.boundary is None or e.rev not in told)
    ]
    cuts = sorted((e for e in before if e.kind in _CUTS), key=_order, reverse=True)
    candidates = {e.rev: e for e in before if e.rev and (not cuts or _survives(e, cuts))}
    if not candidates:
        # What no dump of the boundary has did not stand there: policy ``dump`` guesses nothing.
        return None if cuts or pins else _inferred(usable, at)
    for cut in cuts:
        if cut.rev in candidates:
            candidates[cut.rev] = _dated(candidates[cut.rev], entries)
    return _of(_newest(candidates), None, usable, at)


def is_late(entry: Entry) -> bool:
    """Whether its window had closed when it arrived: a correction (L17)."""
    return entry.effective < entry.epoch


def hidden_revisions(entries: Sequence[Entry]) -> set[int]:
    """Revisions whose text may not be read: the last word on each, whenever it was said."""
    hidden: set[int] = set()
    for entry in entries:  # in order of time
        if entry.kind is EntryKind.VISIBILITY:
            if entry.visible:
                hidden.difference_update(entry.revs)
            else:
                hidden.update(entry.revs)
    return hidden


def fold(entries: Sequence[Entry], before: int) -> tuple[Entry, ...]:
    """Forget what only released windows needed: one entry says how it stood at ``before``."""
    kept = [e for e in entries if e.effective >= before or (e.boundary or 0) >= before]
    old = [e for e in entries if e.effective < before and e.boundary != before]
    if not old:
        return tuple(entries)
    stood = standing(entries, before)
    hidden = tuple(sorted(hidden_revisions(old)))
    base: list[Entry]
    if stood is None or not stood.known:
        last = max((e for e in old if e.kind in _CUTS), key=_order, default=None)
        base = [] if last is None else [msgspec.structs.replace(last, epoch=0)]
    else:
        base = [
            Entry(
                kind=EntryKind.REVISION,
                effective=max((e.effective for e in old if e.rev == stood.rev), default=before - 1),
                rev=stood.rev,
                rev_ms=stood.rev_ms,
                title=stood.title,
                namespace=stood.namespace,
                redirect=stood.redirect,
            )
        ]
    if hidden:
        moment = max(e.effective for e in old)
        base.append(Entry(kind=EntryKind.VISIBILITY, effective=moment, revs=hidden, visible=False))
    return union(base, kept)


def is_folded(entries: Sequence[Entry], before: int) -> bool:
    """Whether :func:`fold` would change nothing: at most one entry, a bare one, is so old."""
    if not entries or entries[0].effective >= before:
        return True
    first = entries[0]
    bare = first.kind is EntryKind.REVISION and first == Entry(
        kind=first.kind,
        effective=first.effective,
        rev=first.rev,
        rev_ms=first.rev_ms,
        title=first.title,
        namespace=first.namespace,
        redirect=first.redirect,
    )
    told = first.rev > 0 and first.title is not None and first.redirect is not None
    return bare and told and (len(entries) == 1 or entries[1].effective >= before)


_IMPORT_MS = 24 * 3600 * 1000
"""An effective time later than this after the revision's own is that of an import (ENGINE 1)."""
_CUTS = (EntryKind.DELETE, EntryKind.RESTORE, EntryKind.MERGE)
_RANK = {EntryKind.DELETE: 1, EntryKind.RESTORE: 2, EntryKind.MERGE: 2}
_CONTENT = (EntryKind.REVISION, EntryKind.MOVE)


def _survives(entry: Entry, cuts: Sequence[Entry]) -> bool:
    """Whether no deletion, restore or merge, given from the last to the first, removed it.

    A merge that names no revision took what is not younger than its point (``rev_ms``).
    """
    for cut in cuts:
        if entry is cut:
            return entry.kind is not EntryKind.DELETE
        if entry.kind not in _CUTS and _order(entry) > _order(cut):
            return True
        partial = cut.kind is EntryKind.MERGE and not cut.rev and cut.rev_ms is not None
        if not partial or (entry.rev_ms or 0) <= (cut.rev_ms or 0):
            return False
    return True


def _place(entry: Entry) -> tuple[int, ...]:
    """Where it stands in a ledger, a total order; hidden in the moment it was shown is hidden."""
    return (*_order(entry), -int(bool(entry.visible)), *entry.identity)


def _order(entry: Entry) -> tuple[int, int, int, int]:
    """By time; in one second an edit comes before the deletion, a restore after it."""
    return (entry.effective, _RANK.get(entry.kind, 0), entry.rev, int(entry.kind))


def _told_twice(a: Entry, b: Entry) -> Entry:
    """One entry from two reports of one event, whichever came first.

    The later effective time wins: an import's event says when it happened, a dump or the
    API only how old its text claims to be.
    """
    if a == b:
        return a
    told = [(e.title, e.namespace) for e in (a, b) if e.title is not None]
    nameless = (None, _most(a.namespace, b.namespace))
    title, namespace = max(
        told, key=lambda t: (t[0], -1 if t[1] is None else t[1]), default=nameless
    )
    return Entry(
        kind=a.kind,
        effective=max(a.effective, b.effective),
        rev=a.rev,
        parent=_most(a.parent, b.parent),
        rev_ms=_most(a.rev_ms, b.rev_ms),
        title=title,
        namespace=namespace,
        redirect=_most(a.redirect, b.redirect),
        epoch=min(a.epoch, b.epoch),
        boundary=a.boundary,
        from_title=_most(a.from_title, b.from_title),
        from_namespace=_most(a.from_namespace, b.from_namespace),
        revs=max(a.revs, b.revs),
        visible=a.visible,
        created=a.created or b.created,
    )


T = TypeVar("T", bool, int, str)


def _most(a: T | None, b: T | None) -> T | None:
    """Field by field the greater of two reports: the only way that no order matters."""
    if a is None or b is None:
        return b if a is None else a
    return max(a, b)


def _dated(named: Entry, entries: Sequence[Entry]) -> Entry:
    """A restore names a revision; its own entry, when held, knows its time."""
    if named.rev_ms is not None:
        return named
    own = next((e for e in entries if e.rev == named.rev and e.rev_ms is not None), None)
    return named if own is None else msgspec.structs.replace(named, rev_ms=own.rev_ms)


def _newest(candidates: dict[int, Entry]) -> Entry:
    if len(candidates) == 1:
        return next(iter(candidates.values()))
    best = max(candidates.values(), key=lambda e: (e.rev_ms or 0, e.rev))
    seen = {best.rev}
    while True:  # two edits in one second, or a clock that stepped back: the child is newer
        children = [e for e in candidates.values() if e.parent == best.rev and e.rev not in seen]
        if not children:
            return best
        best = max(children, key=lambda e: (e.rev_ms or 0, e.rev))
        seen.add(best.rev)


def _inferred(usable: Sequence[Entry], at: int) -> Standing | None:
    """Before the first event that we know: the parent of the earliest revision stood."""
    later = [e for e in usable if e.effective >= at and e.kind in (*_CONTENT, *_CUTS)]
    if later and min(later, key=_order).kind is EntryKind.RESTORE:
        return None  # it was deleted
    after = [e for e in later if e.kind in _CONTENT]
    by_rev = {e.rev: e for e in after}
    told = [e for e in after if e.rev_ms is None or not _imported(e)]
    first = min(told, key=lambda e: (e.rev_ms or e.effective, e.rev), default=None)
    seen: set[int] = set()
    while first is not None and first.parent in by_rev and first.rev not in seen:
        seen.add(first.rev)
        first = by_rev[first.parent]
    if first is None or not first.parent or first.created or _imported(first):
        return None
    title, namespace = _title(usable, at)
    return Standing(first.parent, None, title, namespace, redirect=None, known=False)


def _imported(entry: Entry) -> bool:
    """An import's parent says nothing of what was current: it was imported beside it."""
    return entry.rev_ms is not None and entry.effective - entry.rev_ms > _IMPORT_MS


def _of(entry: Entry, titled: Entry | None, usable: Sequence[Entry], at: int) -> Standing:
    redirect = entry.redirect
    if redirect is None:
        told = (e.redirect for e in usable if e.rev == entry.rev and e.redirect is not None)
        redirect = next(told, None)
    rev_ms = entry.rev_ms
    if titled is not None and titled.title is not None:
        return Standing(entry.rev, rev_ms, titled.title, titled.namespace, redirect)
    return Standing(entry.rev, rev_ms, *_title(usable, at), redirect)


def _title(usable: Sequence[Entry], at: int) -> tuple[str | None, int | None]:
    """The last title told before ``at``, else the one that the next move left behind."""
    told = [e for e in usable if e.title is not None]
    before = [e for e in told if e.effective < at]
    last = before[0] if len(before) == 1 else max(before, key=_order, default=None)
    if last is not None:
        return last.title, last.namespace
    for entry in told:
        if entry.kind is EntryKind.MOVE and entry.from_title is not None:
            return entry.from_title, entry.from_namespace
    return (told[0].title, told[0].namespace) if told else (None, None)
