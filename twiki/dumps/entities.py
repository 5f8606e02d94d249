"""Entity dumps of Wikidata: ``[``, one entity a line, ``]``; also plain JSON lines.

::

    with entities.open(path) as dump:
        for entity in dump.entities(skip=state.has_entity):
            twiki.entities.decode(entity.raw, ...)
        dump.damaged                        # lines that are no JSON, by byte offset

Order is not by id. Items, properties and lexemes all come out; the caller decides. With
``skip(id, lastrevid)`` the two are found by their bytes and a skipped line is never parsed.

The closing bracket is required where there is an opening one. A damaged line is passed over
and counted; more than one in ten thousand ends the iteration with an error (a single one is
always let pass; while reading, eleven and more are held against the lines so far).
"""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from twiki.closing import Closing
from twiki.dumps.compression import DumpFile, open_dump
from twiki.dumps.lines import spans
from twiki.errors import DumpError
from twiki.records import Record

__all__ = ["DamagedLine", "DumpEntity", "EntityDump", "Skip", "open"]

Skip = Callable[[str, int], bool]
"""(entity id, revision id) → whether the caller has that revision and needs nothing of it."""

_BOM = b"\xef\xbb\xbf"
DAMAGED_IN = 10_000
"""One damaged line in so many is let pass."""
_PATIENCE = 10
"""Damaged lines before the share is looked at while reading."""
_NAMED = 100
"""Damaged lines kept with their offsets; all are counted."""
_EDGE = 512
"""Bytes at either end of a line in which page metadata is looked for."""

_SCALAR = rb'"(?:[^"\\]|\\.)*"|-?[\d.eE+]+|true|false|null'
_HEAD = re.compile(rb'\{\s*(?:"\w+"\s*:\s*(?:' + _SCALAR + rb")\s*,\s*)*")
_TAIL = re.compile(rb'(?:\s*,\s*"\w+"\s*:\s*(?:' + _SCALAR + rb"))*\s*\}[\s,]*")
_HEAD_AS_USUAL = re.compile(rb'\{"type":"(?:item|property)","id":"([QP][1-9][0-9]*)"')
_TAIL_AS_USUAL = re.compile(rb'"lastrevid":(\d{1,18}),"modified":"[^"\\]*"\},?\s*')
_ID = re.compile(rb'"id"\s*:\s*"([A-Z][1-9][0-9]*)"')
_REV = re.compile(rb'"lastrevid"\s*:\s*(\d{1,18})(?=\s*[,}])')


class DumpEntity(Record, frozen=True, kw_only=True):
    """One entity as the dump has it. ``rev_id`` and ``modified`` only with page metadata."""

    id: str
    raw: bytes
    """Its JSON."""
    offset: int
    """Of its line in the decompressed text."""
    rev_id: int | None = None
    modified: datetime | None = None


class DamagedLine(Record, frozen=True, kw_only=True):
    """A line that is not an entity."""

    offset: int
    reason: str


class _Head(msgspec.Struct):
    id: str
    lastrevid: int | None = None
    modified: datetime | None = None


_decode = msgspec.json.Decoder(_Head).decode
_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


