"""One wiki with its whole history: pages, titles, revisions, what is hidden and what deleted.

Every change is made at an instant, in order of time, and nothing is forgotten: each query
names the instant that it is asked for. The rules are MediaWiki's; no event is made here.
"""

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

from stream.sandbox.items import Item
from stream.sandbox.model import Model
from stream.sandbox.prose import Document, RawText, Redirection

Content = Document | Redirection | RawText | Item
T = TypeVar("T")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def sha1_base36(text: str) -> str:
    """SHA-1 of a text as MediaWiki writes it: base 36, 31 digits."""
    number = int.from_bytes(hashlib.sha1(text.encode(), usedforsecurity=False).digest(), "big")
    digits = ""
    while number:
        number, rest = divmod(number, 36)
        digits = _DIGITS[rest] + digits
    return digits.rjust(31, "0")


class Revision(NamedTuple):
    """A revision: its content never changes, its page and visibility may."""

    rev_id: int
    parent_id: int
    timestamp: datetime
    content: Content
    text: str
    size: int
    sha1: str
    comment: str
    user: str
    minor: bool
    bot: bool

    @property
    def redirect(self) -> str | None:
        """Target of a redirect."""
        if isinstance(self.content, Redirection):
            return self.content.target
        if isinstance(self.content, Item):
            return self.content.redirect or None
        return None

    @property
    def model(self) -> Model:
        """Content model."""
        if isinstance(self.content, Item):
            return "wikibase-property" if self.content.is_property else "wikibase-item"
        return "wikitext"


class PageState(NamedTuple):
    """A page between two changes; ``rev_id`` of a deleted page is its last current one."""

    title: str
    namespace: int
    rev_id: int
    revisions: tuple[int, ...]
    deleted: bool = False


class Timeline(Generic[T]):
    """Values by the instant from which they hold."""

    __slots__ = ("_times", "_values")

    def __init__(self) -> None:
        self._times: list[datetime] = []
        self._values: list[T] = []

    def put(self, at: datetime, value: T) -> None:
        """Let ``value`` hold from ``at``, which is not before the last one."""
        if self._times and at < self._times[-1]:
            raise ValueError(f"history runs backwards: {at} after {self._times[-1]}")
        self._times.append(at)
        self._values.append(value)

    def before(self, at: datetime) -> T | None:
        """The value just before ``at``."""
        found = bisect_left(self._times, at)
        return self._values[found - 1] if found else None

    def until(self, at: datetime) -> T | None:
        """The value at ``at``, changes of that instant included."""
        found = bisect_right(self._times, at)
        return self._values[found - 1] if found else None

    @property
    def last(self) -> T:
        """The latest value."""
        return self._values[-1]

    @property
    def times(self) -> list[datetime]:
        """When it changed."""
        return self._times


class Home(NamedTuple):
    """Where a revision belongs."""

    page_id: int
    archived: bool


