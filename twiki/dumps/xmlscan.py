"""The fast walk over a MediaWiki XML export."""

import re
from collections.abc import Iterable, Iterator

from twiki.dumps.xmlwalk import Counts, Item, Skip, walk
from twiki.errors import DumpError

_HEAD = 64 << 10
_ROOT = re.compile(rb"<(?![?!])([^\s<>/]+)[^<>]*>")


def scan(
    name: str,
    chunks: Iterable[bytes],
    skip: Skip | None = None,
    counts: Counts | None = None,
) -> Iterator[Item]:
    """As :func:`~twiki.dumps.xmlwalk.walk`."""
    source = iter(chunks)
    head = b""
    for chunk in source:
        head += chunk
        if len(head) >= _HEAD:
            break
    check_root(name, head[:_HEAD])
    yield from walk(name, _joined(head, source), skip, counts)


def check_root(name: str, head: bytes) -> None:
    """Refuse what is no export: another root element, or a document type with entities."""
    text = re.sub(rb"(?s)<!--.*?-->", b"", head.replace(b"\0", b""))
    if b"<!DOCTYPE" in text[: text.find(b"<mediawiki") % (len(text) + 1)]:
        raise DumpError(f"{name}: expected a MediaWiki export, found a document type declaration")
    root = _ROOT.search(text)
    if root is None:
        raise DumpError(f"{name}: expected <mediawiki>, found no element in {len(head):,} bytes")
    if root[1].rpartition(b":")[2] != b"mediawiki":
        found = root[1].decode("utf-8", "replace")[:40]
        raise DumpError(f"{name}: expected <mediawiki>, found <{found}>: no MediaWiki export")


def _joined(head: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from rest
