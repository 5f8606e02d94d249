"""What goes beside the stream: side records, and what is to be read again.

:class:`stream.beside.Beside` keeps both in the state: a record for each event that was late, did
not fit or failed, and one entry for each page to be read again, with its highest revision.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from twiki.records import Record


class SideKind(StrEnum):
    """Why a record stands beside the stream."""

    LATE = "late"
    INCONSISTENT = "inconsistent"
    FAILED = "failed"


class SideRecord(Record, frozen=True, kw_only=True):
    """An event that was late, did not fit, or whose content could not be had."""

    kind: SideKind
    reason: str
    wiki: str
    title: str
    rev_id: int = 0
    page_id: int | None = None
    time: datetime
    source: str = ""
    """Which data centre or reader saw it."""


class Reread(Record, frozen=True, kw_only=True):
    """A page or entity to be read again."""

    wiki: str
    title: str
    rev_id: int = 0
    """Highest revision that a record named."""
    page_id: int | None = None
    reasons: tuple[str, ...] = ()
    attempts: int = 0


def distinct(records: Iterable[SideRecord]) -> list[SideRecord]:
    """One record for each source, page, kind and reason: the one of the highest revision."""
    best: dict[tuple[str, ...], SideRecord] = {}
    for record in records:
        key = (record.source, record.wiki, record.title, record.kind, record.reason)
        held = best.get(key)
        if held is None or record.rev_id > held.rev_id:
            best[key] = record
    return list(best.values())
