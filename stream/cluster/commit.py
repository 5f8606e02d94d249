"""The numbered commit: five steps, in this order, and why nothing is lost or doubled.

1. Work every event in, in order, on the batch's overlay over RocksDB. What was applied before
   goes into the overlay again as it is.
2. Send all outputs and await **every** acknowledgement.
3. Send one changelog record a touched key and await every acknowledgement.
4. Write the values to RocksDB, one write batch a partition.
5. Acknowledge the events: Faust commits their offsets, and only then is it written how far the
   changelog is in RocksDB.

Outputs are never behind state, changelog never behind local state, offset never ahead of either.
An error in steps 2 to 4 ends the process; whoever starts it again loses nothing (ENGINE 5).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from stream.cluster import state
from stream.cluster.exposition import RECORDS, TOLD
from stream.cluster.steps import Message, Step, Steps, dead_letter
from stream.metrics import Metrics
from stream.topics import BadRecordError, decode_revision

_RAW = 8 << 10
"""Bytes of a poison record kept in its dead letter."""


class Taken(NamedTuple):
    """One record of the source topic, and how to acknowledge it."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    ack: Callable[[], object]


class Ports(Protocol):
    """What the commit needs of Kafka and RocksDB."""

    async def tell(self, messages: Sequence[tuple[int, Message]]) -> None:
        """Send messages, each to a partition; return when all are acknowledged."""

    async def log(self, partition: int, puts: dict[bytes, bytes]) -> int:
        """Send changelog records; return the last one's offset when all are acknowledged."""

    def load(self, partition: int, key: bytes) -> bytes | None:
        """A value in RocksDB."""

    def write(self, partition: int, puts: dict[bytes, bytes]) -> None:
        """Write values to RocksDB, all or nothing."""

    def logged(self, partition: int, upto: int, changelog: int) -> None:
        """Note that records below ``upto`` are in the changelog up to offset ``changelog``."""


def _nothing(_step: int) -> None:
    """Tests pass a hook to end the process between steps."""


class NumberedCommit:
    """Commits batches of one role's source topic."""

    def __init__(
        self,
        steps: Steps,
        ports: Ports,
        generation: int,
        *,
        after: Callable[[int], None] = _nothing,
        metrics: Metrics | None = None,
    ) -> None:
        self._steps = steps
        self._ports = ports
        self._generation = generation
        self._after = after
        self._metrics = metrics or Metrics()

    async def __call__(self, events: Sequence[Taken]) -> None:
        """Commit one batch."""
        overlay: dict[int, dict[bytes, bytes]] = defaultdict(dict)
        told: list[tuple[int, Message]] = []
        outcomes: Counter[str] = Counter()
        for event in events:  # 1
            step = self._step(event, overlay[event.partition])
            overlay[event.partition].update(step.puts)
            told += [(event.partition, message) for message in step.told]
            outcomes["repeated" if step.repeated else "applied"] += 1
        self._after(1)
        await self._ports.tell(told)  # 2
        self._after(2)
        for partition, puts in overlay.items():  # 3
            if puts:
                changelog = await self._ports.log(partition, puts)
                upto = 1 + max(e.offset for e in events if e.partition == partition)
                self._ports.logged(partition, upto, changelog)
        self._after(3)
        for partition, puts in overlay.items():  # 4
            if puts:
                self._ports.write(partition, puts)
        self._after(4)
        _acknowledge(events)  # 5
        self._after(5)
        for outcome, count in outcomes.items():
            self._metrics.add(RECORDS, count, label=outcome)
        count_told(self._metrics, told)

    def _step(self, event: Taken, puts: dict[bytes, bytes]) -> Step:
        def load(key: bytes) -> bytes | None:
            value = puts.get(key)
            return self._ports.load(event.partition, key) if value is None else value

        key = event.key or b""
        if event.value is None:  # a tombstone: it speaks to compaction alone
            return Step()
        try:
            record = decode_revision(event.value)
            number = state.number(self._generation, event.offset)
            return self._steps.take(number, key, record, load)
        except BadRecordError as error:
            where = f"{event.partition}:{event.offset}"
            raw = (event.value or b"")[:_RAW]
            return Step(told=(dead_letter("poison", key, str(error), raw, where),))


def count_told(metrics: Metrics, told: Iterable[tuple[int, Message]]) -> None:
    """Count what was acknowledged, by topic."""
    for topic, count in Counter(message.topic for _, message in told).items():
        metrics.add(TOLD, count, label=str(topic))


def _acknowledge(events: Iterable[Taken]) -> None:
    for event in events:
        event.ack()
