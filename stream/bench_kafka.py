"""What the cluster does a second, on a broker of its own on the same cores.

Recorded content goes through bridge → broker → hydrator → worker → output with the real text
work. Budgets are those of the design: 500 article edits a second through one worker, 10,000
articles recovered in 10 s, latency at the live rate below 1 s (median) and 5 s (99 %).
"""

import os
import random
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from kafka import TopicPartition

from stream import bench_kafka_soak
from stream.bridge import Bridge
from stream.cluster import localbroker
from stream.cluster.admin import create_topics, read_all
from stream.cluster.client import admin, consumer, producer
from stream.cluster.mortal import Options, start
from stream.settings import KafkaConfig, Settings, StreamConfig
from stream.topics import REVISIONS, Role, Topic, group_of, name_of
from twiki.bench.figures import Figure, figure
from twiki.errors import EngineError, SourceError
from twiki.records import Change, ChangeKind, Revision
from twiki.times import to_ms

_START = datetime(2026, 11, 2, tzinfo=UTC)
_WORDS = "the of a river town mill bridge church road was built in and by with near old".split()  # noqa: SIM905 - a sentence to read
_PATIENCE = 240.0
_LIVE_RATE = 10.0
_WARM = 50
"""Edits before the clock starts: processes start, partitions are assigned."""


