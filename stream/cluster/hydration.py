"""What the hydrator does with a batch: fetch contents, write revisions, pass barriers on.

::

    changes ──┐
              ├─▶ one batch, fetched side by side ─▶ revisions-* in the batch's order ─▶ all
    needs ────┘    acknowledged ─▶ barriers of the batch ─▶ all acknowledged ─▶ events acknowledged

A batch is fetched as a whole and written in the order in which it came, so that the order of a
page's changes is kept whatever the API does. Killed between writing and acknowledging, it
writes the same revisions again: state takes them as the repetitions that they are.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from msgspec.structs import replace

from stream.cluster.commit import Taken, count_told
from stream.cluster.exposition import RECORDS
from stream.cluster.steps import Message, dead_letter
from stream.found import Failed, Failure
from stream.metrics import Metrics
from stream.settings import Settings
from stream.topics import (
    BadRecordError,
    ChangeRecord,
    CloseRecord,
    NeedRecord,
    OfChanges,
    RevisionRecord,
    Topic,
    decode_change,
    encode,
    event_key,
    page_key,
    partition_of,
    revision_key,
)
from twiki.errors import SourceError
from twiki.records import Change, Revision

Tell = Callable[[Sequence[tuple[int, Message]]], Awaitable[None]]
_RAW = 8 << 10


class Contents(Protocol):
    """Where contents come from (:class:`stream.hydrate.Hydrator`)."""

    def fetch(self, changes: Sequence[Change]) -> list[Revision | Failed]:
        """The Revision of each change, or why there is none, in their order."""

    def revisions(self, wiki: str, rev_ids: Sequence[int]) -> list[Revision | Failed]:
        """Revisions by id alone, in order."""

    def close(self) -> None:
        """Release connections."""


PagesOf = Callable[[Sequence[bytes]], dict[bytes, int]]
"""The pages that bore titles at the first boundary, by the keys of the titles."""
Fetching = Callable[[float], Contents]
"""Contents under a share of the politeness budget, between 0 and 1."""


class Hydration:
    """Works batches of ``changes`` and ``needs`` through.

    Args:
        contents: makes the client of the API for this worker's share of the budget.
        tell: sends messages and returns when all are acknowledged.
        after: called with 1 when all is written and nothing acknowledged yet (for tests).
    """

    def __init__(
        self,
        settings: Settings,
        contents: Fetching,
        tell: Tell,
        after: Callable[[int], None] = lambda _step: None,
        metrics: Metrics | None = None,
        pages_of: PagesOf = lambda _keys: {},
    ) -> None:
        self._wiki = settings.wiki
        self._config = settings.kafka
        self._make = contents
        self._tell = tell
        self._after = after
        self._metrics = metrics or Metrics()
        self._pages_of = pages_of
        self._share = 0.0
        self._contents: Contents | None = None

    async def share(self, share: float) -> None:
        """Take a share of the budget: this worker's part of all partitions."""
        if share == self._share or share <= 0:
            return
        old, self._contents, self._share = self._contents, self._make(share), share
        if old is not None:
            await asyncio.get_running_loop().run_in_executor(None, old.close)

    async def __call__(self, events: Sequence[Taken]) -> None:
        """Work one batch through and acknowledge it."""
        records: list[OfChanges] = []
        messages: list[tuple[int, Message]] = []
        for event in events:
            try:
                records.append(decode_change(event.value))
            except BadRecordError as error:
                raw, where = (event.value or b"")[:_RAW], f"{event.partition}:{event.offset}"
                letter = dead_letter("poison", event.key or b"", str(error), raw, where)
                messages.append((event.partition, letter))
        for record, found in await self._fetched(records):
            messages += self._written(record, found)
        await self._tell(messages)
        barriers = [
            (partition, message) for event in events for partition, message in self._barrier(event)
        ]
        if barriers:
            await self._tell(barriers)
        self._after(1)
        for event in events:
            event.ack()
        self._metrics.add(RECORDS, len(events), label="applied")
        count_told(self._metrics, [*messages, *barriers])

    async def _fetched(
        self, records: Sequence[OfChanges]
    ) -> list[tuple[OfChanges, Revision | Failed]]:
        """Each record that asks for content, with what came, in their order."""
        if self._contents is None:
            await self.share(1.0)
        changes = [r for r in records if isinstance(r, ChangeRecord)]
        needs = [r for r in records if isinstance(r, NeedRecord)]
        found, supplied = await asyncio.get_running_loop().run_in_executor(
            None, self._ask, changes, needs
        )
        results, more = iter(found), iter(supplied)
        told: list[tuple[OfChanges, Revision | Failed]] = []
        for record in records:
            if isinstance(record, ChangeRecord):
                told.append((record, _placed(record, next(results))))
            elif isinstance(record, NeedRecord):
                told.append((record, next(more)))
            elif isinstance(record, RevisionRecord):
                told.append((record, record.revision))
        return told

    def _ask(
        self, asked: list[ChangeRecord], needs: list[NeedRecord]
    ) -> tuple[list[Revision | Failed], list[Revision | Failed]]:
        """In a thread: the API's client is a blocking one."""
        contents = self._contents
        if contents is None:
            raise SourceError("the hydrator has no client of the API")
        found = contents.fetch([record.change for record in asked]) if asked else []
        found = self._with_pages(asked, found)
        supplied: dict[int, Revision | Failed] = {}
        for wiki in (self._wiki.name, self._wiki.repository):
            wanted = [(i, need.rev_id) for i, need in enumerate(needs) if need.wiki == wiki]
            if wanted:
                results = contents.revisions(wiki, [rev_id for _, rev_id in wanted])
                supplied.update(zip([i for i, _ in wanted], results, strict=True))
        results = [*found, *(supplied[i] for i in range(len(needs)) if i in supplied)]
        if any(isinstance(r, Failed) and r.reason is Failure.STOPPED for r in results):
            raise SourceError("the hydrator is stopping: this batch is fetched again")
        return found, [supplied[i] for i in range(len(needs)) if i in supplied]

    def _with_pages(
        self, asked: Sequence[ChangeRecord], found: Sequence[Revision | Failed]
    ) -> list[Revision | Failed]:
        """What still names no page, under the page that bore its title at the first boundary."""
        nameless = {
            index: event_key(record.change)
            for index, (record, got) in enumerate(zip(asked, found, strict=True))
            if record.page is None and isinstance(got, Revision) and self._is_nameless(got.change)
        }
        pages = self._pages_of(list(nameless.values())) if nameless else {}
        told = list(found)
        for index, key in nameless.items():
            got = told[index]
            if key in pages and isinstance(got, Revision):
                told[index] = replace(got, change=replace(got.change, page_id=pages[key]))
        return told

    def _is_nameless(self, change: Change) -> bool:
        """Whether it is about an article, as far as it says, and does not say which."""
        return change.wiki == self._wiki.name and not change.page_id and not change.namespace

    # --- writing ---

    def _written(self, record: OfChanges, found: Revision | Failed) -> list[tuple[int, Message]]:
        supplied = isinstance(record, NeedRecord) or (
            isinstance(record, RevisionRecord) and record.supplied
        )
        revision, letters = self._usable(record, found)
        if revision is None:
            return letters
        page = self._page(record, revision)
        if page is None:
            change = revision.change
            detail = f"{change.kind} {change.title}"
            return [*letters, self._letter("no_page", change.title or "", detail)]
        wiki = self._wiki.name if isinstance(page, int) else self._wiki.repository
        key = page_key(wiki, page)
        value = self._encoded(record, revision, supplied=supplied)
        if len(value) > self._config.max_record_bytes:
            detail = f"{page} revision {revision.change.rev_id}: {len(value)} bytes"
            letters.append(self._letter("too_large", str(page), detail))
            value = self._encoded(record, _without_content(revision), supplied=supplied)
            if supplied or len(value) > self._config.max_record_bytes:
                return letters
        topic = Topic.PAGES if isinstance(page, int) else Topic.ENTITIES
        partition = partition_of(key, self._config.partitions)
        own = revision_key(key, revision, supplied=supplied)
        messages = [(partition, Message(topic, own, value))]
        if revision.change.visible is False:
            hidden = [key, *(key + f"#{rev}".encode() for rev in revision.change.rev_ids)]
            messages += [(partition, Message(topic, tomb, None)) for tomb in hidden if tomb != own]
        return [*letters, *messages]

    def _usable(
        self, record: OfChanges, found: Revision | Failed
    ) -> tuple[Revision | None, list[tuple[int, Message]]]:
        if isinstance(found, Revision):
            return found, []
        detail = f"{found.title} revision {found.rev_id}: {found.detail}"
        letters = [self._letter(f"fetch_{found.reason}", str(found.title), detail)]
        # The ledger names it, so it is asked for again.
        change = record.change if isinstance(record, ChangeRecord) else None
        if change is not None and change.page_id is None and change.wiki == self._wiki.name:
            change = None
        return (None if change is None else Revision(change=change)), letters

    def _page(self, record: OfChanges, revision: Revision) -> int | str | None:
        if isinstance(record, NeedRecord):
            return record.page
        if isinstance(record, RevisionRecord) and record.page is not None:
            return record.page
        change = revision.change
        if change.wiki == self._wiki.repository:
            return (change.title or "").rpartition(":")[2] or None
        return change.page_id

    def _encoded(self, record: OfChanges, revision: Revision, *, supplied: bool) -> bytes:
        closed = 0 if isinstance(record, NeedRecord | CloseRecord) else record.closed
        told = RevisionRecord(
            revision=revision, first=record.first, closed=closed, supplied=supplied
        )
        try:
            return encode(told)
        except BadRecordError:
            return encode(
                RevisionRecord(
                    revision=_without_content(revision),
                    first=record.first,
                    closed=closed,
                    supplied=supplied,
                )
            )

    def _letter(self, reason: str, key: str, detail: str) -> tuple[int, Message]:
        raw = key.encode("utf-8", "replace")
        detail = detail.encode("utf-8", "replace").decode()
        return partition_of(raw, self._config.partitions), dead_letter(reason, raw, detail)

    def _barrier(self, event: Taken) -> list[tuple[int, Message]]:
        """A close, for every partition of both topics."""
        try:
            record = decode_change(event.value)
        except BadRecordError:
            return []
        if not isinstance(record, CloseRecord):
            return []
        value = encode(
            CloseRecord(
                start=record.start, end=record.end, first=record.first, source=event.partition
            )
        )
        return [
            (partition, Message(topic, f"!close/{record.end}/{event.partition}".encode(), value))
            for topic in (Topic.PAGES, Topic.ENTITIES)
            for partition in range(self._config.partitions)
        ]


def _placed(record: ChangeRecord, found: Revision | Failed) -> Revision | Failed:
    """The revision under the page that bore the event's title at its time."""
    event, page = record.change, record.page
    if page is None or isinstance(found, Failed) or found.change.page_id == page:
        return found
    if event.rev_id is not None and event.rev_id == found.change.rev_id:
        return replace(found, change=replace(found.change, page_id=page))
    return replace(found, change=replace(event, page_id=page), content=None)


def _without_content(revision: Revision) -> Revision:
    return Revision(
        change=revision.change,
        model=revision.model,
        pinned=revision.pinned,
        boundary=revision.boundary,
        absent=revision.absent,
    )
