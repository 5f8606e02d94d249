"""What a worker tells of itself to those who read beside it: ``metrics.json`` in its state folder.

Counters of the process that are not part of the state, since they say how it went and not what
is so: connections, changes by wiki and kind. Written aside and renamed, at most once a second::

    tell = Telling(metrics, state / FILE, clock)
    tell()                 # after every commit
    read(state / FILE)     # Told(…), or None where no worker ever told
"""

from pathlib import Path

import msgspec

from stream import metrics as names
from stream.clock import Clock
from stream.metrics import Metrics

FILE = "metrics.json"
_SECONDS = 1.0
_MOST_BYTES = 1 << 20


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """Counters of a worker since it was started."""

    connects: int = 0
    changes: dict[str, int] = {}
    """By wiki and kind, a space between them."""
    cuts: dict[str, int] = {}
    """Connections that ended, by cause."""


class Telling:
    """Writes the counters of one process where readers look for them."""

    def __init__(self, metrics: Metrics, path: Path, clock: Clock) -> None:
        self._metrics = metrics
        self._path = path
        self._clock = clock
        self._next = float("-inf")

    def __call__(self, *, at_once: bool = False) -> None:
        """Tell, unless that was less than a second ago."""
        at = self._clock.monotonic()
        if at < self._next and not at_once:
            return
        self._next = at + _SECONDS
        told = Told(
            connects=int(self._metrics.value(names.CONNECTS)),
            changes=_whole(self._metrics.labels(names.CHANGES)),
            cuts=_whole(self._metrics.labels(names.CUTS)),
        )
        # Not synced: it is worth nothing after a power cut.
        aside = self._path.with_name(f".{self._path.name}.partial")
        aside.write_bytes(msgspec.json.encode(told))
        aside.replace(self._path)


def read(path: Path) -> Told | None:
    """What a worker told last; None where there is nothing to be read."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        return msgspec.json.decode(path.read_bytes(), type=Told)
    except (OSError, msgspec.MsgspecError):
        return None


def _whole(values: dict[str, float]) -> dict[str, int]:
    return {label: int(value) for label, value in values.items()}
