"""Who and what there is when the little world begins: none of it is announced."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from stream.sandbox.articles import compose, filler
from stream.sandbox.items import DAY, Item, Statement, Value
from stream.sandbox.prose import Document, RawText, Redirection, replace_sentence
from stream.sandbox.scene import Scene, Subject
from stream.sandbox.topics import (
    END_TIME,
    ENGLISH_WIKIPEDIA,
    INSTANCE_OF,
    OTHER_PROPERTIES,
    START_TIME,
    TOPICS,
    UNITS,
    VIAF,
    Kind,
)

_EARLIEST = datetime(2012, 1, 1, tzinfo=UTC)
_HELD = 0.85
"""Share of its kind's relations that an item has."""


def populate(scene: Scene, articles: int) -> None:
    """Make the initial state: properties, items, articles, and pages of other namespaces."""
    _seed_repository(scene, articles)
    subjects = [new_subject(scene, TOPICS.kinds[n % len(TOPICS.kinds)]) for n in range(articles)]
    for subject in subjects:
        scene.pools.setdefault(scene.pool_of(subject.kind), []).append(subject.item_id)
    # A name of its own pool may stand in any statement: items first, then what they say.
    items = [describe(scene, subject, sitelink=subject.name) for subject in subjects]
    for subject, item in zip(subjects, items, strict=True):
        _seed_item(scene, item, subject.name)
    for subject, item in zip(subjects, items, strict=True):
        _seed_article(scene, subject, item)
    _other_pages(scene, articles)
    _seed_drafts(scene, 2 + articles // 100)


def _seed_repository(scene: Scene, articles: int) -> None:
    """Properties, classes, and the pools that objects come from."""
    for kind in TOPICS.kinds:
        for relation in kind.relations:
            _seed_property(scene, relation.id, relation.label, relation.datatype)
    for number, (label, datatype) in OTHER_PROPERTIES.items():
        _seed_property(scene, number, label, datatype)
    classes = {kind.class_id: kind.class_label for kind in TOPICS.kinds}
    classes |= {made.id: made.label for made in TOPICS.pool_classes.values()}
    for item_id, label in (classes | UNITS | {ENGLISH_WIKIPEDIA: "English Wikipedia"}).items():
        _seed_item(scene, Item(item_id, labels=(("en", label),)), label)
    for pool, labels in TOPICS.small_pools.items():
        scene.pools[pool] = [_object(scene, pool, label) for label in labels]
    for pool, made in TOPICS.made_pools.items():
        count = max(8, round(made.share * articles))
        scene.pools[pool] = [
            _object(scene, pool, name_for(scene, made.pattern)) for _ in range(count)
        ]


def _seed_drafts(scene: Scene, count: int) -> None:
    for _ in range(count):
        subject = new_subject(scene, scene.rng.choice(TOPICS.kinds))
        item = describe(scene, subject, sitelink=None)
        document = compose(scene, subject, item)
        page_id = scene.wiki.seed(_past(scene), f"Draft:{subject.name}", document, "Quill")
        scene.drafts.append((page_id, subject, item))


def name_for(scene: Scene, pattern: str) -> str:
    """A fresh name by a pool's or kind's pattern."""
    if pattern == "person":
        return scene.words.person()
    return scene.words.place() if pattern == "place" else scene.words.named(pattern)


def new_subject(scene: Scene, kind: Kind) -> Subject:
    """Something to write about, with an id for its item, which does not exist yet."""
    subject = Subject(scene.new_item_id(), name_for(scene, kind.pattern), kind)
    scene.names[subject.item_id] = subject.name
    return subject


def describe(scene: Scene, subject: Subject, sitelink: str | None) -> Item:
    """An item for a subject with most relations of its kind."""
    rng, item_id = scene.rng, subject.item_id
    statements = [
        scene.statement(item_id, INSTANCE_OF, Value("wikibase-item", subject.kind.class_id))
    ]
    for relation in subject.kind.relations:
        if rng.random() > _HELD:
            continue
        value = scene.draw(relation, avoid=(Value("wikibase-item", item_id),))
        statement = scene.statement(item_id, relation.id, value)
        if rng.random() < 0.2:  # noqa: PLR2004 - some are dated
            since = (START_TIME, scene.words.date(DAY, 2000, 2025))
            statement = statement._replace(qualifiers=(since,))
        statements.append(statement)
        statements.extend(_company_of(scene, statement))
    if rng.random() < 0.5:  # noqa: PLR2004 - half of them
        viaf = Value("external-id", str(rng.randrange(10**8, 10**9)))
        statements.append(scene.statement(item_id, VIAF, viaf))
    return Item(
        item_id,
        labels=_labels(scene, subject.name, lacking=0.02),
        descriptions=(("en", f"{subject.kind.name} of the little world"),),
        aliases=(("en", f"{subject.name} (old)"),) if rng.random() < 0.3 else (),  # noqa: PLR2004
        sitelink=sitelink,
        statements=tuple(statements),
    )


def _company_of(scene: Scene, statement: Statement) -> Iterable[Statement]:
    """Further statements of the same relation, of every rank that real items show."""
    rng = scene.rng
    relation = next(
        relation
        for kind in TOPICS.kinds
        for relation in kind.relations
        if relation.id == statement.relation
    )
    subject = statement.id.partition("$")[0]
    avoid = (statement.value, Value("wikibase-item", subject))
    chance = rng.random()
    if chance < 0.05:  # noqa: PLR2004 - a wrong one, kept as deprecated
        other = scene.statement(subject, relation.id, scene.draw(relation, avoid))
        yield other._replace(rank="deprecated")
    elif chance < 0.10:  # noqa: PLR2004 - a former one beside it
        other = scene.statement(subject, relation.id, scene.draw(relation, avoid))
        until = (END_TIME, scene.words.date(DAY, 2000, 2020))
        yield other._replace(qualifiers=(until,))
    elif chance < 0.13:  # noqa: PLR2004 - somebody unknown
        yield scene.statement(subject, relation.id, None)._replace(rank="deprecated")
    elif chance < 0.15:  # noqa: PLR2004 - none at all
        yield scene.statement(subject, relation.id, None)._replace(snak="novalue")


def _labels(scene: Scene, name: str, lacking: float) -> tuple[tuple[str, str], ...]:
    chance = scene.rng.random()
    if chance < lacking:
        return (("de", name),) if chance < lacking / 2 else ()
    if chance < lacking + 0.08:
        return (("mul", name),)
    if chance < lacking + 0.2:
        return (("en", name), ("mul", f"{name} (mul)"), ("de", name))
    return (("en", name),)


def new_object(scene: Scene, pool: str) -> Item:
    """A fresh item for a pool, without page and not in the pool yet."""
    item_id = scene.new_item_id()
    scene.names[item_id] = name_for(scene, TOPICS.made_pools[pool].pattern)
    return _object_item(scene, item_id, pool)


def _object_item(scene: Scene, item_id: str, pool: str) -> Item:
    made = TOPICS.pool_classes.get(pool)
    statements: tuple[Statement, ...] = ()
    if made is not None:
        of = Value("wikibase-item", made.id)
        statements = (scene.statement(item_id, INSTANCE_OF, of),)
    labels = _labels(scene, scene.names[item_id], lacking=0.04)
    return Item(item_id, labels=labels, statements=statements)


def _object(scene: Scene, pool: str, name: str) -> str:
    item_id = scene.new_item_id()
    scene.names[item_id] = name
    _seed_item(scene, _object_item(scene, item_id, pool), name)
    return item_id


def _seed_property(scene: Scene, number: str, label: str, datatype: str) -> None:
    entity = Item(number, labels=(("en", label),), datatype=datatype)
    scene.names[number] = label
    title = f"Property:{number}"
    scene.page_of_item[number] = scene.data.seed(_past(scene), title, entity, "SandboxBot")


def _seed_item(scene: Scene, item: Item, name: str) -> None:
    scene.names[item.id] = name
    page_id = scene.data.seed(_past(scene), item.id, item, scene.words.user())
    scene.page_of_item[item.id] = page_id


def _seed_article(scene: Scene, subject: Subject, item: Item) -> None:
    document = compose(scene, subject, item)
    at = _past(scene)
    page_id = scene.wiki.seed(at, subject.name, document, scene.words.user())
    scene.add_subject(page_id, subject)
    for _ in range(scene.rng.choice((0, 1, 2))):
        at += (scene.now - timedelta(days=2) - at) * scene.rng.random()
        at = at.replace(microsecond=0)
        document = touched(scene, document)
        scene.wiki.seed_edit(at, page_id, document, scene.words.user())


def touched(scene: Scene, document: Document) -> Document:
    """The document with one of its filling sentences written anew."""
    fillers = [sentence for sentence in document.sentences() if not sentence.slot]
    return replace_sentence(document, scene.rng.choice(fillers), filler(scene))


def _other_pages(scene: Scene, articles: int) -> None:
    words, rng = scene.words, scene.rng
    talk = "== Sources ==\nDoes anybody know a better source for this? [[User:Quill|Quill]]\n"
    names = [subject.name for subject in scene.subjects.values()]
    for name in rng.sample(names, max(3, articles // 15)):
        scene.wiki.seed(_past(scene), f"Talk:{name}", RawText(talk), words.user())
    for name in rng.sample(names, max(3, articles // 20)):
        title = f"{name} (disambiguation)"
        scene.wiki.seed(_past(scene), title, Redirection(name, "{{R from ambiguous}}"), "Quill")
    for title, text in (
        ("User:Quill", "I write about bridges.\n"),
        ("User talk:Quill", "== Welcome ==\nHello, and thank you for your edits.\n"),
        ("Wikipedia:Little world", "This page tells how the little world is kept.\n"),
        ("Template:Official website", "[https://www.example.org Official website]\n"),
        ("Category:Bridges", "Crossings of all kinds.\n"),
        ("Draft:Sandbox", "A place to try things.\n"),
    ):
        scene.wiki.seed(_past(scene), title, RawText(text), "Quill")


def _past(scene: Scene) -> datetime:
    """A moment before the world began, at least two days before."""
    span = scene.now - timedelta(days=2) - _EARLIEST
    return (_EARLIEST + span * scene.rng.random()).replace(microsecond=0)
