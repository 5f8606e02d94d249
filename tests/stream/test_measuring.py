"""Memory and disk are told as they are."""

import urllib.request

import pytest
from stream_fakes import FakeClock
from test_vitals import CONFIGURED, OCTOBER, Watched

from stream import measuring
from stream import metrics as names
from stream.events import Canary
from stream.health import Health, HealthServer
from stream.measuring import part_bytes, resident_bytes
from stream.metrics import Metrics


def scraped(metrics):
    with (
        HealthServer(Health(CONFIGURED, FakeClock(), metrics), 0) as server,
        urllib.request.urlopen(f"{server.url}/metrics", timeout=5) as answer,  # noqa: S310 - loopback
    ):
        return answer.read().decode()


def test_memory_is_read_when_it_is_asked_for():
    if resident_bytes() is None:
        pytest.skip("this system has no /proc/self/statm")
    told = scraped(Metrics())
    (line,) = [x for x in told.splitlines() if x.startswith("process_resident_memory_bytes ")]
    assert 10e6 < float(line.split()[1]) < 100e9


def test_where_the_system_does_not_tell_no_other_value_stands_for_it(monkeypatch, tmp_path):
    monkeypatch.setattr(measuring, "_STATM", tmp_path / "none")
    assert resident_bytes() is None
    assert "process_resident_memory_bytes 0\n" in scraped(Metrics())


def test_the_state_is_measured_by_part_at_all_depths(tmp_path):
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "1.sst").write_bytes(b"x" * 500)
    (tmp_path / "feed" / "2026-10").mkdir(parents=True)
    (tmp_path / "feed" / "2026-10" / "0.jsonl").write_bytes(b"x" * 70)
    (tmp_path / "liveness.bin").write_bytes(b"x")
    assert part_bytes(tmp_path) == {"db": 500, "feed": 70}


def test_the_state_is_measured_now_and_then(tmp_path):
    (tmp_path / "db").mkdir()
    watched = Watched(tmp_path)
    watched.take(Canary(arrival_time=OCTOBER))
    assert watched.metrics.labels(names.STATE_BYTES) == {"db": 0}
    assert watched.metrics.value(names.DISK_FREE) > 0
    (tmp_path / "db" / "1.sst").write_bytes(b"x" * 500)
    watched.take()
    assert watched.metrics.labels(names.STATE_BYTES) == {"db": 0}
    watched.clock.sleep(301)
    watched.take()
    assert watched.metrics.labels(names.STATE_BYTES) == {"db": 500}
