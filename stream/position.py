"""Where we stand in the source: a low-water mark for each topic-partition (ENGINE 4).

The mark is the offset below which *every* event is applied, dead-lettered or dropped by rule.
Fetches finish out of order, so the greatest offset applied would lose events::

    if positions.begin(change.position):      # False: a repetition
        …                                     # fetch, apply
        positions.done(change.position)
    batch.put(KEY, positions.to_bytes())      # in the same write batch as the state

Gaps in offsets are kept as suspected losses until a backfill heals them. What an operator
should hear of (a gap, a topic that started again, a switch of data centre) is a Notice.
"""

import heapq
import threading
from collections.abc import Iterable
from enum import StrEnum

import msgspec

from stream.settings import StreamConfig
from twiki.records import Record, SourcePosition

VERSION = 1
SWITCHED_AFTER = 3
"""Events of another data centre, none of the old one between them, that make a switch."""
DISORDER_MS = 60_000
"""Timestamps in one partition are out of order by less than this."""


class NoticeKind(StrEnum):
    """What happened to the source."""

    GAP = "gap"
    TOPIC_RESTARTED = "topic_restarted"
    DATACENTRE_SWITCH = "datacentre_switch"
    BEYOND_RETENTION = "beyond_retention"


class Notice(Record, frozen=True, kw_only=True):
    """Something about the source that the operator should hear."""

    kind: NoticeKind
    topic: str
    detail: str


class Gap(Record, frozen=True, kw_only=True):
    """Offsets ``first`` to ``last`` that never came, between two times: a suspected loss."""

    topic: str
    partition: int
    first: int
    last: int
    after_ms: int
    before_ms: int


class Resume(Record, frozen=True, kw_only=True):
    """How to go on: the ``Last-Event-ID`` to send, None for "from now"."""

    last_event_id: str | None = None
    beyond_retention: bool = False


class _Partition:
    """One topic-partition: the next offset to expect, what is begun, what never came."""

    def __init__(self, next_offset: int | None = None, timestamp_ms: int = 0) -> None:
        self.next_offset = next_offset
        self.timestamp_ms = timestamp_ms
        self.pending: dict[int, int] = {}
        self.order: list[int] = []
        self.gaps: list[Gap] = []
        self.owed: set[int] = set()
        """Begun before a restart of ours and not done: they are taken once more."""

    def restart(self, next_offset: int) -> None:
        """Begin anew; what was read before the restart is no longer waited for."""
        self.next_offset = next_offset
        self.pending.clear()
        self.order.clear()
        self.owed.clear()

    def low_water(self) -> tuple[int | None, int]:
        """First offset not yet applied, and its timestamp or that of the last one applied."""
        while self.order and self.order[0] not in self.pending:
            heapq.heappop(self.order)
        if self.order:
            return self.order[0], self.pending[self.order[0]]
        return self.next_offset, self.timestamp_ms

    def add(self, offset: int, timestamp_ms: int) -> None:
        self.pending[offset] = timestamp_ms
        heapq.heappush(self.order, offset)
        self.timestamp_ms = max(self.timestamp_ms, timestamp_ms)

    def fill(self, offset: int) -> bool:
        """Take ``offset`` out of the gap that it lies in, if it lies in one."""
        for index, gap in enumerate(self.gaps):
            if gap.first <= offset <= gap.last:
                parts = [
                    msgspec.structs.replace(gap, first=first, last=last)
                    for first, last in ((gap.first, offset - 1), (offset + 1, gap.last))
                    if first <= last
                ]
                self.gaps[index : index + 1] = parts
                return True
        return False


