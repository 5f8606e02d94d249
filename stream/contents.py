"""Reading side by side: batches go to a pool of threads, answers come back by key.

:class:`Contents` starts requests and gives :class:`Jobs`; nothing in it raises for what the
other side does: that is a Lost under the key it concerns.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from typing import Generic, TypeVar

from msgspec.structs import replace

from stream import metrics as names
from stream.api import Client, Unavailable
from stream.clock import Clock
from stream.entity_data import EntityReader, Wanted, entity_id_of
from stream.fetchplan import parts, title_batches
from stream.found import Failure, Fetched, Found, Lost
from stream.metrics import Metrics
from stream.revisions import RevisionReader
from stream.settings import Settings, base_url
from twiki.records import Change, ChangeKind

K = TypeVar("K")


class Jobs(Generic[K]):
    """Requests under way."""

    def __init__(self, parts: Iterable["Future[dict[K, Fetched]]"]) -> None:
        self._parts = list(parts)

    def result(self) -> dict[K, Fetched]:
        """All answers, once they are there."""
        return {key: got for part in self._parts for key, got in part.result().items()}


class Contents:
    """Contents of one wiki and its repository."""

    def __init__(
        self, settings: Settings, client: Client, *, clock: Clock, metrics: Metrics
    ) -> None:
        stream, wiki = settings.stream, settings.wiki
        self._repository = wiki.repository
        self._clock = clock
        self._metrics = metrics
        self.batch = stream.batch
        items = base_url(wiki, stream, wiki.repository)
        api, repository = (
            base_url(wiki, stream, wiki.name) + stream.api_path,
            items + stream.api_path,
        )
        self._texts = {
            wiki.repository: RevisionReader(client, repository),
            wiki.name: RevisionReader(client, api),
        }
        self._entities = EntityReader(
            client,
            self._texts[wiki.repository],
            repository,
            items + stream.entity_path,
        )
        self._pool = ThreadPoolExecutor(stream.in_flight, "fetch")

    def by_id(self, wiki: str, rev_ids: Iterable[int]) -> Jobs[int]:
        """Texts of revisions."""
        ask = self._texts[wiki].by_id
        ids = dict.fromkeys(rev_ids)
        return Jobs(self._start(ask, part, "revisions") for part in parts(ids, self.batch))

    def by_title(self, wiki: str, parts: Iterable[Sequence[str]]) -> Jobs[str]:
        """Texts that are current, in the batches given."""
        ask = self._texts[wiki].current
        return Jobs(self._start(ask, part, "titles") for part in parts)

    def page_ids(self, changes: Sequence[Change]) -> Jobs[Change]:
        """The page id of deletions and merges, from their log entries."""
        return Jobs(self._start(self._logged, [change], "logevents") for change in changes)

    def entities(self, wanted: Iterable[Wanted]) -> dict[Wanted, Fetched]:
        """Entities at their revisions: in batches what is current, else one by one."""
        keys = list(dict.fromkeys(wanted))
        ask = self._entities.batch
        got = Jobs(self._start(ask, part, "entities") for part in parts(keys, self.batch)).result()
        rest = [key for key in keys if key not in got]
        return (
            got | Jobs(self._start(self._one_entity, [key], "entity_data") for key in rest).result()
        )

    def named(self, wiki: str, rev_ids: Sequence[int]) -> dict[int, Fetched]:
        """Revisions of which nothing but the id is known."""
        told = self.by_id(wiki, rev_ids).result()
        return self._with_entities(told) if wiki == self._repository else told

    def before(
        self, wiki: str, time: datetime, *, page_id: int | None, title: str | None
    ) -> Fetched:
        """The last revision of a page before ``time``."""
        try:
            told = self._texts[wiki].before(time, page_id=page_id, title=title)
        except Unavailable as error:
            return self._lost(error)
        if wiki == self._repository and isinstance(told, Found):
            return self._with_entities({told.rev_id: told})[told.rev_id]
        return told

    def all_before(self, wiki: str, time: datetime, titles: Iterable[str]) -> dict[str, Fetched]:
        """The last revision of each page before ``time``, with its content as it is stored.

        The API lists the history of one page a request. A page that nobody has edited since
        needs no history, so all are asked for in batches first, and one by one what is younger.
        """
        reader = self._texts[wiki]
        told = self.by_title(wiki, title_batches(dict.fromkeys(titles), self.batch)).result()

        def earlier(asked: Sequence[str]) -> dict[str, Fetched]:
            return {title: reader.before(time, title=title) for title in asked}

        younger = [title for title, got in told.items() if _may_have_earlier(got, time)]
        return told | Jobs(self._start(earlier, [one], "earlier") for one in younger).result()

    def items(self, wiki: str, page_ids: Iterable[int]) -> dict[int, str]:
        """The item of each page that has one, as of now.

        Raises:
            Unavailable, ApiError: without an answer it cannot be told which have none.
        """
        ask = self._texts[wiki].items
        told = [self._pool.submit(ask, part) for part in parts(page_ids, self.batch)]
        self._metrics.add(names.REQUESTS, len(told), label="pageprops")
        return {page: item for one in told for page, item in one.result().items()}

    def close(self) -> None:
        """Let requests under way end, start no more."""
        self._pool.shutdown(cancel_futures=True)

    def _start(
        self, ask: Callable[[Sequence[K]], dict[K, Fetched]], keys: Sequence[K], kind: str
    ) -> "Future[dict[K, Fetched]]":
        def guarded() -> dict[K, Fetched]:
            self._metrics.add(names.REQUESTS, label=kind)
            try:
                return ask(keys)
            except Unavailable as error:
                return dict.fromkeys(keys, self._lost(error))

        return self._pool.submit(guarded)

    def _lost(self, error: Unavailable) -> Lost:
        reason = Failure.STOPPED if self._clock.stopped else Failure.UNAVAILABLE
        return Lost(reason, str(error))

    def _one_entity(self, keys: Sequence[Wanted]) -> dict[Wanted, Fetched]:
        return {key: self._entities.one(key) for key in keys}

    def _with_entities(self, told: dict[int, Fetched]) -> dict[int, Fetched]:
        """Replace stored entity JSON, which lacks data types, by what EntityData gives."""
        readable = {
            rev_id: (entity_id_of(found.title), rev_id)
            for rev_id, found in told.items()
            if isinstance(found, Found) and not found.hidden
        }
        got = self.entities(readable.values())
        whole = dict(told)
        for rev_id, key in readable.items():
            stored, served = told[rev_id], got[key]
            if isinstance(stored, Found) and isinstance(served, Found):
                served = replace(stored, content=served.content, hidden=served.hidden)
            whole[rev_id] = served
        return whole

    def _logged(self, changes: Sequence[Change]) -> dict[Change, Fetched]:
        return {change: self._log_page(change) for change in changes}

    def _log_page(self, change: Change) -> Fetched:
        title = change.title or ""
        reader = self._texts[change.wiki]
        kind = "merge" if change.kind is ChangeKind.MERGE else "delete"
        row = reader.logged(title, kind, change.effective_time)
        page_id = (row.logpage or row.pageid) if row else None
        if not page_id:
            return Lost(Failure.MISSING, "no log entry")
        if change.kind is ChangeKind.MERGE:
            # What stands at the source now, if anything does.
            now = reader.current([title])[title]
            if isinstance(now, Found) and now.page_id == page_id:
                return now
        return Found(
            page_id=page_id,
            title=title,
            namespace=change.namespace or 0,
            rev_id=0,
            parent_rev_id=None,
            rev_dt=None,
        )


def _may_have_earlier(current: Fetched, time: datetime) -> bool:
    """Whether what stood before ``time`` is still to be asked for."""
    if isinstance(current, Found):
        return current.rev_dt is None or current.rev_dt >= time
    return current.reason in (Failure.REFUSED, Failure.TEXT_MISSING, Failure.BAD_ANSWER)
