"""Signs of life on loopback: ``/healthz``, ``/readyz``, ``/metrics``.

* ``/healthz`` 200 while the engine takes steps; 503 when it stands still: restart it.
* ``/readyz`` 200 while the watermark is near the clock; 503 while it catches up, or reads
  nothing because of long work, which ``doing`` names.
* ``/metrics`` everything in :mod:`stream.metrics`, for Prometheus.

Both of the first answer with the same JSON, so that a person sees why::

    {"healthy": true, "ready": false, "doing": "reconcile 2026-10", "lag_seconds": 4021.5, …}
"""

import socket
import sys
import threading
from datetime import datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import msgspec

from stream import metrics as names
from stream.clock import Clock
from stream.measuring import resident_bytes
from stream.metrics import Metrics
from stream.settings import ServiceConfig
from twiki.errors import ConfigError

_LOOPBACK = "127.0.0.1"
_POLL_SECONDS = 0.2


class Health:
    """What the engine's thread notes and the server's threads tell."""

    def __init__(self, config: ServiceConfig, clock: Clock, metrics: Metrics) -> None:
        self.metrics = metrics
        self._config = config
        self._clock = clock
        self._lock = threading.Lock()
        self._beat = clock.monotonic()
        self._watermark: datetime | None = None
        self._doing: str | None = None
        self._about: dict[str, Any] = {}

    def beat(
        self, watermark: datetime | None = None, *, doing: str | None = None, **about: object
    ) -> None:
        """Note a step of the engine; ``about`` stays until it is told anew.

        ``doing``: the long work of which this is a step; the stream is not read meanwhile.
        """
        with self._lock:
            self._beat = self._clock.monotonic()
            self._watermark = watermark or self._watermark
            self._doing = doing
            self._about |= about
        self.metrics.set(names.STEP, self._clock.now().timestamp())

    def status(self) -> dict[str, Any]:
        """How things stand."""
        with self._lock:
            still = self._clock.monotonic() - self._beat
            watermark, doing, about = self._watermark, self._doing, dict(self._about)
        lag = None
        if watermark is not None:
            lag = round((self._clock.now() - watermark).total_seconds(), 3)
        return {
            **about,
            "healthy": still <= self._config.stall_seconds,
            "ready": doing is None and lag is not None and lag <= self._config.ready_lag_seconds,
            "doing": doing,
            "watermark": watermark,
            "lag_seconds": lag,
            "seconds_since_step": round(still, 3),
        }


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Who hangs up before the answer is no error; anything else is one and is shown."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # as given


class HealthServer:
    """Serves a :class:`Health` in threads of its own, while the context lasts.

    Raises:
        ConfigError: the port is taken.
    """

    def __init__(self, health: Health, port: int) -> None:
        self._health = health
        try:
            self._server = _Server((_LOOPBACK, port), self._handler())
        except OSError as error:
            raise ConfigError(
                f"service.port {port} cannot be listened on: {error.strerror}; choose another"
            ) from error
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_SECONDS,), name="health", daemon=True
        )

    @property
    def url(self) -> str:
        """Base address."""
        return f"http://{_LOOPBACK}:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        health = self._health

        class Handler(BaseHTTPRequestHandler):
            timeout = 10

            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                if path == "/metrics":
                    if (memory := resident_bytes()) is not None:
                        health.metrics.set(names.MEMORY, memory)
                    body = health.metrics.render().encode()
                    self._answer(HTTPStatus.OK, "text/plain; version=0.0.4", body)
                elif path in ("/healthz", "/readyz"):
                    told = health.status()
                    good = told["healthy" if path == "/healthz" else "ready"]
                    status = HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE
                    body = msgspec.json.encode(told, enc_hook=str)
                    self._answer(status, "application/json", body)
                else:
                    self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"not found\n")

            def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments: object) -> None:
                """Scrapes are not worth a line."""

        return Handler


def notify(state: str, address: str | None) -> None:
    """Tell systemd: ``READY=1``, ``WATCHDOG=1``, ``STOPPING=1``; nothing where nobody listens."""
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.connect("\0" + address[1:] if address.startswith("@") else address)
        channel.sendall(state.encode())
