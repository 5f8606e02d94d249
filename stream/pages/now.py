"""The live page: numbers of the worker, and what it tells, as it tells it.

The page shows a sample: at most :data:`SHOWN` records a second, and says how many there were.
Programs that want all of them read ``/api/v1/live``. Both read beside the worker, each at its
own pace, so that a slow reader slows nobody.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import pairwise
from typing import Any

import anyio.to_thread
import msgspec
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from stream.pages import shown, sketch
from stream.pages.livefeed import LiveFeed
from stream.pages.site import Site, given_text, number
from stream.pages.told import Sample, Wanted, kind_of, title_of
from twiki.live import LiveFact, LiveSentence, Output
from twiki.records import FactClass, SentenceKind

SHOWN = 8
"""Records a second that the page shows."""
LISTED = 30
_BATCH = 500
_LOOK_BACK = 5_000
_TICK_SECONDS = 1.0
_IDLE_SECONDS = 0.25
_HEARTBEAT_SECONDS = 15.0
MOST_READERS = 64
_ENTITY = re.compile(r"[QP][1-9]\d{0,18}", re.ASCII)
_QUANTITY = re.compile(r"(\S{1,100}) (Q[1-9]\d{0,18})", re.ASCII)
"""An amount with its unit."""
KINDS = (*(str(kind) for kind in SentenceKind), *(str(kind) for kind in FactClass), "tombstone")


class Readers:
    """How many follow the stream at the moment; no more than :data:`MOST_READERS`."""

    def __init__(self, most: int = MOST_READERS) -> None:
        self._most = most
        self.count = 0

    def enter(self) -> None:
        """Count one more.

        Raises:
            HTTPException: 503, there are too many.
        """
        if self.count >= self._most:
            raise HTTPException(503, "Too many readers follow the stream: come back later.")
        self.count += 1

    def leave(self) -> None:
        """Count one less."""
        self.count -= 1


def page(site: Site, request: Request) -> Response:
    """The live page with what was told last."""
    wanted = wanted_of(request)
    feed = site.feed
    if feed is None:
        return site.page(request, "now.html", now=None)
    wiki = site.settings.wiki
    return site.page(
        request,
        "now.html",
        now=feed.now(),
        history=feed.history(),
        wanted=msgspec.structs.asdict(wanted),
        records=newest(feed, wanted, LISTED),
        wikis=(wiki.name, wiki.repository),
        kinds=KINDS,
        label=named_by(feed),
        live=request.query_params.get("live") != "0",
    )


def newest(feed: LiveFeed, wanted: Wanted, most: int) -> list[tuple[int, Output]]:
    """The records told last that are wanted, the newest first."""
    last = feed.last
    found = feed.after(max(last - 500, 0) - 1, 500)
    kept = [item for item in found if wanted(item[1])]
    if len(kept) < most and last > 500:  # noqa: PLR2004 - looked through above
        found = feed.after(max(last - _LOOK_BACK, 0) - 1, _LOOK_BACK)
        kept = [item for item in found if wanted(item[1])]
    return kept[::-1][:most]


async def fragments(site: Site, request: Request, readers: Readers) -> Response:
    """The live page's own stream: pieces of HTML, sampled."""
    feed, wanted = _feed(site), wanted_of(request)
    readers.enter()
    return _stream(_fragments(site, feed, wanted), readers)


async def events(site: Site, request: Request, readers: Readers) -> Response:
    """``/api/v1/live``: every record as JSON, resumable by id."""
    feed, wanted = _feed(site), wanted_of(request)
    told = request.query_params.get("after") or request.headers.get("last-event-id")
    behind = feed.last - 1 if told is None else number(told, "after", least=-1)
    readers.enter()
    return _stream(_events(feed, wanted, behind), readers)


async def _events(feed: LiveFeed, wanted: Wanted, behind: int) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    if behind >= feed.last:
        # The state is younger than the reader: another one, or restored from a backup.
        behind = feed.last - 1
        yield b"event: reset\ndata: " + msgspec.json.encode({"next": feed.last}) + b"\n\n"
    quiet = time.monotonic()
    while True:
        found = await anyio.to_thread.run_sync(feed.after, behind, _BATCH)
        lines = [event_of(n, record) for n, record in found if wanted(record)]
        if found:
            behind = found[-1][0]
        if lines:
            quiet = time.monotonic()
            yield b"".join(lines)
        elif time.monotonic() - quiet > _HEARTBEAT_SECONDS:
            quiet = time.monotonic()
            # The id lets a reader who wants little go on from here all the same.
            yield b"id: %d\n: nothing new\n\n" % behind
        if len(found) < _BATCH:
            await asyncio.sleep(_IDLE_SECONDS)


