from datetime import UTC, datetime, timedelta

from stream_fakes import FakeClock

from stream.liveness import ENOUGH, Liveness, Watchdog

START = datetime(2026, 11, 5, tzinfo=UTC)


def minute(number):
    return START + timedelta(minutes=number)


def watched(pauses, **options):
    liveness = Liveness(**options)
    at = 0
    for pause in pauses:
        liveness.observe("enwiki", "restore", minute(at))
        at += pause
    return liveness, at - pauses[-1]


def test_a_kind_that_comes_as_usual_is_not_told():
    liveness, last = watched([60] * 50)
    assert liveness.silences(minute(last + 120)) == []


def test_a_kind_that_falls_silent_is_told_with_its_last_event():
    liveness, last = watched([60] * 50)
    [silence] = liveness.silences(minute(last + 301))
    assert (silence.wiki, silence.kind, silence.last) == ("enwiki", "restore", minute(last))
    assert silence.longest_pause == timedelta(minutes=60)


def test_other_kinds_do_not_hide_the_silence():
    liveness, last = watched([60] * 50)
    for number in range(400):
        liveness.observe("enwiki", "edit", minute(last + number))
    assert [silence.kind for silence in liveness.silences(minute(last + 400))] == ["restore"]


def test_a_rare_kind_says_nothing_before_it_is_known():
    liveness, last = watched([60] * (ENOUGH - 1))
    assert liveness.silences(minute(last + 100_000)) == []


def test_short_silences_of_a_busy_kind_are_not_told():
    liveness, last = watched([1] * 50)
    assert liveness.silences(minute(last + 9)) == []
    assert len(liveness.silences(minute(last + 11))) == 1


def test_an_outage_is_forgotten_after_some_events():
    liveness, last = watched([10] * 50 + [5000] + [10] * 200)
    assert len(liveness.silences(minute(last + 600))) == 1


def test_events_out_of_order_change_nothing():
    liveness, last = watched([60] * 50)
    liveness.observe("enwiki", "restore", minute(3))
    assert liveness.silences(minute(last + 299)) == []
    assert len(liveness.silences(minute(last + 301))) == 1


def test_what_was_learnt_survives_a_restart():
    liveness, last = watched([60] * 50)
    again = Liveness()
    again.load(liveness.to_bytes())
    assert again.silences(minute(last + 301)) == liveness.silences(minute(last + 301))
    again.load(b"\x09junk")
    assert again.silences(minute(last + 301)) == liveness.silences(minute(last + 301))


def test_the_watchdog_goes_by_the_clock_that_cannot_be_set():
    clock = FakeClock()
    dog = Watchdog(clock, seconds=180)
    clock.sleep(180)
    assert not dog.overdue
    clock.start += timedelta(days=1)
    assert not dog.overdue
    clock.sleep(1)
    assert dog.overdue
    dog.saw_event()
    assert not dog.overdue
