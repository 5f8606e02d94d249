"""The world as its public face shows it at one instant: what the API and EntityData read.

The sandbox's *now* is the arrival time of the newest event that was served, so a question
about the current state is answered as a reader of the stream expects it. Between the events
of a month and their serving at full speed lies no time, though, while a real reader is seconds
behind and still fetches what is deleted or hidden an hour later. ``grace`` gives it that hour:
a revision is told by its id as it stood ``grace`` ago (or when it first appeared, if later).
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta

import msgspec

from stream.sandbox.model import RECENTCHANGE, PageView, RevisionView, SandboxEvent, WikiWorld

FirstSeen = Mapping[tuple[str, int], datetime]
"""Arrival time of the first event that names a revision, by (wiki, revision id)."""


def first_seen(world: WikiWorld) -> FirstSeen:
    """When each revision that the events bring to a page was first heard of."""
    result: dict[tuple[str, int], datetime] = {}
    for event in world.events:
        if event.body.get("page_change_kind") in ("delete", "visibility_change"):
            continue
        revision = event.body.get("revision")
        if isinstance(revision, dict):
            rev_id = revision.get("rev_id", revision.get("new"))
            if isinstance(rev_id, int):
                result.setdefault((event.wiki, rev_id), event.arrival_time)
    return result


PageOfAction = Mapping[tuple[str, str, int], int]
"""Page id of a logged action by (wiki, title that the log names, Unix time)."""


def pages_of_actions(world: WikiWorld) -> PageOfAction:
    """Which page was deleted, restored or moved: the log keeps its id, the events of it tell."""
    result: dict[tuple[str, str, int], int] = {}
    for event in world.events:
        if event.body.get("page_change_kind") not in ("delete", "undelete", "move"):
            continue
        page = event.body["page"]
        before = event.body.get("prior_state", {}).get("page", {})
        title = before.get("page_title", page["page_title"]).replace("_", " ")
        moment = int(datetime.fromisoformat(event.body["dt"]).timestamp())
        result[event.wiki, title, moment] = page["page_id"]
    return result


def openly_hidden(world: WikiWorld) -> frozenset[tuple[str, int]]:
    """Revisions, by (wiki, id), whose hiding the public log names; all others' is suppression."""
    return frozenset(
        (event.wiki, int(rev_id))
        for event in world.events
        if (event.body.get("log_type"), event.body.get("log_action")) == ("delete", "revision")
        for rev_id in event.body["log_params"].get("ids", ())
    )


def _readable(revision: RevisionView) -> bool:
    return not (revision.archived or revision.text_hidden)


class View(msgspec.Struct, frozen=True, kw_only=True):
    """The world at ``now``."""

    world: WikiWorld
    now: datetime
    seen: FirstSeen
    grace: timedelta | None = timedelta(0)
    """None: a revision that could be read once can always be read."""
    openly_hidden: frozenset[tuple[str, int]] = frozenset()
    pages_of_actions: PageOfAction = {}
    lags: Callable[[str, int], bool] | None = None
    """Whether the replica that is asked lacks a revision still, by wiki and id."""

    def by_id(self, wiki: str, rev_id: int) -> RevisionView | None:
        """A revision asked for by its id: as :meth:`revision`, if the replica has it."""
        if self.lags is not None and self.lags(wiki, rev_id):
            return None
        return self.revision(wiki, rev_id)

    def revision(self, wiki: str, rev_id: int) -> RevisionView | None:
        """A revision by its id; None where there is none yet or its page is deleted."""
        current = self.world.revision(wiki, rev_id, self.now)
        if current is None or _readable(current):
            return current
        for moment in self._graced(wiki, rev_id):
            earlier = self.world.revision(wiki, rev_id, moment)
            if earlier is not None and _readable(earlier):
                return earlier
        return None if current.archived else current

    def _graced(self, wiki: str, rev_id: int) -> Iterator[datetime]:
        """Instants within grace at which the revision may have been readable."""
        first = self.world.boundaries[0]
        oldest = first if self.grace is None else max(first, self.now - self.grace)
        for moment in (oldest, self.seen.get((wiki, rev_id), first)):
            if oldest <= moment <= self.now:
                yield moment

    def page(self, wiki: str, key: int | str) -> PageView | None:
        """A live page by id or title."""
        page = self.world.page(wiki, key, self.now)
        return None if page is None or page.deleted else page

    def recent(self, wiki: str) -> Iterator[SandboxEvent]:
        """The rows of the wiki's recent changes, oldest first by arrival."""
        for event in self.world.events:
            if event.arrival_time > self.now:
                return
            if event.stream == RECENTCHANGE and event.wiki == wiki:
                yield event
