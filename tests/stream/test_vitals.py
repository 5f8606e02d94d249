"""Signs of life: health, alarms for kinds that fall silent, a source that is mute."""

import json
import logging
import socket
import urllib.request
from datetime import timedelta

import pytest
from histories import CONFIG, OCTOBER, at, event
from stream_fakes import FakeClock

from stream import logs
from stream import metrics as names
from stream.embedded import Embedded, NoContents
from stream.events import Canary, Rejected
from stream.health import Health, HealthServer, notify
from stream.kinds import Reason
from stream.liveness import Liveness
from stream.metrics import Metrics
from stream.settings import ServiceConfig, Settings
from stream.vitals import Vitals
from twiki.engine import Engine
from twiki.errors import ConfigError
from twiki.records import ChangeKind, SourcePosition
from twiki.state.kv import MemoryKeyValues
from twiki.state.store import Store

HOUR = timedelta(hours=1)
TOPIC = "eqiad.mediawiki.page_change.v1"
CONFIGURED = ServiceConfig(stall_seconds=60.0, ready_lag_seconds=30.0, watchdog_seconds=120.0)


class Watched:
    """An engine with its vitals; ``reconnects`` counts what the watchdog did."""

    def __init__(self, folder, liveness=None):
        self.clock, self.metrics, self.reconnects = FakeClock(OCTOBER), Metrics(), 0
        settings = Settings(wiki=CONFIG.wiki)
        made = Engine.open(Store(MemoryKeyValues()), settings, as_of=OCTOBER)
        self.embedded = Embedded(made, settings, NoContents(), self.metrics)
        self.health = Health(CONFIGURED, self.clock, self.metrics)
        self.vitals = Vitals(
            self.embedded,
            self.health,
            CONFIGURED,
            self.clock,
            memory=folder / "liveness.bin",
            reconnect=self.reconnect,
            liveness=liveness,
        )

    def reconnect(self):
        self.reconnects += 1

    def take(self, *items):
        for chunk in self.vitals.watching([list(items)]):
            self.embedded.take(chunk)
            self.vitals.step()


def quiet(moment):
    """A canary of the stream that tells deletions."""
    position = SourcePosition(topic=TOPIC, partition=0, offset=-1, timestamp_ms=0)
    return Canary(arrival_time=moment, position=position)


def came(kind, moment, offset):
    position = SourcePosition(topic=TOPIC, partition=0, offset=offset, timestamp_ms=0)
    return event(kind, moment, page_id=offset + 1, title=f"T{offset}", position=position)


def test_a_kind_that_falls_silent_raises_an_alarm_that_ends_when_it_is_heard_again(tmp_path):
    watched = Watched(tmp_path, Liveness(factor=5.0, least=HOUR))
    for n in range(30):
        watched.take(came(ChangeKind.DELETE, OCTOBER + n * HOUR, n))
    assert watched.metrics.labels(names.SILENT) == {}
    watched.take(quiet(OCTOBER + 40 * HOUR))
    assert watched.metrics.labels(names.SILENT) == {"testwiki/delete": 1}
    assert watched.health.status()["silent"] == ["testwiki/delete"]
    watched.take(came(ChangeKind.DELETE, OCTOBER + 41 * HOUR, 50))
    assert watched.metrics.labels(names.SILENT) == {"testwiki/delete": 0}


def test_what_is_normal_is_remembered_over_a_restart(tmp_path):
    watched = Watched(tmp_path, Liveness(factor=5.0, least=HOUR))
    for n in range(30):
        watched.take(came(ChangeKind.DELETE, OCTOBER + n * HOUR, n))
    watched.vitals.save()
    again = Watched(tmp_path, Liveness(factor=5.0, least=HOUR))
    again.take(quiet(OCTOBER + 40 * HOUR))
    assert again.metrics.labels(names.SILENT) == {"testwiki/delete": 1}


