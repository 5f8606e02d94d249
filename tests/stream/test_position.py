import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.position import Gap, NoticeKind, Positions
from stream.seen import Seen
from stream.settings import StreamConfig
from twiki.records import Change, ChangeKind, SourcePosition

EQIAD = "eqiad.mediawiki.recentchange"
CODFW = "codfw.mediawiki.recentchange"
DAY = 86_400_000


def at(offset, ms=None, topic=EQIAD):
    return SourcePosition(
        topic=topic, partition=0, offset=offset, timestamp_ms=offset * 1000 if ms is None else ms
    )


def low(positions, topic=EQIAD):
    return next(mark.offset for mark in positions.mark() if mark.topic == topic)


def test_the_mark_waits_for_the_slowest_event():
    positions = Positions()
    for offset in (5, 6, 7):
        assert positions.begin(at(offset))
    positions.done(at(7))
    positions.done(at(6))
    assert low(positions) == 5
    positions.done(at(5))
    assert low(positions) == 8


@given(st.permutations(range(10)))
def test_the_mark_never_passes_an_event_that_is_not_done(order):
    positions = Positions()
    for offset in range(10):
        positions.begin(at(offset))
    open_ones = set(range(10))
    for offset in order:
        positions.done(at(offset))
        open_ones.discard(offset)
        assert low(positions) == min(open_ones, default=10)


def test_what_was_read_before_is_a_repetition_in_flight_or_done():
    positions = Positions()
    assert positions.begin(at(5))
    assert not positions.begin(at(5))
    positions.begin(at(6))
    positions.done(at(5))
    positions.done(at(6))
    assert not positions.begin(at(5))
    assert not positions.begin(at(6))
    assert positions.in_flight == 0


def test_a_gap_is_a_suspected_loss_and_filling_it_ends_the_suspicion():
    positions = Positions()
    positions.begin(at(5))
    positions.begin(at(9))
    assert positions.gaps() == (
        Gap(topic=EQIAD, partition=0, first=6, last=8, after_ms=5000, before_ms=9000),
    )
    assert [notice.kind for notice in positions.notices()] == [NoticeKind.GAP]
    assert positions.notices() == ()
    assert positions.begin(at(7))
    assert not positions.begin(at(7))
    assert [(gap.first, gap.last) for gap in positions.gaps()] == [(6, 6), (8, 8)]
    assert positions.begin(at(6))
    assert positions.begin(at(8))
    assert positions.gaps() == ()
    assert low(positions) == 5


def test_a_backfill_heals_gaps():
    positions = Positions()
    positions.begin(at(5))
    positions.begin(at(9))
    positions.begin(at(11))
    first = positions.gaps()[0]
    positions.healed([first])
    assert [(gap.first, gap.last) for gap in positions.gaps()] == [(10, 10)]


def test_gaps_are_bounded_and_the_loss_of_a_gap_is_counted():
    positions = Positions(StreamConfig(max_gaps=2))
    for offset in (0, 2, 4, 6):
        positions.begin(at(offset))
    assert [(gap.first, gap.last) for gap in positions.gaps()] == [(3, 3), (5, 5)]
    assert positions.gaps_dropped == 1


def test_a_topic_that_starts_again_is_recognised_by_its_time():
    positions = Positions()
    for offset in (500, 501):
        positions.begin(at(offset, 1_000_000))
    positions.done(at(500))
    assert positions.begin(at(3, 9_000_000))
    assert positions.notices()[0].kind is NoticeKind.TOPIC_RESTARTED
    positions.done(at(3))
    assert low(positions) == 4
    assert positions.begin(at(4, 9_000_001))


def test_an_event_without_offset_moves_the_time_alone():
    positions = Positions()
    assert positions.begin(at(5, 5000))
    assert positions.begin(at(-1, 7000))
    assert positions.begin(at(-1, 7000))
    assert positions.begin(None)
    positions.done(None)
    positions.done(at(-1))
    assert low(positions) == 5
    positions.done(at(5))
    assert positions.mark()[0] == at(6, 7000)


def test_a31_a_switch_of_data_centre_keeps_both_positions():
    positions = Positions()
    positions.begin(at(100, 1_000_000))
    positions.done(at(100))
    positions.idle(CODFW)
    for offset in (7, 8, 9):
        positions.begin(at(offset, 2_000_000, CODFW))
        positions.done(at(offset, topic=CODFW))
    positions.idle(EQIAD)  # its id says offset -1 from now on
    assert (low(positions, EQIAD), low(positions, CODFW)) == (101, 10)
    switches = [n for n in positions.notices() if n.kind is NoticeKind.DATACENTRE_SWITCH]
    assert [(switch.topic, switch.detail) for switch in switches] == [(CODFW, f"from {EQIAD}")]


def test_events_of_both_data_centres_side_by_side_are_no_switch_each_time():
    positions = Positions()
    for second in range(10):
        positions.begin(at(second, second * 1000))
        positions.begin(at(second, second * 1000, CODFW))
    assert positions.notices() == ()


def test_canaries_of_the_other_data_centre_are_no_switch():
    positions = Positions()
    for hour in range(10):
        positions.begin(at(hour, hour * 3600_000))
        positions.begin(at(hour, hour * 3600_000, CODFW))
    assert positions.notices() == ()


