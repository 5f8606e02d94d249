"""What to make of an event, given what is known of its page or entity: a table.

Content is decided by the ledger, which knows no order; this table says what is recorded beside
it: side outputs, the reconcile queue, counters. It follows the resolver of Wikidata's query
service, with deletions of unknown pages kept, moves, visibility and merges added::

    decision = decide(Known(Status.CREATED, 10, time), EventRow.CONTENT, 12, later)
    decision.action, decision.known      # Action.DIFF, Known(Status.CREATED, 12, later)
"""

from datetime import datetime
from enum import Enum, StrEnum
from typing import NamedTuple

from twiki.records import ChangeKind


class Status(Enum):
    """Whether the page is there, as far as events told."""

    UNKNOWN = "U"
    CREATED = "C"
    DELETED = "D"


class Known(NamedTuple):
    """What is known of a page or entity: status, revision, and time of the last word on it."""

    status: Status = Status.UNKNOWN
    rev: int = 0
    time: datetime | None = None


class Column(Enum):
    """What is known, against the event's revision ``e``."""

    UNKNOWN = "U"
    CREATED_OLDER = "C, rev < e"
    CREATED_SAME = "C, rev = e"
    CREATED_NEWER = "C, rev > e"
    DELETED_OLDER = "D, rev < e"
    DELETED_SAME = "D, rev = e"
    DELETED_NEWER = "D, rev > e"


class EventRow(Enum):
    """What happened."""

    CONTENT = "create, edit"
    MOVE = "move"
    DELETE = "delete"
    RESTORE = "undelete"
    VISIBILITY = "visibility_change"
    MERGE = "merge"
    RECONCILE_CREATED = "reconcile create"
    RECONCILE_DELETED = "reconcile delete"


ROWS = {
    ChangeKind.CREATE: EventRow.CONTENT,
    ChangeKind.EDIT: EventRow.CONTENT,
    ChangeKind.MOVE: EventRow.MOVE,
    ChangeKind.DELETE: EventRow.DELETE,
    ChangeKind.RESTORE: EventRow.RESTORE,
    ChangeKind.VISIBILITY: EventRow.VISIBILITY,
    ChangeKind.MERGE: EventRow.MERGE,
}


class Action(StrEnum):
    """What the event means."""

    IMPORT = "import"
    DIFF = "diff"
    RETITLE = "retitle"
    DELETE = "delete"
    IGNORE = "ignore"
    FETCH_FLAGS = "fetch_flags"
    KEEP_FLAGS = "keep_flags"
    """Of a revision not seen yet: kept by its id."""
    PURGE = "purge"
    """Set the flags of that revision, and drop its text where it is hidden."""
    REEMIT = "reemit"


class Side(StrEnum):
    """Why an event goes to the side output."""

    NEWER_REVISION_SEEN = "newer_revision_seen"
    MISSED_UNDELETE = "missed_undelete"
    UNMATCHED_UNDELETE = "unmatched_undelete"
    AMBIGUOUS_RECONCILE = "ambiguous_reconcile"
    OUT_OF_ORDER = "out_of_order"
    """The event would change what a later one told: rev order alone is no clock."""


class Again(Enum):
    """Whether the page is to be read again from the API."""

    NO = "no"
    YES = "yes"
    IF_NEWER = "if its event is newer"


class Cell(NamedTuple):
    """One cell: the action, the status afterwards (None: as it was), and what goes beside."""

    action: Action
    status: Status | None = None
    side: Side | None = None
    again: Again = Again.NO


_IMPORT = Cell(Action.IMPORT, Status.CREATED)
_DELETE = Cell(Action.DELETE, Status.DELETED)
_IGNORE = Cell(Action.IGNORE)
_REEMIT = Cell(Action.REEMIT)
_PURGE = Cell(Action.PURGE)
_NEWER = Cell(Action.IGNORE, side=Side.NEWER_REVISION_SEEN)
_MISSED = Cell(Action.IGNORE, side=Side.MISSED_UNDELETE, again=Again.YES)
_UNMATCHED = Cell(Action.IGNORE, side=Side.UNMATCHED_UNDELETE)
_MERGED = Cell(Action.IGNORE, again=Again.YES)

