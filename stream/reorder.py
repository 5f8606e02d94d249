"""The reorder buffer: stragglers of one page are put in order before the live feed sees them.

The ledger needs no order; the live feed does. A change waits until the watermark has passed its
arrival by ``span``; then everything ordered before it goes out with it. Most never wait: an edit
whose parent went out last is in order already. No clock: time comes with the events::

    for change in (*buffer.push(change), *buffer.advance(watermark)):
        …
"""

import heapq
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from datetime import datetime, timedelta

from stream.kinds import TEXT_KINDS
from twiki.records import Change, ChangeKind

_RANK = {
    ChangeKind.CREATE: 0,
    ChangeKind.EDIT: 1,
    ChangeKind.MOVE: 2,
    ChangeKind.VISIBILITY: 3,
    ChangeKind.DELETE: 4,
    ChangeKind.RESTORE: 5,
    ChangeKind.MERGE: 6,
}


def page_key(change: Change) -> Hashable:
    """The page or entity that a change is of."""
    return (change.wiki, change.page_id if change.page_id is not None else change.title)


def order(change: Change) -> tuple[datetime, int, int]:
    """Order within a page: by effective time, in one second by revision, then by kind."""
    return (change.effective_time, change.rev_id or 0, _RANK[change.kind])


class Reorder:
    """Buffers changes by page; ``limit`` bounds how many wait, ``pages`` what is remembered."""

    def __init__(self, span: timedelta, *, limit: int = 10_000, pages: int = 100_000) -> None:
        self._span = span
        self._limit = limit
        self._pages = pages
        self._waiting: OrderedDict[Hashable, list[Change]] = OrderedDict()
        self._last: OrderedDict[Hashable, int] = OrderedDict()
        self._due: list[tuple[datetime, int, Hashable]] = []
        self._pushed = 0
        self._count = 0
        self.forced = 0
        """Changes that went out early because the buffer was full."""

    def __len__(self) -> int:
        return self._count

    def push(self, change: Change) -> Iterator[Change]:
        """Take a change; what may go out at once comes back."""
        key = page_key(change)
        waiting = self._waiting.get(key)
        last = self._last.get(key)
        follows = change.kind in TEXT_KINDS and change.parent_rev_id in (0, last)
        if waiting is None and (follows or self._seen(change, last)):
            yield self._gone(key, change)
            return
        if waiting is None:
            waiting = self._waiting[key] = []
        waiting.append(change)
        waiting.sort(key=order)
        self._pushed += 1
        heapq.heappush(self._due, (change.arrival_time, self._pushed, key))
        self._count += 1
        while self._count > self._limit:
            oldest = next(iter(self._waiting))
            self.forced += len(self._waiting[oldest])
            yield from self._release(oldest, len(self._waiting[oldest]))

    def remember(self, change: Change, rev: int) -> None:
        """Take ``rev`` for the last one out of the change's page, where none is known yet."""
        key = page_key(change)
        if rev and key not in self._last and key not in self._waiting:
            self._last[key] = rev

    def advance(self, watermark: datetime) -> Iterator[Change]:
        """Everything whose time is over, page by page, each page in order."""
        due = watermark - self._span
        while self._due and self._due[0][0] <= due:
            key = heapq.heappop(self._due)[2]
            waiting = self._waiting.get(key, [])
            over = [i for i, change in enumerate(waiting) if change.arrival_time <= due]
            if over:
                yield from self._release(key, over[-1] + 1)

    def flush(self) -> Iterator[Change]:
        """Everything that waits, page by page, each page in order."""
        for key in list(self._waiting):
            yield from self._release(key, len(self._waiting[key]))
        self._due.clear()

    def _release(self, key: Hashable, count: int) -> Iterator[Change]:
        waiting = self._waiting[key]
        going, left = waiting[:count], waiting[count:]
        if left:
            self._waiting[key] = left
        else:
            del self._waiting[key]
        self._count -= len(going)
        for change in going:
            yield self._gone(key, change)

    def _gone(self, key: Hashable, change: Change) -> Change:
        if change.rev_id is not None:
            self._last[key] = max(self._last.pop(key, 0), change.rev_id)
            if len(self._last) > self._pages:
                self._last.popitem(last=False)
        return change

    @staticmethod
    def _seen(change: Change, last: int | None) -> bool:
        """A revision at or before the last one out cannot be put in order any more."""
        known = last is not None and change.rev_id is not None
        return change.kind in TEXT_KINDS and known and (change.rev_id or 0) <= (last or 0)
