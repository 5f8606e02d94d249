"""Stories of texts: facts that change, edits that say nothing new, vandalism, hidden revisions.

Each story is a generator; see :mod:`stream.sandbox.scene`. One that must come out as told
claims its article until the end of the window.
"""

from datetime import timedelta

from stream.sandbox import articles
from stream.sandbox.acts import COMMENT
from stream.sandbox.cast import touched
from stream.sandbox.itemlife import apply_change, plan_change
from stream.sandbox.items import Value
from stream.sandbox.prose import (
    Document,
    Part,
    RawText,
    Sentence,
    add_sentence,
    insert_part,
    plain,
    replace_sentence,
    sentence,
)
from stream.sandbox.scene import Scene, Story, single
from stream.sandbox.topics import Relation
from stream.sandbox.vocabulary import NOUNS

SECOND, MINUTE, HOUR, DAY = (
    timedelta(seconds=1),
    timedelta(minutes=1),
    timedelta(hours=1),
    timedelta(days=1),
)
_LAGS = ((2 * MINUTE, HOUR), (2 * MINUTE, HOUR), (HOUR, DAY), (DAY, 4 * DAY))


def save(scene: Scene, page_id: int, document: Document, comment: str = "") -> None:
    """Save an article's new text by anybody."""
    user = scene.words.user()
    minor = scene.rng.random() < 0.3  # noqa: PLR2004 - many edits are marked so
    scene.wiki.edit(scene.now, page_id, document, user, comment, minor=minor)


def current(scene: Scene, page_id: int) -> Document:
    """The text of an article or draft that its story claims."""
    document = scene.wiki.wiki.current(page_id).content
    if not isinstance(document, Document):
        raise TypeError(f"page {page_id} holds no article at {scene.now}")
    return document


# --- facts --------------------------------------------------------------------------------


def fact_change(scene: Scene) -> Story:
    """Prose and statement move together, one some time after the other."""
    page_id = scene.pick(lambda page: scene.is_item(scene.subjects[page].item_id))
    subject = scene.subjects[page_id]
    change = plan_change(scene, subject)
    replaces = change.mode != "add"

    def write() -> None:
        if scene.is_free(page_id):
            state_fact(scene, page_id, change.relation, change.value, replaces=replaces)

    def record() -> None:
        apply_change(scene, subject.item_id, change)

    steps = [write, record]
    if scene.rng.random() < 0.5:  # noqa: PLR2004 - as often this way as that
        steps.reverse()
    steps[0]()
    yield scene.after(*scene.rng.choice(_LAGS))
    steps[1]()


@single
def fact_in_prose_alone(scene: Scene) -> None:
    """An article says something new that the repository never learns."""
    page_id = scene.pick()
    relation = scene.rng.choice(scene.subjects[page_id].kind.relations)
    state_fact(scene, page_id, relation, scene.draw(relation), replaces=True)


@single
def fact_in_data_alone(scene: Scene) -> None:
    """A statement changes and the article does not."""
    page_id = scene.pick(lambda page: scene.is_item(scene.subjects[page].item_id))
    subject = scene.subjects[page_id]
    apply_change(scene, subject.item_id, plan_change(scene, subject))


def state_fact(
    scene: Scene, page_id: int, relation: Relation, value: Value, *, replaces: bool
) -> None:
    """Write a fact into an article, in place of what stated the relation, or beside it."""
    document = current(scene, page_id)
    new = articles.fact(scene, scene.subjects[page_id], relation, value)
    old = [sentence for sentence in document.sentences() if sentence.slot == relation.id]
    if old and replaces:
        document = replace_sentence(document, scene.rng.choice(old), new)
    else:
        section = scene.rng.choice((articles.LEAD, articles.HISTORY, articles.DETAILS))
        document = add_sentence(document, section, new)
    if scene.rng.random() < 0.5:  # noqa: PLR2004 - infoboxes are often forgotten
        name = relation.label.replace(" ", "_")
        others = tuple(field for field in document.fields if field[0] != name)
        document = document._replace(fields=(*others, (name, articles.infobox(scene, value))))
    save(scene, page_id, document, f"/* Details */ {relation.label}")


# --- edits that state no fact ---------------------------------------------------------------


