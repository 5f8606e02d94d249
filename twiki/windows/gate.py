"""The sitelink gate: of an entity without an article in the wiki only its labels are kept.

Of a hundred million items one in fifteen has an article in the English Wikipedia. Facts come from
subjects with an article alone, so the statements of the others are neither parsed nor stored. When
one of them gets an article, what it said at the boundaries before becomes a *need*: it is read in
full, by its revision id or from the dump it came from (:func:`supply`), and Algorithm 2 is exact.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Protocol

from twiki.dumps import entities as entity_dumps
from twiki.dumps import sql
from twiki.dumps.entities import DumpEntity
from twiki.dumps.revisions import of_entity
from twiki.engine import Engine
from twiki.state import codec, layout
from twiki.state.codec import Held

_COMMIT_EVERY = 500
_ASK_AT_ONCE = 500
"""Articles whose items are asked for together."""
_ITEM = "wikibase_item"
_ID = re.compile(r"Q[1-9]\d{0,17}", re.ASCII)


class Gate:
    """Says of each entity of a dump whether an outline of it is enough."""

    def __init__(self, engine: Engine, boundary: int) -> None:
        self._store = engine.store
        self._boundary = boundary
        self._link = b'"%s"' % engine.config.wiki.name.encode()

    def outline(self, entity: DumpEntity, held: Held | None) -> bool:
        """Whether no dump names an article, and ``held``, the state's, is an outline at most.

        The wiki's name is looked for in the bytes: where it stands for something else the entity is
        kept in full, which costs room and changes no result.
        """
        if self._link in entity.raw or self._store.article_of(entity.id, self._boundary):
            return False
        if held is None or not held.revs:
            return True
        data = self._store.content(entity.id, held.revs[-1])
        return data is not None and codec.is_outline(data)


class ItemsOfArticles(Protocol):
    """Where the item of an article can be asked for: the wiki's API."""

    def items_of(self, page_ids: Sequence[int]) -> Mapping[int, str]:
        """The item of each article that has one."""


PageProps = Path | ItemsOfArticles
"""An SQL dump of the table, or the API: the one of its day, the other as of now."""


def take_page_props(engine: Engine, sources: Iterable[PageProps], boundary: int) -> int:
    """Note the article of each entity by ``page_props``: for entities that carry no link.

    Args:
        engine: the state; what is noted holds for ``boundary`` alone.
        sources: SQL dumps of the table; or the API, asked for every article of the boundary.
        boundary: milliseconds.

    Raises:
        DumpError: a dump is damaged.
        SourceError: the API does not answer.
    """
    noted = 0
    for source in sources:
        told = _listed(source) if isinstance(source, Path) else _asked(engine, source, boundary)
        for page_id, entity_id in told:
            if not _ID.fullmatch(entity_id):
                continue
            engine.batch.put(layout.article(boundary, entity_id), layout.number(page_id))
            noted += 1
            if noted % _COMMIT_EVERY == 0:
                engine.commit()
    engine.commit()
    return noted


def _listed(path: Path) -> Iterator[tuple[int, str]]:
    return ((prop.page_id, prop.value) for prop in sql.page_props(path) if prop.name == _ITEM)


def _asked(engine: Engine, source: ItemsOfArticles, boundary: int) -> Iterator[tuple[int, str]]:
    engine.commit()  # what is read is what is stored
    state = engine.as_of()
    articles = (page for page, held in engine.store.pages() if state.is_article(held, boundary))
    while part := list(islice(articles, _ASK_AT_ONCE)):
        yield from sorted(source.items_of(part).items())


def supply(engine: Engine, dumps: Iterable[Path]) -> int:
    """Read in full what the state needs of entities, from the dumps that brought their outlines.

    Returns how many were found.

    Raises:
        DumpError: a dump is damaged.
    """
    needs = {need for need in engine.store.needs() if isinstance(need[0], str)}
    found = 0
    for path in dumps if needs else ():
        with entity_dumps.open(path) as dump:
            for entity in dump.entities(skip=lambda ident, rev: (ident, rev) not in needs):
                if entity.rev_id is not None and (entity.id, entity.rev_id) in needs:
                    engine.supply(entity.id, of_entity(engine.config.wiki.repository, entity))
                    found += 1
                    if found % _COMMIT_EVERY == 0:
                        engine.commit()
    engine.commit()
    return found
