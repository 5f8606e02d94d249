"""A kind of event that falls silent: told against its own history, by event time.

Wikimedia's page-undelete stream was dead for three months and nobody saw: everything else came.
So each (wiki, kind) is watched for itself. The longest pause that is normal is learnt, slowly
forgotten, and an alarm is due when the pause since its last event is many times that::

    liveness.observe("enwiki", "restore", change.arrival_time)
    liveness.silences(watermark)        # those that are overdue now
"""

from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from stream.clock import Clock

VERSION = 1
ENOUGH = 20
"""Events of a kind before its pauses say anything."""
FORGETS = 0.98
"""What one event leaves of the longest pause known: a few dozen events forget an outage."""


class Silence(NamedTuple):
    """A kind that is overdue."""

    wiki: str
    kind: str
    last: datetime
    longest_pause: timedelta
    """The longest that was normal until then."""


class _Pulse(msgspec.Struct):
    last: datetime
    count: int = 1
    longest: float = 0.0
    """Seconds."""


class Liveness:
    """Pulses of every (wiki, kind).

    Args:
        factor: times the longest normal pause that a silence must last.
        least: silences shorter than this are never told.
    """

    def __init__(self, *, factor: float = 5.0, least: timedelta = timedelta(minutes=10)) -> None:
        self._factor = factor
        self._least = least
        self._pulses: dict[tuple[str, str], _Pulse] = {}

    def observe(self, wiki: str, kind: str, time: datetime) -> None:
        """Note an event; one that is older than the last of its kind changes nothing."""
        pulse = self._pulses.get((wiki, kind))
        if pulse is None:
            self._pulses[(wiki, kind)] = _Pulse(time)
            return
        pause = (time - pulse.last).total_seconds()
        if pause < 0:
            return
        pulse.longest = max(pause, pulse.longest * FORGETS)
        pulse.last = time
        pulse.count += 1

    def silences(self, watermark: datetime) -> list[Silence]:
        """Kinds whose next event is long overdue at ``watermark``, sorted."""
        found = []
        for (wiki, kind), pulse in sorted(self._pulses.items()):
            limit = max(self._least.total_seconds(), pulse.longest * self._factor)
            if pulse.count >= ENOUGH and (watermark - pulse.last).total_seconds() > limit:
                pause = timedelta(seconds=round(pulse.longest))
                found.append(Silence(wiki, kind, pulse.last, pause))
        return found

    def to_bytes(self) -> bytes:
        """The pulses, so that a restart need not learn again."""
        rows = [[*key, pulse] for key, pulse in sorted(self._pulses.items())]
        return bytes([VERSION]) + msgspec.msgpack.encode(rows)

    def load(self, data: bytes) -> None:
        """Take over what :meth:`to_bytes` wrote; bytes of another version are left alone."""
        if data[:1] == bytes([VERSION]):
            rows = msgspec.msgpack.decode(data[1:], type=list[tuple[str, str, _Pulse]])
            self._pulses = {(wiki, kind): pulse for wiki, kind, pulse in rows}


class Watchdog:
    """Whether the source as a whole is alive, by our own clock: the read time-out's second line.

    A connection can deliver bytes and no events, or the reading thread can hang.
    """

    def __init__(self, clock: Clock, *, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._seen = clock.monotonic()

    def saw_event(self) -> None:
        """Note that something came."""
        self._seen = self._clock.monotonic()

    @property
    def overdue(self) -> bool:
        """Whether nothing came for too long."""
        return self._clock.monotonic() - self._seen > self._seconds
