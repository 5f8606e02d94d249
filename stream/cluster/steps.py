"""One record of ``revisions-*`` worked into the state of a partition: pure.

::

    step = Steps(settings, role).take(number, key, record, load)
    step.puts       # state values, headed by the number
    step.told       # what goes to other topics

A record whose number is not above that of the state was applied before: the value is given
again as it is, and nothing is told again, since outputs are acknowledged before state is
written (ENGINE 5). Boundaries come from the record's own ``first`` and ``closed``, so that a
record means the same whenever it is applied.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from stream.cluster import state
from stream.cluster.state import PROGRESS, Kept, Progress
from stream.settings import Settings
from stream.topics import (
    CloseRecord,
    DeadRecord,
    NeedRecord,
    ReconciledRecord,
    RevisionRecord,
    Topic,
    WindowRecord,
    encode,
    parse_page_key,
)
from twiki import context as contexts
from twiki.apply import apply
from twiki.context import Context
from twiki.live import LiveSentence, Output
from twiki.records import Revision
from twiki.times import from_ms, to_ms
from twiki.windows import calendar

Load = Callable[[bytes], bytes | None]
_AHEAD = timedelta(days=1)
"""An event from further in the future than this has a wrong time."""
_SPARE_WINDOWS = 2
_DETAIL = 300


class Message(NamedTuple):
    """Something for another topic, in the partition of the record that led to it."""

    topic: Topic
    key: bytes
    value: bytes | None
    """None: a tombstone, which removes what compaction holds under the key."""


class Step(NamedTuple):
    """What one record does."""

    puts: dict[bytes, bytes] = {}  # noqa: RUF012 - never changed
    told: tuple[Message, ...] = ()
    repeated: bool = False


class Steps:
    """Applies records for one wiki under one configuration."""

    def __init__(self, settings: Settings) -> None:
        self._wiki = settings.wiki
        self._horizon = settings.windows.correction_windows
        self._sources = settings.kafka.partitions
        self._limit = settings.kafka.max_record_bytes
        self._template = contexts.build(settings, ())
        self._contexts: dict[tuple[int, int, int], Context] = {}

    def take(
        self,
        number: bytes,
        key: bytes,
        record: RevisionRecord | CloseRecord | ReconciledRecord,
        load: Load,
    ) -> Step:
        """Work one record in; ``load`` reads the partition's values as of now."""
        if isinstance(record, RevisionRecord):
            return self._revision(number, key, record, load)
        value = load(PROGRESS)
        if value is not None and number <= state.number_of(value):
            return Step({PROGRESS: value}, repeated=True)
        progress = state.decode_progress(value)
        if isinstance(record, CloseRecord):
            progress, told = self._close(progress, record)
        else:
            progress, told = self._reconciled(progress, record), ()
        return Step({PROGRESS: state.encode(number, progress)}, told)

    # --- revisions ---

    def _revision(self, number: bytes, key: bytes, record: RevisionRecord, load: Load) -> Step:
        key, _, _ = key.partition(b"#")
        value = load(key)
        if value is not None and number <= state.number_of(value):
            return Step({key: value}, repeated=True)
        kept, page = state.decode_kept(value), parse_page_key(key)
        revision, closed = record.revision, record.closed
        change = revision.change
        if change.effective_time > change.arrival_time + _AHEAD and not record.supplied:
            detail = f"{change.effective_time.isoformat()} for revision {change.rev_id}"
            return Step(told=(dead_letter("from_the_future", key, detail),))
        if record.supplied:
            # It was always there: never late, and today's title says nothing of then.
            revision, closed = _supplied(revision), 0
        entries = kept.held.entries
        moments = (change.effective_time, *([revision.boundary] if revision.boundary else ()))
        latest = max(record.closed, *map(to_ms, moments), *(e.effective for e in entries[-1:]))
        first = max(record.first, state.decode_progress(load(PROGRESS)).first)
        context = self._context(first, closed, latest)
        applied = apply(state.subject(page, kept), revision, context)
        told = [_output(key, output) for output in applied.outputs]
        if applied.problem is not None:
            detail = f"{page} revision {change.rev_id}: {applied.problem}"
            told.append(dead_letter("bad_content", key, detail))
        told += self._needs(key, page, kept, applied.held.needs, first)
        after = state.updated(kept, applied) if applied.changed else kept
        encoded = state.encode(number, after)
        if len(encoded) > self._limit:
            detail = f"state of {page} at revision {change.rev_id}: {len(encoded)} bytes"
            return Step(told=(dead_letter("too_large", key, detail),))
        return Step({key: encoded}, tuple(told))

    def _needs(
        self, key: bytes, page: int | str, kept: Kept, needs: tuple[int, ...], first: int
    ) -> Iterator[Message]:
        wiki = self._wiki.name if isinstance(page, int) else self._wiki.repository
        for rev_id in sorted(set(needs) - set(kept.held.needs)):
            record = NeedRecord(wiki=wiki, page=page, rev_id=rev_id, first=first)
            yield Message(Topic.NEEDS, key, encode(record))

    def _context(self, first: int, closed: int, latest: int) -> Context:
        month = to_ms(calendar.window_of(from_ms(latest)).start)
        known = self._contexts.get((first, closed, month))
        if known is None:
            known = msgspec.structs.replace(
                self._template, boundaries=tuple(boundaries(first, latest)), closed=closed
            )
            self._contexts[(first, closed, month)] = known
        return known

    # --- time ---

    def _close(
        self, progress: Progress, record: CloseRecord
    ) -> tuple[Progress, tuple[Message, ...]]:
        """Count one partition of ``changes``; the window closes with the last of them."""
        first = max(progress.first, record.first)
        progress = msgspec.structs.replace(progress, first=first)
        if record.source is None or record.end <= progress.closed:
            return progress, ()
        come = {*progress.waiting.get(record.end, ()), record.source}
        waiting = {**progress.waiting, record.end: tuple(sorted(come))}
        if len(come) < self._sources:
            return msgspec.structs.replace(progress, waiting=waiting), ()
        waiting = {end: sources for end, sources in waiting.items() if end > record.end}
        progress = msgspec.structs.replace(progress, waiting=waiting, closed=record.end)
        window = calendar.span(from_ms(record.start), from_ms(record.end))
        told = WindowRecord(event="closed", window=window.name, wiki=self._wiki.name)
        return self._released(progress), (
            Message(Topic.WINDOWS, window.name.encode(), encode(told)),
        )

    def _reconciled(self, progress: Progress, record: ReconciledRecord) -> Progress:
        return self._released(
            msgspec.structs.replace(
                progress,
                first=max(progress.first, record.first),
                reconciled={**progress.reconciled, record.start: record.policy},
                runs={**progress.runs, record.start: record.run},
            )
        )

    def _released(self, progress: Progress) -> Progress:
        """Let go of windows that are past their correction horizon (ENGINE 3)."""
        first, reconciled = progress.first, dict(progress.reconciled)
        while first in reconciled:
            bounds = boundaries(first, max(first, progress.closed))
            if sum(1 for b in bounds[2:] if b <= progress.closed) < self._horizon:
                break
            del reconciled[first]
            first = bounds[1]
        return msgspec.structs.replace(progress, first=first, reconciled=reconciled)


