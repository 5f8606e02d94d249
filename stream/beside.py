"""What goes beside the stream, kept in the state: side records, and pages to read again.

The ledger decides content whatever the order (ENGINE 2). Here each change is held against the
decision table (:mod:`stream.decide`) with what the ledger knew before it, so that an operator
sees what came late or did not fit, and the page is read again where only the API knows::

    beside.note(held, change)          # before it is applied
    beside.take(50)                    # a queue for stream.heal.reread

Everything lands in the engine's batch, with the state that it is about. An event told a second
time notes nothing, so a kill leaves the records of an undisturbed run.
"""

import msgspec

from stream import metrics as names
from stream.decide import ROWS, Known, Status, decide
from stream.found import Failed
from stream.metrics import Metrics
from stream.sides import Reread, SideKind, SideRecord
from twiki.engine import Engine
from twiki.records import Change, ChangeKind
from twiki.state import codec, layout
from twiki.state.codec import Held
from twiki.state.ledger import Entry, EntryKind
from twiki.times import from_ms, to_ms

KEPT = 10_000
"""Side records kept; the oldest go first."""
_META = "beside"
_SAME_MS = 5_000
"""Two streams may tell one action with times this far apart."""
_CONTENT = (EntryKind.REVISION, EntryKind.MOVE)
_KINDS = {
    ChangeKind.CREATE: _CONTENT,
    ChangeKind.EDIT: _CONTENT,
    ChangeKind.MOVE: (EntryKind.MOVE,),
    ChangeKind.DELETE: (EntryKind.DELETE,),
    ChangeKind.RESTORE: (EntryKind.RESTORE,),
    ChangeKind.MERGE: (EntryKind.MERGE,),
    ChangeKind.VISIBILITY: (EntryKind.VISIBILITY,),
}


class Counted(msgspec.Struct, kw_only=True):
    """How many side records there were, and how long the queue is."""

    sides: int = 0
    queued: int = 0


class Beside:
    """Side records and reconcile queue of one engine."""

    def __init__(self, engine: Engine, metrics: Metrics) -> None:
        self._engine = engine
        self._metrics = metrics
        self._counted = engine.store.meta(_META, Counted) or Counted()

    def __len__(self) -> int:
        """How many pages wait to be read again."""
        return self._counted.queued

    def note(self, held: Held, change: Change) -> None:
        """Record what does not fit, before ``change`` is applied to ``held``."""
        if _told(held, change):
            return
        decision = decide(known(held), ROWS[change.kind], change.rev_id or 0, change.effective_time)
        if decision.side is not None:
            self._record(SideKind.INCONSISTENT, str(decision.side), change)
        if decision.again:
            self._queue(_reread(change, str(decision.side or change.kind)))

    def late(self, change: Change) -> None:
        """Record a change of a window that has closed."""
        self._metrics.add(names.LATE)
        self._record(SideKind.LATE, "window_closed", change)

    def failed(self, failed: Failed) -> None:
        """Record a content that could not be had; its page is read again where nothing names it.

        A change with a page is in the ledger, which asks for the revision by its id.
        """
        change = failed.change
        if change is None:
            return
        self._record(SideKind.FAILED, str(failed.reason), change)
        if change.page_id is None:
            self._queue(_reread(change, str(failed.reason)))

    def gone(self, failed: Failed, moment_ms: int) -> None:
        """Record a page that was to be read again and that the API does not know.

        Absence is no deletion by itself (L18): the dump of the window's end will tell.
        """
        record = SideRecord(
            kind=SideKind.FAILED,
            reason=f"reread_{failed.reason}",
            wiki=failed.wiki,
            title=failed.title or "",
            time=from_ms(moment_ms),
        )
        self._keep(record)

    # --- the queue, as stream.heal.reread wants it ---

    def take(self, count: int) -> tuple[Reread, ...]:
        """Remove the first ``count`` entries."""
        batch, taken = self._engine.batch, list[Reread]()
        for key, _ in self._engine.store.kv.scan(layout.REREAD):
            if len(taken) == count:
                break
            if (data := batch.get(key)) is not None:
                taken.append(codec.decode(data, Reread))
                batch.delete(key)
        self._add_queued(-len(taken))
        return tuple(taken)

    def put_back(self, entry: Reread, *, attempts: int) -> bool:
        """Queue an entry again after a failure; False when it had its ``attempts``."""
        tried = msgspec.structs.replace(entry, attempts=entry.attempts + 1)
        if tried.attempts >= attempts:
            return False
        self._queue(tried)
        return True

    # --- inner ---

    def _record(self, kind: SideKind, reason: str, change: Change) -> None:
        self._keep(
            SideRecord(
                kind=kind,
                reason=reason,
                wiki=change.wiki,
                title=change.title or "",
                rev_id=change.rev_id or 0,
                page_id=change.page_id,
                time=change.effective_time,
                source=change.position.topic if change.position is not None else "",
            )
        )

    def _keep(self, record: SideRecord) -> None:
        self._metrics.add(names.SIDE, label=record.reason)
        number, batch = self._counted.sides, self._engine.batch
        batch.put(layout.SIDE + layout.number(number), codec.encode(record))
        if number >= KEPT:
            batch.delete(layout.SIDE + layout.number(number - KEPT))
        self._counted.sides += 1
        batch.put_meta(_META, self._counted)

    def _queue(self, entry: Reread | None) -> None:
        if entry is None:
            return
        batch = self._engine.batch
        key = layout.reread(entry.wiki, entry.title)
        data = batch.get(key)
        if data is not None:
            entry = _merged(codec.decode(data, Reread), entry)
        else:
            self._add_queued(1)
        batch.put(key, codec.encode(entry))

    def _add_queued(self, more: int) -> None:
        if more:
            self._counted.queued = max(0, self._counted.queued + more)
            self._metrics.set(names.QUEUE, self._counted.queued)
            self._engine.batch.put_meta(_META, self._counted)


