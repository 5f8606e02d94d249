"""``twiki bench kafka --soak``: workers killed at random, and the embedded engine's verdict.

::

    world ─▶ sandbox ─▶ bridge, a slice at a time ─▶ broker ─▶ workers, killed and started again
                 └───▶ embedded engine ─▶ cut ──── the same data files? ──── cut ◀─┘

Each slice of the events is followed by a kill: behind a random step of the commit of a random
worker's batch, or from outside at a random moment; now and then the worker's folder is lost too.
"""

import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec

from stream.cluster import localbroker
from stream.cluster.admin import read_all
from stream.cluster.rehearsal import LocalCluster, embedded_engine, items_of, settings_for
from stream.embedded import Item
from stream.sandbox.dump_files import write_dumps
from stream.sandbox.server import SandboxServer
from stream.sandbox.world import World
from stream.topics import Role, Topic
from twiki.bench.figures import Figure, figure
from twiki.windows.dataset import data_bytes
from twiki.windows.publishing import cut_closed

KILLS = 50
_STEPS = {Role.HYDRATOR: 1, Role.ARTICLE: 5, Role.ENTITY: 5}
"""Steps of each role's commit behind which its process can end."""
_DOOMED = 0.7
_LIFE_SECONDS = 10.0
"""A worker that has not met its step by then, or sooner, is killed from outside."""
_LOST = 0.1
"""How often a killed worker's folder is lost too."""
_SETTLED_SECONDS = 300.0


def run(
    kills: int = KILLS,
    *,
    seed: int = 1,
    articles: int = 300,
    kafka_home: Path | None = None,
) -> list[Figure]:
    """Soak until so many workers were killed; what came of it.

    Args:
        kills: SIGKILLs.
        seed: of the world and of the kills.
        articles: of the world; its month is told in as many slices as there are kills.
        kafka_home: where Apache Kafka is, beside ``KAFKA_HOME``.
    """
    began = time.monotonic()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="soak-kafka-")))
        homes = [] if kafka_home is None else [kafka_home]
        broker = localbroker.find_broker(folder / "broker", os.environ, *homes)
        world = World(seed, articles=articles, months=1)
        server = stack.enter_context(
            SandboxServer(world, grace=None, hold=True, heartbeat_seconds=3600)
        )
        stack.enter_context(localbroker.running(broker))
        settings = settings_for(
            server,
            brokers=[broker.address],
            prefix=f"s{uuid.uuid4().hex[:8]}",
            partitions=4,
            transactions=broker.full,
            session_seconds=6.0,
            commit_seconds=0.5,
            batch_records=16,
            cache_bytes=8 << 20,
        )
        dumps = write_dumps(world, world.boundaries[0], folder / "dumps")
        cluster = LocalCluster(settings, world.boundaries[0], [dumps], folder / "workers")
        cluster.folder.mkdir()
        stack.callback(cluster.end)
        items = list(items_of(settings, world.boundaries[0]))
        engine = embedded_engine(settings, world.boundaries[0], dumps, items)
        expected = data_bytes(cut_closed(engine, world.windows[0], folder / "embedded").folder)
        ends = _suffer(cluster, items, kills, random.Random(f"kafka soak {seed}"))
        cluster.wait_settled(_SETTLED_SECONDS)
        found = cluster.cut(world.windows[0].name)
        unequal = _unequal(cluster)
    late = sum(code == -signal.SIGKILL for _, code in cluster.restarts)
    otherwise = len(cluster.restarts) - late
    ends["behind a step of its commit"] += late
    differing = {n for n in expected.keys() | found.keys() if expected.get(n) != found.get(n)}
    told = [
        figure("kill -9", ends.total(), "kills", budget=kills),
        figure("events", len(items), "events"),
        figure("data files", len(expected), "files"),
        figure(
            "data files unlike the embedded engine's",
            len(differing),
            "files",
            budget=0,
            better="less",
        ),
        figure("told twice and not alike", unequal, "records", budget=0, better="less"),
        figure("workers that ended otherwise", otherwise, "times"),
        figure("taken", time.monotonic() - began, "s"),
    ]
    return told + [figure(f"killed: {end}", n, "times") for end, n in sorted(ends.items())]


def _suffer(
    cluster: LocalCluster, items: list[Item], kills: int, chance: random.Random
) -> Counter[str]:
    """Send slice after slice, each followed by a kill; how often each end came."""
    ends: Counter[str] = Counter()
    cluster.create()
    cluster.fill()
    for role in Role:
        _start(cluster, role, chance)
    sent = 0
    while ends.total() < kills:
        upto = min(len(items), sent + max(1, len(items) // kills))
        cluster.bridge(items[sent:upto])
        sent = upto
        chosen = chance.choice(list(Role))
        _wait(cluster.processes[chosen], chance.uniform(0.5, _LIFE_SECONDS))
        for role in Role:
            process = cluster.processes[role]
            if process.poll() is not None:
                ends["behind a step of its commit"] += 1
            elif role is chosen:
                cluster.kill(role)
                ends["at a random moment"] += 1
            else:
                continue
            if chance.random() < _LOST:
                shutil.rmtree(cluster.folder / role)
            _start(cluster, role, chance)
    cluster.bridge(items[sent:])
    return ends


def _start(cluster: LocalCluster, role: Role, chance: random.Random) -> None:
    """Start a worker that most likely ends behind a step of one of its first batches."""
    doom = (chance.randint(1, _STEPS[role]), chance.randint(1, 3))
    cluster.start(role, kill_after=doom if chance.random() < _DOOMED else None)


def _wait(process: "subprocess.Popen[bytes]", seconds: float) -> None:
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def _unequal(cluster: LocalCluster) -> int:
    """Records of the feed that came again under the same id, and otherwise."""
    found: dict[str, bytes] = {}
    unequal = 0
    for topic in (Topic.SENTENCES, Topic.FACTS):
        for row in read_all(cluster.config, topic):
            told = msgspec.json.decode(row.value)["id"]
            unequal += found.setdefault(told, row.value) != row.value
    return unequal
