"""EventStreams → Kafka: every event that counts, in order, with the clock that closes windows.

::

    bridge = Bridge(settings, producer, last_bridge(config))
    for chunk in chunks:                # lists of Change | Canary | Rejected | Revision
        bridge.take(chunk)              # returns when all of it is acknowledged

What a chunk told is sent and acknowledged before the position moves, and the position is kept
in Kafka too, so that any machine can take over. Killed in between, the bridge sends a chunk
again: repetitions are harmless (ENGINE 2). It is the cluster's only clock: every change carries
the end of the last window that had closed when it arrived, and when the watermark passes a
window's end by the lateness, ``close`` goes to every partition of ``changes``.
"""

from collections.abc import Hashable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Generic, TypeVar

import kafka
import msgspec
from kafka.errors import KafkaError

from stream import metrics as names
from stream.cluster.client import meaning
from stream.cluster.exposition import CLOSED, SENT
from stream.cluster.steps import boundaries, dead_letter
from stream.embedded import Item, stream_of
from stream.events import Canary, Rejected
from stream.metrics import Metrics
from stream.position import Positions
from stream.seen import Seen, change_key
from stream.settings import Settings
from stream.topics import (
    BridgeRecord,
    ChangeRecord,
    CloseRecord,
    RevisionRecord,
    Topic,
    encode,
    event_key,
    name_of,
    partition_of,
)
from twiki.records import Change, ChangeKind, Revision, SourcePosition, Window
from twiki.times import from_ms, to_ms
from twiki.windows import calendar

ACKNOWLEDGED_SECONDS = 120.0
_KEY = b"bridge"
T = TypeVar("T")


class WindowClock:
    """Which windows are closed, by the arrival times of all streams.

    The same arithmetic as :meth:`twiki.engine.Engine.arrived`, without a state.
    """

    def __init__(self, lateness: timedelta, before: BridgeRecord | None, first: int = 0) -> None:
        self.watermarks = {} if before is None else dict(before.watermarks)
        self.first = first if before is None else before.first
        self.closed = 0 if before is None else before.closed
        self._lateness = lateness

    def arrived(self, stream: str, moment: datetime) -> list[Window]:
        """Note that ``stream`` told something; the windows that this closes, oldest first."""
        ms = to_ms(moment)
        if ms <= self.watermarks.get(stream, 0):
            return []
        self.watermarks[stream] = ms
        if not self.first:
            self.first = to_ms(calendar.window_of(moment).start)
        closing: list[Window] = []
        watermark = from_ms(min(self.watermarks.values()))
        while calendar.is_closed(self.open, watermark, self._lateness):
            closing.append(self.open)
            self.closed = to_ms(self.open.end)
        return closing

    @property
    def open(self) -> Window:
        """The oldest window that has not closed."""
        start = self.closed or self.first
        return calendar.span(from_ms(start), from_ms(boundaries(start, start)[1]))


