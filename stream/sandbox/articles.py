"""How articles are written: sentences that state facts, sentences that fill, whole articles."""

from collections.abc import Callable

from stream.sandbox.items import Item, Value
from stream.sandbox.prose import (
    CONVERSIONS,
    Document,
    Inline,
    Part,
    Section,
    Sentence,
    bold,
    foreign,
    italic,
    kilometres,
    link,
    nowrap,
    plain,
    sentence,
)
from stream.sandbox.scene import Scene, Subject
from stream.sandbox.topics import Relation
from stream.sandbox.vocabulary import ADJECTIVES, NOUNS, TRADES

LEAD, HISTORY, DETAILS, EVENTS = range(4)
"""Index of the sections that every article has."""

_FILLERS = (
    "In {year} a {adjective} {noun} opened near {place}.",
    "Visitors often mention the {adjective} {noun}.",
    "It took {number} months to repair the {noun} after the {noun2} of {year}.",
    "A {noun} was held every {number} years until {year}.",
    "Dr. {person} wrote about the {adjective} {noun} in {year}.",
    "The road to {place} is {distance} long.",
    "The local word for it is {word}.",
    "The {noun} cost 3.5 million and was paid for by {person}.",
    "Who owned the {noun} is not known.",
    "Since {year} the {noun} has been closed on Sundays; the {noun2} has not.",
    "“A {adjective} {noun},” wrote {person}, “is worth {number} {adjective2} ones” to them.",
    "The {noun} (built in {year}) is {adjective}, and so is the {noun2}.",
    "Between {year} and {year2} the area lived from {trade} and {trade2}.",
    "Was there ever a {noun} in {place}?",
    "About {number}% of the {noun} survived the {noun2}.",
    "A {adjective}-looking {noun} – the second of its kind – stands near the {noun2}.",
)
_EVENTS = (
    "{year}: a {noun} is opened.",
    "{year}: the {noun} moves to {place}.",
    "{year}: {person} visits the {noun}.",
    "No prize was awarded.",
)


def reference(scene: Scene) -> str:
    """A reference in one of its usual forms."""
    rng = scene.rng
    number, noun = rng.randrange(1000, 99999), rng.choice(NOUNS)
    return rng.choice(
        (
            f"<ref>{{{{cite news |title=The {noun} |url=https://news.example.org/{number}}}}}</ref>",
            f'<ref name="n{number}">[https://www.example.org/{number} The {noun}], page 4.</ref>',
            f'<ref name="n{number}" />',
            f"<!-- source of {number}? -->",
        )
    )


def shown(scene: Scene, value: Value) -> Inline:
    """An object as prose writes it."""
    rng = scene.rng
    if value.datatype == "wikibase-item":
        name = scene.names[value.text]
        if rng.random() < 0.15:  # noqa: PLR2004 - not everything is linked
            return rng.choice((plain, nowrap, italic))(name)
        page = scene.item(value.text).sitelink if scene.is_item(value.text) else None
        return link(name, page)
    if value.datatype == "monolingualtext":
        return foreign(value.text, value.language)
    if value.datatype == "quantity" and rng.random() < 0.2:  # noqa: PLR2004 - some write it so
        return plain(f"{int(value.text):,}")
    return rng.choice((plain, plain, nowrap))(value.shown())


def fact(scene: Scene, subject: Subject, relation: Relation, value: Value) -> Sentence:
    """A sentence that states a fact."""
    source = reference(scene) if scene.rng.random() < 0.4 else ""  # noqa: PLR2004 - many have none
    pattern = scene.rng.choice(relation.patterns)
    return sentence(pattern, relation.id, source, s=plain(subject.name), o=shown(scene, value))


