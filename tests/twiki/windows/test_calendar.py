from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twiki.errors import UsageError
from twiki.windows import calendar

seconds = st.datetimes(
    min_value=datetime(1000, 1, 1),  # noqa: DTZ001 - hypothesis attaches the zone
    max_value=datetime(9000, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
).map(lambda time: time.replace(microsecond=0))


def utc(*parts):
    return datetime(*parts, tzinfo=UTC)


def test_a_month_is_named_as_people_write_it():
    window = calendar.month("2026-12")
    assert (window.start, window.end) == (utc(2026, 12, 1), utc(2027, 1, 1))


@pytest.mark.parametrize(
    "text",
    ["2026-11", "2026-11-01..2026-12-01", "2026-11-01T00:00:00Z..2026-12-01T00:00:00+00:00"],
)
def test_one_month_has_one_name_however_it_is_written(text):
    assert calendar.parse(text) == calendar.month("2026-11")


def test_a_time_in_another_zone_is_brought_to_utc():
    east = timezone(timedelta(hours=2))
    window = calendar.span(datetime(2026, 11, 1, 2, tzinfo=east), utc(2026, 12, 1))
    assert window == calendar.month("2026-11")


def test_other_spans_are_named_by_their_dates():
    assert calendar.parse("2026-11-01..2026-11-15").name == "20261101-20261115"
    half = calendar.parse("2026-11-01T06:00:00Z..2026-11-02")
    assert half.name == "20261101T060000-20261102"


@given(start=seconds, length=st.integers(min_value=1, max_value=10**9))
def test_a_name_reads_back_as_its_window(start, length):
    window = calendar.span(start, start + timedelta(seconds=length))
    assert calendar.parse(window.name) == window
    assert "/" not in window.name
    assert "." not in window.name


@given(time=seconds)
def test_every_time_lies_in_the_one_month_that_is_said(time):
    window = calendar.window_of(time)
    assert calendar.contains(window, time)
    assert not calendar.contains(calendar.following(window), time)
    assert not calendar.contains(calendar.preceding(window), time)


@given(start=seconds, days=st.integers(min_value=0, max_value=2000))
def test_months_follow_one_another_without_gap_or_overlap(start, days):
    end = start + timedelta(days=days)
    found = list(calendar.months(start, end))
    assert all(a.end == b.start for a, b in pairwise(found))
    assert all(start <= w.start < w.end <= end for w in found)
    if found:
        assert found[0].start - start < timedelta(days=31)
        assert end - found[-1].end < timedelta(days=31)


@given(start=seconds, length=st.integers(min_value=1, max_value=10**8))
def test_following_and_preceding_undo_each_other(start, length):
    for window in (
        calendar.window_of(start),
        calendar.parse("2026-11-01..2026-11-15"),
    ):
        assert calendar.preceding(calendar.following(window)) == window
        assert calendar.following(window).start == window.end


def test_boundaries_are_given_once_and_in_order():
    windows = [calendar.month("2026-12"), calendar.month("2026-11")]
    assert calendar.boundaries(windows) == (utc(2026, 11, 1), utc(2026, 12, 1), utc(2027, 1, 1))


def test_a_window_closes_when_the_watermark_reaches_its_end_and_the_lateness():
    window, lateness = calendar.month("2026-11"), timedelta(hours=1)
    before, at = utc(2026, 12, 1, 0, 59, 59), utc(2026, 12, 1, 1)
    assert not calendar.is_closed(window, None, lateness)
    assert not calendar.is_closed(window, before, lateness)
    assert calendar.is_closed(window, at, lateness)
    since = utc(2026, 10, 1)
    assert [w.name for w in calendar.closed_months(since, before, lateness)] == ["2026-10"]
    assert [w.name for w in calendar.closed_months(since, at, lateness)] == ["2026-10", "2026-11"]
    assert list(calendar.closed_months(since, utc(2026, 9, 1), lateness)) == []


def test_the_papers_names_are_derived():
    august, december = calendar.month("2021-08"), calendar.month("2026-12")
    assert calendar.legacy_pair(august) == "0809"
    assert calendar.legacy_name(august) == "0801-0901"
    assert calendar.dated_name(august) == "20210801-20210901"
    assert calendar.legacy_pair(december) == "1201"
    assert calendar.legacy_pair(calendar.parse("2026-11-01..2026-11-15")) == "1101-1115"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-13",
        "2026-00",
        "9999-12",
        "2026",
        "november",
        "2026-11-01",
        "..",
        "2026-12-01..2026-11-01",
        "2026-11-01..2026-11-01",
        "2026-11-01..2026-11-31",
        "2026-11-01T00:00:00.5Z..2026-12-01",
        "../../etc",
    ],
)
def test_what_is_no_window_is_refused_with_its_text(text):
    with pytest.raises(UsageError):
        calendar.parse(text)


def test_the_last_years_months_end_where_time_ends():
    assert calendar.parse("9999-11").end == utc(9999, 12, 1)
    assert calendar.parse("9999-12-01..9999-12-31").name == "99991201-99991231"