@single
def sentence_edit(scene: Scene) -> None:
    """One sentence or list item is rewritten, added, removed, repeated or moved."""
    page_id = scene.pick()
    document = current(scene, page_id)
    section = scene.rng.choice((articles.LEAD, articles.HISTORY, articles.DETAILS))
    match scene.rng.randrange(8):
        case 0 | 1:
            document = touched(scene, document)
        case 2:
            document = add_sentence(document, section, articles.filler(scene))
        case 3:
            fillers = [sentence for sentence in document.sentences() if not sentence.slot]
            if len(fillers) > 6:  # noqa: PLR2004 - do not empty an article
                document = replace_sentence(document, scene.rng.choice(fillers[1:]), None)
        case 4:
            document = insert_part(document, articles.EVENTS, 0, articles.event(scene))
        case 5:
            again = Part((sentence("No prize was awarded."),), item=True)
            document = insert_part(document, articles.EVENTS, 1, again)
        case 6:
            document = _shuffled(scene, document)
        case _:
            document = _renumbered(scene, document)
    save(scene, page_id, document, "copy edit")


def _shuffled(scene: Scene, document: Document) -> Document:
    """Paragraphs of one section in another order: nothing new."""
    sections = list(document.sections)
    parts = list(sections[articles.HISTORY].parts)
    scene.rng.shuffle(parts)
    sections[articles.HISTORY] = sections[articles.HISTORY]._replace(parts=tuple(parts))
    return document._replace(sections=tuple(sections))


def _renumbered(scene: Scene, document: Document) -> Document:
    """One digit of one sentence changes."""
    for old in document.sentences():
        if not old.slot and "3.5 million" in old.clean:
            amount = f"{scene.rng.randint(2, 9)}.{scene.rng.randint(1, 9)} million"
            new = Sentence(
                old.clean.replace("3.5 million", amount), old.markup.replace("3.5 million", amount)
            )
            return replace_sentence(document, old, new)
    return touched(scene, document)


@single
def rewrite(scene: Scene) -> None:
    """A whole section is written anew; what it stated stays, in another order."""
    page_id = scene.pick()
    document = current(scene, page_id)
    sections = list(document.sections)
    old = sections[articles.HISTORY]
    kept = [one for part in old.parts for one in part.sentences if one.slot]
    scene.rng.shuffle(kept)
    half = len(kept) // 2
    parts = (
        articles.paragraph(scene, *kept[:half], fillers=3),
        articles.paragraph(scene, *kept[half:], fillers=2),
        articles.image(scene),
        articles.paragraph(scene, fillers=1),
    )
    heading = scene.rng.choice(("History", "Early years", "Background"))
    sections[articles.HISTORY] = old._replace(heading=heading, parts=parts)
    save(scene, page_id, document._replace(sections=tuple(sections)), "rewritten")


@single
def quiet_edit(scene: Scene) -> None:
    """References, templates, categories, images, links, comments: no prose changes."""
    page_id = scene.pick()
    document = current(scene, page_id)
    rng = scene.rng
    target = rng.choice(tuple(document.sentences()))
    number = rng.randrange(10**6)
    match rng.randrange(8):
        case 0 | 1:
            cited = target._replace(markup=target.markup + articles.reference(scene))
            document = replace_sentence(document, target, cited)
        case 2:
            document = document._replace(fields=(*document.fields, ("image", f"Map {number}.svg")))
        case 3:
            category = f"[[Category:Things of {number}]]"
            document = document._replace(footer=(*document.footer, category))
            scene.wiki.categorise(scene.now, page_id, f"Things of {number}", scene.words.user())
        case 4:
            document = document._replace(header=(*document.header, "{{Use British English}}"))
        case 5:
            document = insert_part(document, articles.DETAILS, 0, articles.image(scene))
        case 6:
            document = insert_part(document, articles.DETAILS, 1, articles.table(scene))
        case _:
            bare = target._replace(markup=plain(target.clean).markup)
            document = replace_sentence(document, target, bare)
    save(scene, page_id, document, "more sources")


# --- disturbances ---------------------------------------------------------------------------


def _spoilt(scene: Scene, document: Document) -> Document:
    noun = scene.rng.choice(NOUNS)
    return add_sentence(document, articles.LEAD, sentence(f"Everybody here eats a {noun} daily."))


def vandalism(scene: Scene) -> Story:
    """Nonsense, and its revert some minutes or hours later."""
    page_id = scene.claim()
    document = current(scene, page_id)
    save(scene, page_id, _spoilt(scene, document))
    yield scene.after(MINUTE, 5 * HOUR)
    save(scene, page_id, document, "Reverted 1 edit")
    scene.release(page_id)


