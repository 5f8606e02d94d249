"""The single-machine engine: one process, RocksDB, no broker.

::

    source ─▶ chunk of events ─▶ order ─▶ hydrate ─▶ twiki.engine (state, outbox) ─▶ one write
                                                        ▲       ▲                   with the
                              texts the ledger names ───┘       └─── what gaps       position
                              (by id from the API)                   lost (backfill)

State, outbox and position land in one RocksDB batch, so a kill at any point loses or doubles
nothing (L16). When windows close, ``on_closed`` is called after the write that closed them.
A live source (:class:`Live`) is put in order, spared needless requests and healed; a replay
brings its contents and its order with it.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from stream import metrics as names
from stream.beside import Beside
from stream.events import Canary, Rejected
from stream.found import Failed, Failure
from stream.heal import Lists
from stream.mending import Mender, Readings
from stream.metrics import Metrics
from stream.ordering import Ordering
from stream.position import Positions
from stream.record import Recorder
from stream.seen import Seen, change_key
from stream.settings import Settings
from stream.wanting import Wanting
from twiki.engine import DeadLetter, Engine
from twiki.needs import Needs
from twiki.records import Change, ChangeKind, Revision, SourcePosition, Window

Item = Change | Canary | Rejected | Revision
REPLAY = "replay"
"""The stream that items without a position belong to."""
_CONTENT_KINDS = (ChangeKind.CREATE, ChangeKind.EDIT, ChangeKind.MOVE, ChangeKind.RESTORE)


class Contents(Protocol):
    """Where contents come from: :class:`stream.hydrate.Hydrator`, or nowhere."""

    def fetch(self, changes: Sequence[Change]) -> list[Revision | Failed]:
        """The Revision of each change, or why there is none, in their order."""

    def revisions(self, wiki: str, rev_ids: Sequence[int]) -> list[Revision | Failed]:
        """Revisions by id alone, in order."""


class Api(Contents, Readings, Protocol):
    """The API behind a live source: :class:`stream.hydrate.Hydrator`."""

    def fetch(
        self, changes: Sequence[Change], wanted: Callable[[Change], bool] = ...
    ) -> list[Revision | Failed]:
        """The same; what is not ``wanted`` comes without content."""


class Live(NamedTuple):
    """What a live source has beside its events."""

    api: Api
    lists: Lists
    """What happened, to heal gaps: :class:`stream.backfill.Backfill`."""
    now: Callable[[], datetime]


class NoContents:
    """For replays that carry their contents: nothing can be fetched."""

    def fetch(self, changes: Sequence[Change]) -> list[Revision | Failed]:
        """No content for any change: what names one fails, the rest passes."""
        return [
            self._lost(change.wiki, change.rev_id, change)
            if change.kind in _CONTENT_KINDS
            else Revision(change=change)
            for change in changes
        ]

    def revisions(self, wiki: str, rev_ids: Sequence[int]) -> list[Revision | Failed]:
        """No revision can be had."""
        return [self._lost(wiki, rev_id, None) for rev_id in rev_ids]

    @staticmethod
    def _lost(wiki: str, rev_id: int | None, change: Change | None) -> Failed:
        return Failed(wiki=wiki, reason=Failure.MISSING, change=change, rev_id=rev_id)


@dataclass(slots=True)
class _Step:
    """An item of a chunk, and what is to be applied in its place; None: a repetition."""

    item: Item
    work: Item | None

    @property
    def change(self) -> Change | None:
        """What is to be fetched."""
        return self.work if isinstance(self.work, Change) else None

    @property
    def arrival(self) -> tuple[str, datetime] | None:
        """Stream and arrival time."""
        told = _told(self.item)
        if told.arrival_time is None:
            return None
        return stream_of(_position(self.item)), told.arrival_time


class Embedded:
    """Feeds one engine from one source until it ends; ``beat`` hears of work that may be long."""

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        contents: Contents,
        metrics: Metrics,
        *,
        on_closed: Callable[[Window], None] = lambda _window: None,
        on_commit: Callable[[], None] = lambda: None,
        beat: Callable[[str], None] = lambda _what: None,
        recorder: Recorder | None = None,
        live: Live | None = None,
    ) -> None:
        self.engine = engine
        self.metrics = metrics
        self.positions = (
            Positions.from_bytes(engine.progress.positions, settings.stream)
            if engine.progress.positions
            else Positions(settings.stream)
        )
        self._settings = settings
        self._contents = contents
        self._on_closed = on_closed
        self._on_commit = on_commit
        self._beat = beat
        self._recorder = recorder
        self._seen = Seen(settings.stream.seen_ids)
        self.beside = Beside(engine, metrics)
        self._live = live
        self._wanting = Wanting(engine, settings, metrics, live=live is not None)
        at_once = self._wanting.at_once
        self.needs = Needs(engine, contents, at_once=at_once, beat=partial(beat, "fetch"))
        self._ordering: Ordering[_Step] | None = None
        self.mender: Mender | None = None
        if live is not None:
            if settings.stream.reorder_seconds or settings.stream.dwell_seconds:
                # From where events are read again: what waited when we were killed waits again.
                marks = {
                    stream_of(m): m.timestamp_ms for m in self.positions.mark() if m.offset > 0
                }
                self._ordering = Ordering(settings.stream, marks, self._wanting.known_rev)
            self.mender = Mender(
                engine,
                self.positions,
                self.beside,
                api=live.api,
                lists=live.lists,
                apply=self._apply_found,
                metrics=metrics,
                now=live.now,
            )
        self.stopping = False
        """Whether it is asked to end, or its contents are."""

    def stop(self) -> None:
        """End after the chunk at hand; what it applied is written."""
        self.stopping = True

    def run(self, chunks: Iterable[Sequence[Item]], *, until: datetime | None = None) -> None:
        """Apply chunk after chunk: see :func:`chunked` and :mod:`stream.reader`.

        Ends with the source, after :meth:`stop`, or when the watermark reaches ``until``.
        """
        for chunk in chunks:
            self.take(chunk)
            if self.stopping or (until is not None and self._reached(until)):
                break
        self.drain()
        self.engine.commit(positions=self.positions.to_bytes(), sync=True)
        self._on_commit()

    def _reached(self, until: datetime) -> bool:
        watermark = self.engine.watermark
        return watermark is not None and watermark >= until

    def take(self, chunk: Sequence[Item]) -> None:
        """Apply one chunk and write it; a window that closes on the way is announced there."""
        for part in self._wanting.parts(self._ordered(self._sift(chunk))):
            self._work(part)
        self.engine.commit(positions=self.positions.to_bytes())
        self.needs.some()
        if self.mender is not None:
            self.mender.some()
        self._on_commit()

    def drain(self) -> None:
        """Apply what still waits for stragglers: no more come. Not after :meth:`stop`."""
        if self._ordering is not None and not self.stopping:
            for part in self._wanting.parts(list(self._ordering.flush())):
                self._work(part)

    def _ordered(self, todo: list[_Step]) -> list[_Step]:
        ordering = self._ordering
        if ordering is None:
            return todo
        window, closes = self.engine.open_window, None
        if window is not None:
            closes = window.end + timedelta(seconds=self._settings.windows.lateness_seconds)
        ready = [out for step in todo for out in ordering.push(step, closes)]
        self.metrics.set(names.BUFFERED, len(ordering))
        return ready

    def _work(self, todo: list[_Step]) -> None:
        changes = [step.work for step in todo if isinstance(step.work, Change)]
        results = iter(self._fetch(changes) if changes else ())
        for step in todo:
            found = next(results) if isinstance(step.work, Change) else step.work
            if isinstance(found, Failed) and found.reason is Failure.STOPPED:
                self.stopping = True
                break
            if found is None:
                self._arrived(_position(step.item), _told(step.item))
            else:
                if self._recorder is not None:
                    self._recorder.write(step.item if isinstance(found, Failed) else found)
                if isinstance(step.work, Change) and isinstance(found, Revision):
                    found = self._placed(step.work, found)
                self._apply(found)
            self.positions.done(_position(step.item))
            if self.engine.closed_now:
                # What follows must not be seen by the cut of a window that has just closed.
                self._announce()

    def _fetch(self, changes: Sequence[Change]) -> list[Revision | Failed]:
        """Contents of what is worth a request."""
        if self._live is None:
            return self._contents.fetch(changes)
        return self._live.api.fetch(changes, self._wanting.among())

    def _apply_found(self, found: Sequence[Change | Revision]) -> None:
        """Apply what a backfill or a second reading brought: no position, no watermark."""
        self._beat("backfill")
        changes = [one for one in found if isinstance(one, Change)]
        self._wanting.bursts(changes)
        fetched = iter(self._fetch(changes) if changes else ())
        for one in found:
            result = next(fetched) if isinstance(one, Change) else one
            if isinstance(result, Failed):
                self._failed(result, arrived=False)
                continue
            if isinstance(one, Change):
                result = self._placed(one, result)
            self._take_in(result)

    def _announce(self) -> None:
        """Write up to here, fetch all that is lacking, and tell which windows closed."""
        closed, self.engine.closed_now = self.engine.closed_now, []
        self.engine.commit(positions=self.positions.to_bytes(), sync=True)
        if self.mender is not None:
            self.mender.before_close(closed[-1].end)
        self.needs.supply()
        self._on_commit()
        for window in closed:
            self._on_closed(window)

    def _sift(self, chunk: Sequence[Item]) -> list[_Step]:
        """What of a chunk is to be applied, in its order; repetitions only move the clock.

        recentchange names no page id. Where page_change tells the same revision in the same
        chunk, its account is taken in the place of the first.
        """
        todo: list[_Step] = []
        nameless: dict[Hashable, _Step] = {}
        for item in chunk:
            if not self.positions.begin(_position(item)):
                self.metrics.add(names.REPEATED)
                continue
            step = _Step(item, item)
            todo.append(step)
            change = _told(item)
            if not isinstance(change, Change):
                continue
            key = change_key(change)
            if self._seen.first(change):
                self.metrics.add(names.CHANGES, label=f"{change.wiki} {change.kind}")
                if change.page_id is None and isinstance(item, Change):
                    nameless[key] = step
            else:
                self.metrics.add(names.REPEATED)
                step.work = None
                if change.page_id is not None and key in nameless:
                    nameless.pop(key).work = change
        return todo

    def _apply(self, item: Revision | Failed | Canary | Rejected) -> None:
        match item:
            case Canary():
                self.engine.count("canaries")
                self._arrived(item.position, item)
            case Rejected():
                self._reject(item)
            case Failed():
                self._failed(item)
            case Revision():
                self._arrived(item.change.position, item.change)
                self._take_in(item)

    def _take_in(self, revision: Revision) -> None:
        """Apply a revision, with what is noted beside it."""
        key = self.engine.key_of(revision)
        if key is None:
            # Its page was moved or merged away since; page_change will name it.
            self.engine.count("unplaced")
            self._seen.forget(revision.change)
            return
        self.beside.note(self.engine.batch.subject(key).held, revision.change)
        applied = self.engine.apply(revision, key)
        if applied is not None and applied.late and applied.changed:
            self.beside.late(revision.change)

    def _placed(self, event: Change, found: Revision) -> Revision:
        """The revision under the page that bore the event's title at its time.

        Where the event names no page id, the API's answer is about today: the title may have
        gone to another page since, and a history merge moves revisions.
        """
        if event.page_id is not None or event.kind is ChangeKind.CREATE or not event.title:
            return found
        if event.wiki == self._settings.wiki.repository:
            return found
        page_id = self.engine.page_titled(event.title)
        if page_id is None or found.change.page_id == page_id:
            return found
        if event.rev_id is not None and event.rev_id == found.change.rev_id:
            return replace(found, change=replace(found.change, page_id=page_id))
        return replace(found, change=replace(event, page_id=page_id), content=None)

    def _reject(self, item: Rejected) -> None:
        self.engine.count(f"rejected:{item.reason}")
        self.metrics.add(names.REJECTED, label=item.reason)
        if item.reason.dead_letter:
            where = msgspec.json.encode(item.position).decode() if item.position else ""
            self.engine.dead_letter(
                DeadLetter(
                    reason=str(item.reason), detail=item.detail, raw=item.raw, position=where
                )
            )
        if item.arrival_time is not None:
            self._arrived(item.position, item)

    def _failed(self, item: Failed, *, arrived: bool = True) -> None:
        """A change whose content could not be had: the ledger names it, so it is asked again."""
        change = item.change
        self.engine.count(f"failed:{item.reason}")
        detail = f"{item.title} revision {item.rev_id}: {item.detail}"
        self.engine.dead_letter(DeadLetter(reason=f"fetch_{item.reason}", detail=detail))
        self.beside.failed(item)
        if change is not None:
            if arrived:
                self._arrived(change.position, change)
            if change.page_id is not None or change.wiki == self._settings.wiki.repository:
                self.engine.apply(Revision(change=change))

    def _arrived(self, position: SourcePosition | None, item: Change | Canary | Rejected) -> None:
        if item.arrival_time is not None:
            self.engine.arrived(stream_of(position), item.arrival_time)


def stream_of(position: SourcePosition | None) -> str:
    """The stream of a position, without its data centre: one goes on where another stops."""
    if position is None:
        return REPLAY
    head, dot, rest = position.topic.partition(".")
    return rest if dot and head in {"eqiad", "codfw"} else position.topic


def chunked(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Chunks by count: the same items give the same chunks."""
    source = iter(items)
    while chunk := list(islice(source, size)):
        yield chunk


def _told(item: Item) -> Change | Canary | Rejected:
    return item.change if isinstance(item, Revision) else item


def _position(item: Item) -> SourcePosition | None:
    return item.change.position if isinstance(item, Revision) else item.position
