"""How long to wait before asking again: exponential, with jitter, never against Retry-After."""

import random
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from stream.settings import StreamConfig


class Backoff:
    """Waiting times of one client. ``chance`` is handed in: the edge's only randomness."""

    def __init__(self, config: StreamConfig, chance: random.Random) -> None:
        self._config = config
        self._chance = chance

    def delay(self, attempt: int, retry_after: float | None = None) -> float:
        """Seconds to wait after failure number ``attempt``, counted from 0."""
        config = self._config
        ceiling = min(config.backoff_cap_seconds, config.backoff_seconds * 2.0 ** min(attempt, 30))
        # Jitter: many clients cut off together must not come back together.
        wait = ceiling * self._chance.uniform(0.5, 1.0)
        if retry_after is None:
            return wait
        return max(min(retry_after, config.retry_after_cap_seconds), min(wait, 1.0))


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that the server asks us to wait: a number or a date, None when it does not."""
    value = next((v for k, v in headers.items() if k.lower() == "retry-after"), "").strip()
    if not value:
        return None
    if value.isascii() and value.replace(".", "", 1).isdigit():
        return float(value)
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - now).total_seconds())
