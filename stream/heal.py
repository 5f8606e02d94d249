"""Healing: gaps by backfill, doubtful pages by reading them again. Both may be repeated.

::

    for change in heal_gaps(positions, backfill, wikis=("enwiki", "wikidatawiki"), now=now):
        …                                     # hydrate and apply, as from the stream
    for result in reread(queue, api, count=50):
        …                                     # Revision: apply; Failed: the page is gone
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from stream.backfill import Span, missing_spans, out_of_reach
from stream.found import Failed, Failure
from stream.position import Gap, Positions
from stream.sides import Reread
from twiki.records import Change, Revision

MARGIN = timedelta(minutes=5)
"""Around a gap: clocks of event and database differ, and lists go by whole seconds."""
ATTEMPTS = 5


class Lists(Protocol):
    """Where lost changes are found: :class:`stream.backfill.Backfill`."""

    def changes(
        self,
        wiki: str,
        start: datetime,
        end: datetime,
        on_time: Callable[[datetime], None] = ...,
    ) -> Iterator[Change]:
        """Every change of ``wiki`` between the two times."""


class Current(Protocol):
    """Where current contents are found: :class:`stream.hydrate.Hydrator`."""

    def current(self, wiki: str, titles: Sequence[str]) -> list[Revision | Failed]:
        """The current revisions of pages or entities, in order."""


class Queue(Protocol):
    """Pages to read again: :class:`stream.beside.Beside`."""

    def take(self, count: int) -> Sequence[Reread]:
        """Remove the first ``count`` entries."""

    def put_back(self, entry: Reread, *, attempts: int) -> bool:
        """Queue an entry again after a failure; False when it had its ``attempts``."""


def heal_gaps(
    positions: Positions,
    lists: Lists,
    *,
    wikis: Sequence[str],
    now: datetime,
    gaps: Sequence[Gap] | None = None,
    on_time: Callable[[datetime], None] = lambda _time: None,
    on_unreachable: Callable[[Span], None] = lambda _span: None,
) -> Iterator[Change]:
    """Yield the changes in the times of the gaps; they count as healed when all came.

    ``gaps`` None: all of them. ``on_unreachable`` hears of times that the lists no longer reach.

    Raises:
        SourceError: the API gives no answer; the gaps stay.
    """
    gaps = positions.gaps() if gaps is None else gaps
    for start, end in missing_spans(gaps, MARGIN):
        lost = out_of_reach((start, end), now)
        if lost is not None:
            on_unreachable(lost)
        for wiki in wikis:
            yield from lists.changes(wiki, start, min(end, now), on_time)
    positions.healed(gaps)


def reread(
    queue: Queue, api: Current, *, count: int, attempts: int = ATTEMPTS
) -> list[Revision | Failed]:
    """Read the next ``count`` pages of the queue again.

    What could not be had for now goes back into the queue, ``attempts`` times; a page that the
    API does not know comes as Failed.
    """
    results: list[Revision | Failed] = []
    for wiki, entries in _by_wiki(queue.take(count)):
        for entry, result in zip(
            entries, api.current(wiki, [entry.title for entry in entries]), strict=True
        ):
            passing = isinstance(result, Failed) and result.reason in _PASSING
            if not (passing and queue.put_back(entry, attempts=attempts)):
                results.append(result)
    return results


_PASSING = (Failure.UNAVAILABLE, Failure.STOPPED, Failure.BAD_ANSWER)


def _by_wiki(entries: Iterable[Reread]) -> list[tuple[str, list[Reread]]]:
    grouped: dict[str, list[Reread]] = {}
    for entry in entries:
        grouped.setdefault(entry.wiki, []).append(entry)
    return sorted(grouped.items())