class Wiki:
    """A wiki; see the module."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.pages: dict[int, Timeline[PageState]] = {}
        self.titles: dict[str, Timeline[int]] = {}
        """Page id by title; 0: no page of that title."""
        self.revisions: dict[int, Revision] = {}
        self.homes: dict[int, Timeline[Home]] = {}
        self.hidden: dict[int, Timeline[frozenset[str]]] = {}
        """Hidden fields of revisions: "text", "comment", "user"."""

    # --- changes --------------------------------------------------------------------------

    def write(
        self,
        rev_id: int,
        parent_id: int,
        timestamp: datetime,
        content: Content,
        *,
        comment: str = "",
        user: str = "",
        minor: bool = False,
        bot: bool = False,
    ) -> Revision:
        """Store a revision that belongs to no page yet."""
        text = content.render()
        size = len(text.encode())
        revision = Revision(
            rev_id, parent_id, timestamp, content, text, size, sha1_base36(text),
            comment, user, minor, bot,
        )  # fmt: skip
        self.revisions[rev_id] = revision
        return revision

    def attach(self, at: datetime, page_id: int, rev_id: int, *, current: bool = True) -> None:
        """Let a revision belong to a page."""
        state = self.pages[page_id].last
        revisions = self._ordered((*state.revisions, rev_id))
        now = rev_id if current else state.rev_id
        self.pages[page_id].put(at, state._replace(rev_id=now, revisions=revisions))
        self._settle(at, (rev_id,), Home(page_id, archived=False))

    def create(self, at: datetime, page_id: int, title: str, namespace: int, rev_id: int) -> None:
        """Make a page with one revision."""
        self.pages[page_id] = Timeline()
        self.pages[page_id].put(at, PageState(title, namespace, rev_id, (rev_id,)))
        self._name(at, title, page_id)
        self._settle(at, (rev_id,), Home(page_id, archived=False))

    def rename(self, at: datetime, page_id: int, title: str, namespace: int) -> None:
        """Give a page another title; the old one is free."""
        state = self.pages[page_id].last
        self._name(at, state.title, 0)
        self._name(at, title, page_id)
        self.pages[page_id].put(at, state._replace(title=title, namespace=namespace))

    def delete(self, at: datetime, page_id: int) -> None:
        """Delete a page with all its revisions."""
        state = self.pages[page_id].last
        self._name(at, state.title, 0)
        self._settle(at, state.revisions, Home(page_id, archived=True))
        self.pages[page_id].put(at, state._replace(revisions=(), deleted=True))

    def restore(self, at: datetime, page_id: int, rev_ids: tuple[int, ...]) -> None:
        """Bring a deleted page back with these revisions; the newest becomes current."""
        state = self.pages[page_id].last
        kept = self._ordered(rev_ids)
        self._name(at, state.title, page_id)
        self._settle(at, kept, Home(page_id, archived=False))
        state = state._replace(rev_id=kept[-1], revisions=kept, deleted=False)
        self.pages[page_id].put(at, state)

    def merge(self, at: datetime, source: int, target: int) -> None:
        """Move all revisions of ``source`` to ``target``, which keeps its current one."""
        moved = self.pages[source].last.revisions
        self._name(at, self.pages[source].last.title, 0)
        state = self.pages[target].last
        revisions = self._ordered((*state.revisions, *moved))
        self.pages[target].put(at, state._replace(revisions=revisions))
        gone = self.pages[source].last._replace(revisions=(), deleted=True)
        self.pages[source].put(at, gone)
        self._settle(at, moved, Home(target, archived=False))

    def hide(self, at: datetime, rev_ids: tuple[int, ...], fields: frozenset[str]) -> None:
        """Set which fields of revisions are hidden."""
        for rev_id in rev_ids:
            self.hidden.setdefault(rev_id, Timeline()).put(at, fields)

    # --- questions ------------------------------------------------------------------------

    def current(self, page_id: int) -> Revision:
        """Current revision of a page at this moment of the making."""
        return self.revisions[self.pages[page_id].last.rev_id]

    def id_of(self, title: str) -> int:
        """Id of the page of this title at this moment of the making; 0: none."""
        return self.titles[title].last if title in self.titles else 0

    def hidden_fields(self, rev_id: int, at: datetime) -> frozenset[str]:
        """Fields of a revision hidden at ``at``."""
        timeline = self.hidden.get(rev_id)
        return (timeline.until(at) if timeline else None) or frozenset()

    def live_before(self, at: datetime) -> Iterator[tuple[int, PageState]]:
        """Pages that stand just before ``at``, by id."""
        for page_id, timeline in sorted(self.pages.items()):
            state = timeline.before(at)
            if state is not None and not state.deleted:
                yield page_id, state

    def _ordered(self, rev_ids: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(rev_ids, key=lambda rev: (self.revisions[rev].timestamp, rev)))

    def _name(self, at: datetime, title: str, page_id: int) -> None:
        self.titles.setdefault(title, Timeline()).put(at, page_id)

    def _settle(self, at: datetime, rev_ids: tuple[int, ...], home: Home) -> None:
        for rev_id in rev_ids:
            self.homes.setdefault(rev_id, Timeline()).put(at, home)
