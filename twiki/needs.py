"""Fetching what the ledger names and the state lacks, by revision id (ENGINE 2: ``need``)."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Protocol

from twiki.engine import Engine
from twiki.records import Revision
from twiki.state.layout import Id

BATCH = 50
"""The API's limit for one request without a bot flag."""
_ATTEMPTS = 3


class RevisionsById(Protocol):
    """Where a revision can be had by its id alone; whatever is no Revision could not be."""

    def revisions(self, wiki: str, rev_ids: Sequence[int]) -> Sequence[object]:
        """The revisions of ``wiki``, in order."""


class Needs:
    """The need marks of one engine; each is tried a few times and then left to the cut's report."""

    def __init__(self, engine: Engine, contents: RevisionsById) -> None:
        self._engine = engine
        self._contents = contents
        self._attempts: dict[tuple[Id, int], int] = {}

    def supply(self, more: Iterable[tuple[Id, int]] = ()) -> None:
        """Fetch all that is needed now, and what follows from it, and ``more``."""
        wanted = list(more) or self._untried(None)
        while wanted:
            for start in range(0, len(wanted), BATCH):
                self.fetch(wanted[start : start + BATCH])
            wanted = self._untried(None)

    def some(self) -> None:
        """Fetch one request's worth: between two chunks of a live stream."""
        if wanted := self._untried(BATCH):
            self.fetch(wanted)

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

    def _untried(self, limit: int | None) -> list[tuple[Id, int]]:
        untried = (
            need for need in self._engine.store.needs() if self._attempts.get(need, 0) < _ATTEMPTS
        )
        return list(islice(untried, limit))
