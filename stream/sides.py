"""What goes beside the stream: side records, and the queue of what is to be read again.

::

    queue.add(SideRecord(kind=SideKind.INCONSISTENT, reason="missed_undelete", …))
    for again in queue.take(50):       # one entry a page, with its highest revision
        …                              # read it from the API, apply, idempotent
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

import msgspec

from twiki.records import Record

VERSION = 1


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


class ReconcileQueue:
    """Pages and entities to read again, each once, in the order they first came."""

    def __init__(self, limit: int = 100_000) -> None:
        self._limit = limit
        self._entries: dict[tuple[str, str], Reread] = {}
        self.refused = 0
        """Records that found the queue full."""

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, record: SideRecord) -> None:
        """Ask for the record's page; its highest revision is kept."""
        self._merge(
            Reread(
                wiki=record.wiki,
                title=record.title,
                rev_id=record.rev_id,
                page_id=record.page_id,
                reasons=(record.reason,),
            )
        )

    def take(self, count: int) -> tuple[Reread, ...]:
        """Remove the first ``count`` entries."""
        keys = list(self._entries)[:count]
        return tuple(self._entries.pop(key) for key in keys)

    def put_back(self, entry: Reread, *, attempts: int) -> bool:
        """Queue an entry again after a failure; False when it had its ``attempts``."""
        tried = msgspec.structs.replace(entry, attempts=entry.attempts + 1)
        if tried.attempts >= attempts:
            return False
        self._merge(tried)
        return True

    def _merge(self, entry: Reread) -> None:
        key = (entry.wiki, entry.title)
        held = self._entries.get(key)
        if held is None:
            if len(self._entries) >= self._limit:
                self.refused += 1
                return
            self._entries[key] = entry
            return
        self._entries[key] = msgspec.structs.replace(
            held,
            rev_id=max(held.rev_id, entry.rev_id),
            page_id=held.page_id or entry.page_id,
            reasons=tuple(sorted({*held.reasons, *entry.reasons})),
            attempts=max(held.attempts, entry.attempts),
        )

    def to_bytes(self) -> bytes:
        """The queue, to be kept with the state."""
        return bytes([VERSION]) + msgspec.msgpack.encode(list(self._entries.values()))

    @classmethod
    def from_bytes(cls, data: bytes, limit: int = 100_000) -> "ReconcileQueue":
        """Read what :meth:`to_bytes` wrote.

        Raises:
            ValueError: bytes of another version.
        """
        if data[:1] != bytes([VERSION]):
            raise ValueError(f"reconcile queue of version {data[:1].hex() or 'none'}")
        queue = cls(limit)
        for entry in msgspec.msgpack.decode(data[1:], type=list[Reread]):
            queue._merge(entry)
        return queue


def distinct(records: Iterable[SideRecord]) -> list[SideRecord]:
    """One record for each source, page, kind and reason: the one of the highest revision."""
    best: dict[tuple[str, ...], SideRecord] = {}
    for record in records:
        key = (record.source, record.wiki, record.title, record.kind, record.reason)
        held = best.get(key)
        if held is None or record.rev_id > held.rev_id:
            best[key] = record
    return list(best.values())
