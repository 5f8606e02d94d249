"""Literal values as people write them, and validity at the precision given.

======================  =========================================
value                   rendered
======================  =========================================
day, month, year        ``21 March 1999``, ``March 1999``, ``1999``
decade, century         ``1990s``, ``19th century``
millennium              ``2nd millennium``
before the common era   ``15 March 44 BCE``, ``5th century BCE``
coarser than that       ``66 million years ago``
quantity                ``1234567``, ``828 Q11573`` (amount and unit id)
coordinates             ``48.8584, 2.2945``
======================  =========================================

A date is rendered in the calendar that it is stated in: Wikibase stores a Julian date as the
Julian day, which is also how articles give it, so no note on the calendar is added.
"""

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import lru_cache

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July",
    "August", "September", "October", "November", "December",
)  # fmt: skip
_TIME = re.compile(r"([+-]?)(\d{1,16})-(\d{1,2})-(\d{1,2})T")
_UNIT = re.compile(r"[QL]\d+$")

_MILLENNIUM, _CENTURY, _DECADE, _YEAR, _MONTH, _DAY = 6, 7, 8, 9, 10, 11
_MONTHS_A_YEAR, _DAYS_A_MONTH = 12, 31
_GROUPED_FROM = 4
_MAX_DIGITS = 40
"""Wikibase allows 127 digits; no article writes so many."""


@lru_cache(maxsize=1 << 16)
def parse_time(time: str, precision: int) -> tuple[int, int, int, int] | None:
    """``(year, month, day, precision)`` of a time value; None where it is none.

    The year is negative before the common era (there is no year 0); month and day are 0 where
    the value has none, and the precision is then at most what they allow.
    """
    match = _TIME.match(time)
    if match is None:
        return None
    sign, digits, month_text, day_text = match.groups()
    year, month, day = int(digits), int(month_text), int(day_text)
    if month > _MONTHS_A_YEAR or day > _DAYS_A_MONTH:
        return None
    precision = min(precision, _DAY)
    if day == 0:
        precision = min(precision, _MONTH)
    if month == 0:
        precision = min(precision, _YEAR)
    return (-year if sign == "-" else year, month, day, precision)


@lru_cache(maxsize=1 << 16)
def render_time(time: str, precision: int) -> str | None:
    """A time value as an English sentence would have it; None where it is no time."""
    parsed = parse_time(time, precision)
    if parsed is None:
        return None
    signed, month, day, precision = parsed
    year = abs(signed)
    if precision < _MILLENNIUM:
        return _ages(signed, precision)
    if precision == _DAY:
        text = f"{day} {_MONTHS[month - 1]} {year}"
    elif precision == _MONTH:
        text = f"{_MONTHS[month - 1]} {year}"
    elif precision == _YEAR:
        text = str(year)
    elif precision == _DECADE:
        text = f"{year // 10 * 10}s"
    elif precision == _CENTURY:
        text = f"{_ordinal(-(-year // 100))} century"
    else:
        text = f"{_ordinal(-(-year // 1000))} millennium"
    return f"{text} BCE" if signed < 0 else text


def _ages(year: int, precision: int) -> str:
    step = 10 ** (9 - precision)
    count = abs(year) // step * step
    for size, word in ((10**9, " billion"), (10**6, " million")):
        if count >= size and count % (size // 10) == 0:
            return f"{_plain(Decimal(count) / size)}{word} years {'ago' if year < 0 else 'CE'}"
    return f"{count} years {'ago' if year < 0 else 'CE'}"


def _ordinal(number: int) -> str:
    teens = 10 <= number % 100 <= 20  # noqa: PLR2004 - eleventh to twentieth
    suffix = "th" if teens else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def iso_time(time: str, precision: int) -> str | None:
    """A time value as ISO 8601 at its precision: ``2021-03-04``, ``2021-03``, ``2021``.

    Digits that a coarser precision leaves open are ``X`` (``199X``), as in ISO 8601-2.
    """
    parsed = parse_time(time, precision)
    if parsed is None:
        return None
    year, month, day, precision = parsed
    text = f"{abs(year):04}"
    if precision < _YEAR:
        open_digits = min(_YEAR - precision, len(text))
        text = text[: len(text) - open_digits] + "X" * open_digits
    if precision >= _MONTH:
        text += f"-{month:02}"
    if precision == _DAY:
        text += f"-{day:02}"
    return f"-{text}" if year < 0 else text


def ended(valid_to: str | None, end: datetime) -> bool:
    """Whether all of the day, month or year ``valid_to`` lies before ``end``.

    "2021" has ended for a window that ends on 1 January 2022, not for one that ends in
    December 2021: the year is not over.
    """
    if valid_to is None:
        return False
    if valid_to.startswith("-"):
        return True
    year, *rest = (int(part) for part in valid_to.replace("X", "9").split("-"))
    try:
        if not rest:
            over = date(year + 1, 1, 1)
        elif len(rest) == 1:
            over = date(year + rest[0] // 12, rest[0] % 12 + 1, 1)
        else:
            over = date(year, rest[0], rest[1]) + timedelta(days=1)
    except (ValueError, OverflowError):  # beyond the year 9999, or 30 February
        return (year, *rest) < (end.year, end.month, end.day)
    return datetime(over.year, over.month, over.day, tzinfo=UTC) <= end


def render_amount(amount: str | float) -> str | None:
    """An amount without its plus sign or exponent; None where it is no number."""
    if isinstance(amount, str) and len(amount) > _MAX_DIGITS:
        return None
    try:
        number = Decimal(str(amount))
    except InvalidOperation:
        return None
    return _plain(number) if number.is_finite() and abs(number.adjusted()) < _MAX_DIGITS else None


def _plain(number: Decimal) -> str:
    text = f"{number:f}"
    if "." not in text:
        return "0" if text == "-0" else text
    return text  # trailing zeros are significant digits, as the statement has them


def unit_id(unit: str | None) -> str | None:
    """The id in a unit's address (``http://www.wikidata.org/entity/Q11573``); None for "1"."""
    match = _UNIT.search(unit) if unit else None
    return match.group() if match else None


def render_coordinates(latitude: float, longitude: float) -> str:
    """Latitude and longitude in degrees, at most six places."""
    return f"{_degrees(latitude)}, {_degrees(longitude)}"


def _degrees(value: float) -> str:
    text = f"{value:.6f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def spellings(text: str, datatype: str) -> list[str]:
    """Other ways in which English prose writes a rendered literal.

    ``21 March 1999`` is also ``March 21, 1999``; ``44 BCE`` is ``44 BC``; ``1234567`` is
    ``1,234,567``. They count as evidence only where aliases do.
    """
    if datatype == "time":
        return _other_dates(text)
    if datatype == "quantity":
        return _grouped(text)
    return []


def _other_dates(text: str) -> list[str]:
    forms = [text]
    day, _, rest = text.partition(" ")
    month, _, year = rest.partition(" ")
    if day.isdigit() and month in _MONTHS:
        forms.append(f"{month} {day}, {year}")
    if text.endswith(" BCE"):
        forms += [form.removesuffix("E") for form in forms]
    return forms[1:]


def _grouped(text: str) -> list[str]:
    amount, space, unit = text.partition(" ")
    whole, point, places = amount.partition(".")
    if not whole.lstrip("-").isdigit() or len(whole.lstrip("-")) < _GROUPED_FROM:
        return []
    return [f"{int(whole):,}{point}{places}{space}{unit}"]