class Positions:
    """Low-water marks of all topic-partitions of a source. Threads may share it."""

    def __init__(self, config: StreamConfig | None = None) -> None:
        self._config = config or StreamConfig()
        self._partitions: dict[tuple[str, int], _Partition] = {}
        self._active: dict[str, tuple[str, int]] = {}
        self._told_beyond: set[str] = set()
        self._notices: list[Notice] = []
        self._lock = threading.Lock()
        self.gaps_dropped = 0

    def begin(self, position: SourcePosition | None) -> bool:
        """Note that the event at ``position`` was read; False when it had been read before.

        An event without an offset cannot be told from its repetition: it is always new, and
        moves nothing but the timestamp.
        """
        if position is None:
            return True
        with self._lock:
            key = (position.topic, position.partition)
            partition = self._partitions.setdefault(key, _Partition())
            if position.offset < 0:
                partition.timestamp_ms = max(partition.timestamp_ms, position.timestamp_ms)
                return True
            self._note_datacentre(position)
            return self._place(position, partition)

    def _place(self, position: SourcePosition, partition: _Partition) -> bool:
        offset, expected = position.offset, partition.next_offset
        if expected is None or offset == expected:
            partition.next_offset = offset + 1
        elif offset > expected:
            self._note_gap(position, partition, expected)
            partition.next_offset = offset + 1
        elif position.timestamp_ms > partition.timestamp_ms + DISORDER_MS:
            # Lower offset, later time: the topic was created anew.
            self._notice(NoticeKind.TOPIC_RESTARTED, position, f"{expected} -> {offset}")
            self._note_gap(position, partition, 0)
            partition.restart(offset + 1)
        elif offset in partition.owed:
            partition.owed.discard(offset)
            return True
        elif not partition.fill(offset):
            return False
        partition.add(offset, position.timestamp_ms)
        return True

    def done(self, position: SourcePosition | None) -> None:
        """Note that the event at ``position`` is applied, dead-lettered or dropped by rule."""
        if position is None:
            return
        with self._lock:
            partition = self._partitions.get((position.topic, position.partition))
            if partition is not None:
                partition.pending.pop(position.offset, None)

    def idle(self, topic: str, partition: int = 0) -> None:
        """Note a topic that has nothing for us yet; never replaces a real position."""
        with self._lock:
            self._partitions.setdefault((topic, partition), _Partition())

    def mark(self) -> tuple[SourcePosition, ...]:
        """The low-water marks: ``offset`` is the first one that is not applied."""
        with self._lock:
            return self._mark()

    def _mark(self) -> tuple[SourcePosition, ...]:
        marks = []
        for (topic, number), partition in sorted(self._partitions.items()):
            offset, timestamp = partition.low_water()
            marks.append(
                SourcePosition(
                    topic=topic,
                    partition=number,
                    offset=-1 if offset is None else offset,
                    timestamp_ms=timestamp,
                )
            )
        return tuple(marks)

    @property
    def in_flight(self) -> int:
        """Events that are read but not done."""
        with self._lock:
            return sum(len(partition.pending) for partition in self._partitions.values())

    def gaps(self) -> tuple[Gap, ...]:
        """Suspected losses that no backfill has healed yet."""
        with self._lock:
            return tuple(gap for _, part in sorted(self._partitions.items()) for gap in part.gaps)

    def healed(self, gaps: Iterable[Gap]) -> None:
        """Forget gaps that a backfill covered."""
        done = set(gaps)
        with self._lock:
            for partition in self._partitions.values():
                partition.gaps = [gap for gap in partition.gaps if gap not in done]

    def notices(self) -> tuple[Notice, ...]:
        """What happened since the last call."""
        with self._lock:
            notices, self._notices = tuple(self._notices), []
            return notices

    def resume(self, now_ms: int, *, by_offset: bool = True) -> Resume:
        """How to connect at ``now_ms``: by offset where that is recent, else by timestamp.

        An idle topic is resumed at the time up to which its stream is known, so that a switch
        of data centre while we were away loses nothing.
        """
        config = self._config
        margin = int(config.resume_margin_seconds * 1000)
        valid = int(config.offsets_valid_seconds * 1000)
        with self._lock:
            marks = self._mark()
            newest: dict[str, int] = {}
            for mark in marks:
                stream = _stream(mark.topic)
                newest[stream] = max(newest.get(stream, 0), mark.timestamp_ms)
            parts, beyond = [], False
            for mark in marks:
                known = newest[_stream(mark.topic)] or max(newest.values())
                if not known:
                    continue
                partition = self._partitions[(mark.topic, mark.partition)]
                time = mark.timestamp_ms if partition.pending else known
                part: dict[str, str | int] = {"topic": mark.topic, "partition": mark.partition}
                if by_offset and mark.offset >= 0 and now_ms - mark.timestamp_ms <= valid:
                    part["offset"] = mark.offset
                else:
                    part["timestamp"] = max(0, time - margin)
                if now_ms - time > config.retention_seconds * 1000:
                    beyond = True
                    self._note_beyond(mark, (now_ms - time) // 1000)
                else:
                    self._told_beyond.discard(mark.topic)
                parts.append(part)
        last_event_id = msgspec.json.encode(parts).decode() if parts else None
        return Resume(last_event_id=last_event_id, beyond_retention=beyond)

    def to_bytes(self) -> bytes:
        """Marks, what is begun above them, and gaps, to be kept with the state."""
        with self._lock:
            partitions = [
                [topic, number, *_saved(partition)]
                for (topic, number), partition in sorted(self._partitions.items())
            ]
        return bytes([VERSION]) + msgspec.msgpack.encode(partitions)

    @classmethod
    def from_bytes(cls, data: bytes, config: StreamConfig | None = None) -> "Positions":
        """Read what :meth:`to_bytes` wrote.

        Raises:
            ValueError: bytes of another version, or none of ours.
        """
        if data[:1] != bytes([VERSION]):
            raise ValueError(f"positions of version {data[:1].hex() or 'none'}, not {VERSION}")
        positions = cls(config)
        row = tuple[str, int, int | None, int, list[Gap], dict[int, int]]
        for topic, number, offset, timestamp, gaps, pending in msgspec.msgpack.decode(
            data[1:], type=list[row]
        ):
            partition = _Partition(offset, timestamp)
            partition.gaps = gaps
            for begun, began in sorted(pending.items()):
                partition.add(begun, began)
            partition.owed = set(pending)
            positions._partitions[(topic, number)] = partition
        return positions

    def _note_gap(self, position: SourcePosition, partition: _Partition, expected: int) -> None:
        gap = Gap(
            topic=position.topic,
            partition=position.partition,
            first=expected,
            last=position.offset - 1,
            after_ms=partition.timestamp_ms,
            before_ms=position.timestamp_ms,
        )
        partition.gaps.append(gap)
        if len(partition.gaps) > self._config.max_gaps:
            del partition.gaps[0]
            self.gaps_dropped += 1
        self._notice(NoticeKind.GAP, position, f"offsets {gap.first} to {gap.last} never came")

    def _note_datacentre(self, position: SourcePosition) -> None:
        """A stream goes on in another topic; canaries alone, which come in all, do not count."""
        stream = _stream(position.topic)
        active, others = self._active.get(stream, (position.topic, 0))
        if position.topic == active:
            self._active[stream] = (active, 0)
            return
        others += 1
        if others == SWITCHED_AFTER:
            self._notice(NoticeKind.DATACENTRE_SWITCH, position, f"from {active}")
            active, others = position.topic, 0
        self._active[stream] = (active, others)

    def _note_beyond(self, mark: SourcePosition, seconds: int) -> None:
        """Once, until the topic is within reach again."""
        if mark.topic not in self._told_beyond:
            self._told_beyond.add(mark.topic)
            self._notice(NoticeKind.BEYOND_RETENTION, mark, f"{seconds} s behind")

    def _notice(self, kind: NoticeKind, position: SourcePosition, detail: str) -> None:
        if len(self._notices) < self._config.max_gaps:
            self._notices.append(Notice(kind=kind, topic=position.topic, detail=detail))


def _saved(partition: _Partition) -> tuple[int | None, int, list[Gap], dict[int, int]]:
    pending = dict(sorted(partition.pending.items()))
    return partition.next_offset, partition.timestamp_ms, partition.gaps, pending


def _stream(topic: str) -> str:
    """``mediawiki.recentchange`` of ``eqiad.mediawiki.recentchange``."""
    datacentre, dot, stream = topic.partition(".")
    return stream if dot and datacentre != "mediawiki" else topic
