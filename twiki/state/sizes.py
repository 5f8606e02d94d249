"""How much a state holds, by kind."""

from collections.abc import Callable

from twiki.records import Record
from twiki.state import layout
from twiki.state.store import Store

KINDS = {
    layout.PAGE: "pages",
    layout.TEXT: "texts",
    layout.ENTITY: "entities",
    layout.CONTENT: "entity contents",
    layout.TOUCHED: "touched in a window",
    layout.TITLE: "titles",
    layout.HASH: "articles by hash",
    layout.SAMPLED: "sampled entities",
    layout.ARTICLE: "articles by page_props",
    layout.MERGED: "merged items by redirects",
    layout.NEED: "texts to fetch",
    layout.OUTBOX: "outbox",
    layout.DEAD: "dead letters",
    layout.LATE: "late events",
    layout.SIDE: "side records",
    layout.REREAD: "pages to read again",
    layout.HIDDEN: "hidden revisions",
    layout.META: "records of the engine",
}


class Size(Record, frozen=True, kw_only=True):
    """Records of a kind, and their keys and values in bytes before RocksDB compresses them."""

    records: int = 0
    bytes: int = 0


def sizes(store: Store, progress: Callable[[int], None] = lambda _more: None) -> dict[str, Size]:
    """Read the whole state; kinds in the order of :data:`KINDS`, those without records too."""
    found = dict.fromkeys(KINDS.values(), Size())
    for family, name in KINDS.items():
        records = size = 0
        for key, value in store.kv.scan(family):
            records += 1
            size += len(key) + len(value)
            progress(1)
        found[name] = Size(records=records, bytes=size)
    return found
