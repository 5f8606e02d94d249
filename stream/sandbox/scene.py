"""The stage of the little world while it is being made: who and what there is, and what runs.

A story is a generator that acts, then yields the instant of its next act::

    def vandalism(scene, page_id):
        scene.wiki.edit(scene.now, page_id, …)
        yield scene.now + timedelta(minutes=7)
        scene.wiki.edit(scene.now, page_id, …)

:meth:`Scene.run` is a discrete-event simulation: it always resumes the story whose instant
comes first, so that the history of every page runs forwards.
"""

import functools
import heapq
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

from stream.sandbox.acts import Acts
from stream.sandbox.feed import Feed
from stream.sandbox.items import DAY, MONTH, YEAR, Item, Statement, Value
from stream.sandbox.model import ENWIKI, WIKIDATA
from stream.sandbox.prose import Document
from stream.sandbox.topics import ENGLISH_WIKIPEDIA, IMPORTED_FROM, Kind, Relation
from stream.sandbox.vocabulary import Vocabulary
from stream.sandbox.wiki import Revision, Wiki
from twiki.records import Window

Story = Iterator[datetime]
_PRECISIONS = {"day": DAY, "month": MONTH, "year": YEAR}
_PERSONS = ("politician", "athlete", "scientist")


def single(act: Callable[["Scene"], None]) -> Callable[["Scene"], Story]:
    """A story of one act."""

    @functools.wraps(act)
    def story(scene: "Scene") -> Story:
        act(scene)
        yield from ()

    return story


class Subject(NamedTuple):
    """What an article is about; ``item_id`` is "" while there is no item."""

    item_id: str
    name: str
    kind: Kind


