"""``/v2/stream/{a,b}``: who may read what from where, and how much is out.

Holds what all connections share; one connection's bytes are :mod:`stream.sandbox.connection`'s.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import msgspec

from stream.sandbox import sse
from stream.sandbox.connection import Pace, Sender, Served, beyond_the_end, broken, frames
from stream.sandbox.faults import CLEAN, ConnectionPlan, Faults, connection_plans
from stream.sandbox.http import Request
from stream.sandbox.log import Log

PREFIX = "/v2/stream"
SEND_BUFFER = 64 << 10
"""Small, so that the stream at full speed does not run far ahead of its reader."""
CANARY_STEP = timedelta(minutes=15)


class Wire(msgspec.Struct, frozen=True, kw_only=True):
    """How the stream looks on the wire; nothing of it changes what is in it."""

    ids: sse.IdKind = "timestamp"
    gzip: bool = False
    """Compress for readers that accept it."""
    chunk_bytes: int | None = None
    """Size of HTTP chunks; None: as they come."""
    content_type: str = "text/event-stream"
    """The real one names no charset (T5)."""


class Subscription(msgspec.Struct, frozen=True, kw_only=True):
    """A request to the stream, understood."""

    topics: tuple[str, ...]
    starts: dict[str, int]
    positions: tuple[sse.TopicPosition, ...]
    packed: bool


class Streams:
    """The log with its readers; safe to use from many threads."""

    def __init__(
        self,
        log: Log,
        faults: Faults,
        *,
        start: datetime,
        pace: Pace,
        wire: Wire,
        retention: timedelta | None,
        connection_limit: int | None,
    ) -> None:
        self.log = log
        self.faults = faults
        self.wire = wire
        self.served = Served()
        self.stopping = threading.Event()
        self._start = start
        self._pace = pace
        self._retention = retention
        self._limit = connection_limit
        self._plans = connection_plans(faults)
        self._lock = threading.Lock()
        self._made = 0
        self._open = 0

    @property
    def now(self) -> datetime:
        """The arrival time of the newest event served; before any, the world's beginning."""
        reached = self.log.now_ms(self.served.count)
        return max(datetime.fromtimestamp(reached / 1000, tz=UTC), self._start)

    def subscription(self, request: Request) -> Subscription:
        """Understand a request. One that names no stream gets all there are.

        Raises:
            StreamRequestError: unknown stream, or a position that cannot be read.
        """
        named = request.path.removeprefix(PREFIX).removeprefix("/")
        names = named.split(",") if named else self.log.streams
        for name in names:
            if name not in self.log.streams:
                raise sse.StreamRequestError(f"Stream {name} not found")
        topics = self.log.topics_of(names)
        header = request.headers.get("last-event-id")
        positions = sse.last_event_id(header) if header else ()
        since = request.parameters.get("since")
        oldest = self.now - self._retention if self._retention is not None else None
        starts = sse.starts(
            self.log,
            topics,
            served=self.served.count,
            positions=positions,
            since_ms=sse.since(since) if since is not None else None,
            oldest_ms=int(oldest.timestamp() * 1000) if oldest is not None else 0,
        )
        packed = self.wire.gzip and "gzip" in request.headers.get("accept-encoding", "")
        return Subscription(topics=topics, starts=starts, positions=positions, packed=packed)

    def next_plan(self) -> ConnectionPlan:
        """What is planned for the next connection."""
        with self._lock:
            number = self._made
            self._made += 1
        return self._plans[number] if number < len(self._plans) else CLEAN

    @contextmanager
    def place(self) -> Iterator[bool]:
        """Take one of the places for readers; False: all are taken."""
        with self._lock:
            free = self._limit is None or self._open < self._limit
            self._open += free
        try:
            yield free
        finally:
            with self._lock:
                self._open -= free

    def send(
        self, connection: socket.socket, subscription: Subscription, plan: ConnectionPlan
    ) -> None:
        """Write the body of a stream to the socket, until it ends or the server stops.

        Raises:
            OSError: the reader is gone.
        """
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        identity = sse.Identity(subscription.topics, subscription.positions, self.wire.ids)
        messages = self.log.read(subscription.starts)
        encoder = sse.Encoder(gzip=subscription.packed, chunk_bytes=self.wire.chunk_bytes)
        sender = Sender(connection, encoder, self._pace, self.served, self.stopping)
        sender.send(
            broken(frames(messages, identity, plan), plan),
            beyond_the_end(self.log, subscription.topics, identity, CANARY_STEP),
        )
