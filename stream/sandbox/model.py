"""What the little world shows of itself: the records and the protocol that a server reads.

The world (:mod:`stream.sandbox.world`) is finished before anybody looks at it: it knows its
whole history, and every question names the instant it is asked for::

    world.events                    what EventStreams would have sent, in order of arrival
    world.page(wiki, key, at)       a page as it stood at an instant
    world.revision(wiki, id, at)    a revision, with what could be read of it at that instant
    world.dump_pages(boundary)      the pages-articles dump of a boundary, page by page
    world.dump_entities(boundary)   the entity JSON dump
    world.books(window)             what is true of a window: the independent oracle

Times are aware UTC datetimes. Titles are display titles with prefix (``Draft:Some page``);
the title of an item is its id, of a property ``Property:P31``. ``at=None`` means the end of
the world (:attr:`WikiWorld.now`); changes of the very instant ``at`` are included. For a
boundary they are not: a window is half open.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

from twiki.records import Record, Window

ENWIKI = "enwiki"
WIKIDATA = "wikidatawiki"
WIKIS = (ENWIKI, WIKIDATA)
DOMAINS: Mapping[str, str] = {ENWIKI: "en.wikipedia.org", WIKIDATA: "www.wikidata.org"}

RECENTCHANGE = "mediawiki.recentchange"
PAGE_CHANGE = "mediawiki.page_change.v1"
STREAMS = (RECENTCHANGE, PAGE_CHANGE)
DATACENTRE = "eqiad"

Model = Literal["wikitext", "wikibase-item", "wikibase-property"]
FORMATS: Mapping[str, str] = {
    "wikitext": "text/x-wiki",
    "wikibase-item": "application/json",
    "wikibase-property": "application/json",
}

NAMESPACES: Mapping[str, Mapping[int, str]] = {
    ENWIKI: {
        0: "",
        1: "Talk",
        2: "User",
        3: "User talk",
        4: "Wikipedia",
        5: "Wikipedia talk",
        6: "File",
        10: "Template",
        14: "Category",
        118: "Draft",
        119: "Draft talk",
    },
    WIKIDATA: {0: "", 1: "Talk", 120: "Property", 121: "Property talk"},
}
"""Namespaces that the world uses, by number, with their names."""


class SandboxEvent(Record, frozen=True):
    """One event as EventStreams sends it, without topic position.

    ``body`` is the whole JSON object of the stream's schema; the server adds ``topic``,
    ``partition`` and ``offset`` to its ``meta``. A canary's ``wiki`` is ``"canary"``.
    """

    stream: str
    topic: str
    wiki: str
    arrival_time: datetime
    body: dict[str, Any]


class RevisionView(Record, frozen=True):
    """A revision as it could be read at an instant."""

    wiki: str
    rev_id: int
    parent_id: int
    """0: there is none."""
    timestamp: datetime
    page_id: int
    """Page that the revision belongs to: a history merge changes it."""
    title: str
    namespace: int
    model: Model
    text: str | None
    """Wikitext, or entity JSON as text; None while the text is hidden."""
    size: int
    sha1: str
    """Base 36, 31 digits, as in dumps and events; of the text, hidden or not."""
    comment: str
    user: str
    user_id: int
    minor: bool = False
    bot: bool = False
    redirect: str | None = None
    """Title (an entity: id) that the text redirects to."""
    text_hidden: bool = False
    comment_hidden: bool = False
    user_hidden: bool = False
    archived: bool = False
    """The revision is deleted: its page is, or a partial restore left it out. ``text`` is
    set all the same; the server decides what to tell (reality: ``badrevids``)."""


class PageView(Record, frozen=True):
    """A page as it stood at an instant."""

    wiki: str
    page_id: int
    title: str
    namespace: int
    deleted: bool
    rev_id: int
    """Current revision; of a deleted page, the one that was current."""
    redirect: str | None
    """Title (an entity: id) of the redirect's target."""
    revisions: tuple[int, ...]
    """Live revisions, oldest first by (timestamp, id); () when deleted."""
    item: str | None = None
    """enwiki: id of the item whose sitelink names the page's title (page_props'
    ``wikibase_item``)."""


