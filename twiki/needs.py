"""Fetching what the ledger names and the state lacks, by revision id (ENGINE 2: ``need``)."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Protocol

from twiki.engine import Engine
from twiki.records import Revision
from twiki.state import layout
from twiki.state.layout import Id

BATCH = 50
"""The API's limit for one request without a bot flag."""
_ATTEMPTS = 3


class RevisionsById(Protocol):
    """Where a revision can be had by its id alone; whatever is no Revision could not be."""

    def revisions(self, wiki: str, rev_ids: Sequence[int]) -> Sequence[object]:
        """The revisions of ``wiki``, in order."""


class Needs:
    """The need marks of one engine; each is tried a few times and then left to the cut's report.

    ``at_once``: whether a page's or entity's content is wanted before its window closes.
    ``beat`` is called after each request where there may be many.
    """

    def __init__(
        self,
        engine: Engine,
        contents: RevisionsById,
        *,
        at_once: Callable[[Id], bool] = lambda _key: True,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        self._engine = engine
        self._contents = contents
        self._at_once = at_once
        self._beat = beat
        self._next = b""
        self._attempts: dict[tuple[Id, int], int] = {}

    def supply(self, more: Iterable[tuple[Id, int]] = ()) -> None:
        """Fetch all that is needed now, and what follows from it, and ``more``."""
        wanted = list(more) or self._untried(None)
        while wanted:
            self._all(wanted)
            wanted = self._untried(None)

    def entities(self) -> None:
        """Fetch what is needed of entities, a page's text not: a dump tells that (policy dump)."""
        self._all([need for need in self._untried(None) if isinstance(need[0], str)])

    def some(self) -> None:
        """Fetch one request's worth of what is wanted at once: between chunks of a live stream.

        A turn looks at no more marks than that, and the next one goes on behind them.
        """
        wanted = [
            need
            for need in self._turn()
            if self._attempts.get(need, 0) < _ATTEMPTS and self._at_once(need[0])
        ]
        if wanted:
            self.fetch(wanted)

    def _all(self, wanted: Sequence[tuple[Id, int]]) -> None:
        for start in range(0, len(wanted), BATCH):
            self.fetch(wanted[start : start + BATCH])
            self._beat()

    def _turn(self) -> list[tuple[Id, int]]:
        marks = list(islice(self._engine.store.needs(self._next), BATCH))
        self._next = layout.need(*marks[-1]) if len(marks) == BATCH else b""
        return marks

    def fetch(self, needs: Sequence[tuple[Id, int]]) -> None:
        """Fetch these and commit what came."""
        wiki = self._engine.config.wiki
        for name, kind in ((wiki.name, int), (wiki.repository, str)):
            chosen = [need for need in needs if isinstance(need[0], kind)]
            if not chosen:
                continue
            found = self._contents.revisions(name, [rev for _, rev in chosen])
            for need, result in zip(chosen, found, strict=True):
                self._attempts[need] = self._attempts.get(need, 0) + 1
                if isinstance(result, Revision):
                    self._engine.supply(need[0], result)
        self._engine.commit()
        for need in needs:
            if self._engine.store.kv.get(layout.need(*need)) is None:
                self._attempts.pop(need, None)

    def _untried(self, limit: int | None) -> list[tuple[Id, int]]:
        untried = (
            need for need in self._engine.store.needs() if self._attempts.get(need, 0) < _ATTEMPTS
        )
        return list(islice(untried, limit))
