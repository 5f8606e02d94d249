"""`twiki state …` beside a live worker, and the worker's life after a restore: nothing is lost."""

import json
import subprocess
import sys
import time
import urllib.request
from datetime import timedelta

import msgspec
import pytest
from msgspec.structs import replace

from stream.runner import FEED
from stream.sandbox.dump_files import write_dumps
from stream.sandbox.rehearsal import settings_for
from stream.sandbox.server import SandboxServer
from stream.sandbox.verdict import judge
from stream.sandbox.world import World
from stream.settings import Settings
from stream.soak_worker import Job, encode
from twiki.engine import Engine
from twiki.state.codec import VERSION
from twiki.state.rocks import RocksKeyValues
from twiki.state.store import Store
from twiki.windows import versions
from twiki.windows.bootstrap import bootstrap
from twiki.windows.dataset import Dataset

PATIENCE = 90


def twiki(*words):
    """A command as an operator gives it: its exit code, what it gave, what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "twiki", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    return done.returncode, done.stdout, done.stderr


class Worker:
    """A worker process on a job, from the moment when its state is open."""

    def __init__(self, job):
        path = job.state.parent / f"job{time.monotonic_ns()}.json"
        path.write_bytes(encode(job))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "stream.soak_worker", str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.health = self.process.stdout.readline().strip()

    def reaches(self, moment):
        """Wait until everything that arrived before ``moment`` is applied."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with urllib.request.urlopen(f"{self.health}/healthz", timeout=5) as answer:  # noqa: S310 - loopback
                told = json.load(answer)["watermark"]
            if told is not None and told >= moment.isoformat().replace("+00:00", ""):
                return
            time.sleep(0.02)
        raise AssertionError(f"{moment} was not reached")

    def ends(self):
        _, told = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, told

    def kill(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def world():
    return World(33, articles=60, months=1)


def served(world, rate):
    """The world as its worker finds it, slow enough to be met at work, or as fast as it reads."""
    return SandboxServer(world, grace=None, gated=True, hold=True, heartbeat_seconds=0.1, rate=rate)


def job_on(server, folder, world):
    base = settings_for(Settings(), server)
    service = replace(base.service, dumps_site=server.dumps_url, dump_poll_seconds=0.2, port=0)
    return Job(
        settings=replace(base, service=service),
        state=folder / "state",
        datasets=folder / "datasets",
        until=world.dump_complete(world.boundaries[-1]),
    )


def begun(job, world, folder):
    """A state that begins with the world's first dump."""
    store = Store(RocksKeyValues(job.state / "db", create=True))
    dumps = write_dumps(world, world.boundaries[0], folder / "first")
    engine = Engine.open(store, job.settings, as_of=world.boundaries[0])
    bootstrap(engine, dumps.articles, [dumps.entities])
    store.close()


def test_a_state_is_measured_and_copied_beside_its_worker_and_the_copy_goes_on(world, tmp_path):
    state, copy = tmp_path / "state", tmp_path / "copy"
    middle = world.boundaries[0] + (world.boundaries[-1] - world.boundaries[0]) / 8
    with served(world, rate=30.0) as server:
        job = job_on(server, tmp_path, world)
        begun(job, world, tmp_path)
        worker = Worker(job)
        worker.reaches(middle)

        code, told, said = twiki("state", "stats", "--state", state, "--json")
        assert code == 0, said
        found = json.loads(told)
        assert found["wiki"] == "enwiki"
        assert found["watermark"] >= f"{middle:%Y-%m-%dT%H:%M}"
        assert found["kinds"]["pages"]["records"] > 30
        assert found["kinds"]["entities"]["bytes"] > 0
        assert found["disk_bytes"] > 0

        code, told, said = twiki("state", "backup", "--state", state, "--out", copy, "--json")
        assert code == 0, said
        note = json.loads(told)
        assert (note["way"], note["wiki"], note["version"]) == ("copy", "enwiki", VERSION)

        # What writes is refused beside a worker, and harms nothing.
        code, _, said = twiki("state", "migrate", "--state", state)
        assert (code, "another process has this state open" in said) == (1, True)
        code, _, said = twiki("state", "restore", copy, "--state", state)
        assert (code, "move it aside" in said) == (1, True)
        assert worker.process.poll() is None
        worker.reaches(middle + timedelta(days=1))
        worker.kill()

    # The disk broke: back to the copy. The stream goes on where that stood.
    (state / "db").rename(state / "db.broken")
    code, told, said = twiki("state", "restore", copy, "--state", state, "--json")
    assert code == 0, said
    assert json.loads(told) == note
    code, told, said = twiki("state", "migrate", "--state", state, "--json")
    assert code == 0, said
    assert json.loads(told)["versions"].keys() == {str(VERSION)}

    with served(world, rate=None) as server:
        code, said = Worker(job_on(server, tmp_path, world)).ends()
    assert code == 0, said
    window = world.windows[0]
    folder = versions.window_folder(job.datasets, "enwiki", window.name)
    assert judge(Dataset.open(folder), world.books(window)).examples == ()
    ids = [
        msgspec.json.decode(line)["id"]
        for path in sorted((state / FEED / window.name).glob("*.jsonl"))
        for line in path.read_bytes().splitlines()
    ]
    assert len(ids) == len(set(ids)) > 0
