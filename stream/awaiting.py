"""Waiting for the dump of a window's end, in a thread beside the stream.

::

    dumps = AwaitedDumps(site, settings, folder, clock)
    dumps.want(window)
    for found in dumps.ready(): …      # Arrived: files on disk, verified

Polled politely (an hour by default), one run after the other; an interrupted download goes on.
The first complete run on or after the window's end is taken: pages are dumped from the 1st on,
entities on a weekday of their own.
"""

import logging
import queue
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec

from stream import metrics as names
from stream.clock import Clock
from stream.dumps_site import DumpsSite, Layout, Run
from stream.metrics import Metrics
from stream.settings import Settings
from twiki.dumps.files import SourceFile
from twiki.errors import DumpError, SourceError
from twiki.records import Window

log = logging.getLogger(__name__)

LATEST = timedelta(days=20)
"""A run that begins later after the boundary is that of another boundary."""


class Arrived(NamedTuple):
    """The dump of a window's end, on disk."""

    window: Window
    articles: tuple[SourceFile, ...]
    entities: tuple[SourceFile, ...]
    complete_at: datetime
    """When the run was finished, as far as the site says."""
    folder: Path


class AwaitedDumps:
    """Dumps of the windows asked for, one after the other."""

    def __init__(
        self, site: DumpsSite, settings: Settings, folder: Path, clock: Clock, metrics: Metrics
    ) -> None:
        self._site = site
        self._wiki = settings.wiki
        self._layout = Layout(settings.service.dump_layout)
        self._seconds = settings.service.dump_poll_seconds
        self._folder = folder
        self._clock = clock
        self._metrics = metrics
        self._wanted: queue.Queue[Window | None] = queue.Queue()
        self._arrived: queue.Queue[Arrived] = queue.Queue()
        self._asked: set[Window] = set()
        self._stopping = False
        self._thread = threading.Thread(target=self._work, name="dumps", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the thread; a file that is half here is gone on with the next time."""
        self._stopping = True
        self._wanted.put(None)

    def want(self, window: Window) -> None:
        """Wait for the dump of the window's end; asking again changes nothing."""
        if window not in self._asked:
            self._asked.add(window)
            self._wanted.put(window)

    def again(self, window: Window) -> None:
        """Wait anew: what arrived could not be used."""
        self._asked.discard(window)

    def ready(self) -> Iterator[Arrived]:
        """What has arrived since."""
        while True:
            try:
                yield self._arrived.get_nowait()
            except queue.Empty:
                return

    def _work(self) -> None:
        waiting: list[Window] = []
        while not self._ends:
            try:
                window = self._wanted.get(block=not waiting)
            except queue.Empty:
                window = None
            if window is not None:
                waiting.append(window)
                continue
            waiting = [one for one in waiting if not self._try(one)]
            if waiting:
                self._clock.sleep(self._seconds)

    def _try(self, window: Window) -> bool:
        """Whether the window's dump is here now."""
        try:
            found = None if self._ends else self._fetch(window)
        except (SourceError, DumpError) as error:
            self._metrics.add(names.TROUBLE, label="dump")
            log.warning("event=dump_trouble window=%s error=%r", window.name, str(error))
            return False
        if found is not None:
            self._arrived.put(found)
        return found is not None

    @property
    def _ends(self) -> bool:
        return self._stopping or self._clock.stopped

    def _fetch(self, window: Window) -> Arrived | None:
        articles = self._run(self._wiki.name, self._layout, window.end)
        entities = self._run(self._wiki.repository, Layout.ENTITIES, window.end)
        if articles is None or entities is None:
            return None
        folder = self._folder / window.name
        log.info("event=dump_found window=%s date=%s", window.name, articles.date)
        return Arrived(
            window=window,
            articles=tuple(self._site.get(articles, folder / "articles")),
            entities=tuple(self._site.get(entities, folder / "entities")),
            complete_at=_complete_at(articles) or self._clock.now(),
            folder=folder,
        )

    def _run(self, wiki: str, layout: Layout, boundary: datetime) -> Run | None:
        first, last = f"{boundary:%Y%m%d}", f"{boundary + LATEST:%Y%m%d}"
        for date in sorted(self._site.dates(wiki, layout)):
            if first <= date < last:
                run = self._site.run(wiki, date, layout)
                if run.complete:
                    return run
        return None


class _Job(msgspec.Struct):
    updated: str = ""


class _Status(msgspec.Struct):
    jobs: dict[str, _Job] = msgspec.field(default_factory=dict)


def _complete_at(run: Run) -> datetime | None:
    """When the last job of the run was updated."""
    for name, body in run.marks:
        if name != "dumpstatus.json":
            continue
        try:
            jobs: Any = msgspec.json.decode(body, type=_Status).jobs.values()
            times = [datetime.fromisoformat(job.updated) for job in jobs if job.updated]
        except (msgspec.DecodeError, ValueError):
            return None
        return max(times).replace(tzinfo=UTC) if times else None
    return None
