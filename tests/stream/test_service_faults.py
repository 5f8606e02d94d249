"""The service as a process, against what ends processes: each time the dataset is exact."""

import signal
import subprocess
import sys
import time
from datetime import timedelta

import pytest
from msgspec.structs import replace

from stream.sandbox.dump_files import write_dumps
from stream.sandbox.faults import Faults
from stream.sandbox.rehearsal import settings_for
from stream.sandbox.server import SandboxServer
from stream.sandbox.verdict import judge
from stream.sandbox.world import World
from stream.settings import Settings
from stream.soak_worker import Job, JumpyClock, decode, encode
from twiki.engine import Engine
from twiki.errors import StateCorrupt
from twiki.state.rocks import RocksKeyValues
from twiki.state.store import Store
from twiki.windows import versions
from twiki.windows.bootstrap import bootstrap
from twiki.windows.dataset import Dataset

PATIENCE = 90


@pytest.fixture(scope="module")
def world():
    return World(31, articles=60, months=1)


@pytest.fixture(scope="module")
def served(world):
    """The world, served with a bad connection, events twice, out of order and lost."""
    faults = Faults(
        seed=31,
        duplicates=0.05,
        disorder=timedelta(seconds=40),
        losses=0.01,
        cuts=3,
        refusals=2,
        errors=1,
        switch_at=0.5,
    )
    with SandboxServer(
        world, faults=faults, grace=None, gated=True, hold=True, heartbeat_seconds=0.1, rate=600.0
    ) as server:
        yield server


@pytest.fixture(scope="module")
def job(served, world, tmp_path_factory):
    """A worker's job on a state that begins with the world's first dump."""
    folder = tmp_path_factory.mktemp("faults")
    base = settings_for(Settings(), served)
    settings = replace(
        base,
        service=replace(
            base.service,
            dumps_site=served.dumps_url,
            dump_poll_seconds=0.2,
            port=0,
            suppression_seconds=0.2,
        ),
    )
    store = Store(RocksKeyValues(folder / "state" / "db", create=True))
    engine = Engine.open(store, settings, as_of=world.boundaries[0])
    dumps = write_dumps(world, world.boundaries[0], folder / "first")
    bootstrap(engine, dumps.articles, [dumps.entities])
    store.close()
    return Job(
        settings=settings,
        state=folder / "state",
        datasets=folder / "datasets",
        until=world.dump_complete(world.boundaries[-1]),
        jumps=0.1,
    )


def start(job):
    path = job.state.parent / f"job{time.monotonic_ns()}.json"
    path.write_bytes(encode(job))
    return subprocess.Popen(
        [sys.executable, "-m", "stream.soak_worker", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def at_work(process):
    """Wait until it listens, that is until its state is open."""
    assert process.stdout.readline().startswith("http://127.0.0.1:")
    return process


def test_whatever_ends_it_the_next_start_goes_on_and_the_dataset_is_exact(job, served, world):
    # A disk that fills in mid-write: it says so and ends.
    full = start(replace(job, file_bytes=30_000))
    _, told = full.communicate(timeout=PATIENCE)
    assert full.returncode == 1
    assert "EngineError" in told
    assert "free space, then restart" in told

    # A second process on the same state refuses, and the first goes on.
    first = at_work(start(job))
    second = start(job)
    _, told = second.communicate(timeout=PATIENCE)
    assert second.returncode == 1
    assert "StateLocked" in told
    assert first.poll() is None

    # kill -9.
    first.kill()
    first.communicate()

    # SIGTERM under load: it ends by itself, soon, and well.
    stopped = at_work(start(job))
    stopped.send_signal(signal.SIGTERM)
    stopped.communicate(timeout=PATIENCE)
    assert stopped.returncode == 0

    # Undisturbed to the end.
    last = start(job)
    _, told = last.communicate(timeout=PATIENCE)
    assert last.returncode == 0, told
    window = world.windows[0]
    folder = versions.window_folder(job.datasets, "enwiki", window.name)
    assert judge(Dataset.open(folder), world.books(window)).examples == ()
    Dataset.open(folder).verify()


def test_a_corrupt_state_is_refused_with_what_to_do(tmp_path):
    kv = RocksKeyValues(tmp_path / "db", create=True)
    kv.write([(b"k%d" % n, b"v" * 500) for n in range(5000)], [], sync=True)
    kv.flush()
    kv.close()
    (manifest,) = (tmp_path / "db").glob("MANIFEST-*")
    manifest.write_bytes(manifest.read_bytes()[:-20] + b"\xff" * 20)
    with pytest.raises(StateCorrupt, match="restore the last backup"):
        RocksKeyValues(tmp_path / "db")


def test_the_soaks_clock_is_wrong_now_and_then():
    clock = JumpyClock(1, 1.0)
    assert abs((clock.now() - JumpyClock(1, 0.0).now()).total_seconds()) > 60
    assert clock.monotonic() <= clock.monotonic()


def test_a_job_survives_its_file(job):
    assert decode(encode(job)) == job
