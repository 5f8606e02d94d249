"""Every record once and in order: two places where Faust would let one go unseen.

Faust empties the queues of streams whenever it resumes their flow, also when that was flowing
already: behind a recovery, records that had just come in were lost, their offsets never
committed. :class:`SteadyFlow` resumes once. :class:`Order` sees to the rest: the number of a
state value stands for *all* records below it, so a record that was passed over must end the
worker before a later one is applied; started again it reads from the committed offset.
"""

from collections.abc import Sequence
from typing import Any

from faust.types import TP
from mode.utils.queues import FlowControlEvent

from stream.cluster.commit import Taken
from twiki.errors import EngineError


class SteadyFlow(FlowControlEvent):
    """Faust's flow control; resuming what flows changes nothing."""

    def resume(self) -> None:
        """Let records into the queues, which are emptied only if they were closed."""
        if not self.is_active():
            super().resume()


class Order:
    """Watches the offsets of one topic.

    Args:
        app: its consumer knows what was committed, and which offsets the log itself lacks
            (compaction, transaction markers).
    """

    def __init__(self, app: Any, topic: str) -> None:  # noqa: ANN401 - Faust's own type
        self._app = app
        self._topic = topic
        self._next: dict[int, int] = {}

    def check(self, events: Sequence[Taken]) -> None:
        """See that nothing was passed over.

        Raises:
            EngineError: records are missing between the last one seen and this.
        """
        for event in events:
            expected = self._next.get(event.partition)
            if expected is None:
                # Faust does not note whether the log lacks the committed offset itself.
                committed = self._committed(event.partition)
                expected = None if committed is None else committed + 1
            if expected is not None and event.offset > expected:
                self._explained(event.partition, expected, event.offset)
            self._next[event.partition] = event.offset + 1

    def forget(self) -> None:
        """After a rebalance everything begins at the committed offsets."""
        self._next.clear()

    def _committed(self, partition: int) -> int | None:
        committed: int | None = self._app.consumer._committed_offset.get(self._tp(partition))  # noqa: SLF001 - nothing public tells
        return committed

    def _explained(self, partition: int, first: int, upto: int) -> None:
        gaps = self._app.consumer._gap[self._tp(partition)]  # noqa: SLF001 - nothing public tells
        missing = [offset for offset in range(first, upto) if not gaps.overlaps(offset)]
        if missing:
            raise EngineError(
                f"{self._topic}/{partition}: records {missing[0]} to {missing[-1]} never came, "
                f"{upto} did; the worker starts again from the committed offset"
            )

    def _tp(self, partition: int) -> TP:
        return TP(self._topic, partition)
