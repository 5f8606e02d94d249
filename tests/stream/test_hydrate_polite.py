"""The hydrator waits as it is told, and ends."""

import random

import pytest
import requests
from hydrate_wiki import DATA, LOCAL, Wiki, edit, fetch, item, reason
from stream_fakes import FakeApi, FakeClock, reply

from stream import metrics as names
from stream.found import Failure
from stream.hydrate import Hydrator
from stream.metrics import Metrics
from stream.settings import Settings, StreamConfig
from twiki.errors import ConfigError
from twiki.records import Revision


def maxlag():
    return reply(
        {"error": {"code": "maxlag", "info": "Waiting for all: 3.45 seconds lagged.", "lag": 3.45}}
    )


def test_a24_maxlag_in_an_answer_of_status_200_waits_and_asks_again():
    api, clock = Wiki().add(11, "text"), FakeClock()
    api.faults = [maxlag()]
    [revision] = fetch(api, edit(), clock=clock)
    assert revision.content == "text"
    assert clock.slept == [3.45]
    path = DATA / "api" / "wdtk" / "error-maxlag-full.json"
    if path.exists():
        api.faults = [reply(path.read_bytes())]
        assert fetch(api, edit())[0].content == "text"


@pytest.mark.parametrize(
    "fault",
    [
        reply(b"", 503),
        reply(b"dummy error", 429),
        reply(b"<html>busy</html>"),
        reply(b""),
        reply({"error": {"code": "ratelimited", "info": ""}}),
        reply({"error": {"code": "readonly", "info": ""}}),
        reply({"error": {"code": "internal_api_error_DBQueryError", "info": ""}}),
        requests.ConnectionError("reset"),
        requests.Timeout("slow"),
        TimeoutError("slow"),
        OSError("too large"),
    ],
)
def test_passing_trouble_is_waited_out(fault):
    api, clock = Wiki().add(11, "text"), FakeClock()
    api.faults = [fault, fault]
    metrics = Metrics()
    [revision] = fetch(api, edit(), clock=clock, metrics=metrics)
    assert revision.content == "text"
    assert metrics.value(names.RETRIES) == 2
    assert 0.5 <= clock.slept[0] <= 1
    assert 1 <= clock.slept[1] <= 2


@pytest.mark.parametrize(
    "error", [{"code": 123, "reason": "some"}, "some error", {"code": "badtoken", "info": "x"}]
)
def test_a_refusal_for_good_is_a_failure_at_once(error):
    api, clock = Wiki().add(11, "text"), FakeClock()
    api.faults = [reply({"error": error})]
    [failed] = fetch(api, edit(), clock=clock)
    assert reason(failed) is Failure.REFUSED
    assert clock.slept == []


def test_trouble_without_end_fails_after_the_attempts():
    api = FakeApi(lambda *_: reply(b"", 503))
    metrics = Metrics()
    results = fetch(api, edit(11), edit(12), metrics=metrics, attempts=3)
    assert [reason(result) for result in results] == [Failure.UNAVAILABLE] * 2
    assert len(api.asked) == 3
    assert metrics.value(names.FAILED, "unavailable") == 2


def test_stopping_ends_the_waiting_and_says_so():
    clock = FakeClock()
    api = FakeApi(lambda *_: reply(b"", 503))

    def stop(seconds):
        clock.stopped = clock.stopped or seconds > 0

    clock.sleep = stop
    assert reason(fetch(api, edit(), clock=clock)[0]) is Failure.STOPPED


def test_one_bucket_a_host_spreads_requests():
    api, clock = Wiki(), FakeClock()
    for rev in range(1, 11):
        api.entity(f"Q{rev}", rev)
        api.entity(f"Q{rev}", 100 + rev)
    settings = Settings(
        wiki=LOCAL, stream=StreamConfig(requests_per_second=2, burst=1, in_flight=1)
    )
    hydrator = Hydrator(
        settings, clock=clock, chance=random.Random(1), metrics=Metrics(), transport=api
    )
    with hydrator:
        results = hydrator.fetch([item(rev, f"Q{rev}") for rev in range(1, 11)])
    assert all(isinstance(result, Revision) for result in results)
    assert clock.passed == pytest.approx((len(api.calls) - 1) / 2)


def test_every_query_is_polite():
    api = Wiki().add(11, "text")
    fetch(api, edit())
    params = api.calls[0][1]
    assert (params["maxlag"], params["formatversion"]) == (5, 2)


def test_wikimedia_is_not_asked_without_a_contact():
    settings = Settings()
    hydrator = Hydrator(
        settings, clock=FakeClock(), chance=random.Random(1), metrics=Metrics(), transport=Wiki()
    )
    with hydrator, pytest.raises(ConfigError, match="TWIKI_CONTACT"):
        hydrator.fetch([edit()])
