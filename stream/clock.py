"""Time as an argument: the edge is the only place with a clock, and it is handed in."""

import threading
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the edge wants of time; tests bring one that never waits."""

    def now(self) -> datetime:
        """Date and time in UTC: jumps when an operator sets it."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    def sleep(self, seconds: float) -> None:
        """Wait, or return at once after :meth:`stop`."""

    @property
    def stopped(self) -> bool:
        """Whether the program is asked to end."""


class SystemClock:
    """The machine's clock; :meth:`stop` wakes every sleeper."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def now(self) -> datetime:
        """Date and time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait, or return at once after :meth:`stop`."""
        if seconds > 0:
            self._stopped.wait(seconds)

    @property
    def stopped(self) -> bool:
        """Whether the program is asked to end."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Ask the program to end."""
        self._stopped.set()
