"""Filling a state from the dumps of a boundary: where every state begins.

The dump's revisions stand for the boundary ``as_of``. Pages that were edited between the
boundary and the moment when the dump read them carry a younger revision; it is pinned for
policy ``dump``, and for policy ``boundary`` the one before it is fetched by id.
"""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import msgspec

from twiki.dumps import entities as entity_dumps
from twiki.dumps import xml
from twiki.dumps.revisions import of_entity, of_page
from twiki.engine import Engine
from twiki.errors import StateError
from twiki.times import from_ms
from twiki.windows import fitting
from twiki.windows.gate import Gate, PageProps, take_page_props

Progress = Callable[[str, int], None]
ARTICLE_BYTES, ENTITY_BYTES = "bytes of articles", "bytes of entities"
"""Stages of progress whose total is known: the sizes of the files."""
_COMMIT_EVERY = 1000


class Bootstrapped(msgspec.Struct, kw_only=True):
    """What a bootstrap put into the state."""

    pages: int = 0
    redirects: int = 0
    other_namespaces: int = 0
    unreadable: int = 0
    """Pages whose text the dump does not carry."""
    entities: int = 0
    outlines: int = 0
    """Entities without an article, of which this run kept the labels alone."""
    not_entities: int = 0
    """Lexemes and the like."""
    damaged_lines: int = 0
    damaged: list[str] = []
    """The first of them: file, byte offset and reason."""


def bootstrap(
    engine: Engine,
    articles: Iterable[Path],
    entities: Iterable[Path] = (),
    *,
    page_props: Iterable[PageProps] = (),
    progress: Progress = lambda _stage, _more: None,
) -> Bootstrapped:
    """Fill the state whose first boundary is that of the dumps.

    What an earlier, killed run put in is skipped by revision id. ``page_props`` names the articles
    of entities that carry no link to one.

    Raises:
        DumpError: a file is of another wiki or of a day before the boundary, before anything
            changes; or damaged.
        StateError: the state has gone on since: a window of it has closed.
    """
    if engine.progress.closed:
        raise StateError(
            "this state has closed a window since it began: bootstrap an empty folder instead"
        )
    articles, entities = list(articles), list(entities)
    boundary = from_ms(engine.progress.first)
    fitting.check(engine.config.wiki.name, articles, entities, boundary=boundary)
    done = Bootstrapped()
    for path in articles:
        _pages(engine, path, done, progress)
    take_page_props(engine, page_props, engine.progress.first)
    for path in entities:
        _entities(engine, path, done, progress)
    engine.progress.bootstrapped = True
    engine.commit(sync=True)
    return done


def _pages(engine: Engine, path: Path, done: Bootstrapped, progress: Progress) -> None:
    wiki, tracked = engine.config.wiki.name, engine.context.namespaces
    boundary = from_ms(engine.progress.first)

    def held(page_id: int, rev_id: int) -> bool:
        known = engine.store.held(page_id)
        if known is None or all(e.rev != rev_id for e in known.entries):
            return False
        done.pages += 1
        progress("pages", 1)
        return True

    with xml.open(path) as dump:
        dump.file.watch = partial(progress, ARTICLE_BYTES)
        for number, page in enumerate(dump.pages(skip=held), 1):
            progress("pages", 1)
            if tracked is not None and page.namespace not in tracked:
                done.other_namespaces += 1
                continue
            if not page.revisions:
                continue
            newest = max(page.revisions, key=lambda r: (r.timestamp, r.rev_id))
            done.pages += 1
            done.redirects += page.redirect is not None
            done.unreadable += newest.text is None
            engine.apply(of_page(wiki, page, newest, boundary=boundary), page.page_id)
            if number % _COMMIT_EVERY == 0:
                engine.commit()


def _entities(engine: Engine, path: Path, done: Bootstrapped, progress: Progress) -> None:
    boundary = from_ms(engine.progress.first)

    def held(entity_id: str, rev_id: int) -> bool:
        known = engine.store.held(entity_id)
        if known is None or all(e.rev != rev_id for e in known.entries):
            return False
        done.entities += 1
        progress("entities", 1)
        return True

    gate = Gate(engine, engine.progress.first)
    with entity_dumps.open(path) as dump:
        dump.file.watch = partial(progress, ENTITY_BYTES)
        for number, entity in enumerate(dump.entities(skip=held), 1):
            progress("entities", 1)
            if entity.id[:1] not in {"Q", "P"}:
                done.not_entities += 1
                continue
            done.entities += 1
            outline = gate.outline(entity, engine.store.held(entity.id))
            done.outlines += outline
            revision = of_entity(
                engine.config.wiki.repository, entity, boundary=boundary, outline=outline
            )
            engine.apply(revision, entity.id)
            if number % _COMMIT_EVERY == 0:
                engine.commit()
        done.damaged_lines += dump.damaged_lines
        done.damaged += fitting.damaged(dump)
