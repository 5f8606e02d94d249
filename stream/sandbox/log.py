"""The event log behind the stream: topics, offsets and timestamps, as Wikimedia's Kafka has them.

Each stream has one topic a data centre (``eqiad.mediawiki.recentchange``); events go to the
active data centre's topic, canaries to both. The whole log is laid out once, so that every
reader at every time sees the same offsets::

    events of the world ─ faults ─▶ order ─ canaries ─▶ Message(topic, offset, timestamp, data)
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from itertools import product
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from stream.sandbox.faults import Faults, amount, chosen
from stream.sandbox.model import PAGE_CHANGE, RECENTCHANGE, STREAMS, SandboxEvent

DATA_CENTRES = ("eqiad", "codfw")
CANARY = "canary"
SCHEMAS: Mapping[str, str] = {
    RECENTCHANGE: "/mediawiki/recentchange/1.0.1",
    PAGE_CHANGE: "/mediawiki/page/change/1.3.0",
}
FIRST_OFFSET = 5_050_000_000
"""Offsets of the real topics need more than 32 bits, so these do too."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One record of a topic. ``data`` is the event as JSON; ``sequence`` orders all topics."""

    sequence: int
    stream: str
    topic: str
    partition: int = 0
    offset: int
    timestamp_ms: int
    arrival_ms: int
    data: bytes


class Log:
    """All messages in order, and where to start reading a topic."""

    def __init__(self, messages: Sequence[Message], streams: Sequence[str]) -> None:
        self.messages = tuple(messages)
        self.streams = tuple(streams)
        self.topics: dict[str, list[Message]] = {
            f"{centre}.{stream}": [] for stream in streams for centre in DATA_CENTRES
        }
        for message in self.messages:
            self.topics[message.topic].append(message)
        self._reached = {
            topic: _maxima(m.timestamp_ms for m in log) for topic, log in self.topics.items()
        }
        self._arrived = _maxima(m.arrival_ms for m in self.messages)

    def topics_of(self, streams: Iterable[str]) -> tuple[str, ...]:
        """The topics of ``streams``, each data centre's."""
        return tuple(f"{centre}.{name}" for name in streams for centre in DATA_CENTRES)

    def at_offset(self, topic: str, offset: int) -> int:
        """Index of the first message of ``topic`` at or after ``offset``."""
        return bisect_left(self.topics[topic], offset, key=lambda m: m.offset)

    def at_time(self, topic: str, timestamp_ms: int) -> int:
        """Index of the first message of ``topic`` with that timestamp or a later one."""
        return bisect_left(self._reached[topic], timestamp_ms)

    def head(self, topic: str, served: int) -> int:
        """Index of the first message of ``topic`` that is not among the first ``served``."""
        return bisect_left(self.topics[topic], served, key=lambda m: m.sequence)

    def next_offset(self, topic: str) -> int:
        """The offset that a message after the last one would have."""
        messages = self.topics[topic]
        return messages[-1].offset + 1 if messages else FIRST_OFFSET

    def read(self, starts: Mapping[str, int]) -> Iterator[Message]:
        """The messages of the topics in ``starts`` from these indices on, in log order."""
        first = {
            topic: log[index].sequence
            for topic, index in starts.items()
            if index < len(log := self.topics[topic])
        }
        if not first:
            return
        for message in self.messages[min(first.values()) :]:
            if message.sequence >= first.get(message.topic, len(self.messages)):
                yield message

    def now_ms(self, served: int) -> int:
        """The arrival time of the newest of the first ``served`` messages; 0 before any."""
        return self._arrived[served - 1] if served else 0


class _Entry(NamedTuple):
    """An event and its place: the log is the entries in this order."""

    at_ms: int
    rank: int
    number: int
    topic: str
    event: SandboxEvent
    lost: bool = False


def build(
    events: Iterable[SandboxEvent],
    *,
    start: datetime,
    end: datetime,
    faults: Faults,
    streams: Sequence[str] = STREAMS,
) -> Log:
    """Lay out the log of ``events``, which bring their canaries, as ``faults`` say.

    The first and the last message of every topic is a canary, of ``start`` and of ``end`` (or
    of the last event, where that is later): whoever has seen the last one has seen all.
    """
    entries = list(_placed(events, faults))
    changes = sorted(entry.at_ms for entry in entries if not _is_canary(entry.event))
    if faults.switch_at is not None and changes:
        switch_ms = changes[min(len(changes) - 1, int(len(changes) * faults.switch_at))]
        entries = [_switched(entry, switch_ms) for entry in entries]
    last = max([_ms(end), *(entry.at_ms for entry in entries)])
    entries += _canaries(streams, _ms(start), rank=-1)
    entries += _canaries(streams, last, rank=1)
    entries.sort(key=lambda entry: entry[:3])
    return Log(list(_numbered(entries)), streams)


