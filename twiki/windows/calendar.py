"""Windows as arithmetic: names, neighbours, boundaries, and when a window closes.

A window is a half-open interval of effective time in UTC. Its name is also the name of its
folder and part of the hashes that choose instances, so it is a function of the interval alone::

    one calendar month      2026-11
    midnight to midnight    20261101-20261115
    whole seconds           20261101T060000-20261101T180000

>>> month("2026-11").end.isoformat()
'2026-12-01T00:00:00+00:00'
>>> parse("2026-11-01..2026-12-01") == month("2026-11")
True
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from twiki.errors import UsageError
from twiki.records import Window

_MONTH = re.compile(r"(\d{4})-(\d{2})")
_COMPACT = re.compile(r"(\d{8}(?:T\d{6})?)-(\d{8}(?:T\d{6})?)")
_FORMS = "2026-11, 2026-11-01..2026-12-01 or 2026-11-01T06:00:00Z..2026-11-01T18:00:00Z"


def month(name: str) -> Window:
    """Return the calendar month ``YYYY-MM``.

    Raises:
        UsageError: no such month, or its end is past the year 9999.
    """
    found = _MONTH.fullmatch(name)
    try:
        if found is None:
            raise ValueError("not YYYY-MM")  # noqa: TRY301 - one message for every wrong month
        start = datetime(int(found[1]), int(found[2]), 1, tzinfo=UTC)
        return Window(start=start, end=_next_month(start), name=name)
    except ValueError as error:
        raise UsageError(f"{name!r} is not a month: expected YYYY-MM, e.g. 2026-11") from error


def span(start: datetime, end: datetime) -> Window:
    """Return the window ``[start, end)``, both aware and on whole seconds, with its name.

    Raises:
        UsageError: a time without zone, with a fraction of a second, or an empty interval.
    """
    start, end = _utc(start), _utc(end)
    if start >= end:
        raise UsageError(f"window {start.isoformat()}..{end.isoformat()}: end must follow start")
    if _starts_month(start) and start.year < 9999 and end == _next_month(start):  # noqa: PLR2004 - the last year of datetime
        return Window(start=start, end=end, name=f"{start:%Y-%m}".zfill(7))
    return Window(start=start, end=end, name=f"{_compact(start)}-{_compact(end)}")


def parse(text: str) -> Window:
    """Read a window as people and programs write it; ``parse(window.name) == window``.

    Dates are midnights and times without a zone are UTC.

    Raises:
        UsageError: none of the forms, or no such interval.
    """
    if _MONTH.fullmatch(text):
        return month(text)
    compact = _COMPACT.fullmatch(text)
    first, second = (compact[1], compact[2]) if compact else _halves(text)
    return span(moment(first), moment(second))


def moment(text: str) -> datetime:
    """Read a date or time in ISO 8601; without zone it is UTC.

    Raises:
        UsageError: no such time.
    """
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise UsageError(f"{text!r} is not a time: expected ISO 8601, e.g. 2026-11-01") from error
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def months(start: datetime, end: datetime) -> Iterator[Window]:
    """Yield the calendar months that lie wholly in ``[start, end)``, in order."""
    start, end = _utc(start), _utc(end)
    first = _first_of_month(start)
    window = span(first, _next_month(first))
    if first < start:
        window = following(window)
    while window.end <= end:
        yield window
        window = following(window)


def window_of(time: datetime) -> Window:
    """Return the calendar month in whose interval ``time`` lies."""
    first = _first_of_month(time.astimezone(UTC))
    return span(first, _next_month(first))


def following(window: Window) -> Window:
    """Return the next window: the next month after a month, else a span of equal length."""
    if is_month(window):
        return span(window.end, _next_month(window.end))
    return span(window.end, window.end + (window.end - window.start))


def preceding(window: Window) -> Window:
    """Return the window before: ``following(preceding(w)) == w`` for months and fixed spans."""
    if is_month(window):
        return span(_first_of_month(window.start - timedelta(seconds=1)), window.start)
    return span(window.start - (window.end - window.start), window.start)


def is_month(window: Window) -> bool:
    """Whether the window is one calendar month."""
    return _MONTH.fullmatch(window.name) is not None


def boundaries(windows: Iterable[Window]) -> tuple[datetime, ...]:
    """Return every start and end once, in order: the times that state must answer for."""
    return tuple(sorted({time for window in windows for time in (window.start, window.end)}))


def contains(window: Window, time: datetime) -> bool:
    """Whether effective time ``time`` falls into the window."""
    return window.start <= time < window.end


# --- closing (L17) --------------------------------------------------------------------------


def closes_at(window: Window, lateness: timedelta) -> datetime:
    """Return the watermark from which on the window is closed."""
    return window.end + lateness


def is_closed(window: Window, watermark: datetime | None, lateness: timedelta) -> bool:
    """Whether a watermark (None: no event yet) closes the window."""
    return watermark is not None and watermark >= closes_at(window, lateness)


def closed_months(since: datetime, watermark: datetime, lateness: timedelta) -> Iterator[Window]:
    """Yield the months from ``since`` on that the watermark has closed, in order."""
    return months(since, max(since, watermark - lateness))


# --- the paper's names ----------------------------------------------------------------------


def legacy_name(window: Window) -> str:
    """Return the paper's name of a window in its probe files, ``MMDD-MMDD``: no year."""
    return f"{window.start:%m%d}-{window.end:%m%d}"


def legacy_pair(window: Window) -> str:
    """Return the paper's name in its diffset files: ``MMMM`` for a month, e.g. ``1112``."""
    if is_month(window):
        return f"{window.start:%m}{window.end:%m}"
    return legacy_name(window)


def dated_name(window: Window) -> str:
    """Return ``YYYYMMDD-YYYYMMDD`` (with times where they are not midnight): safe over years."""
    return f"{_compact(window.start)}-{_compact(window.end)}"


def _halves(text: str) -> tuple[str, str]:
    first, dots, second = text.partition("..")
    if not dots:
        raise UsageError(f"{text!r} is not a window: expected {_FORMS}")
    return first, second


def _utc(time: datetime) -> datetime:
    if time.tzinfo is None or time.microsecond:
        raise UsageError(
            f"{time.isoformat()}: a window starts and ends on a whole second with zone"
        )
    return time.astimezone(UTC)


def _starts_month(time: datetime) -> bool:
    return time == _first_of_month(time)


def _first_of_month(time: datetime) -> datetime:
    return datetime(time.year, time.month, 1, tzinfo=UTC)


def _next_month(first: datetime) -> datetime:
    """Return the first of the next month; ValueError past the year 9999."""
    years, month0 = divmod(first.month, 12)
    return datetime(first.year + years, month0 + 1, 1, tzinfo=UTC)


def _compact(time: datetime) -> str:
    date = f"{time.year:04d}{time.month:02d}{time.day:02d}"
    clock = f"{time.hour:02d}{time.minute:02d}{time.second:02d}"
    return date if clock == "000000" else f"{date}T{clock}"
