"""`twiki run` on the sandbox: windows close, dumps arrive, datasets equal the world's books."""

import json
import threading
import urllib.error
import urllib.request
from datetime import timedelta

import pytest
from msgspec.structs import replace

from stream import metrics as names
from stream.clock import SystemClock
from stream.metrics import Metrics
from stream.runner import DUMPS, FEED, Service
from stream.sandbox.dump_files import write_dumps
from stream.sandbox.rehearsal import settings_for
from stream.sandbox.server import SandboxServer
from stream.sandbox.verdict import judge
from stream.sandbox.world import World
from stream.settings import Settings
from twiki.engine import Engine
from twiki.state.kv import MemoryKeyValues
from twiki.state.store import Store
from twiki.windows import versions
from twiki.windows.bootstrap import bootstrap
from twiki.windows.dataset import Dataset


@pytest.fixture(scope="module")
def world():
    return World(21, articles=60, months=1)


@pytest.fixture(scope="module")
def ran(world, tmp_path_factory):
    """A whole month of the service: what it wrote and told."""
    folder = tmp_path_factory.mktemp("run")
    state, datasets = folder / "state", folder / "datasets"
    state.mkdir()
    store, told, health, asked = Store(MemoryKeyValues()), [], [], {}
    with SandboxServer(world, gated=True, grace=None) as server:
        settings = served(server)
        engine = Engine.open(store, settings, as_of=world.boundaries[0])
        dumps = write_dumps(world, world.boundaries[0], folder / "first")
        bootstrap(engine, dumps.articles, [dumps.entities])
        service = Service(
            state,
            store,
            settings,
            datasets=datasets,
            clock=SystemClock(),
            metrics=Metrics(),
            on_dataset=lambda event, path: told.append((event, path)),
            on_health=health.append,
            tick=lambda: asked.update(answers(health[0])),
        )
        service.run(until=world.dump_complete(world.boundaries[-1]))
        asked.update(answered := {"metrics": service.metrics.render()})
        assert answered
    return folder, told, asked, service


def served(server, **service):
    base = settings_for(Settings(), server)
    given = {
        "dumps_site": server.dumps_url,
        "dump_poll_seconds": 0.02,
        "port": 0,
        "suppression_seconds": 0.0,
        **service,
    }
    return replace(base, service=replace(base.service, **given))


def answers(url):
    found = {}
    for path in ("/healthz", "/readyz", "/metrics", "/nothing"):
        try:
            with urllib.request.urlopen(url + path, timeout=5) as answer:  # noqa: S310 - loopback
                found[path] = (answer.status, answer.read())
        except urllib.error.HTTPError as error:
            found[path] = (error.code, error.read())
    return found


def test_the_window_is_cut_when_it_closes_and_again_with_the_dump(ran):
    _, told, _, service = ran
    assert [event for event, _ in told if event in ("cut", "reconciled")] == ["cut", "reconciled"]
    assert service.metrics.value(names.WINDOWS_OPEN) == 0
    assert service.metrics.labels(names.TROUBLE) == {}


def test_the_dataset_is_what_the_world_did(ran, world):
    folder, _, _, _ = ran
    window = world.windows[0]
    dataset = Dataset.open(versions.window_folder(folder / "datasets", "enwiki", window.name))
    verdict = judge(dataset, world.books(window))
    assert verdict.examples == ()


def test_the_dump_is_given_back_and_the_feed_is_written(ran):
    folder, _, _, _ = ran
    dumps = folder / "state" / DUMPS
    assert not [path for path in dumps.rglob("*") if path.is_file()]
    assert list((folder / "state" / FEED).rglob("*.jsonl"))


def test_health_says_that_it_lives_and_that_it_is_not_near_now(ran):
    _, _, asked, _ = ran
    status, body = asked["/healthz"]
    told = json.loads(body)
    assert (status, told["healthy"]) == (200, True)
    # The little world lies months back: alive, but not ready.
    assert asked["/readyz"][0] == 503
    assert told["lag_seconds"] > 0
    assert asked["/nothing"][0] == 404
    assert b"twiki_watermark_seconds" in asked["/metrics"][1]


def test_a_stop_ends_it_and_what_waits_is_read_again(world, tmp_path):
    store = Store(MemoryKeyValues())
    with SandboxServer(world, grace=None) as server:
        settings = served(server, dumps_site="")
        service = Service(
            tmp_path,
            store,
            settings,
            datasets=tmp_path / "datasets",
            clock=SystemClock(),
            metrics=Metrics(),
            tick=lambda: service.stop(),  # noqa: PLW0108 - it is made by this very call
        )
        done = threading.Thread(
            target=service.run, kwargs={"since": world.boundaries[0] - timedelta(minutes=10)}
        )
        done.start()
        done.join(60)
        assert not done.is_alive()
    assert service.engine.watermark is not None