def resume(positions, now_ms, **options):
    answer = positions.resume(now_ms, **options)
    return json.loads(answer.last_event_id) if answer.last_event_id else None, answer


def test_resuming_is_by_offset_when_recent_and_by_time_less_a_margin_when_old():
    positions = Positions(StreamConfig(offsets_valid_seconds=3600, resume_margin_seconds=60))
    positions.begin(at(5, DAY))
    positions.done(at(5))
    parts, _ = resume(positions, DAY + 1000)
    assert parts == [{"topic": EQIAD, "partition": 0, "offset": 6}]
    parts, _ = resume(positions, DAY + 3601_000)
    assert parts == [{"topic": EQIAD, "partition": 0, "timestamp": DAY - 60_000}]
    parts, _ = resume(positions, DAY + 1000, by_offset=False)
    assert parts == [{"topic": EQIAD, "partition": 0, "timestamp": DAY - 60_000}]


def test_an_idle_topic_is_resumed_where_its_stream_stands():
    positions = Positions(StreamConfig(resume_margin_seconds=60))
    positions.idle(CODFW)
    positions.begin(at(5, DAY))
    positions.done(at(5))
    parts, _ = resume(positions, DAY)
    assert parts == [
        {"topic": CODFW, "partition": 0, "timestamp": DAY - 60_000},
        {"topic": EQIAD, "partition": 0, "offset": 6},
    ]


def test_a_topic_with_events_in_flight_is_resumed_at_the_first_of_them():
    positions = Positions(StreamConfig(resume_margin_seconds=60))
    positions.begin(at(5, DAY))
    positions.begin(at(1, 3 * DAY, CODFW))
    parts, _ = resume(positions, 3 * DAY)
    assert parts[1] == {"topic": EQIAD, "partition": 0, "timestamp": DAY - 60_000}


def test_a_topic_idle_for_weeks_does_not_count_as_beyond_retention():
    positions = Positions()
    positions.begin(at(5, DAY))
    positions.done(at(5))
    positions.begin(at(1, 40 * DAY, CODFW))
    positions.done(at(1, topic=CODFW))
    parts, answer = resume(positions, 40 * DAY)
    assert not answer.beyond_retention
    assert parts[1] == {"topic": EQIAD, "partition": 0, "timestamp": 40 * DAY - 60_000}


def test_a_position_older_than_retention_is_told():
    positions = Positions()
    positions.begin(at(5, DAY))
    positions.done(at(5))
    _, answer = resume(positions, 20 * DAY)
    assert answer.beyond_retention
    assert positions.notices()[-1].kind is NoticeKind.BEYOND_RETENTION
    resume(positions, 20 * DAY + 1000)
    assert positions.notices() == ()  # told once


def test_nothing_known_starts_from_now():
    assert resume(Positions(), DAY)[0] is None


def test_bytes_keep_the_marks_and_the_gaps():
    positions = Positions()
    positions.idle(CODFW)
    for offset in (5, 6, 9):
        positions.begin(at(offset))
    positions.done(at(5))
    again = Positions.from_bytes(positions.to_bytes())
    assert again.mark() == positions.mark()
    assert again.gaps() == positions.gaps()
    assert again.to_bytes() == positions.to_bytes()
    # What was begun but not done is read again, what was done below the mark is not.
    assert again.begin(at(6))
    assert not again.begin(at(5))


@pytest.mark.parametrize("data", [b"", b"\x02", b"garbage"])
def test_bytes_of_another_version_are_refused(data):
    with pytest.raises(ValueError, match="positions of version"):
        Positions.from_bytes(data)


# --- repetitions ----------------------------------------------------------------------------


def change(kind=ChangeKind.EDIT, rev=11, event="", hour=12, **fields):
    time = datetime(2026, 11, 5, hour, tzinfo=UTC)
    return Change(
        wiki="enwiki",
        kind=kind,
        rev_id=rev,
        event_id=event,
        effective_time=time,
        arrival_time=time,
        title="X",
        **fields,
    )


def test_two_events_for_one_revision_are_one_change():
    seen = Seen(100)
    assert seen.first(change(event="recentchange"))
    assert not seen.first(change(event="page_change"))
    assert seen.first(change(rev=12, event="other"))


def test_the_same_event_id_far_apart_is_one_change():
    seen = Seen(100)
    assert seen.first(change(event="a"))
    for rev in range(50, 90):
        seen.first(change(rev=rev, event=f"e{rev}"))
    assert not seen.first(change(event="a"))


def test_an_event_that_names_no_revision_is_known_by_its_id():
    seen = Seen(100)
    assert seen.first(change(rev=None, event="a"))
    assert not seen.first(change(rev=None, event="a"))
    assert seen.first(change(rev=None, event="b"))


def test_a_page_deleted_twice_at_the_same_revision_is_deleted_twice():
    seen = Seen(100)
    assert seen.first(change(ChangeKind.DELETE, hour=1))
    assert seen.first(change(ChangeKind.RESTORE, hour=2))
    assert seen.first(change(ChangeKind.DELETE, hour=3))
    assert not seen.first(change(ChangeKind.DELETE, hour=3))


def test_memory_of_repetitions_is_bounded():
    seen = Seen(10)
    for rev in range(1, 1000):
        seen.first(change(rev=rev))
    assert len(seen._young) + len(seen._old) <= 40