def test_a_mute_source_is_connected_anew(tmp_path):
    watched = Watched(tmp_path)
    watched.take(Canary(arrival_time=OCTOBER))
    watched.clock.sleep(119)
    watched.take()
    assert watched.reconnects == 0
    watched.clock.sleep(2)
    watched.take()
    watched.take()
    assert watched.reconnects == 1
    assert watched.metrics.labels(names.CUTS) == {"watchdog": 1}


def test_events_are_counted_by_outcome_and_changes_by_wiki_and_kind(tmp_path):
    watched = Watched(tmp_path)
    watched.take(
        came(ChangeKind.DELETE, OCTOBER, 1),
        Canary(arrival_time=OCTOBER),
        Rejected(reason=Reason.NO_EFFECT),
    )
    assert watched.metrics.labels(names.EVENTS) == {"canary": 1, "change": 1, "rejected": 1}
    assert watched.metrics.labels(names.CHANGES) == {"testwiki delete": 1}


def test_a_gap_is_counted_and_told(tmp_path, caplog):
    watched = Watched(tmp_path)
    watched.take(came(ChangeKind.DELETE, OCTOBER, 1), came(ChangeKind.DELETE, OCTOBER, 5))
    assert watched.metrics.value(names.GAPS) == 1
    assert watched.metrics.value(names.GAPS_OPEN) == 1
    assert "event=gap" in caplog.text


def test_a_clock_that_jumps_moves_no_window_and_no_watermark(tmp_path):
    watched = Watched(tmp_path)
    watched.take(Canary(arrival_time=at(10, 5)))
    watched.clock.start += timedelta(days=400)
    watched.take()
    assert watched.embedded.engine.watermark == at(10, 5)
    assert watched.embedded.engine.open_window.name == "2026-10"
    watched.clock.start -= timedelta(days=800)
    watched.take()
    assert watched.health.status()["healthy"]


# --- health ---------------------------------------------------------------------------------


def test_healthy_while_it_steps_and_ready_while_it_is_near_now():
    clock = FakeClock(OCTOBER)
    health = Health(CONFIGURED, clock, Metrics())
    assert (health.status()["healthy"], health.status()["ready"]) == (True, False)
    health.beat(OCTOBER)
    assert health.status()["ready"]
    clock.sleep(31)
    assert (health.status()["healthy"], health.status()["ready"]) == (True, False)
    clock.sleep(30)
    assert not health.status()["healthy"]


def test_the_endpoint_says_no_with_503():
    clock = FakeClock(OCTOBER)
    health = Health(CONFIGURED, clock, Metrics())
    clock.sleep(100)
    with HealthServer(health, 0) as server:
        with pytest.raises(urllib.error.HTTPError, match="503") as refused:
            urllib.request.urlopen(f"{server.url}/healthz", timeout=5)  # noqa: S310 - loopback
        assert json.loads(refused.value.read())["seconds_since_step"] == 100.0
        with pytest.raises(ConfigError, match=r"service\.port"):
            HealthServer(health, int(server.url.rpartition(":")[2]))


def test_it_listens_on_loopback_alone():
    with HealthServer(Health(CONFIGURED, FakeClock(), Metrics()), 0) as server:
        assert server.url.startswith("http://127.0.0.1:")


def test_systemd_hears_where_it_listens(tmp_path):
    notify("READY=1", None)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(str(tmp_path / "notify"))
        notify("READY=1", str(tmp_path / "notify"))
        assert channel.recv(100) == b"READY=1"


def test_a_log_line_is_one_json_object():
    record = logging.LogRecord(
        "stream.x", logging.WARNING, "x.py", 1, "event=cut cause=%s", ("a\nb",), None
    )
    line = logs.JsonLines().format(record)
    assert "\n" not in line
    told = json.loads(line)
    assert (told["event"], told["level"], told["message"]) == (
        "cut", "warning", "event=cut cause=a\nb",
    )  # fmt: skip
