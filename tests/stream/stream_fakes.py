"""Hand-written stand-ins that behave: a clock that never waits, a source that cuts on cue."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from stream.api import Params, Reply
from stream.connection import Cut

NOON = datetime(2026, 11, 5, 12, tzinfo=UTC)


class FakeClock:
    """Time passes only by sleeping."""

    def __init__(self, start: datetime = NOON):
        self.start = start
        self.passed = 0.0
        self.slept: list[float] = []
        self.stopped = False

    def now(self) -> datetime:
        return self.start + timedelta(seconds=self.passed)

    def monotonic(self) -> float:
        return self.passed

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            self.slept.append(seconds)
            self.passed += seconds


class FakeConnection:
    """Gives its chunks one by one; an exception among them is raised."""

    def __init__(
        self,
        chunks: Sequence[bytes | Exception] = (),
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ):
        self.status = status
        self.headers = {"Content-Type": "text/event-stream"} if headers is None else headers
        self._chunks = list(chunks)
        self.closed = False
        self.interrupted = False

    def read(self) -> bytes:
        if not self._chunks:
            return b""
        chunk = self._chunks.pop(0)
        if isinstance(chunk, Exception):
            raise chunk
        return chunk

    def interrupt(self) -> None:
        self.interrupted = True
        self._chunks.clear()

    def close(self) -> None:
        self.closed = True


class FakeSource:
    """Answers each connection with the next of a script; remembers what was asked."""

    def __init__(self, *script: FakeConnection | Cut | Callable[[dict[str, str]], FakeConnection]):
        self.script = list(script)
        self.asked: list[tuple[dict[str, str], dict[str, str]]] = []

    def __call__(self, _url, params, headers):
        self.asked.append((dict(params), dict(headers)))
        if not self.script:
            raise Cut("unreachable", "the script is over")
        step = self.script.pop(0)
        if isinstance(step, Exception):
            raise step
        return step(dict(headers)) if callable(step) else step

    def last_event_ids(self):
        return [
            json.loads(headers["Last-Event-ID"]) if "Last-Event-ID" in headers else None
            for _, headers in self.asked
        ]


class FakeApi:
    """A transport that answers by a function, or with the next of a list."""

    def __init__(self, answer):
        self._answer = answer
        self.asked: list[tuple[str, dict[str, str | int]]] = []

    def __call__(self, url: str, params: Params) -> Reply:
        self.asked.append((url, dict(params)))
        given = self._answer.pop(0) if isinstance(self._answer, list) else self._answer(url, params)
        if isinstance(given, Exception):
            raise given
        return given


def reply(value: object, status: int = 200, **headers: str) -> Reply:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Reply(status, {k.replace("_", "-"): v for k, v in headers.items()}, body)


def recent_change(offset: int, rev: int, title: str = "X", **fields: object) -> bytes:
    """A recentchange edit at an offset; its times follow the offset, in seconds."""
    moment = 1_762_467_620 + offset
    event = {
        "$schema": "/mediawiki/recentchange/1.0.1",
        "meta": {
            "id": f"00000000-0000-0000-0000-{offset:012}",
            "dt": f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%SZ}",
            "domain": "en.wikipedia.org",
            "stream": "mediawiki.recentchange",
            "topic": "eqiad.mediawiki.recentchange",
            "partition": 0,
            "offset": offset,
        },
        "type": "edit",
        "namespace": 0,
        "title": title,
        "comment": "",
        "timestamp": moment,
        "revision": {"old": rev - 1, "new": rev},
        "wiki": "enwiki",
    }
    return json.dumps(event | fields, ensure_ascii=False).encode()


def framed(data: bytes, event: str = "message", sse_id: str = "") -> bytes:
    return f"event: {event}\nid: {sse_id}\n".encode() + b"data: " + data + b"\n\n"
