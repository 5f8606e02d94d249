"""A little world through a cluster of worker processes: what tests and the soak set up.

::

    world ─▶ sandbox ─▶ items ─▶ bridge ─▶ broker ─▶ worker processes ─▶ cut ─┐ equal
                          └────▶ embedded engine ────────────────────▶ cut ──┘ data files

The sandbox plays Wikimedia, everything else is the product itself. The embedded engine over the
same events is the measure: whatever happened to the workers, the data files are the same.
"""

import random
import subprocess
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from kafka import TopicPartition
from kafka.errors import KafkaError

from stream.backoff import Backoff
from stream.bridge import position_of
from stream.clock import SystemClock
from stream.cluster.admin import create_topics
from stream.cluster.changelogs import gathered
from stream.cluster.client import consumer
from stream.cluster.feeding import feed
from stream.cluster.mortal import Options, log_of, start
from stream.cluster.windows import cut_window, fill
from stream.embedded import Embedded, Item, chunked
from stream.hydrate import Hydrator
from stream.metrics import Metrics
from stream.position import Positions
from stream.record import Recorder
from stream.sandbox.dump_files import DumpSet
from stream.sandbox.server import SandboxServer
from stream.service import live_source
from stream.settings import KafkaConfig, Settings, read_settings
from stream.topics import REVISIONS, BridgeRecord, Role, Topic, group_of, name_of
from twiki.context import build
from twiki.engine import Engine
from twiki.errors import EngineError
from twiki.state.kv import MemoryKeyValues
from twiki.state.store import Store
from twiki.windows.bootstrap import bootstrap
from twiki.windows.dataset import data_bytes

PATIENCE = 60.0
_CHUNK = 500
_ENDS = 8
"""Workers that end by themselves more often than this are beyond patience."""


def settings_for(server: SandboxServer, **kafka: Any) -> Settings:  # noqa: ANN401 - values of [kafka]
    """Settings with the sandbox in place of Wikimedia, every Unchanged fact sampled."""
    return read_settings(
        None,
        {
            "wiki.url": server.wiki_url("enwiki"),
            "wiki.repository_url": server.wiki_url("wikidatawiki"),
            "stream.url": server.url,
            "stream.requests_per_second": 0.0,
            "stream.backoff_seconds": 0.2,
            "facts.unchanged_rate": 1.0,
            **{f"kafka.{name}": value for name, value in kafka.items()},
        },
        {},
    )


def hydrator(settings: Settings) -> Hydrator:
    """The sandbox's API."""
    return Hydrator(settings, clock=SystemClock(), chance=random.Random(1), metrics=Metrics())


def items_of(settings: Settings, since: datetime) -> Iterator[Item]:
    """Everything that the sandbox's stream tells, decoded, up to the first silence."""
    positions = Positions(settings.stream)
    source = live_source(
        settings,
        positions,
        build(settings, ()).site,
        clock=SystemClock(),
        metrics=Metrics(),
        since=since,
    )
    with source as reader:
        told = 0
        for chunk in reader.chunks():
            if told and not chunk:  # it has told everything and waits
                return
            told += len(chunk)
            for item in chunk:
                if positions.begin(position_of(item)):
                    yield item
                positions.done(position_of(item))


def embedded_engine(
    settings: Settings, as_of: datetime, dumps: DumpSet, items: Iterable[Item]
) -> Engine:
    """The embedded engine over the same dump and events."""
    engine = Engine.open(Store(MemoryKeyValues()), settings, as_of=as_of)
    bootstrap(engine, dumps.articles, [dumps.entities])
    with hydrator(settings) as api:
        run = Embedded(engine, settings, api, Metrics())
        run.run(chunked(items, _CHUNK))
        run.needs.supply()
    return engine


