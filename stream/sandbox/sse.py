"""Server-sent events as Wikimedia's stream server writes them: values in, bytes out, no socket.

::

    :ok

    event: message
    id: [{"topic":"eqiad.mediawiki.recentchange","partition":0,"timestamp":1762467620156},…]
    data: {"$schema":"/mediawiki/recentchange/1.0.1",…}

The id names, for every topic of the connection, where to go on: the timestamp of the last
message plus 1 ms (so it skips what shares that millisecond, as the real one does), or, with
``ids="offset"``, its offset plus 1; ``"offset":-1`` (the end) for a topic not read so far.
"""

import re
import zlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Literal

import msgspec

from stream.sandbox.log import Log, Message

OPENING = b":ok\n\n"
"""First bytes of every stream (T3)."""

IdKind = Literal["timestamp", "offset"]

_LINE_END = re.compile(rb"[\r\n]+")


class StreamRequestError(Exception):
    """The request cannot be served; the message goes into the body of a 400."""


class TopicPosition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of an SSE id. ``offset`` wins over ``timestamp``; -1 means the end."""

    topic: str
    partition: int = msgspec.field(default=0)
    offset: int | None = None
    timestamp: int | None = None


def frame(*, event: str, identity: bytes, data: bytes) -> bytes:
    """One event on the wire: runs of CR and LF inside ``data`` become further data lines (T4)."""
    broken = b"\n" in data or b"\r" in data
    lines = b"\n".join(b"data: " + line for line in (_LINE_END.split(data) if broken else (data,)))
    return b"event: %b\nid: %b\n%b\n\n" % (event.encode(), identity, lines)


def last_event_id(header: str) -> tuple[TopicPosition, ...]:
    """Read a ``Last-Event-ID`` header.

    Raises:
        StreamRequestError: it is no array of positions.
    """
    try:
        positions = msgspec.json.decode(header.encode(), type=tuple[TopicPosition, ...])
    except msgspec.DecodeError as error:
        raise StreamRequestError(f"Invalid Last-Event-ID: {error}") from error
    for position in positions:
        if position.offset is None and position.timestamp is None:
            raise StreamRequestError(
                f"Last-Event-ID: neither offset nor timestamp for {position.topic}"
            )
    return positions


def since(value: str) -> int:
    """Read ``?since=``: milliseconds since 1970, or a date and time.

    Raises:
        StreamRequestError: it is neither.
    """
    if re.fullmatch(r"\d{1,15}", value):
        return int(value)
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise StreamRequestError(f"Invalid since timestamp: {value!r}") from error
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def starts(
    log: Log,
    topics: Iterable[str],
    *,
    served: int,
    positions: Iterable[TopicPosition] = (),
    since_ms: int | None = None,
    oldest_ms: int = 0,
) -> dict[str, int]:
    """Index of the first message to send of each topic.

    Without a position the stream begins at the world's beginning: a sandbox has no readers
    before its first. ``served`` messages are out already, and the end ("latest") lies behind
    them. What is older than ``oldest_ms`` is past retention: the oldest kept one is sent, and
    nothing says so (I8).

    Raises:
        StreamRequestError: a position names a topic that was not asked for (I5).
    """
    names = tuple(topics)
    given = {position.topic: position for position in positions}
    for topic in given:
        if topic not in names:
            raise StreamRequestError(
                f"Last-Event-ID: topic {topic} is not part of the requested streams"
            )
    result = {}
    for topic in names:
        if given:
            index = _resume(log, topic, given.get(topic), served)
        elif since_ms is not None:
            index = _since(log, topic, since_ms, served)
        else:
            index = 0
        result[topic] = max(index, log.at_time(topic, oldest_ms))
    return result


def _resume(log: Log, topic: str, position: TopicPosition | None, served: int) -> int:
    head = log.head(topic, served)
    if position is None or position.offset == -1:
        return head
    if position.offset is not None:
        index = log.at_offset(topic, position.offset)
        beyond = index == len(log.topics[topic]) and position.offset > log.next_offset(topic)
        return head if beyond else index
    if position.timestamp is None:
        return head
    return _since(log, topic, position.timestamp, served)


def _since(log: Log, topic: str, timestamp_ms: int, served: int) -> int:
    """A time later than all that is served means the end, silently (I6)."""
    return min(log.at_time(topic, timestamp_ms), log.head(topic, served))


class Identity:
    """The id of a connection, moved on by each message that is sent on it."""

    def __init__(
        self, topics: Iterable[str], positions: Iterable[TopicPosition], kind: IdKind
    ) -> None:
        self._kind = kind
        self._entries: dict[str, bytes] = {
            topic: _entry(TopicPosition(topic=topic, offset=-1)) for topic in topics
        }
        self._entries |= {position.topic: _entry(position) for position in positions}

    def after(self, message: Message) -> bytes:
        """The id that goes out with ``message``."""
        if self._kind == "offset":
            position = TopicPosition(topic=message.topic, offset=message.offset + 1)
        else:
            position = TopicPosition(topic=message.topic, timestamp=message.timestamp_ms + 1)
        self._entries[message.topic] = _entry(position)
        return self.current()

    def current(self) -> bytes:
        """The id as it stands."""
        return b"[" + b",".join(self._entries.values()) + b"]"


def _entry(position: TopicPosition) -> bytes:
    entry: Mapping[str, object] = {"topic": position.topic, "partition": position.partition}
    if position.offset is not None:
        return msgspec.json.encode({**entry, "offset": position.offset})
    return msgspec.json.encode({**entry, "timestamp": position.timestamp})


def error_frame(identity: bytes, message: str) -> bytes:
    """An error in mid-stream: status stays 200 and the stream goes on (T7)."""
    body = msgspec.json.encode({"message": message, "origin": "KafkaSSE"})
    return frame(event="error", identity=identity, data=body)


class Encoder:
    """Body bytes as they leave: optionally compressed, each write complete on arrival, chunked."""

    def __init__(self, *, gzip: bool = False, chunk_bytes: int | None = None) -> None:
        wbits = 16 + zlib.MAX_WBITS
        self._zip = zlib.compressobj(6, zlib.DEFLATED, wbits) if gzip else None
        self._chunk_bytes = chunk_bytes

    def encode(self, body: bytes) -> bytes:
        """``body`` as HTTP chunks; compressed data is flushed so that no event waits (bug 5)."""
        if self._zip is not None:
            body = self._zip.compress(body) + self._zip.flush(zlib.Z_SYNC_FLUSH)
        size = self._chunk_bytes or max(1, len(body))
        return b"".join(
            b"%x\r\n%b\r\n" % (len(piece), piece)
            for piece in (body[at : at + size] for at in range(0, len(body), size))
        )

    def finish(self) -> bytes:
        """The end of a body that ends in order."""
        rest = self._zip.flush() if self._zip is not None else b""
        return (b"%x\r\n%b\r\n" % (len(rest), rest) if rest else b"") + b"0\r\n\r\n"
