"""A polite HTTP client for the action API and Special:EntityData.

Politeness is shared by all threads: one token bucket a host, which a 429, a 503 or a maxlag
answer closes for everyone until the time that the server names. Retries happen here, so that
callers see an answer, an :class:`ApiError` or :class:`Unavailable`::

    client = Client(settings.stream, clock=SystemClock(), chance=random.Random())
    answer = client.query("https://en.wikipedia.org/w/api.php", {"action": "query", …})
"""

import random
import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError

from stream import answers
from stream.answers import Answer
from stream.backoff import Backoff, retry_after
from stream.clock import Clock
from stream.settings import StreamConfig, require_contact, user_agent

TOO_MANY = 429
SERVER_ERROR = 500
OK = 200
RETRIED = frozenset(["maxlag", "ratelimited", "readonly", "internal_api_error_DBQueryError"])

Params = Mapping[str, str | int]


class Reply(NamedTuple):
    """What came over the wire: decompressed body, at most ``max_answer_bytes``."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    """Fetches one address; an OSError when nothing came back."""

    def __call__(self, url: str, params: Params) -> Reply:
        """Fetch ``url`` with ``params`` in the query."""


class Unavailable(Exception):
    """No usable answer after all attempts, or the program is stopping."""


class ApiError(Exception):
    """The API refuses the request for good: ``code`` says why."""

    def __init__(self, code: str, info: str) -> None:
        super().__init__(f"{code}: {info}")
        self.code = code


class RequestsTransport:
    """HTTP by requests: gzip, time-outs, one pool of connections, bounded bodies."""

    def __init__(self, config: StreamConfig) -> None:
        self._config = config
        self._session = requests.Session()
        adapter = HTTPAdapter(pool_maxsize=config.in_flight)
        self._session.mount("https://", adapter)
        self._session.mount("http://", adapter)
        self._session.headers.update(
            {"User-Agent": user_agent(config), "Accept-Encoding": "gzip", "Accept": "*/*"}
        )
        if config.token:
            self._session.headers["Authorization"] = f"Bearer {config.token}"

    def __call__(self, url: str, params: Params) -> Reply:
        """Fetch ``url``.

        Raises:
            OSError: no connection, a time-out, a broken or an oversized body.
        """
        config = self._config
        limits = (config.connect_seconds, config.read_seconds)
        with self._session.get(url, params=dict(params), timeout=limits, stream=True) as answer:
            parts, size = [], 0
            try:
                for part in answer.iter_content(1 << 16):
                    parts.append(part)
                    size += len(part)
                    if size > config.max_answer_bytes:
                        raise OSError(f"{url}: answer above {config.max_answer_bytes} bytes")
            except (HTTPError, requests.RequestException) as error:
                raise OSError(f"{url}: {error}") from error
            return Reply(answer.status_code, answer.headers, b"".join(parts))

    def close(self) -> None:
        """Close the connections."""
        self._session.close()


class Bucket:
    """Tokens of one host: ``rate`` a second (0: no limit), at most ``burst`` saved up."""

    def __init__(self, rate: float, burst: int, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._tokens = float(burst)
        self._at = now
        self._closed_until = now
        self._lock = threading.Lock()

    def take(self, now: float) -> float:
        """Take a token; the seconds to wait before using it."""
        with self._lock:
            wait = 0.0
            if self._rate > 0:
                saved = max(0.0, now - self._at) * self._rate
                self._tokens = min(self._burst, self._tokens + saved) - 1
                self._at = max(self._at, now)
                wait = -self._tokens / self._rate
            return max(wait, self._closed_until - now, 0.0)

    def close(self, now: float, seconds: float) -> None:
        """Let nobody through for ``seconds``."""
        with self._lock:
            self._closed_until = max(self._closed_until, now + seconds)


T = TypeVar("T")


class _Again(Exception):
    """The answer asks for another try, after ``wait`` seconds where it says so."""

    def __init__(self, why: str, wait: float | None = None) -> None:
        super().__init__(why)
        self.wait = wait


class Client:
    """Asks, waits, asks again."""

    def __init__(
        self,
        config: StreamConfig,
        *,
        clock: Clock,
        chance: random.Random,
        transport: Transport | None = None,
        on_retry: Callable[[str], None] = lambda _why: None,
    ) -> None:
        self._config = config
        self._clock = clock
        self._transport = transport or RequestsTransport(config)
        self._backoff = Backoff(config, chance)
        self._on_retry = on_retry
        self._buckets: dict[str, Bucket] = {}
        self._lock = threading.Lock()

    def query(self, url: str, params: Params) -> Answer:
        """One answer of the action API.

        Raises:
            Unavailable: no usable answer came.
            ApiError: the API refuses the request.
        """
        polite: dict[str, str | int] = {
            "format": "json",
            "formatversion": 2,
            "maxlag": self._config.maxlag,
            **params,
        }
        return self._ask(url, polite, self._judge_query)

    def page(self, url: str, params: Params) -> Reply:
        """An address that is no API; every status below 500 but 429 is an answer.

        Raises:
            Unavailable: no usable answer came.
        """
        return self._ask(url, params, lambda reply: reply)

    def _ask(self, url: str, params: Params, judge: Callable[[Reply], T]) -> T:
        require_contact(self._config, url)
        bucket = self._bucket(url)
        why = "not asked"
        for attempt in range(self._config.attempts):
            self._clock.sleep(bucket.take(self._clock.monotonic()))
            if self._clock.stopped:
                raise Unavailable(f"{url}: stopping")
            try:
                reply = self._transport(url, params)
                self._refuse_busy(reply)
                return judge(reply)
            except _Again as again:
                why, wait = str(again), again.wait
            except OSError as error:  # requests' own errors are OSErrors too
                why, wait = str(error), None
            self._on_retry(why)
            bucket.close(self._clock.monotonic(), self._backoff.delay(attempt, wait))
        raise Unavailable(f"{url}: {self._config.attempts} attempts, the last: {why}"[:500])

    def _refuse_busy(self, reply: Reply) -> None:
        if reply.status == TOO_MANY or reply.status >= SERVER_ERROR:
            wait = retry_after(reply.headers, self._clock.now())
            raise _Again(f"HTTP {reply.status}", wait)

    def _judge_query(self, reply: Reply) -> Answer:
        if reply.status != OK:
            raise ApiError(f"http-{reply.status}", reply.body[:200].decode("utf-8", "replace"))
        try:
            answer = answers.decode_answer(reply.body)
        except ValueError as error:
            raise _Again(str(error)) from error
        problem = answers.problem(answer)
        if problem is None:
            return answer
        if problem.code in RETRIED or problem.code.startswith("internal_api_error"):
            wait = retry_after(reply.headers, self._clock.now())
            raise _Again(problem.code, wait if wait is not None else problem.lag)
        raise ApiError(problem.code, problem.info)

    def _bucket(self, url: str) -> Bucket:
        host = urlsplit(url).netloc
        with self._lock:
            if host not in self._buckets:
                rate, burst = self._config.requests_per_second, self._config.burst
                self._buckets[host] = Bucket(rate, burst, self._clock.monotonic())
            return self._buckets[host]