_COLUMNS = tuple(Column)
_ROWS: dict[EventRow, tuple[Cell, ...]] = {
    # Columns:   U, C <, C =, C >, D <, D =, D >
    EventRow.CONTENT: (
        _IMPORT,
        Cell(Action.DIFF, Status.CREATED),
        _IGNORE,
        _NEWER,
        _MISSED,
        _NEWER,
        _NEWER,
    ),
    EventRow.MOVE: (
        _IMPORT,
        Cell(Action.DIFF, Status.CREATED),
        Cell(Action.RETITLE),
        _NEWER,
        _MISSED,
        _NEWER,
        _NEWER,
    ),
    EventRow.DELETE: (
        _DELETE,  # kept, so that a late create cannot revive the page
        _DELETE,
        _DELETE,
        Cell(Action.IGNORE, side=Side.NEWER_REVISION_SEEN, again=Again.IF_NEWER),
        _IGNORE,
        _IGNORE,
        _IGNORE,
    ),
    EventRow.RESTORE: (
        _IMPORT,
        _IGNORE,
        _UNMATCHED,
        _IGNORE,
        Cell(Action.IGNORE, side=Side.UNMATCHED_UNDELETE, again=Again.YES),
        _IMPORT,
        _UNMATCHED,
    ),
    EventRow.VISIBILITY: (
        Cell(Action.FETCH_FLAGS),
        Cell(Action.KEEP_FLAGS),
        _PURGE,
        _PURGE,
        _PURGE,
        _PURGE,
        _PURGE,
    ),
    # Which page is current at the source afterwards, no event tells.
    EventRow.MERGE: (_MERGED,) * 7,
    EventRow.RECONCILE_CREATED: (
        _IMPORT,
        _IMPORT,
        _REEMIT,
        _REEMIT,
        _IMPORT,
        Cell(Action.IMPORT, Status.CREATED, Side.AMBIGUOUS_RECONCILE),
        _REEMIT,
    ),
    EventRow.RECONCILE_DELETED: (
        _DELETE,
        _DELETE,
        Cell(Action.DELETE, Status.DELETED, Side.AMBIGUOUS_RECONCILE),
        _REEMIT,
        _DELETE,
        _REEMIT,
        _REEMIT,
    ),
}

TABLE: dict[tuple[EventRow, Column], Cell] = {
    (row, column): cell
    for row, cells in _ROWS.items()
    for column, cell in zip(_COLUMNS, cells, strict=True)
}
"""The whole table."""


class Decision(NamedTuple):
    """What to do, what is known afterwards, and what goes beside."""

    action: Action
    known: Known
    side: Side | None = None
    again: bool = False


def column(known: Known, rev: int) -> Column:
    """Where what is known stands against revision ``rev``."""
    if known.status is Status.UNKNOWN:
        return Column.UNKNOWN
    against = (known.rev > rev) - (known.rev < rev)
    return _AGAINST[(known.status, against)]


_AGAINST = {
    (Status.CREATED, -1): Column.CREATED_OLDER,
    (Status.CREATED, 0): Column.CREATED_SAME,
    (Status.CREATED, 1): Column.CREATED_NEWER,
    (Status.DELETED, -1): Column.DELETED_OLDER,
    (Status.DELETED, 0): Column.DELETED_SAME,
    (Status.DELETED, 1): Column.DELETED_NEWER,
}

_CONFIRMS = {EventRow.RESTORE: Status.CREATED, EventRow.DELETE: Status.DELETED}
RECONCILES = (EventRow.RECONCILE_CREATED, EventRow.RECONCILE_DELETED)


def decide(known: Known, row: EventRow, rev: int, time: datetime) -> Decision:
    """Look the event up.

    ``rev`` 0 stands for "whichever is current"; for a reconcile's deletion it is force.
    """
    if rev == 0 and known.status is not Status.UNKNOWN:
        if row is EventRow.RECONCILE_DELETED:
            return Decision(Action.DELETE, Known(Status.DELETED, known.rev, time))
        rev = known.rev
    cell = TABLE[(row, column(known, rev))]
    newer = known.time is None or time > known.time
    again = cell.again is Again.YES or (cell.again is Again.IF_NEWER and newer)
    if cell.action is Action.RETITLE and not newer:
        return Decision(Action.IGNORE, known)
    if cell.status is None:
        if _CONFIRMS.get(row) is known.status:
            # What is older than this and says otherwise came out of order.
            known = known._replace(time=max(time, known.time or time))
        return Decision(cell.action, known, cell.side, again)
    side = cell.side
    turns = known.status is not Status.UNKNOWN and cell.status is not known.status
    if turns and known.time is not None and time < known.time and row not in RECONCILES:
        side, again = side or Side.OUT_OF_ORDER, True
    after = Known(cell.status, rev, max(time, known.time) if known.time else time)
    return Decision(cell.action, after, side, again)
