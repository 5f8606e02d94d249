"""Items that were merged into others, by the repository's own tables.

An entity dump leaves redirects out, so a pair of dumps cannot tell an item that was merged from
one that was deleted, and an object that was merged would look like another object (L8). A stream
knows: a merge is an edit. The tables ``page`` and ``redirect`` of a dump run tell the rest::

    page      Q10 is page 4711, a redirect      only of items that the state holds: few
    redirect  page 4711 leads to Q77            noted for the boundary

What is noted is asked for only where the state has no entity of that id at the boundary. Like
``page_props``, the tables are of the day on which the run read them.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from twiki.dumps import sql
from twiki.engine import Engine
from twiki.errors import DumpError
from twiki.state import layout

_ITEM = re.compile(r"Q[1-9]\d{0,17}", re.ASCII)
_ITEMS = 0
_COMMIT_EVERY = 500


def take_redirects(engine: Engine, tables: Sequence[Path], boundary: int) -> int:
    """Note where items lead that have become redirects; how many there are.

    Args:
        engine: the state; what is noted holds for ``boundary`` alone.
        tables: SQL dumps of the repository's ``page`` and ``redirect``, found by their names;
            none: nothing is noted.
        boundary: milliseconds.

    Raises:
        DumpError: one of the two is not among them, or damaged.
    """
    if not tables:
        return 0
    pages, redirects = _named(tables, "page"), _named(tables, "redirect")
    merged: dict[int, str] = {}
    for row in sql.rows(pages, "page"):
        number, name = row.get("page_id"), row.get("page_title")
        if row.get("page_is_redirect") != 1 or row.get("page_namespace") != _ITEMS:
            continue
        if not isinstance(number, int) or not isinstance(name, bytes):
            raise DumpError(f"{pages}: expected an id and a title, found {number!r}, {name!r}")
        item = name.decode("utf-8", "replace")
        if _ITEM.fullmatch(item) and engine.store.held(item) is not None:
            merged[number] = item
    noted = 0
    for to in sql.redirects(redirects):
        item = merged.get(to.page_id, "")
        if item and to.namespace == _ITEMS and not to.interwiki and _ITEM.fullmatch(to.title):
            engine.batch.put(layout.merged(boundary, item), to.title.encode())
            noted += 1
            if noted % _COMMIT_EVERY == 0:
                engine.commit()
    engine.commit()
    return noted


def _named(tables: Sequence[Path], name: str) -> Path:
    for path in tables:
        if re.search(rf"(^|-){name}\.sql", path.name):
            return path
    given = ", ".join(path.name for path in tables)
    raise DumpError(f"expected the table {name!r} ({name}.sql.gz) beside the other, found {given}")