def boundaries(first: int, latest: int) -> list[int]:
    """Calendar months from ``first`` to beyond ``latest``, as the embedded engine has them."""
    bounds, window = [first], calendar.window_of(from_ms(first))
    spare = _SPARE_WINDOWS
    while spare:
        bounds.append(to_ms(window.end))
        if bounds[-1] > latest:
            spare -= 1
        window = calendar.following(window)
    return bounds


def dead_letter(
    reason: str, key: bytes, detail: str, raw: bytes = b"", position: str = ""
) -> Message:
    """A dead letter; the same trouble has the same id."""
    detail = detail[:_DETAIL]
    name = f"{reason}|{key!r}|{detail}|{position}".encode()
    record = DeadRecord(
        id=blake2b(name, digest_size=8).hexdigest(),
        reason=reason,
        detail=detail,
        raw=raw,
        position=position,
    )
    return Message(Topic.DEAD, key, encode(record))


def _output(key: bytes, output: Output) -> Message:
    topic = Topic.SENTENCES if isinstance(output, LiveSentence) else Topic.FACTS
    return Message(topic, key, msgspec.json.encode(output))


def _supplied(revision: Revision) -> Revision:
    change = msgspec.structs.replace(revision.change, title=None, namespace=None)
    return msgspec.structs.replace(revision, change=change)
