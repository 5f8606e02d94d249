"""Stories of pages: they are made, moved, redirected, deleted, restored, merged, imported.

Each claims its article until its effect stands at the end of the window.
"""

from datetime import datetime

from stream.sandbox.articles import compose
from stream.sandbox.cast import describe, new_subject, touched
from stream.sandbox.items import Item
from stream.sandbox.prose import RawText, Redirection
from stream.sandbox.scene import Scene, Story, Subject, single
from stream.sandbox.textlife import DAY, HOUR, MINUTE, current, save
from stream.sandbox.topics import TOPICS

ADMIN = "Tinker 1"


def _linked(scene: Scene, page_id: int) -> bool:
    """Whether the article's item exists and links to it."""
    item_id = scene.subjects[page_id].item_id
    title = scene.wiki.wiki.pages[page_id].last.title
    return scene.is_item(item_id) and scene.item(item_id).sitelink == title


def _link(scene: Scene, page_id: int, title: str | None) -> None:
    """Let the item's sitelink name ``title``."""
    item_id = scene.subjects[page_id].item_id
    if scene.is_item(item_id):
        verb = "wbsetsitelink-set" if title else "wbsetsitelink-remove"
        scene.save(
            scene.item(item_id)._replace(sitelink=title),
            f"/* {verb}:1|enwiki */ {title or ''}",
            bot=True,
        )


def _described(scene: Scene) -> tuple[Subject, Item]:
    """A new subject with what is to become its item."""
    subject = new_subject(scene, scene.rng.choice(TOPICS.kinds))
    return subject, describe(scene, subject, None)


def _join_pool(scene: Scene, subject: Subject) -> None:
    scene.pools[scene.pool_of(subject.kind)].append(subject.item_id)


# --- new pages ------------------------------------------------------------------------------


def new_article(scene: Scene) -> Story:
    """A new article, edited again, whose item comes later with its sitelink."""
    yield from _new_article(scene, early=False)


def new_article_of_an_item(scene: Scene) -> Story:
    """A new article whose item is there before and gets its sitelink later."""
    yield from _new_article(scene, early=True)


def _new_article(scene: Scene, *, early: bool) -> Story:
    subject, item = _described(scene)
    if early:
        scene.create_item(item)
        yield scene.after(MINUTE, HOUR)
    document = compose(scene, subject, item)
    page_id = scene.wiki.create(
        scene.now, subject.name, document, scene.words.user(), f"Created page with {subject.name}"
    )
    scene.add_subject(page_id, subject)
    yield scene.after(MINUTE, HOUR)
    if scene.is_free(page_id):
        save(scene, page_id, touched(scene, current(scene, page_id)))
    yield scene.after(HOUR, 3 * DAY)
    if early:
        _link(scene, page_id, subject.name)
    else:
        scene.create_item(item._replace(sitelink=subject.name))
    _join_pool(scene, subject)


def import_page(scene: Scene) -> Story:
    """A page imported with two revisions of the month before."""
    end = scene.window.end
    subject, item = _described(scene)
    document = compose(scene, subject, item)
    written = (scene.now - 40 * DAY, scene.now - 30 * DAY)
    versions = [(written[0], document), (written[1], touched(scene, document))]
    page_id = scene.wiki.import_page(scene.now, subject.name, versions, ADMIN)
    scene.hold(page_id)
    scene.add_subject(page_id, subject)
    yield scene.after(HOUR, DAY)
    scene.create_item(item._replace(sitelink=subject.name))
    _join_pool(scene, subject)
    yield end
    scene.release(page_id)


def import_old(scene: Scene) -> Story:
    """Old revisions imported below the current one, dated before and between the others."""
    end = scene.window.end
    page_id = scene.claim()
    document = current(scene, page_id)
    save(scene, page_id, touched(scene, document))
    yield scene.after(HOUR, DAY)
    for written in (datetime(2010, 5, 4, 12, tzinfo=scene.now.tzinfo), scene.now - 3 * DAY):
        scene.wiki.import_revision(scene.now, page_id, written, touched(scene, document), ADMIN)
        yield scene.after(MINUTE, HOUR)
    yield end
    scene.release(page_id)