def _numbered(entries: Iterable[_Entry]) -> Iterator[Message]:
    offsets: dict[str, int] = {}
    sequence = 0
    for entry in entries:
        offset = offsets.get(entry.topic, FIRST_OFFSET)
        offsets[entry.topic] = offset + 1
        if entry.lost:
            continue
        position = {"topic": entry.topic, "partition": 0, "offset": offset}
        body = {**entry.event.body, "meta": {**entry.event.body["meta"], **position}}
        arrival = _ms(entry.event.arrival_time)
        yield Message(
            sequence=sequence,
            stream=entry.event.stream,
            topic=entry.topic,
            offset=offset,
            timestamp_ms=arrival,
            arrival_ms=arrival,
            data=msgspec.json.encode(body),
        )
        sequence += 1


def _placed(events: Iterable[SandboxEvent], faults: Faults) -> Iterator[_Entry]:
    """Each event at its place, and each copy of one."""
    listed = list(events)
    huge = _huge(listed, faults)
    for number, event in enumerate(listed):
        at = _ms(event.arrival_time)
        if _is_canary(event):
            yield _Entry(at, 0, number, event.topic, event)
            continue
        at += amount(faults, "disorder", number) * faults.disorder // _MS
        changed = _grown(event, faults.huge_bytes) if number in huge else event
        if chosen(faults, "redaction", number, faults.redactions):
            changed = _redacted(changed)
        lost = chosen(faults, "loss", number, faults.losses)
        yield _Entry(at, 0, number, event.topic, changed, lost)
        if chosen(faults, "duplicate", number, faults.duplicates):
            later = amount(faults, "distance", number) * faults.duplicate_span // _MS
            yield _Entry(at + later, 0, number, event.topic, changed)


def _is_canary(event: SandboxEvent) -> bool:
    return event.wiki == CANARY


def _switched(entry: _Entry, switch_ms: int) -> _Entry:
    """The entry in the topic of the data centre that is active at its place."""
    if _is_canary(entry.event) or entry.at_ms < switch_ms:
        return entry
    return entry._replace(topic=f"{DATA_CENTRES[1]}.{entry.event.stream}")


def _canaries(streams: Sequence[str], at_ms: int, rank: int) -> Iterator[_Entry]:
    for number, (stream, centre) in enumerate(product(streams, DATA_CENTRES)):
        topic = f"{centre}.{stream}"
        yield _Entry(at_ms, rank, number, topic, _canary(stream, topic, at_ms))


def _huge(events: Sequence[SandboxEvent], faults: Faults) -> frozenset[int]:
    numbers = [number for number, event in enumerate(events) if not _is_canary(event)]
    return frozenset(sorted(numbers, key=lambda n: amount(faults, "huge", n))[: faults.huge])


def _grown(event: SandboxEvent, size: int) -> SandboxEvent:
    """The event with ``size`` bytes in a field that the schemas allow and no reader wants."""
    body = {**event.body, "parsedcomment": "å" * (size // 2)}
    return msgspec.structs.replace(event, body=body)


def _redacted(event: SandboxEvent) -> SandboxEvent:
    """The event without the person, as the server sends it for listed pages (I13)."""
    body = {key: value for key, value in event.body.items() if key not in ("user", "performer")}
    return msgspec.structs.replace(event, body=body)


def canary(stream: str, topic: str, at_ms: int) -> dict[str, Any]:
    """The body of a canary event: an id, a time, and the domain that gives it away (I10)."""
    digest = blake2b(f"{topic}:{at_ms}".encode(), digest_size=16).digest()
    meta = {
        "dt": iso(at_ms),
        "domain": CANARY,
        "id": str(UUID(bytes=digest, version=4)),
        "stream": stream,
    }
    return {"$schema": SCHEMAS[stream], "meta": meta}


def _canary(stream: str, topic: str, at_ms: int) -> SandboxEvent:
    return SandboxEvent(
        stream=stream,
        topic=topic,
        wiki=CANARY,
        arrival_time=_EPOCH + at_ms * _MS,
        body=canary(stream, topic, at_ms),
    )


def _maxima(values: Iterable[int]) -> list[int]:
    """The greatest value so far: Kafka's search by time over records that are out of order."""
    result: list[int] = []
    for value in values:
        result.append(max(value, result[-1]) if result else value)
    return result


def _ms(moment: datetime) -> int:
    return (moment - _EPOCH) // _MS


def iso(at_ms: int) -> str:
    """``2026-11-01T00:00:00.123Z``, the fraction left out where it is zero."""
    moment = datetime.fromtimestamp(at_ms // 1000, tz=UTC)
    fraction = f".{at_ms % 1000:03d}" if at_ms % 1000 else ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z"