def known(held: Held) -> Known:
    """What the ledger knows of a page or entity, in the words of the decision table."""
    told = [e for e in held.entries if e.kind is not EntryKind.VISIBILITY]
    if not told:
        return Known()
    times = [e.effective for e in told if e.boundary is None]
    time = from_ms(max(times)) if times else None
    if held.stood:
        return Known(Status.CREATED, held.stood, time)
    cut = any(e.kind in (EntryKind.DELETE, EntryKind.MERGE) for e in told)
    rev = max(e.rev for e in told)
    return Known(Status.DELETED if cut else Status.UNKNOWN, rev, time)


def names_revision(held: Held, rev: int | None) -> bool:
    """Whether the ledger has the revision already."""
    return bool(rev) and any(e.rev == rev and e.kind in _CONTENT for e in held.entries)


def _told(held: Held, change: Change) -> bool:
    """Whether the ledger has an account of this very event."""
    kinds, at = _KINDS[change.kind], to_ms(change.effective_time)
    if change.kind in (ChangeKind.CREATE, ChangeKind.EDIT, ChangeKind.MOVE):
        return any(e.kind in kinds and e.rev and e.rev == change.rev_id for e in held.entries)
    return any(_same(e, kinds, at) for e in held.entries)


def _same(entry: Entry, kinds: tuple[EntryKind, ...], at: int) -> bool:
    return entry.kind in kinds and abs(entry.effective - at) <= _SAME_MS


def _reread(change: Change, reason: str) -> Reread | None:
    if not change.title:
        return None
    return Reread(
        wiki=change.wiki,
        title=change.title,
        rev_id=change.rev_id or 0,
        page_id=change.page_id,
        reasons=(reason,),
    )


def _merged(held: Reread, entry: Reread) -> Reread:
    return msgspec.structs.replace(
        held,
        rev_id=max(held.rev_id, entry.rev_id),
        page_id=held.page_id or entry.page_id,
        reasons=tuple(sorted({*held.reasons, *entry.reasons})),
        attempts=max(held.attempts, entry.attempts),
    )