def run(
    *,
    edits: int = 8000,
    articles: int = 400,
    recovered: int = 10_000,
    live_seconds: float = 20.0,
    kafka_home: Path | None = None,
    soak: bool = False,
    kills: int | None = None,
    seed: int = 1,
) -> list[Figure]:
    """Measure. Needs an Apache Kafka to start: see :mod:`stream.cluster.localbroker`.

    Raises:
        EngineError: there is none.

    Args:
        edits: article edits of about 10 KB sent through the cluster.
        articles: pages that they are spread over.
        recovered: articles whose state is rebuilt from the changelog.
        live_seconds: how long the latency at the live rate is watched.
        kafka_home: where Apache Kafka is, beside ``KAFKA_HOME``.
        soak: kill workers instead, see :mod:`stream.bench_kafka_soak`.
        kills: of the soak.
        seed: of the soak.
    """
    if soak:
        return bench_kafka_soak.run(
            bench_kafka_soak.KILLS if kills is None else kills, seed=seed, kafka_home=kafka_home
        )
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-kafka-")))
        homes = [] if kafka_home is None else [kafka_home]
        broker = localbroker.find_broker(folder / "broker", os.environ, *homes)
        if not broker.full:
            raise EngineError(
                f"{broker.kind} tells no members of a group: set KAFKA_HOME to an Apache Kafka"
            )
        stack.enter_context(localbroker.running(broker))
        bench = _Bench(broker, folder)
        stack.callback(bench.end)
        texts = list(_edits(edits, articles))
        one = bench.rate(texts, workers=1)
        two = bench.rate(texts, workers=2)
        plain = bench.rate([_without_text(item) for item in texts], workers=1)
        recovery = bench.recovery(list(_edits(recovered, recovered)))
        latencies = bench.latencies(live_seconds)
    return [
        figure("article edits through one worker", one, "edits/s", budget=500),
        figure("the same without text", plain, "edits/s", peer=one),
        figure("two workers to one", two, "edits/s", peer=one),
        figure("articles recovered", recovery, "s", budget=10, better="less"),
        figure("latency p50", latencies[len(latencies) // 2], "s", budget=1, better="less"),
        figure("latency p99", latencies[int(len(latencies) * 0.99)], "s", budget=5, better="less"),
    ]


class _Bench:
    """Topics of a prefix for each measurement; processes are ended with it."""

    def __init__(self, broker: localbroker.LocalBroker, folder: Path) -> None:
        self._broker = broker
        self._folder = folder
        self._children: list[subprocess.Popen[bytes]] = []
        self._settings = Settings()

    def rate(self, items: list[Revision], workers: int) -> float:
        """Edits a second from the first that is sent to the last that is committed."""
        self._fresh()
        self._start(Role.HYDRATOR)
        for _ in range(workers):
            self._start(Role.ARTICLE)
        self._until(lambda: self._members() == workers)
        self._send(items[:_WARM])
        self._until(lambda: self._committed() >= _WARM)
        begun = time.perf_counter()
        self._send(items[_WARM:])
        self._until(lambda: self._committed() >= len(items))
        taken = time.perf_counter() - begun
        self.end()
        return (len(items) - _WARM) / taken

    def recovery(self, items: list[Revision]) -> float:
        """Seconds in which a worker without local state rebuilds it, up to its next commit."""
        self._fresh()
        self._start(Role.HYDRATOR)
        worker = self._start(Role.ARTICLE)
        self._send(items)
        self._until(lambda: self._committed() >= len(items))
        worker.terminate()
        worker.wait()
        taken = self._start_empty()
        self.end()
        return taken

    def latencies(self, seconds: float) -> list[float]:
        """Seconds from sending an edit to its sentences in Kafka, at the live rate, sorted."""
        self._fresh()
        self._start(Role.HYDRATOR)
        self._start(Role.ARTICLE)
        items = list(_edits(_WARM + int(seconds * _LIVE_RATE), _WARM))
        self._send(items[:_WARM])
        self._until(lambda: self._committed() >= _WARM)
        sent: dict[int, float] = {}
        for item in items[_WARM:]:
            began = time.time()
            self._send([item])
            sent[item.change.rev_id or 0] = began
            time.sleep(max(0.0, 1 / _LIVE_RATE - (time.time() - began)))
        self._until(lambda: self._committed() >= len(items))
        found: dict[int, float] = {}
        for row in read_all(self._config, Topic.SENTENCES):
            rev = msgspec.json.decode(row.value)["rev_id"]
            found[rev] = max(found.get(rev, 0.0), row.timestamp / 1000)
        self.end()
        return sorted(found[rev] - began for rev, began in sent.items() if rev in found)

    def end(self) -> None:
        """End the workers."""
        for child in self._children:
            child.kill()
            child.wait()
        if self._children:
            self._sender.close()
            self._reader.close()
        self._children.clear()

    @property
    def _config(self) -> KafkaConfig:
        return self._settings.kafka

    def _fresh(self) -> None:
        kafka = KafkaConfig(
            brokers=(self._broker.address,),
            prefix=f"b{uuid.uuid4().hex[:8]}",
            partitions=4,
            transactions=self._broker.full,
            session_seconds=10.0,
        )
        stream = StreamConfig(requests_per_second=0.0, contact="bench@example.org")
        self._settings = Settings(kafka=kafka, stream=stream)
        create_topics(kafka)
        self._sender = producer(kafka)
        # One for the whole measurement: a new one for each look would cost what is measured.
        self._reader = consumer(kafka, group_id=group_of(Role.ARTICLE, kafka))
        self._bridge = Bridge(self._settings, self._sender, first=to_ms(_START.replace(day=1)))

    def _start(self, role: Role, name: str = "") -> "subprocess.Popen[bytes]":
        folder = self._folder / f"{self._config.prefix}-{role}-{name or len(self._children)}"
        child = start(Options(settings=self._settings, role=role, folder=folder))
        self._children.append(child)
        return child

    def _start_empty(self) -> float:
        """Start a worker without local state; seconds to its first commit, its start included."""
        target = self._end() + 1
        self._send([_edit(10**6, 10**6, "One more.")])
        begun = time.perf_counter()
        self._start(Role.ARTICLE, "empty")
        self._until(lambda: self._committed() >= target)
        return time.perf_counter() - begun

    def _send(self, items: list[Revision]) -> None:
        for at in range(0, len(items), 500):
            self._bridge.take(items[at : at + 500])

    def _members(self) -> int:
        """Workers in the group, none of them still joining."""
        group = group_of(Role.ARTICLE, self._config)
        try:
            with admin(self._config) as client:
                told = client.describe_groups([group])[group]
        except SourceError:  # a new broker makes room for its groups first
            return 0
        return len(told["members"]) if told["group_state"] == "Stable" else 0

    def _committed(self) -> int:
        return self._offsets(committed=True)

    def _end(self) -> int:
        return self._offsets(committed=False)

    def _offsets(self, *, committed: bool) -> int:
        name = name_of(REVISIONS[Role.ARTICLE], self._config)
        parts = [TopicPartition(name, n) for n in range(self._config.partitions)]
        if committed:
            return sum(self._reader.committed(part, timeout_ms=10_000) or 0 for part in parts)
        return sum(self._reader.end_offsets(parts).values())

    def _until(self, done: Callable[[], bool]) -> None:
        end = time.monotonic() + _PATIENCE
        while not done():
            if time.monotonic() > end:
                logs = "\n".join(p.read_text(errors="replace") for p in self._folder.glob("*.log"))
                raise EngineError(f"not done within {_PATIENCE:.0f} s: {logs[-1500:]}")
            time.sleep(0.2)


def _edits(count: int, articles: int) -> Iterator[Revision]:
    """Edits of pages of about 10 KB, one sentence each, page after page."""
    chance = random.Random(7)
    texts: dict[int, list[str]] = {}
    for number in range(count):
        page = number % articles + 1
        sentences = texts.get(page)
        if sentences is None:
            sentences = texts[page] = [_sentence(chance) for _ in range(120)]
        sentences[chance.randrange(len(sentences))] = _sentence(chance)
        paragraphs = [" ".join(sentences[at : at + 6]) for at in range(0, len(sentences), 6)]
        yield _edit(number, page, "\n\n".join(paragraphs))


def _edit(number: int, page: int, text: str) -> Revision:
    moment = _START + timedelta(seconds=number)
    change = Change(
        wiki="enwiki",
        kind=ChangeKind.EDIT,
        effective_time=moment,
        arrival_time=moment,
        page_id=page,
        title=f"Page {page}",
        namespace=0,
        rev_id=number + 1,
        parent_rev_id=0,
        rev_dt=moment,
        redirect=False,
    )
    return Revision(change=change, content=text)


def _without_text(item: Revision) -> Revision:
    """The same event as a hidden revision: ledger and commit, no text work."""
    change = msgspec.structs.replace(item.change, visible=False)
    return Revision(change=change)


def _sentence(chance: random.Random) -> str:
    words = " ".join(chance.choice(_WORDS) for _ in range(14))
    return f"{words.capitalize()} {chance.randrange(10_000)}."
