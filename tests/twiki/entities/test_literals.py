from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twiki.entities.literals import (
    ended,
    iso_time,
    render_amount,
    render_coordinates,
    render_time,
    spellings,
    unit_id,
)


@pytest.mark.parametrize(
    ("time", "precision", "text", "iso"),
    [
        ("+1999-03-21T00:00:00Z", 11, "21 March 1999", "1999-03-21"),
        ("+1999-03-21T14:05:00Z", 14, "21 March 1999", "1999-03-21"),
        ("+1999-03-00T00:00:00Z", 10, "March 1999", "1999-03"),
        ("+1999-03-00T00:00:00Z", 11, "March 1999", "1999-03"),
        ("+1999-00-00T00:00:00Z", 9, "1999", "1999"),
        ("+1999-00-00T00:00:00Z", 11, "1999", "1999"),
        ("+00000001999-01-01T00:00:00Z", 9, "1999", "1999"),
        ("+1995-00-00T00:00:00Z", 8, "1990s", "199X"),
        ("+1801-00-00T00:00:00Z", 7, "19th century", "18XX"),
        ("+1900-00-00T00:00:00Z", 7, "19th century", "19XX"),
        ("+2001-00-00T00:00:00Z", 7, "21st century", "20XX"),
        ("+1101-00-00T00:00:00Z", 7, "12th century", "11XX"),
        ("+1500-00-00T00:00:00Z", 6, "2nd millennium", "1XXX"),
        ("-0044-03-15T00:00:00Z", 11, "15 March 44 BCE", "-0044-03-15"),
        ("-0450-00-00T00:00:00Z", 7, "5th century BCE", "-04XX"),
        ("-66000000-00-00T00:00:00Z", 3, "66 million years ago", "-66XXXXXX"),
        ("-13798000000-00-00T00:00:00Z", 3, "13798 million years ago", "-13798XXXXXX"),
        ("-4600000000-00-00T00:00:00Z", 1, "4.6 billion years ago", "-46XXXXXXXX"),
        ("-40000-00-00T00:00:00Z", 5, "40000 years ago", "-4XXXX"),
        ("+0079-08-24T00:00:00Z", 11, "24 August 79", "0079-08-24"),
    ],
)
def test_a_time_is_rendered_as_people_write_it(time, precision, text, iso):
    assert render_time(time, precision) == text
    assert iso_time(time, precision) == iso


@pytest.mark.parametrize(
    "time", ["", "yesterday", "+1999-13-01T00:00:00Z", "+1999-01-40T00:00:00Z"]
)
def test_what_is_no_time_is_none(time):
    assert render_time(time, 11) is None
    assert iso_time(time, 11) is None


@pytest.mark.parametrize(
    ("valid_to", "end", "expected"),
    [
        (None, (2022, 1, 1), False),
        ("2021-12-31", (2022, 1, 1), True),
        ("2022-01-01", (2022, 1, 1), False),
        ("2021-12", (2022, 1, 1), True),
        ("2021-12", (2021, 12, 15), False),
        ("2021", (2021, 12, 1), False),
        ("2021", (2022, 1, 1), True),
        ("199X", (2022, 1, 1), True),
        ("202X", (2022, 1, 1), False),
        ("-0044-03-15", (2022, 1, 1), True),
        ("12000", (2022, 1, 1), False),
        ("2021-02-30", (2022, 1, 1), True),
        ("9999-12-31", (2022, 1, 1), False),
        ("0000", (2022, 1, 1), True),
    ],
)
def test_a_fact_has_ended_when_its_whole_period_lies_before_the_end(valid_to, end, expected):
    assert ended(valid_to, datetime(*end, tzinfo=UTC)) is expected


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("+1234567", "1234567"),
        ("-5", "-5"),
        ("+3.50", "3.50"),
        ("0", "0"),
        ("-0", "0"),
        ("+1E3", "1000"),
        (7, "7"),
        ("many", None),
        ("NaN", None),
        ("Infinity", None),
        ("1E999999999", None),
        ("1" * 200, None),
    ],
)
def test_an_amount_is_a_plain_number(amount, text):
    assert render_amount(amount) == text


def test_a_unit_is_an_id_or_none():
    assert unit_id("http://www.wikidata.org/entity/Q11573") == "Q11573"
    assert unit_id("1") is None
    assert unit_id(None) is None


def test_coordinates_have_at_most_six_places():
    assert render_coordinates(48.85840000001, -0.0000001) == "48.8584, 0"


def test_prose_has_other_spellings_of_a_literal():
    assert spellings("21 March 1999", "time") == ["March 21, 1999"]
    assert spellings("15 March 44 BCE", "time") == [
        "March 15, 44 BCE",
        "15 March 44 BC",
        "March 15, 44 BC",
    ]
    assert spellings("1999", "time") == []
    assert spellings("1234567.5 metre", "quantity") == ["1,234,567.5 metre"]
    assert spellings("-12345", "quantity") == ["-12,345"]
    assert spellings("999", "quantity") == []
    assert spellings("21 March 1999", "string") == []


@given(
    st.from_regex(r"[+-][0-9]{1,16}-[0-9]{2}-[0-9]{2}T00:00:00Z", fullmatch=True),
    st.integers(0, 14),
)
def test_every_time_renders_or_is_none_and_its_end_can_be_told(time, precision):
    text = render_time(time, precision)
    iso = iso_time(time, precision)
    assert (text is None) == (iso is None)
    assert text is None or text
    ended(iso, datetime(2022, 1, 1, tzinfo=UTC))
