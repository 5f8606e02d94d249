"""Instants as the state stores them: whole milliseconds since 1970 in UTC."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


def to_ms(moment: datetime) -> int:
    """Milliseconds since 1970; exact, also for years before it."""
    return (moment - _EPOCH) // _MS


def from_ms(ms: int) -> datetime:
    """The aware datetime in UTC."""
    return _EPOCH + ms * _MS
