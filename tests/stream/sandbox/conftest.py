"""A world of a few pages, written by hand, so that every answer of the server is known."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from stream.sandbox.model import (
    DOMAINS,
    ENWIKI,
    PAGE_CHANGE,
    RECENTCHANGE,
    WIKIDATA,
    Books,
    DumpPage,
    PageView,
    RevisionView,
    SandboxEvent,
)
from stream.sandbox.view import View, first_seen, openly_hidden
from stream.sandbox.wiki import sha1_base36
from twiki.records import Window


def day(number, hour=0, minute=0, second=0, month=11):
    return datetime(2026, month, number, hour, minute, second, tzinfo=UTC)


@dataclass(frozen=True)
class Rev:
    wiki: str
    rev_id: int
    page_id: int
    created: datetime
    text: str
    parent: int = 0
    comment: str = ""
    redirect: str | None = None
    hidden_from: datetime | None = None


@dataclass(frozen=True)
class Page:
    wiki: str
    page_id: int
    title: str
    namespace: int = 0
    model: str = "wikitext"
    item: str | None = None
    deleted_at: datetime | None = None


ITEM = (
    '{"type":"item","id":"Q1","labels":{"en":{"language":"en","value":"Anna Berg"},'
    '"de":{"language":"de","value":"Anna Berg (de)"}},"descriptions":{},"aliases":[],'
    '"claims":{"P31":[]},"sitelinks":{"enwiki":{"site":"enwiki","title":"Anna Berg","badges":[]}}}'
)
PAGES = (
    Page(ENWIKI, 1, "Anna Berg", item="Q1"),
    Page(ENWIKI, 2, "Anna B."),
    Page(ENWIKI, 3, "Gone page", deleted_at=day(15)),
    Page(ENWIKI, 4, "Draft:Plan & <b>more</b>", 118),
    Page(ENWIKI, 5, "Secret"),
    Page(WIKIDATA, 10, "Q1", model="wikibase-item"),
    Page(WIKIDATA, 11, "Q2", model="wikibase-item"),
    Page(WIKIDATA, 12, "Property:P31", 120, model="wikibase-property"),
)
OCTOBER = day(10, month=10)
REVISIONS = (
    Rev(ENWIKI, 101, 1, OCTOBER, "'''Anna Berg''' is a painter.\n"),
    Rev(ENWIKI, 102, 1, day(5), "'''Anna Berg''' lives in Årdal.", 101, "line\u2028Å\u0085end"),
    Rev(ENWIKI, 103, 1, day(6), "libel", 102, hidden_from=day(8)),
    Rev(ENWIKI, 104, 1, day(20), "'''Anna Berg''' lives in Årdal & paints <i>cats</i>.", 103),
    Rev(ENWIKI, 110, 2, OCTOBER, "#REDIRECT [[Anna Berg]]", redirect="Anna Berg"),
    Rev(ENWIKI, 120, 3, OCTOBER, "Soon gone."),
    Rev(ENWIKI, 130, 4, day(7), "", comment="<script>alert(1)</script>"),
    Rev(ENWIKI, 140, 5, day(2), "A secret.", hidden_from=day(9)),
    Rev(WIKIDATA, 501, 10, OCTOBER, ITEM),
    Rev(WIKIDATA, 502, 10, day(5, 12), ITEM.replace("(de)", "(DE)"), 501),
    Rev(WIKIDATA, 511, 11, OCTOBER, ITEM.replace("Q1", "Q2").replace("enwiki", "dewiki")),
    Rev(WIKIDATA, 512, 11, day(10), '{"entity":"Q2","redirect":"Q1"}', 511, redirect="Q1"),
    Rev(WIKIDATA, 521, 12, OCTOBER, '{"type":"property","id":"P31","datatype":"wikibase-item"}'),
)
BOUNDARIES = (day(1), day(1, month=12))


class SmallWorld:
    """The protocol ``WikiWorld`` over the tables above."""

    windows = (Window(start=BOUNDARIES[0], end=BOUNDARIES[1], name="2026-11"),)
    boundaries = BOUNDARIES
    now = day(4, month=12)

    def __init__(self):
        self.events = tuple(sorted(_events(), key=lambda event: event.arrival_time))

    def revision(self, wiki, rev_id, at=None):
        at = at or self.now
        for rev in REVISIONS:
            if (rev.wiki, rev.rev_id) == (wiki, rev_id) and rev.created <= at:
                return self._view(rev, at)
        return None

    def entity_revision(self, rev_id, at=None):
        return self.revision(WIKIDATA, rev_id, at)

    def page(self, wiki, key, at=None):
        at = at or self.now
        for page in PAGES:
            if page.wiki == wiki and key in (page.page_id, page.title):
                revs = _revisions_of(page, at)
                gone = page.deleted_at is not None and page.deleted_at <= at
                if not revs or (gone and isinstance(key, str)):
                    return None
                return PageView(
                    wiki=wiki,
                    page_id=page.page_id,
                    title=page.title,
                    namespace=page.namespace,
                    deleted=gone,
                    rev_id=revs[-1].rev_id,
                    redirect=revs[-1].redirect,
                    revisions=() if gone else tuple(rev.rev_id for rev in revs),
                    item=page.item,
                )
        return None

    def pages(self, wiki, at=None):
        for page in PAGES:
            view = self.page(wiki, page.page_id, at) if page.wiki == wiki else None
            if view is not None and not view.deleted:
                yield view

    def dump_pages(self, boundary):
        return list(self._dump(ENWIKI, boundary))

    def dump_entities(self, boundary):
        return list(self._dump(WIKIDATA, boundary))

    def dump_complete(self, boundary):
        return boundary + timedelta(days=3)

    def books(self, window, _as_known_at=None):
        return Books(window=str(window), data={"window": window, "articles": []})

    def _dump(self, wiki, boundary):
        for number, page in enumerate(self.pages(wiki, boundary)):
            at = boundary + timedelta(hours=number)
            view = self.page(wiki, page.page_id, at)
            revision = self.revision(wiki, view.rev_id, at)
            yield DumpPage(read_at=at, page=view, revision=revision)

    def _view(self, rev, at):
        (page,) = (page for page in PAGES if (page.wiki, page.page_id) == (rev.wiki, rev.page_id))
        hidden = rev.hidden_from is not None and rev.hidden_from <= at
        return RevisionView(
            wiki=rev.wiki,
            rev_id=rev.rev_id,
            parent_id=rev.parent,
            timestamp=rev.created,
            page_id=rev.page_id,
            title=page.title,
            namespace=page.namespace,
            model=page.model,
            text=None if hidden else rev.text,
            size=len(rev.text.encode()),
            sha1=sha1_base36(rev.text),
            comment=rev.comment,
            user="Someone",
            user_id=7,
            redirect=rev.redirect,
            text_hidden=hidden,
            archived=page.deleted_at is not None and page.deleted_at <= at,
        )


def _revisions_of(page, at):
    return [
        rev
        for rev in REVISIONS
        if (rev.wiki, rev.page_id) == (page.wiki, page.page_id) and rev.created <= at
    ]


def _events():
    number = 0
    for rev in REVISIONS:
        if rev.created >= BOUNDARIES[0]:
            number += 1
            yield from _edit_events(rev, number)
    gone = PAGES[2]
    log = {"log_id": 77, "log_type": "delete", "log_action": "delete", "log_params": []}
    yield _event(RECENTCHANGE, ENWIKI, day(15), "d1", type="log", title=gone.title, id=900, **log)
    ids = {"type": "revision", "ids": ["103"], "ofield": "0", "nfield": "1"}
    log = {"log_id": 76, "log_type": "delete", "log_action": "revision", "log_params": ids}
    yield _event(RECENTCHANGE, ENWIKI, day(8), "h1", type="log", title="Anna Berg", id=899, **log)
    yield _event(RECENTCHANGE, "canary", day(12), "c1")


def _edit_events(rev, number):
    page = next(page for page in PAGES if (page.wiki, page.page_id) == (rev.wiki, rev.page_id))
    kind = "new" if rev.parent == 0 else "edit"
    yield _event(
        RECENTCHANGE,
        rev.wiki,
        rev.created,
        f"r{rev.rev_id}",
        id=800 + number,
        type=kind,
        title=page.title,
        namespace=page.namespace,
        comment=rev.comment,
        revision={"old": rev.parent or None, "new": rev.rev_id},
        user="Someone",
    )
    yield _event(
        PAGE_CHANGE,
        rev.wiki,
        rev.created,
        f"p{rev.rev_id}",
        page_change_kind="create" if kind == "new" else "edit",
        performer={"user_text": "Someone"},
        revision={"rev_id": rev.rev_id},
    )


def _event(stream, wiki, at, identity, **fields):
    arrival = at + timedelta(seconds=1, milliseconds=250)
    meta = {
        "id": identity,
        "dt": f"{arrival:%Y-%m-%dT%H:%M:%S}.250Z",
        "stream": stream,
        "domain": DOMAINS.get(wiki, "canary"),
    }
    body = {"$schema": "/x", "meta": meta, "wiki": wiki, "timestamp": int(at.timestamp())}
    return SandboxEvent(
        stream=stream,
        topic=f"eqiad.{stream}",
        wiki=wiki,
        arrival_time=arrival,
        body=body | {"namespace": 0} | fields,
    )


@pytest.fixture(scope="session")
def small_world():
    return SmallWorld()


@pytest.fixture(scope="session")
def view(small_world):
    return View(
        world=small_world,
        now=small_world.now,
        seen=first_seen(small_world),
        openly_hidden=openly_hidden(small_world),
    )
