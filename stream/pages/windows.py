"""The list of windows: what the state says of them, and what is published."""

from datetime import datetime
from typing import Any

from stream.pages.library import Library, Shelved
from stream.pages.livefeed import LiveFeed
from twiki.records import Record, Window
from twiki.times import from_ms, to_ms
from twiki.windows.versions import Status


class WindowRow(Record, frozen=True, kw_only=True):
    """A window, whether the state keeps it, a dataset tells of it, or both."""

    wiki: str
    window: str
    start: datetime
    end: datetime
    states: tuple[str, ...]
    """Of: open, closing, awaiting dump, reconciled, published, corrected."""
    completeness: float | None
    """Share of the dump's pages that the stream had; None: no dump was held against it."""
    late: int | None
    """Events that came after it had closed and wait for a correction; None: not in the state."""
    current: str | None
    """Id of the dataset to use."""
    versions: tuple[dict[str, Any], ...]
    counts: dict[str, int]


def rows(library: Library, feed: LiveFeed | None) -> list[WindowRow]:
    """All windows, the newest first."""
    kept: dict[tuple[str, str], Window] = {}
    if feed is not None:
        kept = {(feed.progress.wiki, window.name): window for window in feed.windows()}
    listing = library.listing()
    names = {(shelf.wiki, shelf.window) for shelf in listing.shelves.values()} | set(kept)
    found = [_row(library, feed, *name, kept.get(name), listing.window(*name)) for name in names]
    return sorted(found, key=lambda row: (row.start, row.end, row.wiki), reverse=True)


def _row(
    library: Library,
    feed: LiveFeed | None,
    wiki: str,
    name: str,
    window: Window | None,
    shelves: list[Shelved],
) -> WindowRow:
    current = next((shelf for shelf in shelves if shelf.status is Status.CURRENT), None)
    dataset = None if current is None else library.dataset(current)
    interval = window or (dataset and dataset.window) or library.dataset(shelves[-1]).window
    told = None if current is None else library.reconcile(current)
    states = _in_state(feed, window) if feed is not None and window is not None else []
    if told is not None and "reconciled" not in states:
        states = [state for state in states if state != "awaiting dump"] + ["reconciled"]
    if current is not None:
        states.append("published")
    if any(_was_wrong(library, shelf) for shelf in shelves):
        states.append("corrected")
    return WindowRow(
        wiki=wiki,
        window=name,
        start=interval.start,
        end=interval.end,
        states=tuple(states) or ("withdrawn",),
        completeness=((told or {}).get("pages") or {}).get("completeness"),
        late=None if feed is None or window is None else feed.late_of(window),
        current=None if current is None else current.id,
        versions=tuple(
            {"id": s.id, "version": s.version, "status": str(s.status), "reason": s.reason}
            for s in shelves
        ),
        counts={} if dataset is None else dict(dataset.manifest.data.counts),
    )


def _was_wrong(library: Library, shelf: Shelved) -> bool:
    """Whether a version gave way although a dump had confirmed it, or was withdrawn.

    The version that was cut before the dump came gives way to the reconciled one as a rule.
    """
    if shelf.status is Status.SUPERSEDED:
        return library.reconcile(shelf) is not None
    return shelf.status is Status.WITHDRAWN


def _in_state(feed: LiveFeed, window: Window) -> list[str]:
    progress = feed.progress
    if to_ms(window.start) in progress.reconciled:
        return ["reconciled"]
    if to_ms(window.end) <= progress.closed:
        return ["awaiting dump"]
    marks = progress.watermarks.values()
    reached = bool(marks) and from_ms(min(marks)) >= window.end
    return ["closing" if reached else "open"]
