"""An outage longer than the source keeps: told, backfilled from the API, and nothing is lost."""

from datetime import datetime, timedelta

import msgspec
import pytest
import requests
from msgspec.structs import replace

from stream import metrics as names
from stream.clock import SystemClock
from stream.metrics import Metrics
from stream.position import Positions
from stream.runner import Service
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

DAY = timedelta(days=1)
KEPT = 7 * DAY


class On(SystemClock):
    """A clock that stands in the world's own month."""

    def __init__(self, moment):
        super().__init__()
        self._moment = moment

    def now(self):
        return self._moment


@pytest.fixture(scope="module")
def world():
    return World(24, articles=60, months=1)


def served(world, **how):
    return SandboxServer(world, grace=None, gated=True, hold=True, heartbeat_seconds=0.1, **how)


def settings_on(server):
    base = settings_for(Settings(), server)
    return replace(
        base,
        stream=replace(base.stream, retention_seconds=KEPT.total_seconds()),
        service=replace(base.service, dumps_site=server.dumps_url, dump_poll_seconds=0.02, port=0),
    )


def service(server, store, folder, moment):
    folder.mkdir(exist_ok=True)
    return Service(
        folder,
        store,
        settings_on(server),
        datasets=folder / "datasets",
        clock=On(moment),
        metrics=Metrics(),
    )


def others_read_on(server, moment):
    """The world goes on while we are away: somebody else reads the stream up to then."""
    url = f"{server.stream_url}/mediawiki.recentchange"
    with requests.get(url, stream=True, timeout=10) as answer:
        for line in answer.iter_lines():
            if line.startswith(b"data: "):
                told = msgspec.json.decode(line[6:])["meta"]["dt"]
                if datetime.fromisoformat(told) >= moment:
                    return


def test_what_the_source_has_forgotten_is_backfilled_and_the_window_is_exact(world, tmp_path):
    start, (window,) = world.boundaries[0], world.windows
    stopped, back = start + 5 * DAY, start + 20 * DAY
    store = Store(MemoryKeyValues())
    with served(world, rate=400.0) as server:
        dumps = write_dumps(world, start, tmp_path / "first")
        chosen = settings_on(server)
        bootstrap(Engine.open(store, chosen, as_of=start), dumps.articles, [dumps.entities])
        service(server, store, tmp_path / "state", stopped).run(until=stopped)
    positions = Positions.from_bytes(Engine.open(store, Settings()).progress.positions)
    assert max(mark.timestamp_ms for mark in positions.mark()) < (back - KEPT).timestamp() * 1000
    with served(world, retention=KEPT) as server:
        others_read_on(server, back)
        after = service(server, store, tmp_path / "state", back)
        after.run(until=world.dump_complete(window.end))
    assert after.metrics.labels(names.NOTICES)["beyond_retention"] >= 1
    assert after.metrics.value(names.GAPS) >= 2  # both streams
    assert after.metrics.value(names.BACKFILLED) > 50
    assert after.metrics.value(names.UNREACHABLE) == 0
    assert Positions.from_bytes(after.engine.progress.positions).gaps() == ()
    folder = versions.window_folder(tmp_path / "state" / "datasets", "enwiki", window.name)
    assert judge(Dataset.open(folder), world.books(window)).examples == ()
