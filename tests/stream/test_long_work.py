"""Work that takes hours on a large wiki: the stream waits, nothing is lost, health is honest."""

import json
import socket
import time
import urllib.error
import urllib.request

import pytest
from msgspec.structs import replace

from stream import metrics as names
from stream import operator
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

STALL = 2.5
"""Seconds without a sign of life after which the service counts as dead here."""
LONG = 2 * STALL


@pytest.fixture(scope="module")
def world():
    return World(22, articles=60, months=2)


def ask(url, path):
    try:
        with urllib.request.urlopen(url + path, timeout=5) as answer:  # noqa: S310 - loopback
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


class Slow:
    """A reconciliation that takes long; what health says meanwhile, and the source hangs up."""

    def __init__(self, server, health, beats):
        self._server, self._health, self._beats = server, health, beats
        self._work = operator.reconcile_and_cut
        self.told = []

    def __call__(self, engine, window, *dumps, progress, **options):
        if not self.told:
            end = time.monotonic() + LONG
            while time.monotonic() < end:
                if self._beats:
                    progress("pages", 1)
                time.sleep(0.05)
                self.told.append(
                    (ask(self._health[0], "/healthz"), ask(self._health[0], "/readyz"))
                )
            self._server._listener.hang_up()
        return self._work(engine, window, *dumps, progress=progress, **options)


def serve(world, server, folder, monkeypatch, *, beats):
    """Two months of the service, of which the first one's reconciliation is slow."""
    base = settings_for(Settings(), server)
    settings = replace(
        base,
        service=replace(
            base.service,
            dumps_site=server.dumps_url,
            dump_poll_seconds=0.02,
            port=0,
            stall_seconds=STALL,
            ready_lag_seconds=1e12,  # the little world lies months back
        ),
    )
    store, health = Store(MemoryKeyValues()), []
    engine = Engine.open(store, settings, as_of=world.boundaries[0])
    dumps = write_dumps(world, world.boundaries[0], folder / "first")
    bootstrap(engine, dumps.articles, [dumps.entities])
    service = Service(
        folder / "state",
        store,
        settings,
        datasets=folder / "datasets",
        clock=SystemClock(),
        metrics=Metrics(),
        on_health=health.append,
    )
    (folder / "state").mkdir()
    slow = Slow(server, health, beats)
    monkeypatch.setattr(operator, "reconcile_and_cut", slow)
    service.run(until=world.dump_complete(world.boundaries[-1]))
    return service, slow


def test_a_long_reconciliation_loses_nothing_and_says_that_it_is_one(world, tmp_path, monkeypatch):
    with SandboxServer(world, gated=True, grace=None, hold=True, heartbeat_seconds=0.1) as server:
        service, slow = serve(world, server, tmp_path, monkeypatch, beats=True)
    # Alive for longer than a stall may last, but not up to date: and it says why.
    alive, ready = zip(*slow.told, strict=True)
    assert {status for status, _ in alive} == {200}
    last_status, last = ready[-1]
    assert (last_status, last["doing"]) == (503, f"reconcile {world.windows[0].name}")
    assert last["seconds_since_step"] <= STALL + 0.5
    # The source hung up meanwhile; the position was kept.
    assert service.metrics.value(names.CONNECTS) >= 2
    for window in world.windows:
        folder = versions.window_folder(tmp_path / "datasets", "enwiki", window.name)
        assert judge(Dataset.open(folder), world.books(window)).examples == ()
    assert Positions.from_bytes(service.engine.progress.positions).gaps() == ()


def test_systemd_hears_that_it_is_at_work_before_it_heals(world, tmp_path):
    heard = []
    with (
        SandboxServer(world, grace=None) as server,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel,
    ):
        address = str(tmp_path / "notify")
        channel.bind(address)
        channel.settimeout(10)

        def heal(_embedded):
            heard.append(channel.recv(100))
            service.stop()

        base = settings_for(Settings(), server)
        service = Service(
            tmp_path,
            Store(MemoryKeyValues()),
            replace(base, service=replace(base.service, dumps_site="", port=0)),
            datasets=tmp_path / "datasets",
            clock=SystemClock(),
            metrics=Metrics(),
            heal=heal,
            notify_address=address,
        )
        service.run(since=world.boundaries[0])
        heard.append(channel.recv(100))
    assert heard == [b"READY=1", b"STOPPING=1"]


def test_work_that_gives_no_sign_of_life_is_told_as_a_stall(world, tmp_path, monkeypatch):
    with SandboxServer(world, gated=True, grace=None, hold=True, heartbeat_seconds=0.1) as server:
        _, slow = serve(world, server, tmp_path, monkeypatch, beats=False)
    alive, _ = zip(*slow.told, strict=True)
    assert alive[0][0] == 200
    assert alive[-1][0] == 503
    assert not alive[-1][1]["healthy"]
