"""Which contents of a live source are fetched at once, by what the state knows.

The sitelink gate and coalescing (:mod:`stream.gate`) with an engine behind them: neither changes
what a window's dataset holds. What is not fetched with its event stands in the ledger as
needed; it is fetched by id when the window closes, if a boundary still needs it then.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from stream import metrics as names
from stream.gate import SitelinkGate, superseded
from stream.metrics import Metrics
from stream.ordering import rests_until
from stream.settings import Settings
from twiki.engine import Engine
from twiki.records import Change, Revision
from twiki.state.codec import decode_entity
from twiki.state.layout import Id
from twiki.times import to_ms


class Step(Protocol):
    """Something to be done about a change, or about none."""

    @property
    def change(self) -> Change | None:
        """What is to be fetched."""


S = TypeVar("S", bound=Step)


class Wanting:
    """Decides for one engine; a replay, which brings its contents, wants everything."""

    def __init__(self, engine: Engine, settings: Settings, metrics: Metrics, *, live: bool) -> None:
        self._engine = engine
        self._metrics = metrics
        self._dwell = timedelta(seconds=settings.stream.dwell_seconds if live else 0)
        self._skip = frozenset[Change]()
        gated = live and settings.stream.sitelink_gate
        self._gate = SitelinkGate(settings.wiki, self._has_article) if gated else None

    def among(self) -> Callable[[Change], bool]:
        """What of the changes noted last is worth a request."""

        def wanted(change: Change) -> bool:
            if change in self._skip:
                self._metrics.add(names.SKIPPED, label="superseded")
                return False
            if self._gate is not None and not self._gate.wants(change):
                self._metrics.add(names.SKIPPED, label="no_article")
                return False
            return True

        return wanted

    def bursts(self, changes: Sequence[Change]) -> None:
        """Note what is applied next: of a burst in it the newest alone is fetched."""
        if self._dwell:
            self._skip = superseded(changes, self._window_of, self._burst_of)

    def parts(self, steps: Sequence[S]) -> list[list[S]]:
        """Cut a chunk where the gate's word on an edit hangs on an earlier one of the chunk.

        Each part is fetched and applied before the next is asked about, so that what is
        fetched, and with it the live feed, is the same however the chunks fell.
        """
        self.bursts([step.change for step in steps if step.change is not None])
        if self._gate is None:
            return [list(steps)]
        parts: list[list[S]] = [[]]
        touching: set[str | None] = set()
        for step in steps:
            change = step.change
            if change is not None and self._asks(change):
                if change.title in touching:
                    parts.append([])
                    touching.clear()
                touching.add(change.title)
            parts[-1].append(step)
        return parts

    def _asks(self, change: Change) -> bool:
        """Whether the gate is asked about a change."""
        return change.wiki == self._engine.config.wiki.repository and change not in self._skip

    def at_once(self, key: Id) -> bool:
        """Whether what the ledger needs is fetched before its window closes."""
        return self._gate is None or isinstance(key, int) or self._has_article(key)

    def known_rev(self, change: Change) -> int:
        """The revision of the change's page that stands at the open end, 0: none is known."""
        key = self._engine.key_of(Revision(change=change))
        return 0 if key is None else self._engine.batch.subject(key).held.stood

    def _burst_of(self, effective: datetime) -> datetime:
        return rests_until(effective, self._dwell)

    def _window_of(self, moment: datetime) -> int | None:
        return self._engine.context.window_start(to_ms(moment))

    def _has_article(self, entity_id: str) -> bool:
        """Whether the entity leads to an article, as far as its last content held says."""
        subject = self._engine.batch.subject(entity_id)
        revs = subject.held.revs
        if not revs:
            return True  # nothing is known of it, so it must be looked at
        data = subject.load(subject.held.shown if subject.held.shown in revs else max(revs))
        return data is None or decode_entity(data).sitelink is not None