class EntityDump(Closing):
    """An open entity dump, read once from beginning to end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file: DumpFile = open_dump(path)
        """For progress: ``file.position`` of ``file.total``."""
        self.lines = 0
        """Lines with an entity or damage, so far."""
        self.skipped = 0
        self.damaged_lines = 0
        self.damaged: list[DamagedLine] = []
        """The first of them."""

    def entities(self, skip: Skip | None = None) -> Iterator[DumpEntity]:
        """Yield every entity that ``skip`` does not name.

        Raises:
            DumpError: the file is damaged or cut, or too many lines are.
        """
        brackets = _Brackets(self.path)
        asking = None  # of the first line its bytes do not say where the entity begins
        for offset, text, start, end in spans(self.file):
            known = None if asking is None else known_revision(text, start, end)
            if known is not None and asking is not None and asking(*known):
                self.lines += 1
                self.skipped += 1
                continue
            if body := brackets.taken_from(offset, text[start:end]):
                yield from self._line(offset, body, skip if known is None else None)
            asking = skip if brackets.inside else None
        brackets.end(self.lines)
        if self.damaged_lines > 1 and self.damaged_lines * DAMAGED_IN > self.lines:
            raise self._too_damaged()

    def close(self) -> None:
        """Stop reading."""
        self.file.close()

    def _line(self, offset: int, body: bytes, skip: Skip | None) -> Iterator[DumpEntity]:
        self.lines += 1
        try:
            if body.startswith(b"["):
                for raw in _decode_list(body):
                    yield from self._entity(offset, bytes(raw), skip)
            else:
                yield from self._entity(offset, body, skip)
        except msgspec.DecodeError as error:
            self._damage(offset, str(error))

    def _entity(self, offset: int, raw: bytes, skip: Skip | None) -> Iterator[DumpEntity]:
        head = _decode(raw)
        if skip is not None and head.lastrevid is not None and skip(head.id, head.lastrevid):
            self.skipped += 1
            return
        yield DumpEntity(
            id=head.id,
            raw=raw,
            offset=offset,
            rev_id=head.lastrevid,
            modified=head.modified,
        )

    def _damage(self, offset: int, reason: str) -> None:
        self.damaged_lines += 1
        if len(self.damaged) < _NAMED:
            self.damaged.append(DamagedLine(offset=offset, reason=reason))
        if self.damaged_lines > max(_PATIENCE, self.lines // DAMAGED_IN):
            raise self._too_damaged()

    def _too_damaged(self) -> DumpError:
        places = ", ".join(f"byte {line.offset:,} ({line.reason})" for line in self.damaged[:3])
        return DumpError(
            f"{self.path}: expected at most one damaged line in {DAMAGED_IN:,}, found "
            f"{self.damaged_lines:,} in {self.lines:,}: {places}. Fetch it again.",
        )


class _Brackets:
    """The outermost ``[`` and ``]``, which may share a line with an entity."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: bool | None = None
        self._closed = False

    @property
    def inside(self) -> bool:
        """Whether entities may follow, after at least one line of text."""
        return self._opened is not None and not self._closed

    def taken_from(self, offset: int, line: bytes) -> bytes:
        """Return what stands on ``line`` without the comma and bracket of the outer list."""
        body = line.strip().removesuffix(b",").rstrip()
        if self._opened is None:
            return self._first(body.removeprefix(_BOM))
        if body and self._closed:
            raise DumpError(f"{self._path}: byte {offset:,}: text after the closing bracket")
        # A line that was cut may end in "}]" too: only after a whole entity is it the end.
        if self._opened and (
            body == b"]"
            or (body.startswith(b"{") and body.endswith(b"]") and _valid(_decode, body[:-1]))
        ):
            self._closed = True
            return body[:-1].rstrip()
        return body

    def _first(self, body: bytes) -> bytes:
        if not body:
            return body
        self._opened = body.startswith(b"[")
        self._closed = self._opened and body.endswith(b"]") and _valid(_decode_list, body)
        return body if self._closed or not self._opened else body[1:].lstrip()

    def end(self, found: int) -> None:
        """Refuse a file that ends inside its list, or before any."""
        if self._opened is None:
            raise DumpError(f"{self._path}: expected entities, found no line of text")
        if self._opened and not self._closed:
            raise DumpError(
                f"{self._path}: expected the closing bracket ], found the end of the file after "
                f"{found:,} entities. It is cut: fetch it again.",
            )


def _valid(decode: Callable[[bytes], object], text: bytes) -> bool:
    try:
        decode(text)
    except msgspec.DecodeError:
        return False
    return True


def open(path: Path) -> EntityDump:  # noqa: A001 (as gzip.open is)
    """Open the entity dump at ``path``; use as a context manager.

    Raises:
        DumpError: it cannot be opened, or is no text.
    """
    return EntityDump(path)


def known_revision(text: bytes, start: int = 0, end: int | None = None) -> tuple[str, int] | None:
    """Find id and ``lastrevid`` of an entity's line by their bytes, without parsing it.

    The line is ``text[start:end]``.

    Only members of the outermost object count: the run of plain values that the line begins
    with, and the one that it ends with. None: not both are there.
    """
    end = len(text) if end is None else end
    if usual := _HEAD_AS_USUAL.match(text, start, end):  # Wikidata's own dumps: thrice as fast
        at = text.rfind(b'"lastrevid"', max(start, end - _EDGE), end)
        if at >= 0 and (last := _TAIL_AS_USUAL.fullmatch(text, at, end)):
            return usual[1].decode(), int(last[1])
    line = text[start:end]
    head = _HEAD.match(line, 0, _EDGE)
    if head is None:
        return None
    entity = _ID.search(line, 0, head.end())
    if entity is None:
        return None
    rev = _REV.search(line, 0, head.end())
    if rev is None:
        at = line.rfind(b'"lastrevid"', max(0, len(line) - _EDGE))
        rev = _REV.match(line, at) if at >= 0 else None
        if rev is None or _TAIL.fullmatch(line, rev.end()) is None:
            return None
    return entity[1].decode(), int(rev[1])
