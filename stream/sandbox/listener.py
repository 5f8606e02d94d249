"""HTTP/1.1 on loopback: threads, sockets and headers around the routes and the streams.

The library's server, not a framework: the stream needs its raw bytes, to cut them anywhere.
"""

import gzip
import socket
import sys
import threading
from collections import deque
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec

from stream.sandbox import sse
from stream.sandbox.http import JSON, MAX_BODY, Request, Response, json_response, plain
from stream.sandbox.routes import Site
from stream.sandbox.streams import PREFIX, Streams

PACKED_FROM = 512
"""Bytes from which a JSON answer is compressed for who accepts it."""
REMEMBERED = 10_000
"""Number of requests kept for who wants to see how a client behaves."""
REMEMBERED_BODY = 4096


class Listener(ThreadingHTTPServer):
    """The listening socket; each connection gets a thread."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, port: int, site: Site, streams: Streams) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.site = site
        self.streams = streams
        self.requests: deque[Request] = deque(maxlen=REMEMBERED)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()

    def opened(self, connection: socket.socket) -> None:
        """A connection to hang up when all ends."""
        with self._lock:
            self._open.add(connection)

    def closed(self, connection: socket.socket) -> None:
        """It is gone."""
        with self._lock:
            self._open.discard(connection)

    def hang_up(self) -> None:
        """End all connections, whoever is reading or writing on them."""
        with self._lock:
            for connection in self._open:
                hang_up(connection)

    def handle_error(self, request: object, client_address: object) -> None:
        """A reader that hangs up is no error; anything else is one and is shown."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # as given


class _Handler(BaseHTTPRequestHandler):
    """One connection of a client."""

    server: Listener
    protocol_version = "HTTP/1.1"
    server_version = "sandbox"
    sys_version = ""
    disable_nagle_algorithm = True
    wbufsize = -1

    def setup(self) -> None:
        super().setup()
        self.server.opened(self.connection)

    def finish(self) -> None:
        self.server.closed(self.connection)
        super().finish()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - inherited name
        """Say nothing."""

    def do_GET(self) -> None:
        """Serve any request; the method is in it."""
        request = self._request()
        kept = request.body[:REMEMBERED_BODY]
        self.server.requests.append(msgspec.structs.replace(request, body=kept))
        if request.path == PREFIX or request.path.startswith(PREFIX + "/"):
            self._stream(request)
        else:
            self._answer(self.server.site.answer(request))

    do_POST = do_GET  # noqa: N815 - the library looks for this name
    do_HEAD = do_GET  # noqa: N815 - the same

    def _request(self) -> Request:
        headers = {name.lower(): value for name, value in self.headers.items()}
        length = headers.get("content-length", "0")
        size = int(length) if length.isascii() and length.isdigit() else 0
        if size > MAX_BODY:
            self.close_connection = True
            size = 0
        body = self.rfile.read(size) if size else b""
        return Request(method=self.command, target=self.path, headers=headers, body=body)

    def _answer(self, response: Response) -> None:
        body = response.body
        accepted = self.headers.get("Accept-Encoding", "")
        packed = "gzip" in accepted and response.content_type == JSON and len(body) > PACKED_FROM
        if packed:
            body = gzip.compress(body, compresslevel=1, mtime=0)
        self.send_response(response.status)
        self.send_header("Content-Type", response.content_type)
        self.send_header("Content-Length", str(len(body)))
        if packed:
            self.send_header("Content-Encoding", "gzip")
        for name, value in response.headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def _stream(self, request: Request) -> None:
        """Everything that can be refused is, before the first byte of a stream."""
        streams = self.server.streams
        try:
            subscription = streams.subscription(request)
        except sse.StreamRequestError as error:
            self._answer(json_response({"message": str(error)}, 400))
            return
        plan = streams.next_plan()
        retry = ("Retry-After", str(streams.faults.retry_after_seconds))
        if plan.refuse is not None:
            self._answer(plain(plan.refuse, "The stream cannot be served now.", retry))
            return
        with streams.place() as free:
            if not free:
                reason = "Too Many Concurrent Connections From Your Client IP"
                self._answer(plain(429, reason, retry))
                return
            self._stream_head(streams.wire.content_type, packed=subscription.packed)
            self.close_connection = True
            if self.command != "HEAD":
                streams.send(self.connection, subscription, plan)
                hang_up(self.connection)

    def _stream_head(self, content_type: str, *, packed: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Cache-Control", "private, max-age=0, s-maxage=0")
        self.send_header("Transfer-Encoding", "chunked")
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.flush()


def hang_up(connection: socket.socket) -> None:
    """End a connection both ways."""
    with suppress(OSError):  # it may be gone already
        connection.shutdown(socket.SHUT_RDWR)
