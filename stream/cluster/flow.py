"""Every record once and in order: three places where Faust would let one go unseen.

* Faust empties the queues of streams whenever it resumes their flow, also when that was flowing
  already: behind a recovery, records that had just come in were lost, their offsets never
  committed. :class:`SteadyFlow` resumes once.
* Records that come in the middle of a rebalance are dropped, and Faust goes back to the committed
  offset: where a group has never committed there is none, and the dropped ones stayed unread (two
  workers that start together stood still so). :class:`SteadyConsumer` goes back to the beginning.
* :class:`Order` sees to the rest: the number of a state value stands for *all* records below it,
  so a record that was passed over must end the worker before a later one is applied; started
  again it reads from the committed offset.
"""

from collections.abc import Callable, Sequence
from typing import Any

from faust.transport.drivers.aiokafka import Consumer, Transport
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


class SteadyConsumer(Consumer):
    """Faust's consumer; a partition without a committed offset goes back to its beginning."""

    async def perform_seek(self) -> None:
        """Seek every source partition to where its group stands."""
        await super().perform_seek()
        fresh = [
            tp
            for tp in self.assignment()
            if self.app.topics.acks_enabled_for(tp.topic) and not self._committed_offset.get(tp)
        ]
        if fresh:
            await self.seek_wait(await self.earliest_offsets(*fresh))


class SteadyTransport(Transport):
    """Kafka by :class:`SteadyConsumer`."""

    Consumer = SteadyConsumer


class Order:
    """Watches the offsets of one topic.

    Args:
        app: its consumer knows what was committed, and which offsets the log itself lacks
            (compaction, transaction markers).
        first: the offset of the first record of a partition that is not committed; asked where
            Faust does not know what is: nothing yet, or records came before it had looked.
    """

    def __init__(
        self,
        app: Any,  # noqa: ANN401 - Faust's own type
        topic: str,
        first: Callable[[int], int | None],
    ) -> None:
        self._app = app
        self._topic = topic
        self._first = first
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
                expected = (committed + 1) if committed else self._beginning(event)
            if expected is not None and event.offset > expected:
                self._explained(event.partition, expected, event.offset)
            self._next[event.partition] = event.offset + 1

    def _beginning(self, event: Taken) -> int | None:
        return self._first(event.partition) if event.offset else None

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