def new_draft(scene: Scene) -> Story:
    """A draft, edited where nobody counts it; it is moved in a later window."""
    subject, item = _described(scene)
    title = f"Draft:{subject.name}"
    document = compose(scene, subject, item)
    page_id = scene.wiki.create(scene.now, title, document, scene.words.user(), "new draft")
    scene.drafts.append((page_id, subject, item))
    yield scene.after(HOUR, 2 * DAY)
    if scene.wiki.wiki.pages[page_id].last.namespace:
        save(scene, page_id, touched(scene, document))


def draft_move(scene: Scene) -> Story:
    """A draft becomes an article by a move alone; its item comes later."""
    end = scene.window.end
    if not scene.drafts:
        return
    page_id, subject, item = scene.drafts.pop(0)
    leave = scene.rng.random() < 0.5  # noqa: PLR2004 - as often as not
    scene.wiki.move(scene.now, page_id, subject.name, scene.words.user(), leave_redirect=leave)
    scene.hold(page_id)
    scene.add_subject(page_id, subject)
    yield scene.after(HOUR, 2 * DAY)
    scene.create_item(item._replace(sitelink=subject.name))
    _join_pool(scene, subject)
    yield end
    scene.release(page_id)


# --- moves and redirects --------------------------------------------------------------------


def _moved_title(scene: Scene, page_id: int) -> str:
    subject = scene.subjects[page_id]
    return f"{subject.name} ({subject.kind.name})"


def _movable(scene: Scene, page_id: int) -> bool:
    title = _moved_title(scene, page_id)
    return _linked(scene, page_id) and not scene.wiki.wiki.id_of(title)


def move(scene: Scene) -> Story:
    """An article moves, its sitelink follows, and it is edited under its new title."""
    page_id = scene.claim(lambda page: _movable(scene, page))
    title = _moved_title(scene, page_id)
    scene.wiki.move(scene.now, page_id, title, scene.words.user(), leave_redirect=True)
    yield scene.after(MINUTE, HOUR)
    _link(scene, page_id, title)
    save(scene, page_id, touched(scene, current(scene, page_id)))
    scene.release(page_id)


def move_late(scene: Scene) -> Story:
    """An article moves just before the end; its sitelink still names the redirect then."""
    end = scene.window.end
    page_id = scene.claim(lambda page: _movable(scene, page))
    yield end - 30 * MINUTE
    title = _moved_title(scene, page_id)
    scene.wiki.move(scene.now, page_id, title, scene.words.user(), leave_redirect=True)
    yield end + 2 * HOUR
    _link(scene, page_id, title)
    scene.release(page_id)


def _redirect(scene: Scene, page_id: int) -> None:
    other = scene.pick(lambda page: page != page_id)
    target = scene.wiki.wiki.pages[other].last.title
    content = Redirection(target, "{{R from merge}}")
    scene.wiki.edit(scene.now, page_id, content, scene.words.user(), f"merged into [[{target}]]")


def redirect_and_back(scene: Scene) -> Story:
    """An article is a redirect for some hours of the window."""
    page_id = scene.claim()
    document = current(scene, page_id)
    _redirect(scene, page_id)
    yield scene.after(HOUR, DAY)
    save(scene, page_id, touched(scene, document), "not merged after all")
    scene.release(page_id)


def redirect_for_good(scene: Scene) -> Story:
    """An article becomes a redirect."""
    page_id = scene.claim()
    _redirect(scene, page_id)
    yield scene.after(MINUTE, HOUR)
    scene.release(page_id)


def redirect_over_boundary(scene: Scene) -> Story:
    """Text, redirect, boundary, text: at the boundary there is no article."""
    end = scene.window.end
    page_id = scene.claim()
    document = touched(scene, current(scene, page_id))
    save(scene, page_id, document)
    yield end - 6 * HOUR
    _redirect(scene, page_id)
    yield end + DAY
    save(scene, page_id, document, "article again")
    scene.release(page_id)


def redirect_undone(scene: Scene) -> Story:
    """What was a redirect at the start becomes an article."""
    end = scene.window.end
    found = [
        page
        for page, state in scene.wiki.wiki.live_before(scene.window.start)
        if state.namespace == 0
        and page not in scene.subjects
        and isinstance(scene.wiki.wiki.current(page).content, Redirection)
    ]
    page_id = scene.rng.choice(found)
    subject, item = _described(scene)
    scene.hold(page_id)
    scene.add_subject(page_id, subject._replace(item_id=""))
    save(scene, page_id, compose(scene, subject, item), "no redirect any more")
    yield end
    scene.release(page_id)