class Scene:
    """See the module."""

    def __init__(self, seed: int, window: Window) -> None:
        self.rng = Random(seed)
        self.words = Vocabulary(self.rng)
        self.feed = Feed(self.rng)
        self.wiki = Acts(Wiki(ENWIKI), self.feed, self.rng, 1_300_000_000)
        self.data = Acts(Wiki(WIKIDATA), self.feed, self.rng, 2_400_000_000)
        self.now = window.start
        self.window = window
        """The window whose stories are being started."""
        self.subjects: dict[int, Subject] = {}
        """By page id: articles, drafts, and what became of them."""
        self.page_of_item: dict[str, int] = {}
        """Page id on Wikidata."""
        self.names: dict[str, str] = {}
        """What prose calls an item: also where the item has no label."""
        self.pools: dict[str, list[str]] = {}
        self.drafts: list[tuple[int, Subject, Item]] = []
        """Drafts that wait to be moved, with what will be their items."""
        self._pages: list[int] = []
        self._claimed: set[int] = set()
        self._queue: list[tuple[datetime, int, Story]] = []
        self._started = 0
        self._item_number = 120_000_000

    # --- time -------------------------------------------------------------------------------

    def start(self, at: datetime, story: Story) -> None:
        """Let a story begin at ``at``."""
        self._started += 1
        heapq.heappush(self._queue, (at.replace(microsecond=0), self._started, story))

    def run(self, until: datetime) -> None:
        """Resume stories in order of time; what lies at ``until`` or later stays undone."""
        while self._queue and self._queue[0][0] < until:
            self.now, _, story = heapq.heappop(self._queue)
            following = next(story, None)
            if following is not None:
                self.start(max(following, self.now), story)

    def after(self, least: timedelta, most: timedelta) -> datetime:
        """A moment between ``least`` and ``most`` from now."""
        return self.now + least + (most - least) * self.rng.random()

    # --- who and what -----------------------------------------------------------------------

    def add_subject(self, page_id: int, subject: Subject) -> None:
        """Remember what a page is about."""
        self.subjects[page_id] = subject
        self._pages.append(page_id)

    def document(self, page_id: int) -> Document | None:
        """The article that the page now is; None: no live article."""
        state = self.wiki.wiki.pages[page_id].last
        content = self.wiki.wiki.revisions[state.rev_id].content
        if state.deleted or state.namespace or not isinstance(content, Document):
            return None
        return content

    def pick(self, fits: Callable[[int], bool] = lambda _: True) -> int:
        """A random live article that no story claims.

        Raises:
            ValueError: there is none: the world is too small for its stories.
        """
        for _ in range(60):
            page_id = self.rng.choice(self._pages)
            if self.is_free(page_id) and fits(page_id):
                return page_id
        for page_id in self._pages:
            if self.is_free(page_id) and fits(page_id):
                return page_id
        raise ValueError(f"no free article among {len(self._pages)}: make the world larger")

    def claim(self, fits: Callable[[int], bool] = lambda _: True) -> int:
        """Pick an article and keep all other stories away from it."""
        page_id = self.pick(fits)
        self._claimed.add(page_id)
        return page_id

    def hold(self, page_id: int) -> None:
        """Keep all other stories away from a page."""
        self._claimed.add(page_id)

    def release(self, page_id: int) -> None:
        """Let other stories have the page."""
        self._claimed.discard(page_id)

    def is_free(self, page_id: int) -> bool:
        """Whether the page is a live article that no story claims."""
        return page_id not in self._claimed and self.document(page_id) is not None

    def pool_of(self, kind: Kind) -> str:
        """Pool of objects that subjects of a kind belong to."""
        return "person" if kind.name in _PERSONS else kind.name

    # --- items ------------------------------------------------------------------------------

    def new_item_id(self) -> str:
        """A fresh item id."""
        self._item_number += self.rng.randint(1, 60)
        return f"Q{self._item_number}"

    def item(self, item_id: str) -> Item:
        """An item as it is now."""
        content = self.data.wiki.current(self.page_of_item[item_id]).content
        if not isinstance(content, Item):
            raise TypeError(f"{item_id} is no item")
        return content

    def is_item(self, item_id: str) -> bool:
        """Whether the item exists now and is no redirect."""
        page_id = self.page_of_item.get(item_id)
        if page_id is None or self.data.wiki.pages[page_id].last.deleted:
            return False
        return not self.item(item_id).redirect

    def save(self, item: Item, comment: str, *, bot: bool = False) -> Revision:
        """Save an item that exists."""
        user = "SandboxBot" if bot else self.words.user()
        page_id = self.page_of_item[item.id]
        return self.data.edit(self.now, page_id, item, user, comment, bot=bot)

    def create_item(self, item: Item) -> None:
        """Make the page of a new item."""
        comment = f"/* wbeditentity-create:2|en */ {self.names[item.id]}"
        page_id = self.data.create(self.now, item.id, item, self.words.user(), comment)
        self.page_of_item[item.id] = page_id

    def statement(self, item_id: str, relation: str, value: Value | None) -> Statement:
        """A fresh statement of normal rank."""
        identifier = uuid.UUID(int=self.rng.getrandbits(128), version=4)
        references: tuple[tuple[str, Value], ...] = ()
        if self.rng.random() < 0.5:  # noqa: PLR2004 - half of them
            references = ((IMPORTED_FROM, Value("wikibase-item", ENGLISH_WIKIPEDIA)),)
        snak = "value" if value is not None else "somevalue"
        return Statement(f"{item_id}${identifier}", relation, value, snak, references=references)

    def draw(self, relation: Relation, avoid: tuple[Value | None, ...] = ()) -> Value:
        """An object for a relation, other than those in ``avoid``."""
        for _ in range(30):
            value = self._draw(relation)
            if value not in avoid:
                return value
        return value

    def _draw(self, relation: Relation) -> Value:
        words = self.words
        if relation.is_quantity:
            low, high, unit = relation.amounts()
            return words.amount(low, high, unit)
        if relation.values in _PRECISIONS:
            return words.date(_PRECISIONS[relation.values])
        if relation.values == "code":
            return Value("string", words.code())
        if relation.values == "words":
            text = f"{words.word().capitalize()} {words.word()}"
            return Value("monolingualtext", text, language=self.rng.choice(("de", "fi", "it")))
        pool = self.pools[relation.values]
        # One of a pool is named again and again, so that caps on objects have work.
        famous = self.rng.random() < 0.08  # noqa: PLR2004 - fame
        return Value("wikibase-item", pool[0] if famous else self.rng.choice(pool))
