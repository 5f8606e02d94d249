"""EventStreams: a source that is read for months, over connections that live for minutes.

::

    source = EventStreams(settings.stream, positions, clock=clock, chance=chance, metrics=metrics)
    for frame in source:                       # reconnects, resumes, backs off by itself
        item = source.decode(frame, decoder)   # Change | Canary | Rejected

Each connection starts where *applied* events end (:class:`stream.position.Positions`): never at
the last SSE id, which carries a timestamp + 1 ms and skips what shares that millisecond.
:meth:`EventStreams.stop` ends the loop, also while it waits for data.
"""

import logging
import random
from collections.abc import Iterator, Mapping
from datetime import datetime

from stream import metrics as names
from stream import wire
from stream.backoff import Backoff, retry_after
from stream.clock import Clock
from stream.connection import Connect, Connection, Cut, connector
from stream.events import Decoded, Decoder, Reason
from stream.metrics import Metrics
from stream.position import Positions
from stream.settings import StreamConfig, require_contact, user_agent
from stream.sse import OVERSIZE, Frame, frames
from twiki.errors import SourceError

log = logging.getLogger(__name__)

OK, BAD_REQUEST, TOO_MANY, SERVER_ERROR = 200, 400, 429, 500
BODY_HEAD = 500

BY_OFFSET, BY_TIMESTAMP, BY_SINCE = range(3)
"""Ways to resume, each tried when the source refuses the one before (HTTP 400)."""


class EventStreams:
    """The events of ``config.streams`` from where ``positions`` stand, without end."""

    def __init__(
        self,
        config: StreamConfig,
        positions: Positions,
        *,
        clock: Clock,
        chance: random.Random,
        metrics: Metrics,
        since: datetime | None = None,
        connect: Connect | None = None,
    ) -> None:
        require_contact(config, config.url)
        self._config = config
        self._positions = positions
        self._clock = clock
        self._metrics = metrics
        self._since = since
        self._connect = connect or connector(config)
        self._backoff = Backoff(config, chance)
        self._connection: Connection | None = None
        self._way = BY_OFFSET
        self._stopped = False

    def __iter__(self) -> Iterator[Frame]:
        """Yield events until :meth:`stop`.

        Raises:
            SourceError: the source refuses us for good.
        """
        failures = 0
        while not self._ends:
            wait: float | None = None
            try:
                for frame in self._session():
                    failures = 0
                    yield frame
                cause = "closed"
            except Cut as cut:
                cause, wait = cut.cause, cut.wait
                log.info("event=cut cause=%s detail=%r", cause, str(cut)[:200])
            if self._ends:
                return
            self._metrics.add(names.CUTS, label=cause)
            self._clock.sleep(self._backoff.delay(failures, wait))
            failures += 1

    @staticmethod
    def decode(frame: Frame, decoder: Decoder) -> Decoded:
        """What a frame says."""
        if frame.event == OVERSIZE:
            return decoder.unreadable(Reason.TOO_LARGE, "cut off", frame.data, frame.id)
        return decoder.decode(frame.data, frame.id)

    def stop(self) -> None:
        """End the iteration; safe in a signal handler and from other threads."""
        self._stopped = True
        connection = self._connection
        if connection is not None:
            connection.interrupt()

    def reconnect(self) -> None:
        """End the connection at hand, from another thread; the iteration goes on with a new one."""
        connection = self._connection
        if connection is not None:
            connection.interrupt()

    @property
    def _ends(self) -> bool:
        return self._stopped or self._clock.stopped

    def _session(self) -> Iterator[Frame]:
        """One connection, from request to cut."""
        config = self._config
        connection = self._open()
        self._connection = connection
        try:
            if self._ends:
                return
            self._greet(connection)
            first = True
            for frame in frames(
                self._chunks(connection),
                max_bytes=config.max_event_bytes,
                head_bytes=config.max_raw_bytes,
            ):
                if first:
                    first = False
                    self._way = BY_OFFSET
                    self._learn_topics(frame.id)
                if frame.event == "error":
                    # The source tells of trouble of its own; its id is no position of ours.
                    self._metrics.add(names.SERVER_ERRORS)
                    log.warning("event=server_error data=%r", frame.data[:BODY_HEAD])
                    continue
                if frame.event == OVERSIZE:
                    self._metrics.add(names.OVERSIZE)
                yield frame
        finally:
            self._connection = None
            connection.close()

    def _open(self) -> Connection:
        config = self._config
        headers = {
            "User-Agent": user_agent(config),
            "Accept": "text/event-stream",
            "Accept-Encoding": "gzip",
        }
        if config.token:
            headers["Authorization"] = f"Bearer {config.token}"
        params: dict[str, str] = {}
        resume = self._positions.resume(self._now_ms(), by_offset=self._way == BY_OFFSET)
        since = self._since
        if resume.last_event_id is not None and self._way < BY_SINCE:
            headers["Last-Event-ID"] = resume.last_event_id
        elif resume.last_event_id is not None:
            params["since"] = str(max(0, self._oldest_ms()))
        elif since is not None:
            params["since"] = str(int(since.timestamp() * 1000))
        self._metrics.add(names.CONNECTS)
        url = f"{config.url}/v2/stream/{','.join(config.streams)}"
        log.info("event=connect url=%s resume=%s", url, headers.get("Last-Event-ID") or params)
        return self._connect(url, params, headers)

    def _greet(self, connection: Connection) -> None:
        """Accept the answer, or raise what its status means."""
        status, headers = connection.status, connection.headers
        if status == OK:
            kind = _header(headers, "content-type").partition(";")[0].strip().lower()
            if kind != "text/event-stream":
                raise Cut("content_type", f"content type {kind!r}")
            return
        if status == TOO_MANY or status >= SERVER_ERROR:
            wait = retry_after(headers, self._clock.now())
            raise Cut("busy", f"HTTP {status}", wait)
        told = connection.read()[:BODY_HEAD].decode("utf-8", "replace")
        if status == BAD_REQUEST and self._positions.mark() and self._way < BY_SINCE:
            # Too old, or of a cluster that is gone: step back to a vaguer way.
            self._way += 1
            raise Cut("refused_position", told)
        raise SourceError(
            f"{self._config.url} refuses the request: HTTP {status}, {told!r}. "
            "Check stream.url, stream.streams and stream.contact"
        )

    def _chunks(self, connection: Connection) -> Iterator[bytes]:
        while not self._ends:
            chunk = connection.read()
            if not chunk:
                return
            self._metrics.add(names.BYTES, len(chunk))
            yield chunk

    def _learn_topics(self, sse_id: str) -> None:
        """Note topics that are idle now: after a switch of data centre they go on."""
        for part in wire.decode_ids(sse_id):
            self._positions.idle(part.topic, part.partition)

    def _now_ms(self) -> int:
        return int(self._clock.now().timestamp() * 1000)

    def _oldest_ms(self) -> int:
        times = [mark.timestamp_ms for mark in self._positions.mark() if mark.timestamp_ms]
        margin = int(self._config.resume_margin_seconds * 1000)
        return min(times, default=self._now_ms()) - margin


def _header(headers: Mapping[str, str], name: str) -> str:
    return next((value for key, value in headers.items() if key.lower() == name), "")