def event_of(number: int, record: Output) -> bytes:
    """A record as a server-sent event."""
    kind = {LiveSentence: b"sentence", LiveFact: b"fact"}.get(type(record), b"tombstone")
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, kind, msgspec.json.encode(record))


async def _fragments(site: Site, feed: LiveFeed, wanted: Wanted) -> AsyncIterator[bytes]:
    behind, total, seen = feed.last - 1, 0, 0
    parts = site.templates.get_template("now_parts.html").module
    yield b"retry: 2000\n\n"
    while True:
        await asyncio.sleep(_TICK_SECONDS)
        last = feed.last
        came = max(0, last - 1 - behind)
        # What is behind the look-back is counted by its numbers and never read.
        first = max(behind, last - 1 - _LOOK_BACK)
        found = await anyio.to_thread.run_sync(feed.after, first, min(came, _LOOK_BACK) or 1)
        behind = max(behind, last - 1)
        kept = [item for item in found if item[0] < last and wanted(item[1])]
        shown_now = _sample(kept, SHOWN)
        total, seen = (
            total + max(len(kept), came if not _filtered(wanted) else 0),
            seen + len(shown_now),
        )
        now, history = await anyio.to_thread.run_sync(feed.now), feed.history()
        yield _message("numbers", parts.numbers(now, history))  # type: ignore[attr-defined]
        if shown_now:
            yield _message("items", parts.items(shown_now[::-1], site.links, named_by(feed)))  # type: ignore[attr-defined]
        yield _message("sampled", f"Shown: {seen:,} of {total:,} told since this page was opened.")


def _sample(items: Sequence[tuple[int, Output]], most: int) -> list[tuple[int, Output]]:
    """At most ``most`` of the items, evenly spread, in their order."""
    if len(items) <= most:
        return list(items)
    return [items[index * len(items) // most] for index in range(most)]


def _filtered(wanted: Wanted) -> bool:
    return wanted != Wanted()


def _message(name: str, markup: object) -> bytes:
    lines = "".join(f"data: {line}\n" for line in str(markup).splitlines() if line.strip())
    return f"event: {name}\n{lines}\n".encode()


def _stream(chunks: AsyncIterator[bytes], readers: Readers) -> Response:
    async def counted() -> AsyncIterator[bytes]:
        try:
            async for chunk in chunks:
                yield chunk
        finally:
            readers.leave()

    return StreamingResponse(
        counted(),
        media_type="text/event-stream",
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
    )


def _feed(site: Site) -> LiveFeed:
    if site.feed is None:
        raise HTTPException(404, "Served without a state: there is nothing to follow.")
    return site.feed


def wanted_of(request: Request) -> Wanted:
    """The filters that a request gave."""
    return Wanted(
        wiki=given_text(request, "wiki"),
        kind=given_text(request, "kind"),
        title=given_text(request, "title"),
    )


# --- for the templates ---


def lag(seconds: float | None) -> str:
    """A lag for people."""
    if seconds is None:
        return "–"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:,.1f} s"


def rates(history: Sequence[Sample], name: str) -> Markup:
    """The last hour of a counter as a line of rates."""
    values = [
        max(0.0, (getattr(b, name) - getattr(a, name)) / max(b.at - a.at, 1e-3))
        for a, b in pairwise(history)
    ]
    return sketch.spark(f"{name} a second over the last hour", values, "a second")


def named_by(feed: LiveFeed) -> Callable[[str], Markup]:
    """Entities by their labels, as far as the state holds them; other values as they are."""

    def named(value: str) -> Markup:
        if _ENTITY.fullmatch(value):
            return shown.text(feed.label(value) or value, 300)
        if amount := _QUANTITY.fullmatch(value):
            return shown.text(f"{amount[1]} {feed.label(amount[2]) or amount[2]}", 300)
        return shown.text(value, 300)

    return named


def title_link(record: Output, links: shown.Links, label: Callable[[str], Markup]) -> Markup:
    """The page or entity of a record, as a link where there is one."""
    if isinstance(record, LiveSentence):
        name, url = shown.text(record.title, 200), links.page(record.wiki, record.page_id)
    else:
        name, url = label(title_of(record)), links.entity(title_of(record))
    if url is None:
        return name
    return Markup('<a href="{}" rel="noreferrer">{}</a>').format(url, name)


def helpers() -> dict[str, Callable[..., Any]]:
    """What the templates of the live page call."""
    return {"lag": lag, "rates": rates, "title_link": title_link, "kind_of": kind_of}
