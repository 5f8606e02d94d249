"""The keys of the state store, in words and a drawing.

One key space; the first byte tells what a key is. Numbers are big-endian, so that keys sort
as the numbers do::

    p <page:8>                      ledger record of a page            (codec.Held)
    t <page:8> <rev:8>              a page's text                      (contents)
    e <id>                          ledger record of an entity         (codec.Held)
    c <id> 00 <rev:8>               an entity's content                (records.Entity)
    w <window start:8> p <page:8>   index: pages touched in a window
    w <window start:8> e <id>       index: entities touched in a window
    i <title> 00 <page:8>           index: pages that bear or bore a title
    h <hash:8> <page:8>             index: articles in the order of their hash (nondiff)
    u <id>                          index: entities with a sampled fact (L13)
    q <boundary:8> <id>             the entity's page by page_props of that boundary: <page:8>
    g <boundary:8> <id>             the item it was merged into by the redirects of that boundary
    n p <page:8> <rev:8>            a text to be fetched by id
    n e <id> 00 <rev:8>             an entity revision to be fetched by id
    o <window start:8> <seq:8>      outbox: diff sentences and facts as they happened
    d <seq:8>                       dead letters
    l <seq:8>                       late events, with the window they correct
    s <seq:8>                       side records: late, inconsistent, failed (the newest ones)
    r <wiki> 00 <title>             pages and entities to be read again from the API
    x <rev:8>                       revisions hidden since, until the datasets are without them
    m <name>                        schema, settings, source position, windows, counters

An index may name what has since gone: readers check against the ledger.
"""

from hashlib import blake2b

PAGE, TEXT, ENTITY, CONTENT = b"p", b"t", b"e", b"c"
TOUCHED, TITLE, HASH, SAMPLED, NEED, ARTICLE = b"w", b"i", b"h", b"u", b"n", b"q"
OUTBOX, DEAD, LATE, META = b"o", b"d", b"l", b"m"
SIDE, REREAD, HIDDEN, MERGED = b"s", b"r", b"x", b"g"

Id = int | str
"""A page id or an entity id."""


def number(value: int) -> bytes:
    """Eight bytes that sort as the number."""
    return value.to_bytes(8, "big")


def page_hash(page_id: int) -> bytes:
    """BLAKE2b-64 of the page id in decimal: the order of articles in ``nondiff``."""
    return blake2b(str(page_id).encode(), digest_size=8).digest()


def record(key: Id) -> bytes:
    """Where the ledger record of a page or entity is."""
    return PAGE + number(key) if isinstance(key, int) else ENTITY + key.encode()


def content(key: Id, rev: int) -> bytes:
    """Where the content of a revision is."""
    if isinstance(key, int):
        return TEXT + number(key) + number(rev)
    return CONTENT + key.encode() + b"\0" + number(rev)


def touched(window_ms: int, key: Id) -> bytes:
    """Index entry: ``key`` was touched in the window that starts at ``window_ms``."""
    return TOUCHED + number(window_ms) + record(key)


def article(boundary_ms: int, entity_id: str) -> bytes:
    """Where the page is that ``page_props`` names for an entity at a boundary."""
    return ARTICLE + number(boundary_ms) + entity_id.encode()


def merged(boundary_ms: int, entity_id: str) -> bytes:
    """Where the item is that an entity was merged into, by the redirects of a boundary."""
    return MERGED + number(boundary_ms) + entity_id.encode()


def title(text: str, page_id: int) -> bytes:
    """Index entry: the page bears or bore the title."""
    return title_prefix(text) + number(page_id)


def title_prefix(text: str) -> bytes:
    """The index entries of a title."""
    return TITLE + text.encode("utf-8", "surrogatepass") + b"\0"


def reread(wiki: str, title: str) -> bytes:
    """Queue entry: the page of ``title`` is to be read again."""
    return REREAD + wiki.encode() + b"\0" + title.encode("utf-8", "surrogatepass")


def need(key: Id, rev: int) -> bytes:
    """Mark: this revision's content is to be fetched."""
    return NEED + (record(key) if isinstance(key, int) else record(key) + b"\0") + number(rev)


def parse_need(key: bytes) -> tuple[Id, int]:
    """What a need mark names: page or entity, and revision."""
    rev = int.from_bytes(key[-8:], "big")
    return (parse(key[1:-8]) if key[1:2] == PAGE else key[2:-9].decode()), rev


def parse(record_key: bytes) -> Id:
    """The page id or entity id of a ledger record's key."""
    if record_key[:1] == PAGE:
        return int.from_bytes(record_key[1:], "big")
    return record_key[1:].decode()