class Recent(Generic[T]):
    """The last ``limit`` things that were added."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._things: dict[T, None] = {}

    def __contains__(self, thing: T) -> bool:
        return thing in self._things

    def add(self, thing: T) -> None:
        """Add, and forget the oldest where there are too many."""
        self._things[thing] = None
        if len(self._things) > self._limit:
            del self._things[next(iter(self._things))]

    def discard(self, thing: T) -> None:
        """Forget a thing."""
        self._things.pop(thing, None)


class Titles:
    """Which page bore a title last, as far as the events of late told.

    The API's answer is about today: the title may have gone to another page since the event,
    and a history merge moves revisions.
    """

    def __init__(self, wiki: str, limit: int) -> None:
        self._wiki = wiki
        self._limit = limit
        self._pages: dict[str, int] = {}

    def page_of(self, change: Change) -> int | None:
        """The page of a change that names none; one that names it is remembered."""
        title = change.title
        if change.wiki != self._wiki or not title:
            return None
        if change.page_id is None:
            return None if change.kind is ChangeKind.CREATE else self._pages.get(title)
        self._pages.pop(title, None)
        self._pages[title] = change.page_id
        if len(self._pages) > self._limit:
            del self._pages[next(iter(self._pages))]
        return None


class Bridge:
    """Sends chunks of events to the changes topic.

    Args:
        before: where an earlier run stood; None: nothing was sent yet.
        first: then, the first boundary that state keeps, milliseconds; 0: the month of the
            first event.
    """

    def __init__(
        self,
        settings: Settings,
        producer: kafka.KafkaProducer,
        before: BridgeRecord | None = None,
        *,
        first: int = 0,
        metrics: Metrics | None = None,
    ) -> None:
        self._config = settings.kafka
        self._producer = producer
        self._metrics = metrics or Metrics()
        lateness = timedelta(seconds=settings.windows.lateness_seconds)
        self.clock = WindowClock(lateness, before, first)
        self.sent = 0 if before is None else before.sent
        self._unanswered = 0
        self.positions = (
            Positions(settings.stream)
            if before is None
            else Positions.from_bytes(before.positions, settings.stream)
        )
        self._seen = Seen(settings.stream.seen_ids)
        self._nameless = Recent[Hashable](settings.stream.seen_ids)
        self._titles = Titles(settings.wiki.name, settings.stream.seen_ids)
        self._waiting: list[kafka.future.Future] = []
        self._names = {topic: name_of(topic, settings.kafka) for topic in Topic}

    def run(self, chunks: Iterable[Sequence[Item]]) -> None:
        """Take chunk after chunk."""
        for chunk in chunks:
            self.take(chunk)

    def take(self, chunk: Sequence[Item]) -> None:
        """Send a chunk and the position behind it; all of it is acknowledged on return.

        Raises:
            SourceError: the broker does not take it; the position did not move.
        """
        todo = self._sift(chunk)
        if not todo:
            return
        try:
            for item, work in todo:
                self._tick(item)
                match work:
                    case Revision() | Change():
                        self._change(work)
                    case Rejected():
                        self._rejected(work)
            self._acknowledged()
            for item, _ in todo:
                self.positions.done(position_of(item))
            self._send(Topic.POSITIONS, _KEY, encode(self.record()))
            self._acknowledged()
            self._count()
        except KafkaError as error:
            raise meaning(error, self._config) from error

    def _count(self) -> None:
        """Tell how far the brokers have acknowledged."""
        unanswered, self._unanswered = self._unanswered, 0
        self._metrics.add(SENT, unanswered)
        self._metrics.set(CLOSED, self.clock.closed / 1000)
        if self.clock.watermarks:
            self._metrics.set(names.WATERMARK, min(self.clock.watermarks.values()) / 1000)

    def _sift(self, chunk: Sequence[Item]) -> list[tuple[Item, Item | None]]:
        """Each item read for the first time, and what is sent for it; None: a repetition.

        recentchange names no page id: where page_change tells the same revision in the same
        chunk, its account takes the first one's place; where it comes later, both are sent.
        """
        todo: list[tuple[Item, Item | None]] = []
        nameless: dict[Hashable, int] = {}
        for item in chunk:
            if not self.positions.begin(position_of(item)):
                self._metrics.add(names.REPEATED)
                continue
            todo.append((item, item))
            change = item.change if isinstance(item, Revision) else item
            if not isinstance(change, Change):
                continue
            key = change_key(change)
            named = change.page_id is not None
            if not self._seen.first(change):
                if named and key in nameless:
                    at = nameless.pop(key)
                    todo[at] = (todo[at][0], item)
                    self._nameless.discard(key)
                elif named and key in self._nameless:
                    self._nameless.discard(key)
                    continue
                self._metrics.add(names.REPEATED)
                todo[-1] = (item, None)
            elif not named and isinstance(item, Change):
                nameless[key] = len(todo) - 1
                self._nameless.add(key)
        return todo

    def _tick(self, item: Item) -> None:
        """Move the clock; windows that this closes are closed before the item is sent."""
        told = item.change if isinstance(item, Revision) else item
        if told.arrival_time is not None:
            for window in self.clock.arrived(stream_of(position_of(item)), told.arrival_time):
                self._close(window)

    def _change(self, item: Change | Revision) -> None:
        first, closed = self.clock.first, self.clock.closed
        change = item.change if isinstance(item, Revision) else item
        page = self._titles.page_of(change)
        value = encode(ChangeRecord(change=change, first=first, closed=closed, page=page))
        if isinstance(item, Revision):
            whole = encode(RevisionRecord(revision=item, first=first, closed=closed))
            if len(whole) <= self._config.max_record_bytes:
                value = whole
            else:  # the hydrator may have it from the API, and says what becomes of it
                detail = f"{change.title} revision {change.rev_id}: {len(whole)} bytes"
                letter = dead_letter("too_large", event_key(change), detail)
                self._send(Topic.DEAD, letter.key, letter.value)
        self._send(Topic.CHANGES, event_key(change), value)
        self.sent += 1
        self._unanswered += 1
        self._metrics.add(names.EVENTS, label="change")

    def _rejected(self, item: Rejected) -> None:
        self._metrics.add(names.REJECTED, label=item.reason)
        if not item.reason.dead_letter:
            return
        where = msgspec.json.encode(item.position).decode() if item.position else ""
        letter = dead_letter(str(item.reason), where.encode(), item.detail, item.raw, where)
        self._send(Topic.DEAD, letter.key, letter.value)

    def _close(self, window: Window) -> None:
        record = CloseRecord(
            start=to_ms(window.start), end=to_ms(window.end), first=self.clock.first
        )
        for number in range(self._config.partitions):
            self._send(Topic.CHANGES, b"!close", encode(record), number)

    def record(self) -> BridgeRecord:
        """Where it stands: what was sent, and the clock."""
        return BridgeRecord(
            positions=self.positions.to_bytes(),
            watermarks=self.clock.watermarks,
            first=self.clock.first,
            closed=self.clock.closed,
            sent=self.sent,
        )

    def _send(
        self, topic: Topic, key: bytes, value: bytes | None, partition: int | None = None
    ) -> None:
        if partition is None:
            partition = partition_of(key, self._config.partitions)
        self._waiting.append(
            self._producer.send(self._names[topic], key=key, value=value, partition=partition)
        )

    def _acknowledged(self) -> None:
        """Wait for every answer; the first error among them is raised."""
        self._producer.flush(timeout=ACKNOWLEDGED_SECONDS)
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            future.get(timeout=ACKNOWLEDGED_SECONDS)


def position_of(item: Item | Canary) -> SourcePosition | None:
    """An item's place in the source."""
    return item.change.position if isinstance(item, Revision) else item.position
