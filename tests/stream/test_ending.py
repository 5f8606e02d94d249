"""How reading ends, or begins anew: what waits is not applied, and nobody waits for ever."""

import random
import time

import pytest
from msgspec.structs import replace
from stream_fakes import FakeClock, FakeConnection, FakeSource, framed, recent_change
from test_live import EDITS, FIRST, THIRD, Api, canary, come, opened, sentences
from test_live import at as moment

from stream.clock import SystemClock
from stream.embedded import Embedded
from stream.events import Decoder
from stream.eventstreams import EventStreams
from stream.metrics import Metrics
from stream.position import Positions
from stream.runner import Service
from stream.sandbox.rehearsal import settings_for
from stream.sandbox.server import SandboxServer
from stream.sandbox.world import World
from stream.settings import Settings, StreamConfig
from twiki.records import ChangeKind
from twiki.state.kv import MemoryKeyValues
from twiki.state.store import Store
from twiki.windows.versions import write_aside

CONFIG = StreamConfig(url="http://127.0.0.1:1")


def test_a_reconnect_ends_the_connection_at_hand_and_goes_on_with_a_new_one():
    event = framed(recent_change(1, 101))
    mute, fresh = FakeConnection([event]), FakeConnection([framed(recent_change(2, 102))])
    source = FakeSource(mute, fresh)
    streams = EventStreams(
        CONFIG,
        Positions(CONFIG),
        clock=FakeClock(),
        chance=random.Random(1),
        metrics=Metrics(),
        connect=source,
    )
    read = iter(streams)
    next(read)
    streams.reconnect()
    assert mute.interrupted
    next(read)
    assert len(source.asked) == 2
    streams.stop()
    assert fresh.interrupted
    assert list(read) == []


def test_after_a_stop_what_waits_for_stragglers_is_left_to_the_next_run():
    embedded = opened(api=Api(*EDITS))
    embedded.take([come(FIRST, 0), come(THIRD, 2), canary(moment(10, 5), 3)])
    embedded.stop()
    embedded.drain()
    assert sentences(embedded) == ["One."]
    assert embedded.positions.in_flight == 1


def test_a_stop_ends_the_service_after_the_chunk_at_hand(tmp_path, monkeypatch):
    world, taken = World(23, articles=60, months=1), []
    with SandboxServer(world, grace=None, hold=True) as server:

        class Counting(Embedded):
            def take(self, chunk):
                taken.append(len(chunk))
                service.stop()
                end = time.monotonic() + 10
                while server.streams.served.count < 300 and time.monotonic() < end:
                    time.sleep(0.01)  # more is there to be taken
                super().take(chunk)

        monkeypatch.setattr("stream.runner.Embedded", Counting)
        base = settings_for(Settings(), server)
        service = Service(
            tmp_path,
            Store(MemoryKeyValues()),
            replace(base, service=replace(base.service, dumps_site="", port=0)),
            datasets=tmp_path / "datasets",
            clock=SystemClock(),
            metrics=Metrics(),
        )
        monkeypatch.setattr(service._clock, "stop", lambda: None)  # the source goes on telling
        service.run(since=world.boundaries[0])
    assert len(taken) == 1


def test_at_the_end_of_a_source_what_waits_is_applied():
    embedded = opened(api=Api(*EDITS))
    embedded.run([[come(FIRST, 0), come(THIRD, 2), canary(moment(10, 5), 3)]])
    assert embedded.positions.in_flight == 0
    assert embedded.engine.store.held(1).stood == 3


def test_a_file_is_the_old_or_the_new_one_whenever_the_writer_is_killed(tmp_path, monkeypatch):
    class KilledError(BaseException):
        pass

    def killed(_descriptor):
        raise KilledError

    path = tmp_path / "index.json"
    write_aside(path, b"old and whole")
    monkeypatch.setattr("os.fsync", killed)
    with pytest.raises(KilledError):
        write_aside(path, b"new")
    assert path.read_bytes() == b"old and whole"


def test_a_suppressed_page_of_the_older_stream_takes_its_text_along():
    told = (
        b'{"$schema": "/mediawiki/page/delete/1.0.0", "database": "enwiki", "page_title": "X",'
        b'"page_id": 7, "page_namespace": 0, "rev_id": 11, "meta": {"stream":'
        b'"mediawiki.%b", "dt": "2026-11-05T12:00:00Z", "id": "1"}}'
    )
    suppressed, deleted = (
        Decoder().decode(told % name) for name in (b"page-suppress", b"page-delete")
    )
    assert (suppressed.kind, suppressed.visible) == (ChangeKind.DELETE, False)
    assert (deleted.kind, deleted.visible) == (ChangeKind.DELETE, None)
