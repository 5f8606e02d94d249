"""Whether dumps fit a state, told by their first lines and names: before anything is changed.

Refused are the articles of another wiki, entities without page metadata (nothing could be held
against them), and a dump whose name gives a day before the boundary that it is to stand for: it
is older than the state.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from twiki.dumps import entities as entity_dumps
from twiki.dumps import xml
from twiki.errors import DumpError

_DAY = re.compile(r"(?<!\d)(2[01]\d\d)(\d\d)(\d\d)(?!\d)")


def check(
    wiki: str,
    articles: Iterable[Path],
    entities: Iterable[Path],
    *,
    boundary: datetime | None = None,
) -> None:
    """Look at the beginning of every file.

    Args:
        wiki: the one that the state follows.
        articles: XML dumps.
        entities: JSON dumps.
        boundary: no dump may be of an earlier day; None: any may.

    Raises:
        DumpError: the first that does not fit; nothing has been changed.
    """
    for path in articles:
        _not_older(path, boundary)
        with xml.open(path, allow_empty=True) as dump:
            found = dump.siteinfo.dbname
        if found and found != wiki:
            raise DumpError(
                f"{path}: expected a dump of {wiki}, found one of {found}: name the right file, "
                "or set [wiki] name"
            )
    for path in entities:
        _not_older(path, boundary)
        with entity_dumps.open(path) as items:
            first = next(items.entities(), None)
        if first is not None and (first.rev_id is None or first.modified is None):
            raise DumpError(
                f"{path}: {first.id} at byte {first.offset} has no lastrevid or no modified; the "
                "dump must carry page metadata, as Wikidata's own do"
            )


def damaged(dump: entity_dumps.EntityDump) -> list[str]:
    """The first lines of a dump that are no entity, for people: file, byte offset, reason."""
    return [f"{dump.path.name}: byte {one.offset:,}: {one.reason}" for one in dump.damaged]


def day_of(path: Path) -> datetime | None:
    """The day in a dump's file name (``enwiki-20261101-…``), else that its folder is named by."""
    folder = path.resolve().parent.name
    for name in (path.name, folder if folder.isdecimal() else ""):
        for year, month, day in _DAY.findall(name):
            try:
                return datetime(int(year), int(month), int(day), tzinfo=UTC)
            except ValueError:  # eight digits that are no date
                continue
    return None


def _not_older(path: Path, boundary: datetime | None) -> None:
    day = day_of(path)
    if boundary is None or day is None or day + timedelta(days=1) > boundary:
        return
    raise DumpError(
        f"{path}: expected a dump of {boundary:%Y-%m-%d} or later, found one of {day:%Y-%m-%d}: "
        "it is older than the state"
    )
