"""Table dumps of MediaWiki (``page_props.sql.gz``, ``redirect.sql.gz``), row by row.

::

    for props in page_props(path):
        if props.name == "wikibase_item": ...

These are the output of ``mysqldump``: one ``INSERT`` a line with many rows. Values of text
columns come as bytes from :func:`rows`, since their character set is binary. The last line
``-- Dump completed`` is required.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from twiki.dumps.compression import open_dump
from twiki.dumps.lines import lines
from twiki.errors import DumpError
from twiki.records import Record

Value = int | float | bytes | None
Row = tuple[Value, ...]

_INSERT = re.compile(rb"INSERT(?: IGNORE)? INTO `([^`]+)`\s*(?:\(([^)]*)\)\s*)?VALUES\s*")
_CREATE = re.compile(rb"CREATE TABLE (?:IF NOT EXISTS )?`([^`]+)`")
_COLUMN = re.compile(rb"\s+`([^`]+)` ")
_VALUE = re.compile(
    rb"""(?:_binary\s*)?'((?:[^'\\]|\\.|'')*)'|(NULL)|0x((?:[0-9A-Fa-f]{2})*)"""
    rb"""|(-?\d+)(?![\d.eE])|(-?\d*\.?\d+(?:[eE][-+]?\d+)?)""",
    re.DOTALL,
)
_ESCAPE = re.compile(rb"\\(.)|''", re.DOTALL)
_ESCAPES = {b"0": b"\0", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"Z": b"\x1a"}


class PageProp(Record, frozen=True, kw_only=True):
    """A row of ``page_props``."""

    page_id: int
    name: str
    value: str


class RedirectRow(Record, frozen=True, kw_only=True):
    """A row of ``redirect``: where the page ``page_id`` leads. ``title`` has no prefix."""

    page_id: int
    namespace: int
    title: str
    fragment: str | None = None
    interwiki: str | None = None


def rows(path: Path, table: str) -> Iterator[dict[str, Value]]:
    """Yield each row of ``table`` by column name.

    Raises:
        DumpError: the file is damaged, cut, or of another table.
    """
    reading = _Reading(path, table.encode())
    with open_dump(path) as dump:
        for offset, line in lines(dump):
            yield from reading.rows(offset, line)
    if not reading.found:
        raise DumpError(f"{path}: expected table {table!r}, found none of that name")
    if not reading.complete:
        raise DumpError(
            f"{path}: expected the last line '-- Dump completed', found the end of the file. "
            "It is cut: fetch it again.",
        )


class _Reading:
    """What is known of the table so far: its columns, whether the dump has ended."""

    def __init__(self, path: Path, table: bytes) -> None:
        self._path = path
        self._table = table
        self._columns: list[str] = []
        self._defining = False
        self.found = False
        self.complete = False

    def rows(self, offset: int, line: bytes) -> Iterator[dict[str, Value]]:
        """Yield the rows on ``line``."""
        if match := _INSERT.match(line):
            if match[1] == self._table:
                self.found = True
                yield from self._inserted(offset, line, match)
        elif match := _CREATE.match(line):
            self._defining = match[1] == self._table
            self.found |= self._defining
        elif self._defining and (match := _COLUMN.match(line)):
            self._columns.append(match[1].decode())
        elif line.startswith(b")"):
            self._defining = False
        elif line.startswith(b"-- Dump completed"):
            self.complete = True

    def _inserted(
        self,
        offset: int,
        line: bytes,
        insert: re.Match[bytes],
    ) -> Iterator[dict[str, Value]]:
        columns = re.findall(r"`([^`]+)`", (insert[2] or b"").decode()) or self._columns
        for row in _tuples(self._path, line, insert.end(), offset):
            if len(row) != len(columns):
                raise DumpError(
                    f"{self._path}: near byte {offset:,} of the text: expected a row of "
                    f"{len(columns)} columns, found {len(row)}",
                )
            yield dict(zip(columns, row, strict=True))


def page_props(path: Path) -> Iterator[PageProp]:
    """Yield the rows of a ``page_props`` dump. Raises DumpError as :func:`rows`."""
    for row in rows(path, "page_props"):
        yield PageProp(
            page_id=_integer(path, row, "pp_page"),
            name=_string(row.get("pp_propname")) or "",
            value=_string(row.get("pp_value")) or "",
        )


def redirects(path: Path) -> Iterator[RedirectRow]:
    """Yield the rows of a ``redirect`` dump. Raises DumpError as :func:`rows`."""
    for row in rows(path, "redirect"):
        yield RedirectRow(
            page_id=_integer(path, row, "rd_from"),
            namespace=_integer(path, row, "rd_namespace"),
            title=(_string(row.get("rd_title")) or "").replace("_", " "),
            fragment=_string(row.get("rd_fragment")) or None,
            interwiki=_string(row.get("rd_interwiki")) or None,
        )


def _tuples(path: Path, line: bytes, start: int, offset: int) -> Iterator[Row]:
    position = start
    while line[position : position + 1] == b"(":
        row: list[Value] = []
        while True:
            match = _VALUE.match(line, position + 1)
            if match is None:
                raise _damaged(path, offset + position)
            row.append(_value(match))
            position = match.end()
            mark = line[position : position + 1]
            if mark == b")":
                break
            if mark != b",":
                raise _damaged(path, offset + position)
        yield tuple(row)
        position += 2 if line[position + 1 : position + 2] == b"," else 1
    if line[position : position + 1] != b";":
        raise _damaged(path, offset + position)


def _value(match: re.Match[bytes]) -> Value:
    text, null, binary, integer, number = match.groups()
    if text is not None:
        return _ESCAPE.sub(_unescape, text) if b"\\" in text or b"'" in text else text
    if null is not None:
        return None
    if binary is not None:
        return bytes.fromhex(binary.decode())
    return int(integer) if integer is not None else float(number)


def _unescape(match: re.Match[bytes]) -> bytes:
    return _ESCAPES.get(match[1], match[1]) if match[1] is not None else b"'"


def _damaged(path: Path, offset: int) -> DumpError:
    return DumpError(f"{path}: near byte {offset:,} of the text: not a row of values")


def _integer(path: Path, row: dict[str, Value], column: str) -> int:
    value = row.get(column)
    if not isinstance(value, int):
        raise DumpError(f"{path}: expected a number in column {column!r}, found {value!r}")
    return value


def _string(value: Value) -> str | None:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else None
