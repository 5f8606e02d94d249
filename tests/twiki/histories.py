"""Small hand-made histories of pages and entities, and stores, engines and dumps to put them in."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.sax.saxutils import escape

import msgspec

from twiki import context as contexts
from twiki.apply import apply
from twiki.config import CoreConfig, FactConfig, WikiConfig
from twiki.context import Context
from twiki.engine import Engine
from twiki.records import Change, ChangeKind, ContentModel, Revision
from twiki.state.codec import Held, decode_entity
from twiki.state.contents import Texts
from twiki.state.kv import MemoryKeyValues
from twiki.state.ledger import Entry, EntryKind
from twiki.state.store import Batch, Store
from twiki.times import to_ms

CONFIG = CoreConfig(
    wiki=WikiConfig(name="testwiki", repository="testdata", url="https://wiki.example"),
    facts=FactConfig(unchanged_rate=1.0),
)
SEPTEMBER, OCTOBER, NOVEMBER, DECEMBER, JANUARY = (
    datetime(2026, 9, 1, tzinfo=UTC),
    datetime(2026, 10, 1, tzinfo=UTC),
    datetime(2026, 11, 1, tzinfo=UTC),
    datetime(2026, 12, 1, tzinfo=UTC),
    datetime(2027, 1, 1, tzinfo=UTC),
)
MONTHS = (OCTOBER, NOVEMBER, DECEMBER, JANUARY)
DAY = timedelta(days=1)


def at(month: int, day: int = 1, hour: int = 12, minute: int = 0, second: int = 0) -> datetime:
    """A moment of 2026."""
    return datetime(2026, month, day, hour, minute, second, tzinfo=UTC)


# --- ledgers --------------------------------------------------------------------------------


def entry(kind: EntryKind, effective: datetime | int, rev: int = 0, **fields) -> Entry:
    """A ledger entry; times may be datetimes. A revision's own time is its effective time."""
    fields = {k: to_ms(v) if isinstance(v, datetime) else v for k, v in fields.items()}
    moment = to_ms(effective) if isinstance(effective, datetime) else effective
    if kind in (EntryKind.REVISION, EntryKind.MOVE):
        fields = {"rev_ms": moment, "title": "A", "namespace": 0, "redirect": False, **fields}
    return Entry(kind=kind, effective=moment, rev=rev, **fields)


# --- revisions ------------------------------------------------------------------------------


def event(kind: ChangeKind, moment: datetime, rev: int | None = None, **fields) -> Change:
    """A change of page 1, "A", in the article namespace; ``rev_dt`` is the moment by default."""
    told = {
        "wiki": CONFIG.wiki.name,
        "page_id": 1,
        "title": "A",
        "namespace": 0,
        "arrival_time": moment,
        "rev_dt": moment if rev else None,
        **fields,
    }
    return Change(kind=kind, effective_time=moment, rev_id=rev, **told)


def edit(moment: datetime, rev: int, text: str | None, **fields) -> Revision:
    """An edit of page 1, or its creation where ``parent_rev_id`` is 0."""
    kind = ChangeKind.EDIT if fields.get("parent_rev_id") else ChangeKind.CREATE
    fields.setdefault("parent_rev_id", 0)
    return Revision(change=event(kind, moment, rev, **fields), content=text)


def delete(moment: datetime, rev: int | None = None, **fields) -> Revision:
    return Revision(change=event(ChangeKind.DELETE, moment, rev, **fields))


def restore(moment: datetime, rev: int, text: str | None = None, **fields) -> Revision:
    return Revision(change=event(ChangeKind.RESTORE, moment, rev, **fields), content=text)


def hide(moment: datetime, *revs: int, visible: bool = False, **fields) -> Revision:
    told = event(ChangeKind.VISIBILITY, moment, visible=visible, rev_ids=revs, **fields)
    return Revision(change=told)


def move(moment: datetime, rev: int, text: str | None, to: str, frm: str, **fields) -> Revision:
    told = event(ChangeKind.MOVE, moment, rev, title=to, from_title=frm, **fields)
    return Revision(change=told, content=text)


def merge(moment: datetime, **fields) -> Revision:
    return Revision(change=event(ChangeKind.MERGE, moment, target_title="B", **fields))


def claim(relation: str, target: str, number: int = 1) -> dict:
    """A statement whose object is an item."""
    snak = {
        "snaktype": "value",
        "property": relation,
        "datatype": "wikibase-item",
        "datavalue": {
            "type": "wikibase-entityid",
            "value": {"entity-type": "item", "id": target, "numeric-id": int(target[1:])},
        },
    }
    ident = f"{relation}-{target}-{number}"
    return {"mainsnak": snak, "type": "statement", "id": ident, "rank": "normal"}