class LocalCluster:
    """Topics of one prefix, and worker processes over them; :meth:`end` kills what runs.

    Args:
        settings: with the brokers and a prefix of its own.
        as_of: the boundary where every state begins.
        dumps: of that boundary.
        folder: for the workers' state and logs.
    """

    def __init__(
        self, settings: Settings, as_of: datetime, dumps: Sequence[DumpSet], folder: Path
    ) -> None:
        self.settings = settings
        self.as_of = as_of
        self.dumps = dumps
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.roles: dict[str, Role] = {}
        self.restarts: list[tuple[str, int]] = []

    @property
    def config(self) -> KafkaConfig:
        """[kafka]."""
        return self.settings.kafka

    # --- feeding ---

    def create(self) -> None:
        """Make the topics."""
        create_topics(self.config)

    def fill(self) -> None:
        """Send the dump of the first boundary."""
        fill(self.settings, self.as_of, self.dumps[0].articles, [self.dumps[0].entities])

    def bridge(self, items: Iterable[Item]) -> BridgeRecord:
        """Send items, in this process, behind what was sent before."""
        path = self.folder / f"items-{uuid.uuid4().hex[:6]}"
        with Recorder(path) as recorder:
            for item in items:
                recorder.write(item)
        backoff = Backoff(self.settings.stream, random.Random(1))
        return feed(self.settings, SystemClock(), backoff, replay=path, as_of=self.as_of)

    # --- processes ---

    def start(
        self,
        role: Role,
        name: str | None = None,
        **options: Any,  # noqa: ANN401 - those of mortal.Options
    ) -> "subprocess.Popen[bytes]":
        """Start a worker process; options as in :class:`stream.cluster.mortal.Options`."""
        name = name or str(role)
        self.roles[name] = role
        told = Options(settings=self.settings, role=role, folder=self.folder / name, **options)
        self.processes[name] = start(told)
        return self.processes[name]

    def start_all(self) -> None:
        """A worker of each role."""
        for role in Role:
            self.start(role)

    def kill(self, name: str) -> None:
        """SIGKILL."""
        process = self.processes.pop(str(name))
        process.kill()
        process.wait()

    def stop(self, name: str) -> int:
        """SIGTERM; the exit code."""
        process = self.processes.pop(str(name))
        process.terminate()
        return process.wait(timeout=30)

    def end(self) -> None:
        """Kill every worker."""
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.processes.clear()

    def log(self, name: str) -> str:
        """What a worker had to say."""
        return log_of(self.folder / str(name)).read_text(errors="replace")

    # --- looking ---

    def offsets(self, role: Role) -> tuple[int, int]:
        """Records that the role's group has committed over its topics, and those it has not."""
        topics = [Topic.CHANGES, Topic.NEEDS] if role is Role.HYDRATOR else [REVISIONS[role]]
        reader = consumer(self.config, group_id=group_of(role, self.config))
        try:
            parts = [
                TopicPartition(name_of(topic, self.config), number)
                for topic in topics
                for number in range(self.config.partitions)
            ]
            ends = reader.end_offsets(parts)
            done = {part: reader.committed(part, timeout_ms=5000) or 0 for part in parts}
            return sum(done.values()), sum(ends[part] - done[part] for part in parts)
        except KafkaError:  # a broker that has just started does not know its groups yet
            return 0, 1
        finally:
            reader.close()

    def at_end(self, role: Role) -> bool:
        """Whether the role's group has committed what there is."""
        committed, lag = self.offsets(role)
        return lag <= 0 < committed

    def settled(self) -> bool:
        """Whether everything told has been worked in."""
        return all(self.at_end(role) for role in Role)

    def wait_for(
        self, what: Callable[[], bool], seconds: float = PATIENCE, poll: float = 0.3
    ) -> None:
        """Until ``what()`` is true; workers that ended are started again, as a supervisor does.

        Raises:
            EngineError: it took longer, or a worker ended for good.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if what():
                return
            self._start_again()
            time.sleep(poll)
        logs = "\n".join(f"--- {name}\n{self.log(name)[-3000:]}" for name in self.processes)
        offsets = {str(role): self.offsets(role) for role in Role}
        raise EngineError(f"not within {seconds} s; {offsets} {self.restarts}\n{logs}")

    def wait_settled(self, seconds: float = PATIENCE) -> None:
        """Until everything is worked in, and the needs of the last batch too."""
        self.wait_for(self.settled, seconds)
        self.wait_for(self.settled, seconds)

    def _start_again(self) -> None:
        for name, process in list(self.processes.items()):
            code = process.poll()
            if code is None:
                continue
            self.restarts.append((name, code))
            if code in (1, 2) or len(self.restarts) >= _ENDS:
                raise EngineError(f"{name} ended with {code}:\n{self.log(name)[-3000:]}")
            self.start(self.roles[name], name)

    def cut(self, window: str) -> dict[str, bytes]:
        """Data files of the window's dataset, cut from the changelogs."""
        folder = self.folder / f"datasets-{uuid.uuid4().hex[:6]}"
        with gathered(self.settings) as found, hydrator(self.settings) as api:
            report = cut_window(self.settings, found, window, folder, contents=api)
        return data_bytes(report.folder)


def with_kafka(settings: Settings, **kafka: Any) -> Settings:  # noqa: ANN401 - values of [kafka]
    """Settings with other values of [kafka]."""
    return msgspec.structs.replace(settings, kafka=msgspec.structs.replace(settings.kafka, **kafka))
