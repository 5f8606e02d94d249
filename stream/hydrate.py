"""Change → Revision: contents from the API, side by side, in the order they were asked for.

::

    with Hydrator(settings, clock=clock, chance=random.Random(), metrics=Metrics()) as api:
        for result in api.fetch(changes):       # Revision | Failed, one for each change, in order
            …
        api.revision("enwiki", 1234567)         # what state needs, by id alone

Order is kept because results stand where their change stood, however the answers came. What
could not be had is a Failed, never an exception. The event decides title and page id: it tells
what was then; the API, which knows only today, fills what the event left open.
"""

import random
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime

from stream import metrics as names
from stream.api import ApiError, Client, Transport, Unavailable
from stream.clock import Clock
from stream.contents import Contents
from stream.entity_data import entity_id_of
from stream.fetchplan import Plan, hydrated, plan, revision_of, title_batches
from stream.found import Failed, Failure, Fetched, Lost
from stream.metrics import Metrics
from stream.settings import Settings
from twiki.closing import Closing
from twiki.errors import SourceError
from twiki.records import Change, Revision

COORDINATORS = 2
"""Calls of :meth:`Hydrator.submit` that are worked on at the same time."""

Result = Revision | Failed


def everything(_change: Change) -> bool:
    """Every content is wanted."""
    return True


class Hydrator(Closing):
    """Reads one wiki and its repository; at most ``stream.in_flight`` requests at a time."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock,
        chance: random.Random,
        metrics: Metrics,
        transport: Transport | None = None,
    ) -> None:
        self._config = settings.stream
        self._wiki = settings.wiki
        self._clock = clock
        self._metrics = metrics
        client = Client(
            settings.stream,
            clock=clock,
            chance=chance,
            transport=transport,
            on_retry=lambda _why: metrics.add(names.RETRIES),
        )
        self.client = client
        """For what else is asked of the same hosts, under the same politeness."""
        self._contents = Contents(settings, client, clock=clock, metrics=metrics)
        self._coordinators = ThreadPoolExecutor(COORDINATORS, "hydrate")

    def fetch(
        self, changes: Sequence[Change], wanted: Callable[[Change], bool] = everything
    ) -> list[Result]:
        """The Revision of each change, or why there is none, in the order of ``changes``.

        ``wanted`` says whose content is worth a request (sitelink gate, coalescing); the
        others come without content.
        """
        found = self._round(changes, wanted)
        for _ in range(self._config.lag_attempts - 1):
            late = [i for i, got in found.items() if self._may_lag(changes[i], got)]
            if not late or self._clock.stopped:
                break
            self._clock.sleep(self._config.lag_retry_seconds)
            self._metrics.add(names.RETRIES, len(late))
            again = self._round([changes[i] for i in late], wanted)
            found.update((late[i], got) for i, got in again.items())
        results = [hydrated(change, found.get(i), self._wiki) for i, change in enumerate(changes)]
        for result in results:
            self._count(result)
        return results

    def submit(
        self, changes: Sequence[Change], wanted: Callable[[Change], bool] = everything
    ) -> "Future[list[Result]]":
        """The same in the background; use the results of several calls in their order."""
        return self._coordinators.submit(self.fetch, tuple(changes), wanted)

    def revision(self, wiki: str, rev_id: int) -> Result:
        """One revision by its id alone, as state needs it."""
        return self.revisions(wiki, [rev_id])[0]

    def revisions(self, wiki: str, rev_ids: Sequence[int]) -> list[Result]:
        """Revisions by id alone, in order. Their Change is made of the answer."""
        told = self._contents.named(wiki, rev_ids)
        return [self._result(wiki, told[rev_id], rev_id, None) for rev_id in rev_ids]

    def revision_before(
        self, wiki: str, time: datetime, *, page_id: int | None = None, title: str | None = None
    ) -> Result:
        """The last revision of a page (or entity, by title) before ``time``."""
        told = self._contents.before(wiki, time, page_id=page_id, title=title)
        return self._result(wiki, told, None, title)

    def revisions_before(self, wiki: str, time: datetime, titles: Sequence[str]) -> list[Result]:
        """The last revisions of pages or entities before ``time``, in order, as they are stored.

        For labels: stored entity JSON lacks data types.
        """
        told = self._contents.all_before(wiki, time, titles)
        return [self._result(wiki, told[title], None, title) for title in titles]

    def items_of(self, page_ids: Sequence[int]) -> dict[int, str]:
        """The item of each article that has one, as of now (``pageprops``).

        Raises:
            SourceError: an answer lacks.
        """
        try:
            return self._contents.items(self._wiki.name, page_ids)
        except (ApiError, Unavailable) as error:
            raise SourceError(f"which item an article has cannot be told: {error}") from error

    def current(self, wiki: str, titles: Sequence[str]) -> list[Result]:
        """The current revisions of pages or entities by title, in order (reconcile queue)."""
        told: dict[str, Fetched]
        if wiki == self._wiki.repository:
            got = self._contents.entities((entity_id_of(title), None) for title in titles)
            told = {title: got[(entity_id_of(title), None)] for title in titles}
        else:
            told = self._contents.by_title(
                wiki, title_batches(dict.fromkeys(titles), self._contents.batch)
            ).result()
        return [self._result(wiki, told[title], None, title) for title in titles]

    def _round(
        self, changes: Sequence[Change], wanted: Callable[[Change], bool]
    ) -> dict[int, Fetched]:
        """One pass over everything that the changes need; requests run side by side."""
        todo: Plan = plan(changes, wanted, self._wiki)
        contents, name = self._contents, self._wiki.name
        by_id = contents.by_id(name, todo.by_id.values())
        titles = title_batches(dict.fromkeys(todo.by_title.values()), contents.batch)
        by_title = contents.by_title(name, titles)
        logged = contents.page_ids([changes[i] for i in todo.logged])
        entities = contents.entities(todo.entities.values())
        texts, current, pages = by_id.result(), by_title.result(), logged.result()
        return {
            **{i: entities[key] for i, key in todo.entities.items()},
            **{i: texts[rev_id] for i, rev_id in todo.by_id.items()},
            **{i: current[title] for i, title in todo.by_title.items()},
            **{i: pages[changes[i]] for i in todo.logged},
        }

    def _may_lag(self, change: Change, got: Fetched) -> bool:
        """Announced but not yet readable: replicas run behind the stream."""
        age = (self._clock.now() - change.arrival_time).total_seconds()
        missing = isinstance(got, Lost) and got.reason is Failure.MISSING
        return missing and age < self._config.lag_seconds

    def _result(self, wiki: str, told: Fetched, rev_id: int | None, title: str | None) -> Result:
        result: Result
        if isinstance(told, Lost):
            result = Failed(
                wiki=wiki, reason=told.reason, detail=told.detail, rev_id=rev_id, title=title
            )
        else:
            result = revision_of(wiki, told)
        self._count(result)
        return result

    def _count(self, result: Result) -> None:
        if isinstance(result, Failed):
            self._metrics.add(names.FAILED, label=result.reason)
        elif result.content is not None:
            self._metrics.add(names.FETCHED, label=result.change.wiki)

    def close(self) -> None:
        """Let requests under way end, start no more."""
        self._coordinators.shutdown(cancel_futures=True)
        self._contents.close()
