"""What bridge and workers tell Prometheus: ``/metrics``, on loopback unless the settings say else.

::

    metrics = Metrics(CLUSTER)
    with exposed(metrics, settings.kafka):       # http://127.0.0.1:PORT/metrics
        ...

Names that the embedded engine has too mean the same here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from stream import metrics as names
from stream.metrics import Metric, Metrics
from stream.settings import KafkaConfig
from twiki.errors import ConfigError

SENT = Metric("twiki_bridge_sent_total", "Changes that the brokers acknowledged.", "counter")
CLOSED = Metric(
    "twiki_bridge_closed_seconds", "End of the last window that closed, Unix time.", "gauge"
)
RECORDS = Metric(
    "twiki_worker_records_total",
    "Records worked in and committed, by outcome.",
    "counter",
    "outcome",
)
TOLD = Metric("twiki_worker_told_total", "Records acknowledged, by topic.", "counter", "topic")
BATCHES = Metric("twiki_worker_batches_total", "Batches committed.", "counter")
BUSY = Metric("twiki_worker_busy_seconds_total", "Time spent in batches.", "counter")
PARTITIONS = Metric(
    "twiki_worker_partitions", "Source partitions held by this worker.", "gauge", "role"
)

CLUSTER: tuple[Metric, ...] = (
    *(SENT, CLOSED, RECORDS, TOLD, BATCHES, BUSY, PARTITIONS),
    *(names.EVENTS, names.REJECTED, names.REPEATED, names.CONNECTS, names.CUTS, names.OVERSIZE),
    *(names.WATERMARK, names.LAG, names.STEP),
    *(names.REQUESTS, names.RETRIES, names.FETCHED, names.FAILED, names.SKIPPED),
)
"""Every metric of bridge and workers."""

_POLL_SECONDS = 0.2


@contextmanager
def exposed(metrics: Metrics, config: KafkaConfig) -> Iterator[str | None]:
    """Serve the metrics while the context lasts, where ``kafka.metrics_port`` is set; the address.

    Raises:
        ConfigError: the address cannot be listened on.
    """
    if config.metrics_port is None:
        yield None
        return
    try:
        server = ThreadingHTTPServer((config.metrics_host, config.metrics_port), _handler(metrics))
    except OSError as error:
        raise ConfigError(
            f"kafka.metrics_host {config.metrics_host}, kafka.metrics_port {config.metrics_port} "
            f"cannot be listened on: {error.strerror}; choose another"
        ) from error
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(_POLL_SECONDS,), name="metrics", daemon=True)
    thread.start()
    try:
        yield f"http://{config.metrics_host}:{server.server_address[1]}/metrics"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(metrics: Metrics) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            good = self.path.partition("?")[0] == "/metrics"
            body = metrics.render().encode() if good else b"not found\n"
            self.send_response(HTTPStatus.OK if good else HTTPStatus.NOT_FOUND)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Scrapes are not worth a line."""

    return Handler
