"""Order and rest before a live change is fetched: reorder buffer, then dwell time.

::

    item ─▶ reorder (60 s of event time a page) ─▶ dwell (a burst rests together) ─▶ fetch, apply

What waits counts as not applied, so the position stays before it. The watermark here is that
of what was *read*; a window never closes over something that waits: at the event that closes
it, everything before goes out first, and then the event itself (so that windows, unlike the
live feed, depend on no buffer).
"""

from collections import deque
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Generic, Protocol, TypeVar

from stream.reorder import Reorder
from stream.settings import StreamConfig
from twiki.records import Change
from twiki.times import from_ms, to_ms


class Step(Protocol):
    """An item on its way; ``change`` is what is to be fetched for it, None: nothing is."""

    @property
    def change(self) -> Change | None:
        """The change to put in order; anything else passes at once."""

    @property
    def arrival(self) -> tuple[str, datetime] | None:
        """Stream and arrival time, None where it has none."""


S = TypeVar("S", bound=Step)


def rests_until(effective: datetime, dwell: timedelta) -> datetime:
    """The end of the span of event time to which a change belongs.

    Spans lie on a fixed grid, so that a burst is the same burst however chunks fell, whichever
    stream told an edit first, and whoever was killed in its midst (ENGINE 4).
    """
    milliseconds = to_ms(effective)
    span = dwell // timedelta(milliseconds=1)
    return from_ms(milliseconds - milliseconds % span + span) if span else effective


class Ordering(Generic[S]):
    """Holds steps back until their page's stragglers have come.

    Args:
        marks: greatest arrival time of each stream so far, milliseconds.
        known_rev: the revision of the change's page that was applied last, 0: none is known.
        limit: most steps that wait.
    """

    def __init__(
        self,
        config: StreamConfig,
        marks: dict[str, int],
        known_rev: Callable[[Change], int],
        *,
        limit: int = 10_000,
    ) -> None:
        self._reorder = Reorder(timedelta(seconds=config.reorder_seconds), limit=limit)
        self._dwell = timedelta(seconds=config.dwell_seconds)
        self._marks = dict(marks)
        self._known_rev = known_rev
        self._limit = limit
        self._held: dict[int, S] = {}
        self._resting: deque[S] = deque()

    def __len__(self) -> int:
        """How many steps wait."""
        return len(self._held) + len(self._resting)

    def push(self, step: S, closes_at: datetime | None) -> Iterator[S]:
        """Take a step; yield what may go out now, in order.

        ``closes_at``: the watermark at which the open window closes.
        """
        if self._reaches(step, closes_at):
            yield from self.flush()
            yield step
            return
        if step.change is None:
            yield step
        else:
            self._reorder.remember(step.change, self._known_rev(step.change))
            self._held[id(step.change)] = step
            self._rest(self._reorder.push(step.change))
        if (mark := self._watermark) is not None:
            self._rest(self._reorder.advance(mark))
        yield from self._rested()

    def flush(self) -> Iterator[S]:
        """Everything that waits, in order."""
        self._rest(self._reorder.flush())
        while self._resting:
            yield self._resting.popleft()

    @property
    def _watermark(self) -> datetime | None:
        return from_ms(min(self._marks.values())) if self._marks else None

    def _reaches(self, step: S, closes_at: datetime | None) -> bool:
        """Note the step's arrival; whether it moves the watermark past ``closes_at``."""
        if step.arrival is not None:
            stream, moment = step.arrival
            self._marks[stream] = max(self._marks.get(stream, 0), to_ms(moment))
        return closes_at is not None and bool(self._marks) and self._passed(to_ms(closes_at))

    def _passed(self, closes_ms: int) -> bool:
        return min(self._marks.values()) >= closes_ms

    def _rest(self, changes: Iterator[Change]) -> None:
        for change in changes:
            self._resting.append(self._held.pop(id(change)))

    def _rested(self) -> Iterator[S]:
        mark = self._watermark
        while self._resting:
            change = self._resting[0].change
            waits = mark is None or (
                change is not None and rests_until(change.effective_time, self._dwell) > mark
            )
            if self._dwell and waits and len(self._resting) <= self._limit:
                return
            yield self._resting.popleft()
