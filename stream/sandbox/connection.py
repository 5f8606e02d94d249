"""One reader of ``/v2/stream/…``: from the log to the socket, with the faults planned for it.

    log.read(starts) ─▶ frames ─▶ cut, mute or error as planned ─▶ chunks ─▶ socket

What a reader has been sent moves the sandbox's now on, before the bytes leave: nobody can know
an event that the API does not know.
"""

import enum
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from select import select

import msgspec

from stream.sandbox.faults import ConnectionPlan
from stream.sandbox.log import Log, Message, canary
from stream.sandbox.sse import OPENING, Encoder, Identity, error_frame, frame

BATCH_BYTES = 32 << 10
"""At full speed frames are written together up to this size."""


_UNFINISHED_CHUNK = b"40\r\n"
"""A cut connection ends inside an HTTP chunk (bug 6)."""


class Served:
    """How much of the log is out, over all readers; thread-safe, never goes back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    @property
    def count(self) -> int:
        """Number of messages of the log that at least one reader was sent."""
        return self._count

    def reach(self, count: int) -> None:
        """Everything before sequence number ``count`` is out."""
        with self._lock:
            self._count = max(self._count, count)


class End(enum.Enum):
    """How a body ends."""

    WHOLE = "whole"
    CUT = "cut"
    MUTE = "mute"


Piece = tuple[bytes, int]
"""Bytes, and the number of messages of the log that are out when they are."""


def frames(
    messages: Iterable[Message], identity: Identity, plan: ConnectionPlan
) -> Iterator[Piece]:
    """The body: the opening, then each message, with an error event where one is planned."""
    yield OPENING, 0
    sent = len(OPENING)
    error_due = plan.error_after
    for message in messages:
        data = frame(event="message", identity=identity.after(message), data=message.data)
        yield data, message.sequence + 1
        sent += len(data)
        if error_due is not None and sent > error_due:
            error_due = None
            yield error_frame(identity.current(), "Broker: transport failure"), 0


def broken(pieces: Iterable[Piece], plan: ConnectionPlan) -> Iterator[Piece | End]:
    """The pieces up to the planned byte, then how it ends."""
    limits = [(plan.cut_after, End.CUT), (plan.mute_after, End.MUTE)]
    limit, end = min(
        ((at, end) for at, end in limits if at is not None),
        default=(None, End.WHOLE),
        key=lambda pair: pair[0] or 0,
    )
    sent = 0
    for data, count in pieces:
        if limit is not None and sent + len(data) > limit:
            yield data[: limit - sent], 0
            yield end
            return
        sent += len(data)
        yield data, count
    yield End.WHOLE


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How fast, and what comes after the last event."""

    rate: float | None = None
    """Messages a second; None: as fast as the reader takes them."""
    hold: bool = False
    """Keep the connection open after the end, with a canary every ``heartbeat_seconds``."""
    heartbeat_seconds: float = 5.0


class Sender:
    """Writes bodies to one socket, at a pace, until told to stop."""

    def __init__(
        self,
        connection: socket.socket,
        encoder: Encoder,
        pace: Pace,
        served: Served,
        stop: threading.Event,
    ) -> None:
        self._connection = connection
        self._encoder = encoder
        self._pace = pace
        self._served = served
        self._stop = stop
        self._waiting: list[bytes] = []
        self._size = 0

    def send(self, body: Iterable[Piece | End], heartbeats: Iterable[bytes]) -> None:
        """Write a body with its ending. Returns early when ``stop`` is set.

        Raises:
            OSError: the reader is gone.
        """
        end = self._write(body)
        if self._stop.is_set():
            return
        if end is End.CUT:
            self._connection.sendall(_UNFINISHED_CHUNK)
        elif end is End.MUTE:
            until_gone(self._connection, self._stop, None)
        elif self._pace.hold:
            self._hold(heartbeats)
        else:
            self._connection.sendall(self._encoder.finish())

    def _write(self, body: Iterable[Piece | End]) -> End:
        started = time.monotonic()
        number = 0
        rate = self._pace.rate
        end = End.WHOLE
        for piece in body:
            if isinstance(piece, End):
                end = piece
                break
            data, count = piece
            if rate is not None and count:
                number += 1
                self._stop.wait(max(0.0, started + number / rate - time.monotonic()))
            if self._stop.is_set():
                return End.CUT
            self._served.reach(count)
            self._waiting.append(data)
            self._size += len(data)
            if rate is not None or self._size >= BATCH_BYTES:
                self._flush()
        self._flush()
        return end

    def _flush(self) -> None:
        if self._size:
            self._connection.sendall(self._encoder.encode(b"".join(self._waiting)))
        self._waiting.clear()
        self._size = 0

    def _hold(self, heartbeats: Iterable[bytes]) -> None:
        for heartbeat in heartbeats:
            if until_gone(self._connection, self._stop, self._pace.heartbeat_seconds):
                return
            self._connection.sendall(self._encoder.encode(heartbeat))


def beyond_the_end(
    log: Log, topics: Iterable[str], identity: Identity, every: timedelta
) -> Iterator[bytes]:
    """Canaries for ever: time goes on after the last message of each topic."""
    last_ms = log.now_ms(len(log.messages))
    every_ms = every // timedelta(milliseconds=1)
    names = tuple(topics)
    sequence = len(log.messages)
    number = 0
    while True:
        number += 1
        at_ms = last_ms + number * every_ms
        pieces = []
        for topic in names:
            stream = topic.partition(".")[2]
            body = canary(stream, topic, at_ms)
            offset = log.next_offset(topic) + number - 1
            body["meta"] |= {"topic": topic, "partition": 0, "offset": offset}
            message = Message(
                sequence=sequence,
                stream=stream,
                topic=topic,
                offset=offset,
                timestamp_ms=at_ms,
                arrival_ms=at_ms,
                data=msgspec.json.encode(body),
            )
            pieces.append(
                frame(event="message", identity=identity.after(message), data=message.data)
            )
        yield b"".join(pieces)


def until_gone(
    connection: socket.socket,
    stop: threading.Event,
    seconds: float | None,
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Wait in silence until the reader hangs up or ``stop`` is set (True), or time is over."""
    deadline = None if seconds is None else clock() + seconds
    while not stop.is_set():
        left = 0.1 if deadline is None else min(0.1, deadline - clock())
        if left <= 0:
            return False
        readable, _, _ = select([connection], [], [], left)
        if readable and not connection.recv(1024):
            return True
    return True