# --- deletions ------------------------------------------------------------------------------


def delete(scene: Scene) -> Story:
    """An article is deleted, and its sitelink, or its item, goes after it."""
    page_id = scene.claim(lambda page: _linked(scene, page))
    scene.wiki.delete(scene.now, page_id, ADMIN, "[[WP:PROD]] expired")
    yield scene.after(MINUTE, 2 * HOUR)
    _link(scene, page_id, None)
    if scene.rng.random() < 0.5:  # noqa: PLR2004 - as often as not
        yield scene.after(HOUR, DAY)
        item_id = scene.subjects[page_id].item_id
        if scene.is_item(item_id):
            scene.data.delete(scene.now, scene.page_of_item[item_id], ADMIN, "not notable")


def delete_and_restore(scene: Scene) -> Story:
    """An article is gone for some hours, comes back whole, and is edited."""
    page_id = scene.claim()
    revisions = scene.wiki.wiki.pages[page_id].last.revisions
    scene.wiki.delete(scene.now, page_id, ADMIN, "copyright")
    yield scene.after(HOUR, DAY)
    scene.wiki.restore(scene.now, page_id, revisions, ADMIN, "permission given")
    if scene.rng.random() < 0.5:  # noqa: PLR2004 - as often as not
        yield scene.after(MINUTE, HOUR)
        save(scene, page_id, touched(scene, current(scene, page_id)))
    scene.release(page_id)


def partial_restore(scene: Scene) -> Story:
    """Two edits, deletion, and a restore up to the revision before them."""
    end = scene.window.end
    page_id = scene.claim()
    kept = scene.wiki.wiki.pages[page_id].last.revisions
    for _ in range(2):
        save(scene, page_id, touched(scene, current(scene, page_id)))
        yield scene.after(MINUTE, HOUR)
    scene.wiki.delete(scene.now, page_id, ADMIN, "copyright of the last revisions")
    yield scene.after(MINUTE, HOUR)
    scene.wiki.restore(scene.now, page_id, kept, ADMIN, "clean revisions")
    yield end
    scene.release(page_id)


def restore_next_month(scene: Scene) -> Story:
    """An article is deleted in one window and restored in the next: new there."""
    end = scene.window.end
    page_id = scene.claim()
    revisions = scene.wiki.wiki.pages[page_id].last.revisions
    scene.wiki.delete(scene.now, page_id, ADMIN, "discussed")
    yield end + DAY
    scene.wiki.restore(scene.now, page_id, revisions, ADMIN, "discussed again")
    scene.release(page_id)


def merge_history(scene: Scene) -> Story:
    """A copy-and-paste move is repaired: the old page's whole history goes to the new one."""
    end = scene.window.end
    source = scene.claim(lambda page: _movable(scene, page))
    subject, title = scene.subjects[source], _moved_title(scene, source)
    document = current(scene, source)
    yield scene.now + MINUTE
    target = scene.wiki.create(scene.now, title, document, scene.words.user(), "better title")
    scene.add_subject(target, subject)
    scene.hold(target)
    yield scene.after(MINUTE, HOUR)
    save(scene, target, touched(scene, document))
    yield scene.after(HOUR, DAY)
    old_title = scene.wiki.wiki.pages[source].last.title
    scene.wiki.merge_history(scene.now, source, target, ADMIN)
    yield scene.after(MINUTE, HOUR)
    if scene.rng.random() < 0.5:  # noqa: PLR2004 - as often as not
        scene.wiki.create(scene.now, old_title, Redirection(title), ADMIN, "redirect")
    _link(scene, target, title)
    yield end
    scene.release(target)


@single
def talk(scene: Scene) -> None:
    """A talk page of a live article is begun."""
    page_id = scene.pick()
    title = f"Talk:{scene.wiki.wiki.pages[page_id].last.title}"
    if not scene.wiki.wiki.id_of(title):
        text = f"== Question ==\nIs the {scene.words.word()} still there?\n"
        scene.wiki.create(scene.now, title, RawText(text), scene.words.user())