class DumpPage(Record, frozen=True):
    """A page as a dump holds it: with what could be read at its own moment."""

    read_at: datetime
    page: PageView
    revision: RevisionView


class Books(Record, frozen=True):
    """The world's own true account of a window, as JSON-able values only.

    All lists are sorted as the dataset sorts: articles by page id, facts by ids, probes by
    ids. ``data`` has the keys:

    ``window``, ``start``, ``end``
        name, ISO times.
    ``articles``
        ``{page_id, title, kind, old_rev, new_rev, text, sentences, removed}`` for every
        article with a diff sentence; kind ``new_article`` or ``updated``; ``sentences`` is
        ``[{kind, text, replaced, paragraph}]`` in reading order (``kind`` and ``replaced``
        are this world's own pairing and not meant for comparison); ``text`` joins them as
        the diffset does; ``removed`` are all sentences lost, those replaced among them.
    ``facts_changed``, ``facts_unchanged``, ``facts_removed``
        ``{subject, relation, object, class, previous_objects}`` with ids, or the rendered
        text of a literal. Changed and removed: of every entity. Unchanged: all of
        them, as chosen at a rate of 1. Removed facts carry ``listed``: whether the subject
        had a sitelink at the start, so that ``facts_removed.parquet`` lists it.
    ``probes_changed``, ``probes_unchanged``
        ``{subject, relation, object}`` as texts, ``ids`` (the triple), ``class``,
        ``page_id``, ``page_title``, ``evidence``.
    ``dropped_changed``, ``dropped_unchanged``
        rule -> count; every rule is there.
    ``counts``
        articles_live, articles_new, articles_updated, articles_without_text, diff_sentences,
        facts_changed, facts_unchanged, facts_removed, facts_removed_listed,
        candidates_changed, candidates_unchanged, probes_changed, probes_unchanged.
    """

    window: str
    data: dict[str, Any]


class WikiWorld(Protocol):
    """What the HTTP server and the demo need of a world."""

    @property
    def windows(self) -> tuple[Window, ...]:
        """Calendar months, in order."""
        ...

    @property
    def boundaries(self) -> tuple[datetime, ...]:
        """Start of the first window and the end of each; there is a dump of each."""
        ...

    @property
    def now(self) -> datetime:
        """End of the world: some days after the last boundary, when its dump is complete."""
        ...

    @property
    def events(self) -> Sequence[SandboxEvent]:
        """All events of both wikis and both streams, canaries too, in order of arrival."""
        ...

    def revision(self, wiki: str, rev_id: int, at: datetime | None = None) -> RevisionView | None:
        """The revision as it could be read at ``at``; None: there was none yet."""
        ...

    def entity_revision(self, rev_id: int, at: datetime | None = None) -> RevisionView | None:
        """:meth:`revision` of wikidatawiki; a redirect's text is ``{"entity", "redirect"}``."""
        ...

    def page(self, wiki: str, key: int | str, at: datetime | None = None) -> PageView | None:
        """The page with this id, or the live page with this title; None: there was none.

        A deleted page is found by its id only.
        """
        ...

    def pages(self, wiki: str, at: datetime | None = None) -> Iterator[PageView]:
        """All pages that are not deleted, by id."""
        ...

    def dump_pages(self, boundary: datetime) -> Sequence[DumpPage]:
        """Pages-articles-multistream of enwiki of a boundary, by page id, all namespaces."""
        ...

    def dump_entities(self, boundary: datetime) -> Sequence[DumpPage]:
        """Pages of the entity JSON dump of a boundary, by page id.

        Redirects are among them, with ``redirect`` set: a real entity dump leaves them out.
        """
        ...

    def dump_complete(self, boundary: datetime) -> datetime:
        """When the dump of a boundary is finished: three days later."""
        ...

    def books(self, window: Window | str, as_known_at: datetime | None = None) -> Books:
        """The true account of a window.

        Args:
            window: one of :attr:`windows`, or its name.
            as_known_at: revisions hidden until then count as hidden; by default
                ``dump_complete(window.end)``.
        """
        ...