def hide_old(scene: Scene) -> Story:
    """A bad revision is reverted and then hidden: recentchange alone tells."""
    page_id = scene.claim()
    document = current(scene, page_id)
    save(scene, page_id, _spoilt(scene, document))
    bad = scene.wiki.wiki.current(page_id).rev_id
    yield scene.after(MINUTE, HOUR)
    save(scene, page_id, document, "Reverted 1 edit")
    yield scene.after(HOUR, DAY)
    scene.wiki.hide(scene.now, page_id, (bad,), "Tinker 1")
    scene.release(page_id)


def hide_comment(scene: Scene) -> Story:
    """The comment of the current revision is hidden: its text stays."""
    page_id = scene.claim()
    save(scene, page_id, touched(scene, current(scene, page_id)), "something unkind")
    yield scene.after(MINUTE, HOUR)
    bad = scene.wiki.wiki.current(page_id).rev_id
    scene.wiki.hide(scene.now, page_id, (bad,), "Tinker 1", COMMENT)
    scene.release(page_id)


def _was_readable(scene: Scene, page_id: int) -> bool:
    """Whether the page was a live article at the window's start, its text not hidden."""
    wiki = scene.wiki.wiki
    state = wiki.pages[page_id].before(scene.window.start)
    if state is None or state.deleted or state.namespace or state.rev_id in wiki.hidden:
        return False
    return isinstance(wiki.revisions[state.rev_id].content, Document)


def hide_last(scene: Scene) -> Story:
    """The last revision of the window is reverted a day later and hidden after two days."""
    end = scene.window.end
    page_id = scene.claim(lambda page: _was_readable(scene, page))
    document = current(scene, page_id)
    save(scene, page_id, touched(scene, document))
    yield scene.after(MINUTE, HOUR)
    save(scene, page_id, _spoilt(scene, current(scene, page_id)))
    bad = scene.wiki.wiki.current(page_id).rev_id
    yield end + DAY
    save(scene, page_id, touched(scene, document), "Reverted 1 edit")
    yield end + 2 * DAY
    scene.wiki.hide(scene.now, page_id, (bad,), "Tinker 1")
    scene.release(page_id)


def suppress_last(scene: Scene) -> Story:
    """The last revision of the window is suppressed two days later, still the current one."""
    end = scene.window.end
    page_id = scene.claim(lambda page: _was_readable(scene, page))
    document = current(scene, page_id)
    save(scene, page_id, _spoilt(scene, document))
    yield end + 2 * DAY
    scene.wiki.suppress(scene.now, page_id)
    yield scene.after(HOUR, DAY)
    save(scene, page_id, touched(scene, document), "clean start")
    scene.release(page_id)


def same_second(scene: Scene) -> Story:
    """Two edits in one second; nothing follows in this window."""
    end = scene.window.end
    page_id = scene.claim()
    save(scene, page_id, touched(scene, current(scene, page_id)))
    yield scene.now
    save(scene, page_id, touched(scene, current(scene, page_id)))
    yield end
    scene.release(page_id)


def around_midnight(scene: Scene) -> Story:
    """Edits at 23:59:59 and 00:00:00, on one page, and each on a page of its own.

    The earlier ones arrive after midnight, some after what follows them.
    """
    end = scene.window.end
    both, before, after = (scene.claim() for _ in range(3))
    yield end - SECOND
    for page_id in (both, before):
        document = touched(scene, current(scene, page_id))
        arrival = scene.feed.arrival(end, 0.1, scene.rng.choice((4.0, 1200.0)))
        scene.wiki.edit(scene.now, page_id, document, scene.words.user(), arrival=arrival)
    yield end
    for page_id in (both, after):
        save(scene, page_id, touched(scene, current(scene, page_id)))
    for page_id in (both, before, after):
        scene.release(page_id)


def protect(scene: Scene) -> Story:
    """Protection leaves a dummy revision that page_change never names; an edit follows."""
    page_id = scene.claim()
    scene.wiki.protect(scene.now, page_id, "Tinker 1")
    yield scene.after(MINUTE, HOUR)
    save(scene, page_id, touched(scene, current(scene, page_id)))
    scene.release(page_id)


def noise(scene: Scene) -> Story:
    """Events that change nothing that counts: a log entry, edits in other namespaces."""
    scene.wiki.log_noise(scene.now, scene.pick(), scene.words.user())
    yield scene.after(MINUTE, HOUR)
    wiki = scene.wiki.wiki
    page_id = wiki.id_of(scene.rng.choice(("User talk:Quill", "User:Quill", "Draft:Sandbox")))
    text = wiki.current(page_id).text + f"\nAnother line about {scene.rng.choice(NOUNS)}.\n"
    scene.wiki.edit(scene.now, page_id, RawText(text), scene.words.user())