def item(
    ident: str,
    *facts: tuple[str, str],
    label: str | None = None,
    sitelink: str | None = None,
    rev: int | None = None,
    modified: datetime | None = None,
) -> str:
    """An entity's JSON, as the API or, with ``rev`` and ``modified``, as a dump tells it."""
    claims: dict[str, list[dict]] = {}
    for relation, target in facts:
        claims.setdefault(relation, []).append(claim(relation, target))
    data: dict = {
        "type": "property" if ident.startswith("P") else "item",
        "id": ident,
        "labels": {"en": {"language": "en", "value": label or f"Label {ident}"}},
        "descriptions": {},
        "aliases": {},
        "claims": claims,
    }
    if ident.startswith("P"):
        data["datatype"] = "wikibase-item"
    else:
        links = {"testwiki": {"site": "testwiki", "title": sitelink, "badges": []}}
        data["sitelinks"] = links if sitelink else {}
    if rev is not None and modified is not None:
        data |= {"lastrevid": rev, "modified": f"{modified:%Y-%m-%dT%H:%M:%SZ}"}
    return json.dumps(data)


def entity_edit(moment: datetime, rev: int, ident: str, content: str | None, **fields) -> Revision:
    """An edit of an entity."""
    told = event(
        ChangeKind.EDIT,
        moment,
        rev,
        wiki=CONFIG.wiki.repository,
        title=ident,
        page_id=None,
        **fields,
    )
    return Revision(change=told, content=content, model=ContentModel.ITEM)


# --- stores and engines ---------------------------------------------------------------------


def context(boundaries: Iterable[datetime] = MONTHS, *, closed: datetime | None = None) -> Context:
    bounds = [to_ms(moment) for moment in boundaries]
    return contexts.build(CONFIG, bounds, closed=0 if closed is None else to_ms(closed))


def engine(
    boundaries: Iterable[datetime] = MONTHS, *, config: CoreConfig = CONFIG, kv=None
) -> Engine:
    return Engine.open(Store(kv or MemoryKeyValues()), config, fixed=tuple(boundaries))


def applied(revisions: Iterable[Revision], key=1, ctx: Context | None = None) -> Store:
    """A store in memory into which ``revisions`` of one page or entity were worked."""
    store, ctx = Store(MemoryKeyValues()), ctx or context()
    batch = Batch(store)
    for revision in revisions:
        subject = batch.subject(key)
        batch.update(key, subject.held, apply(subject, revision, ctx))
        batch.commit()
    return store


def supplied(store: Store, revs: dict, ctx: Context | None = None) -> Store:
    """Fetch by id what is needed, as the engine does."""
    batch, ctx = Batch(store), ctx or context()
    while needed := list(store.needs()):
        for key, rev in needed:
            moment, text = revs[rev]
            fetched = edit(moment, rev, text, parent_rev_id=None, title=None, namespace=None)
            fetched = msgspec.structs.replace(
                fetched, change=msgspec.structs.replace(fetched.change, kind=ChangeKind.EDIT)
            )
            subject = batch.subject(key)
            batch.update(key, subject.held, apply(subject, fetched, ctx))
            batch.commit()
    return store


def pairs(kv) -> dict[bytes, bytes]:
    """All of a store."""
    return dict(kv.scan(b""))


def logical(store: Store, key=1) -> tuple:
    """What a page or entity means: its ledger, what stands, what is needed, every content.

    Left out are what the live feed told last, and which texts are stored as patches.
    """
    held = store.held(key) or Held()
    texts = Texts(lambda rev: store.content(key, rev))
    standing = {rev for _, rev in held.stands} | {held.stood}
    contents = {
        rev: texts.blocks(rev) if isinstance(key, int) else decode_entity(store.content(key, rev))
        for rev in held.revs
        if rev in standing
    }
    return held.entries, held.stood, held.stands, held.needs, contents


# --- dumps ----------------------------------------------------------------------------------


def xml_revision(
    rev: int, moment: datetime, text: str | None, parent: int | None = None, *, hidden: bool = False
) -> str:
    parent_id = f"<parentid>{parent}</parentid>" if parent else ""
    body = f'<text bytes="1">{escape(text or "")}</text>'
    if hidden:
        body = '<text bytes="1" deleted="deleted" />'
    stamp = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    return (
        f"<revision><id>{rev}</id>{parent_id}<timestamp>{stamp}</timestamp>"
        f"<model>wikitext</model><format>text/x-wiki</format>{body}</revision>"
    )


def xml_page(
    page_id: int, title: str, *revisions: str, namespace: int = 0, redirect: str | None = None
) -> str:
    leads = "" if redirect is None else f'<redirect title="{escape(redirect)}" />'
    return (
        f"<page><title>{escape(title)}</title><ns>{namespace}</ns><id>{page_id}</id>{leads}"
        f"{''.join(revisions)}</page>\n"
    )


def write_xml(path: Path, *pages: str) -> Path:
    spaces = {0: "", 1: "Talk", 2: "User", 118: "Draft"}
    listed = "".join(
        f'<namespace key="{key}" case="first-letter">{name}</namespace>'
        for key, name in spaces.items()
    )
    path.write_text(
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" '
        'xml:lang="en">\n<siteinfo><sitename>Test</sitename><dbname>testwiki</dbname>'
        f"<case>first-letter</case><namespaces>{listed}</namespaces></siteinfo>\n"
        f"{''.join(pages)}</mediawiki>\n",
        "utf-8",
    )
    return path


def write_entities(path: Path, *entities: str) -> Path:
    path.write_text("[\n" + ",\n".join(entities) + "\n]\n", "utf-8")
    return path
