"""Healing inside the engine: losses are listed, fetched and applied, doubtful pages read again.

::

    mender = Mender(embedded.engine, positions, api, lists, apply, now=clock.now)
    mender.start(on_time=bar)          # everything that is missing since the last run
    mender.some()                      # between two chunks: gaps that have settled, pages to read
    mender.before_close(window.end)    # all gaps that a window's cut would feel

Both may be repeated: the ledger takes a second telling as the first.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Protocol

from msgspec.structs import replace

from stream import metrics as names
from stream.beside import Beside, names_revision
from stream.found import Failed
from stream.heal import MARGIN, Current, Lists, heal_gaps, reread
from stream.metrics import Metrics
from stream.position import Gap, Positions
from twiki.engine import Engine
from twiki.errors import SourceError
from twiki.records import Change, ChangeKind, Revision
from twiki.times import to_ms

log = logging.getLogger(__name__)

BATCH = 50
_SECOND = timedelta(seconds=1)
_LOGGED_KINDS = (ChangeKind.MOVE, ChangeKind.RESTORE)
SETTLES = timedelta(minutes=10)
"""So long after its event a page is read again, or a gap backfilled: stragglers come first."""
RETRY = timedelta(minutes=5)
"""Event time between two tries of a backfill that the API refused."""


class Readings(Current, Protocol):
    """What is now, and what was: :class:`stream.hydrate.Hydrator`."""

    def revision_before(
        self, wiki: str, time: datetime, *, page_id: int | None = ..., title: str | None = ...
    ) -> Revision | Failed:
        """The last revision of a page, or of an entity by title, before a time."""


class Mender:
    """Heals one engine.

    Args:
        apply: hydrates changes and applies them, without moving position or watermark.
        now: the clock, for lists that must not be asked about the future.
    """

    def __init__(
        self,
        engine: Engine,
        positions: Positions,
        beside: Beside,
        *,
        api: Readings,
        lists: Lists,
        apply: Callable[[Sequence[Change | Revision]], None],
        metrics: Metrics,
        now: Callable[[], datetime],
    ) -> None:
        self._engine = engine
        self._positions = positions
        self._beside = beside
        self._api = api
        self._lists = lists
        self._apply = apply
        self._metrics = metrics
        self._now = now
        self._not_before: datetime | None = None
        self._reread_at: datetime | None = None

    def start(self, on_time: Callable[[datetime], None] = lambda _time: None) -> int:
        """Heal every gap that an earlier run left; how many changes that brought."""
        return self._heal(self._positions.gaps(), on_time)

    def some(self) -> None:
        """Heal what has settled, as far as one request goes for pages to be read again."""
        watermark = self._engine.watermark
        if watermark is None:
            return
        self._metrics.set(names.GAPS_OPEN, len(self._positions.gaps()))
        if self._not_before is None or watermark >= self._not_before:
            settled = to_ms(watermark - SETTLES)
            self._heal([g for g in self._positions.gaps() if g.before_ms <= settled])
        if len(self._beside) and (self._reread_at is None or watermark >= self._reread_at):
            self._read_again(watermark)
            self._reread_at = watermark + SETTLES

    def before_close(self, end: datetime) -> None:
        """Heal the gaps that lie before ``end``, or could."""
        limit = to_ms(end + MARGIN)
        self._heal([gap for gap in self._positions.gaps() if gap.after_ms <= limit])

    def _heal(
        self, gaps: Sequence[Gap], on_time: Callable[[datetime], None] = lambda _time: None
    ) -> int:
        if not gaps:
            return 0
        wiki = self._engine.config.wiki
        changes = heal_gaps(
            self._positions,
            self._lists,
            wikis=(wiki.name, wiki.repository),
            now=self._now(),
            gaps=gaps,
            on_time=on_time,
            on_unreachable=self._unreachable,
        )
        healed = 0
        try:
            while batch := list(islice(changes, BATCH)):
                fresh = [self._named(change) for change in batch if not self._known(change)]
                healed += len(fresh)
                self._apply(fresh)
                self._engine.commit()
        except SourceError as error:
            log.warning("event=backfill_failed error=%r", str(error)[:500])
            watermark = self._engine.watermark
            self._not_before = None if watermark is None else watermark + RETRY
            return healed
        self._metrics.add(names.BACKFILLED, healed)
        self._engine.commit(positions=self._positions.to_bytes())
        log.info("event=backfill gaps=%d changes=%d", len(gaps), healed)
        return healed

    def _known(self, change: Change) -> bool:
        """Whether the ledger has the revision, so that it need not be fetched."""
        if change.kind not in (ChangeKind.CREATE, ChangeKind.EDIT):
            return False
        key = self._engine.key_of(Revision(change=change))
        return key is not None and names_revision(
            self._engine.batch.subject(key).held, change.rev_id
        )

    def _missed(self, change: Change, watermark: datetime) -> bool:
        """Whether no event told the revision and none is on its way."""
        settled = change.rev_dt is not None and change.rev_dt <= watermark - SETTLES
        return settled and not self._known(change)

    def _named(self, change: Change) -> Change:
        """A move or restore as the log tells it, with the revision that stood then.

        The log names none, and what is current at the title today may be much younger.
        """
        if change.rev_id or change.kind not in _LOGGED_KINDS:
            return change
        after = change.effective_time + _SECOND
        if change.wiki == self._engine.config.wiki.repository:
            told = self._api.revision_before(change.wiki, after, title=change.title)
        elif change.page_id is not None:
            told = self._api.revision_before(change.wiki, after, page_id=change.page_id)
        else:
            return change
        if isinstance(told, Failed):
            return change
        own = told.change
        return replace(
            change, rev_id=own.rev_id, rev_dt=own.rev_dt, parent_rev_id=own.parent_rev_id
        )

    def _unreachable(self, span: tuple[datetime, datetime]) -> None:
        self._metrics.add(names.UNREACHABLE)
        log.error("event=unreachable from=%s to=%s", span[0].isoformat(), span[1].isoformat())

    def _read_again(self, watermark: datetime) -> None:
        """Apply current revisions that no event told and whose event is not on its way."""
        results = reread(self._beside, self._api, count=BATCH)
        missed = list[Change | Revision]()
        for result in results:
            if isinstance(result, Failed):
                self._beside.gone(result, to_ms(watermark))
            elif self._missed(result.change, watermark):
                missed.append(result)
        self._metrics.add(names.REREAD, len(results))
        self._apply(missed)
        self._engine.commit()
