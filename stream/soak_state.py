"""The state of a soaked worker held against the world that it followed, page by page."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from stream.sandbox.model import ENWIKI, WIKIDATA, PageView
from stream.sandbox.world import World
from twiki.engine import Engine
from twiki.records import Article
from twiki.state.asof import AsOf, Missing
from twiki.times import to_ms

_INSTANT = timedelta(milliseconds=1)
"""A boundary belongs to the window after it; the world answers up to and including a moment."""


def strays(engine: Engine, world: World, boundary: datetime) -> Iterator[str]:
    """What of articles and items differs at the boundary: revision, text, or being there."""
    state = engine.as_of()
    yield from _articles(state, world, boundary)
    yield from _items(state, world, boundary)


def _articles(state: AsOf, world: World, boundary: datetime) -> Iterator[str]:
    at, true = to_ms(boundary), _standing(world, ENWIKI, boundary)
    for page in true:
        found = state.article(page.page_id, at).article
        if found is None or found.rev_id != page.rev_id:
            yield _told(boundary, page, None if found is None else found.rev_id)
        elif found.blocks is not None and _other_text(world, found):
            yield f"{boundary} {page.title}: another text at {page.rev_id}"
    known = {page.page_id for page in true}
    for page_id, held in state.store.pages():
        if page_id not in known and state.is_article(held, at):
            yield f"{boundary} page {page_id}: no article, found one"


def _items(state: AsOf, world: World, boundary: datetime) -> Iterator[str]:
    at, true = to_ms(boundary), _standing(world, WIKIDATA, boundary)
    for page in true:
        found = state.entity(page.title.rpartition(":")[2], at)
        if found is None or isinstance(found, Missing):
            if found is not Missing.HIDDEN:
                yield _told(boundary, page, found)
        elif found.rev_id != page.rev_id:
            yield _told(boundary, page, found.rev_id)
    known = {page.title.rpartition(":")[2] for page in true}
    for entity_id, _ in state.store.entities():
        found = state.entity(entity_id, at)
        there = found is not None and not isinstance(found, Missing)
        if there and entity_id not in known and not found.entity.redirect:  # type: ignore[union-attr]
            yield f"{boundary} {entity_id}: not there, found"


def _standing(world: World, wiki: str, boundary: datetime) -> list[PageView]:
    """Articles, or items and properties, that are no redirect just before the boundary."""
    spaces = (0,) if wiki == ENWIKI else (0, 120)
    pages = world.pages(wiki, boundary - _INSTANT)
    return [page for page in pages if page.namespace in spaces and page.redirect is None]


def _other_text(world: World, found: Article) -> bool:
    """Whether a text that can still be read is not the one held."""
    true = world.revision(ENWIKI, found.rev_id, world.now)
    return true is not None and true.text is not None and true.text != "".join(found.blocks or ())


def _told(boundary: datetime, page: PageView, found: object) -> str:
    return f"{boundary} {page.title}: {page.rev_id}, found {found}"
