"""The little world: made once from a seed, then only asked.

>>> world = World(seed=1)
>>> [window.name for window in world.windows]
['2026-09', '2026-10']
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from itertools import pairwise

from stream.sandbox.books import keep_books
from stream.sandbox.cast import populate
from stream.sandbox.feed import user_id
from stream.sandbox.items import Item
from stream.sandbox.model import (
    ENWIKI,
    WIKIDATA,
    Books,
    DumpPage,
    PageView,
    RevisionView,
    SandboxEvent,
)
from stream.sandbox.plan import LEAST_ARTICLES, plan_canaries, plan_month, plan_tail
from stream.sandbox.scene import Scene
from stream.sandbox.wiki import PageState, Wiki
from twiki.records import Window

TAIL = timedelta(days=5)
"""How long the world goes on after its last boundary."""
DUMP_TIME = timedelta(days=3)
"""How long a dump takes."""


class World:
    """A deterministic little world; see :class:`stream.sandbox.model.WikiWorld`.

    Args:
        seed: the same seed gives the same world to the last byte.
        articles: how many articles there are at the start, at least
            :data:`~stream.sandbox.plan.LEAST_ARTICLES`; events grow with them.
        months: how many calendar months are told.
        start: first day of the first month.
    """

    def __init__(
        self, seed: int, articles: int = 150, months: int = 2, start: date = date(2026, 9, 1)
    ) -> None:
        if articles < LEAST_ARTICLES:
            raise ValueError(f"articles={articles}: a world needs at least {LEAST_ARTICLES}")
        if months < 1 or start.day != 1:
            raise ValueError(f"months={months}, start={start}: whole months, at least one")
        firsts = [_month(start, number) for number in range(months + 1)]
        self.windows = tuple(
            Window(start=first, end=end, name=f"{first:%Y-%m}") for first, end in pairwise(firsts)
        )
        self.boundaries = tuple(firsts)
        self.now = firsts[-1] + TAIL
        self.seed = seed
        self._scene = self._make(articles)
        self._wikis = {ENWIKI: self._scene.wiki.wiki, WIKIDATA: self._scene.data.wiki}

    def _make(self, articles: int) -> Scene:
        scene = Scene(self.seed, self.windows[0])
        populate(scene, articles)
        for window in self.windows:
            scene.window = window
            plan_month(scene, window, articles)
            scene.run(window.end)
        scene.window = Window(start=self.windows[-1].end, end=self.now, name="tail")
        plan_tail(scene, scene.window, articles)
        scene.run(self.now)
        plan_canaries(scene, self.boundaries, self.now)
        return scene

    @cached_property
    def events(self) -> Sequence[SandboxEvent]:
        """All events in order of arrival."""
        return self._scene.feed.ordered(self.now)

    # --- pages and revisions ----------------------------------------------------------------

    def revision(self, wiki: str, rev_id: int, at: datetime | None = None) -> RevisionView | None:
        """The revision as it could be read at ``at``; None: there was none yet."""
        home = self._wikis[wiki].homes.get(rev_id)
        place = home.until(at or self.now) if home else None
        if place is None:
            return None
        held = self._wikis[wiki]
        state = held.pages[place.page_id].until(at or self.now)
        if state is None:
            return None
        revision = held.revisions[rev_id]
        hidden = held.hidden_fields(rev_id, at or self.now)
        return RevisionView(
            wiki=wiki,
            rev_id=rev_id,
            parent_id=revision.parent_id,
            timestamp=revision.timestamp,
            page_id=place.page_id,
            title=state.title,
            namespace=state.namespace,
            model=revision.model,
            text=None if "text" in hidden else revision.text,
            size=revision.size,
            sha1=revision.sha1,
            comment=revision.comment,
            user=revision.user,
            user_id=user_id(revision.user),
            minor=revision.minor,
            bot=revision.bot,
            redirect=revision.redirect,
            text_hidden="text" in hidden,
            comment_hidden="comment" in hidden,
            user_hidden="user" in hidden,
            archived=place.archived,
        )

    def entity_revision(self, rev_id: int, at: datetime | None = None) -> RevisionView | None:
        """The revision of an entity as it could be read at ``at``."""
        return self.revision(WIKIDATA, rev_id, at)

    def page(self, wiki: str, key: int | str, at: datetime | None = None) -> PageView | None:
        """The page with this id, or the live page with this title; None: there was none."""
        held, when = self._wikis[wiki], at or self.now
        page_id: int | None = key if isinstance(key, int) else None
        if isinstance(key, str):
            names = held.titles.get(key)
            page_id = names.until(when) if names else None
        timeline = held.pages.get(page_id or 0)
        state = timeline.until(when) if timeline else None
        if page_id is None or state is None:
            return None
        return self._view(held, page_id, state, when)

    def pages(self, wiki: str, at: datetime | None = None) -> Iterator[PageView]:
        """All pages that are not deleted, by id."""
        held, when = self._wikis[wiki], at or self.now
        for page_id, timeline in sorted(held.pages.items()):
            state = timeline.until(when)
            if state is not None and not state.deleted:
                yield self._view(held, page_id, state, when)

    def _view(self, wiki: Wiki, page_id: int, state: PageState, at: datetime) -> PageView:
        return PageView(
            wiki=wiki.name,
            page_id=page_id,
            title=state.title,
            namespace=state.namespace,
            deleted=state.deleted,
            rev_id=state.rev_id,
            redirect=wiki.revisions[state.rev_id].redirect,
            revisions=state.revisions,
            item=self._item_of(state.title, at) if wiki.name == ENWIKI else None,
        )

    def _item_of(self, title: str, at: datetime) -> str | None:
        wiki = self._wikis[WIKIDATA]
        for page_id in self._linking.get(title, ()):
            state = wiki.pages[page_id].until(at)
            if state is None or state.deleted:
                continue
            content = wiki.revisions[state.rev_id].content
            if isinstance(content, Item) and content.sitelink == title:
                return content.id
        return None

    @cached_property
    def _linking(self) -> dict[str, list[int]]:
        """Pages of items whose sitelink ever named a title."""
        wiki = self._wikis[WIKIDATA]
        linking: dict[str, list[int]] = {}
        for rev_id, revision in wiki.revisions.items():
            home = wiki.homes[rev_id].last
            if isinstance(revision.content, Item) and revision.content.sitelink:
                pages = linking.setdefault(revision.content.sitelink, [])
                if home.page_id not in pages:
                    pages.append(home.page_id)
        return linking

    # --- dumps ------------------------------------------------------------------------------

    def dump_complete(self, boundary: datetime) -> datetime:
        """When the dump of a boundary is finished."""
        return boundary + DUMP_TIME

    def dump_pages(self, boundary: datetime) -> Sequence[DumpPage]:
        """Pages-articles of enwiki of a boundary."""
        return self._dump(ENWIKI, boundary)

    def dump_entities(self, boundary: datetime) -> Sequence[DumpPage]:
        """Pages of the entity dump of a boundary."""
        return self._dump(WIKIDATA, boundary)

    def _dump(self, name: str, boundary: datetime) -> Sequence[DumpPage]:
        """Each page at its own moment; one that was not there then is not in the dump.

        The first dump is read before the stream's first change of a page, so that it *is* the
        state at the boundary: nothing else tells what was there. As in reality, texts are read
        in a pass of their own at the end: what was hidden since is hidden in the dump.
        """
        if boundary not in self.boundaries:
            raise ValueError(f"{boundary}: no boundary of this world")
        wiki = self._wikis[name]
        dump = []
        for page_id, timeline in sorted(wiki.pages.items()):
            read_at = boundary + _dump_delay(page_id)
            if boundary == self.boundaries[0]:
                following = bisect_left(timeline.times, boundary)
                if following < len(timeline.times):
                    first = timeline.times[following] - timedelta(seconds=1)
                    read_at = min(read_at, max(first, boundary - timedelta(seconds=1)))
            state = timeline.until(read_at)
            if state is None or state.deleted:
                continue
            text_at = read_at
            if boundary != self.boundaries[0]:
                text_at = self.dump_complete(boundary)
            revision = self.revision(name, state.rev_id, text_at)
            if revision is not None:
                page = self._view(wiki, page_id, state, read_at)
                dump.append(DumpPage(read_at=read_at, page=page, revision=revision))
        return dump

    # --- the truth --------------------------------------------------------------------------

    def books(self, window: Window | str, as_known_at: datetime | None = None) -> Books:
        """The true account of a window."""
        found = next((one for one in self.windows if window in (one, one.name)), None)
        if found is None:
            raise ValueError(f"{window}: no window of this world")
        before = [boundary for boundary in self.boundaries if boundary < found.start]
        return keep_books(
            self._wikis[ENWIKI],
            self._wikis[WIKIDATA],
            found,
            before=before[-1] if before else None,
            known_at=as_known_at or self.dump_complete(found.end),
        )


def _month(start: date, number: int) -> datetime:
    years, month = divmod(start.month - 1 + number, 12)
    return datetime(start.year + years, month + 1, 1, tzinfo=UTC)


def _dump_delay(page_id: int) -> timedelta:
    """Two hours to two and a half days, another for each page, in no order."""
    return timedelta(hours=2, minutes=page_id * 7919 % (58 * 60))