def filler(scene: Scene, patterns: tuple[str, ...] = _FILLERS) -> Sentence:
    """A sentence that states no fact of the repository."""
    rng, pools = scene.rng, scene.pools
    choice = rng.choice

    def person() -> Inline:
        return choice((plain, link))(scene.names[choice(pools["person"])])

    makers: dict[str, Callable[[], Inline]] = {
        "year": lambda: plain(str(rng.randint(1700, 2024))),
        "year2": lambda: plain(str(rng.randint(2025, 2039))),
        "number": lambda: plain(str(rng.randint(2, 90))),
        "adjective": lambda: plain(choice(ADJECTIVES)),
        "adjective2": lambda: plain(choice(ADJECTIVES)),
        "noun": lambda: choice((plain, plain, link, italic))(choice(NOUNS)),
        "noun2": lambda: plain(choice(NOUNS)),
        "trade": lambda: link(choice(TRADES)),
        "trade2": lambda: plain(choice(TRADES)),
        "place": lambda: link(scene.names[choice(pools["city"])]),
        "person": person,
        "distance": lambda: kilometres(choice(tuple(CONVERSIONS))),
        "word": lambda: foreign(scene.words.word(), "fi"),
    }
    pattern = choice(patterns)
    values = {name: make() for name, make in makers.items() if f"{{{name}}}" in pattern}
    source = reference(scene) if rng.random() < 0.3 else ""  # noqa: PLR2004 - some have one
    return sentence(pattern, "", source, **values)


def event(scene: Scene) -> Part:
    """A list item."""
    return Part((filler(scene, _EVENTS),), item=True)


def paragraph(scene: Scene, *stated: Sentence, fillers: int = 2) -> Part:
    """A paragraph of the given sentences among some that fill."""
    sentences = list(stated)
    for _ in range(fillers):
        sentences.insert(scene.rng.randint(0, len(sentences)), filler(scene))
    return Part(tuple(sentences))


def image(scene: Scene) -> Part:
    """An image with a caption that must not become prose."""
    noun = scene.rng.choice(NOUNS)
    number = scene.rng.randrange(1000)
    return Part(bare=f"[[File:Example {number}.jpg|thumb|upright=1.2|A [[{noun}]] seen by night]]")


def table(scene: Scene) -> Part:
    """A table."""
    rows = "\n|-\n".join(
        f"| {scene.rng.randint(1900, 2020)} || {scene.rng.randint(10, 900)} visitors"
        for _ in range(3)
    )
    return Part(bare=f'{{| class="wikitable"\n! Year !! Visitors\n|-\n{rows}\n|}}')


def compose(scene: Scene, subject: Subject, item: Item) -> Document:
    """A whole article that states the facts of an item."""
    rng, kind = scene.rng, subject.kind
    relations = {relation.id: relation for relation in kind.relations}
    facts = [
        (relations[statement.relation], statement.value)
        for statement in item.statements
        if statement.relation in relations and statement.value is not None
    ]
    stated = [fact(scene, subject, relation, value) for relation, value in facts]
    rng.shuffle(stated)
    what = kind.name if kind.class_id == "Q5" else kind.class_label
    lead = sentence(
        "{s} is " + ("an " if what[0] in "aeiou" else "a ") + what + " known for its {a} {n}.",
        s=bold(subject.name), a=plain(rng.choice(ADJECTIVES)), n=link(rng.choice(NOUNS)),
    )  # fmt: skip
    see_also = [
        Part((Sentence(name, link(name).markup),), item=True)
        for name in (scene.names[rng.choice(scene.pools["city"])] for _ in range(2))
    ]
    sections = (
        Section("", (Part((lead, *stated[:2], filler(scene))),)),
        Section("History", (
            paragraph(scene, *stated[2:3]),
            image(scene),
            paragraph(scene, *stated[3:4]),
        )),
        Section("Details", (paragraph(scene, *stated[4:]), table(scene)), level=3),
        Section("Events", tuple(event(scene) for _ in range(rng.randint(2, 4)))),
        Section("See also", tuple(see_also)),
        Section("References", (Part(bare="{{reflist}}"),)),
    )  # fmt: skip
    boxed = [(relation.label.replace(" ", "_"), infobox(scene, value)) for relation, value in facts]
    return Document(
        header=(f"{{{{Short description|{what}}}}}", "{{Use dmy dates|date=May 2024}}"),
        infobox=what,
        fields=(("name", plain(subject.name).markup), *boxed),
        sections=sections,
        footer=(
            f"{{{{DEFAULTSORT:{subject.name}}}}}",
            f"[[Category:{what.capitalize()}]]",
            f"[[Category:Things of {rng.randint(1800, 2020)}]]",
        ),
    )


def infobox(scene: Scene, value: Value) -> str:
    """An object as an infobox writes it."""
    if value.datatype == "wikibase-item":
        return link(scene.names[value.text]).markup
    return value.shown()
