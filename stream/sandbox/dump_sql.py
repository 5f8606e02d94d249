"""Tables as mysqldump writes them: ``page_props`` and ``redirect``.

Table dumps run early in a dump run, hours before the page texts, so they show the wiki of
another moment than the XML beside them.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from stream.sandbox.model import ENWIKI, NAMESPACES, PageView

Value = int | str | None

_ROWS_A_STATEMENT = 1000
_ESCAPES = str.maketrans(
    {"\\": "\\\\", "'": "\\'", '"': '\\"', "\n": "\\n", "\r": "\\r", "\0": "\\0", "\x1a": "\\Z"}
)
_SCHEMAS = {
    "page_props": """\
  `pp_page` int(10) unsigned NOT NULL,
  `pp_propname` varbinary(60) NOT NULL DEFAULT '',
  `pp_value` blob NOT NULL,
  `pp_sortkey` float DEFAULT NULL,
  PRIMARY KEY (`pp_page`,`pp_propname`)""",
    "redirect": """\
  `rd_from` int(8) unsigned NOT NULL DEFAULT 0,
  `rd_namespace` int(11) NOT NULL DEFAULT 0,
  `rd_title` varbinary(255) NOT NULL DEFAULT '',
  `rd_interwiki` varbinary(32) DEFAULT NULL,
  `rd_fragment` varbinary(255) DEFAULT NULL,
  PRIMARY KEY (`rd_from`)""",
}


def table(name: str, rows: Iterable[Sequence[Value]], done: datetime) -> str:
    """The dump of a table, with the comments that tools look for."""
    listed = list(rows)
    batches = (
        listed[at : at + _ROWS_A_STATEMENT] for at in range(0, len(listed), _ROWS_A_STATEMENT)
    )
    inserts = "".join(_insert(name, batch) for batch in batches)
    return f"""\
/*M!999999\\- enable the sandbox mode */ 
-- MariaDB dump 10.19  Distrib 10.5.29-MariaDB, for debian-linux-gnu (x86_64)
--
-- Host: localhost    Database: {ENWIKI}
-- ------------------------------------------------------

/*!40101 SET NAMES utf8mb4 */;

DROP TABLE IF EXISTS `{name}`;
CREATE TABLE `{name}` (
{_SCHEMAS[name]}
) ENGINE=InnoDB DEFAULT CHARSET=binary ROW_FORMAT=COMPRESSED;

/*!40000 ALTER TABLE `{name}` DISABLE KEYS */;
{inserts}/*!40000 ALTER TABLE `{name}` ENABLE KEYS */;

-- Dump completed on {done:%Y-%m-%d %H:%M:%S}
"""  # noqa: W291 - the space is in the original


def _insert(name: str, rows: Iterable[Sequence[Value]]) -> str:
    values = ",".join(map(_row, rows))
    return f"INSERT INTO `{name}` VALUES {values};\n"  # noqa: S608 - text for a file, never run


def page_props(pages: Iterable[PageView]) -> Iterable[tuple[Value, ...]]:
    """Rows of ``page_props``: the item of each page that has one, and a property besides."""
    for page in pages:
        if page.redirect is None:
            yield (page.page_id, "page_image_free", f"Picture_{page.page_id}.jpg", None)
        if page.item is not None:
            yield (page.page_id, "wikibase_item", page.item, None)


def redirects(pages: Iterable[PageView]) -> Iterable[tuple[Value, ...]]:
    """Rows of ``redirect``: target by namespace and title in database form."""
    names = {name: number for number, name in NAMESPACES[ENWIKI].items() if name}
    for page in pages:
        if page.redirect is None:
            continue
        prefix, colon, rest = page.redirect.partition(":")
        namespace = names.get(prefix, 0) if colon else 0
        title = rest if namespace else page.redirect
        yield (page.page_id, namespace, title.strip().replace(" ", "_"), "", "")


def _row(values: Sequence[Value]) -> str:
    return "(" + ",".join(map(_value, values)) + ")"


def _value(value: Value) -> str:
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int) else f"'{value.translate(_ESCAPES)}'"
