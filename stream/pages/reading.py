"""Rows of a dataset, page by page, by the keys that its files are sorted by.

A mark names the last row that was seen. The same mark gives the same rows for ever, because a
version of a dataset never changes, and costs the same wherever it lies: DuckDB skips the row
groups before it. Rows of a key are found in the same way, without an index.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from stream.pages.library import Shelved
from stream.pages.query import Tables
from twiki.errors import UsageError
from twiki.records import Record
from twiki.windows.schema import FACT_PARTS, Part

PAGE = 50
MOST = 200
"""Rows a page."""
_MOST_CHARACTERS = 4_000_000
"""Of text in a page: it ends early rather than grow."""
_FACT_KEY = (("subject_qid", str), ("relation_pid", str), ("object_qid_or_value", str))
_KEYS: dict[Part, tuple[tuple[str, type], ...]] = {
    Part.DIFFSET: (("id", int),),
    Part.SENTENCES: (("id", int), ("ordinal", int)),
    Part.TOMBSTONES: (("wiki", str), ("rev_id", int)),
    Part.NONDIFF: (("file_row_number", int),),
    **dict.fromkeys(
        FACT_PARTS, (("subject_qid", str), ("relation_pid", str), ("object_qid_or_value", str))
    ),
}


_LISTED = (
    *(name for name, _ in _FACT_KEY),
    "subject",
    "relation",
    "object",
    "previous_labels",
    "previous_objects",
    "class",
)


class Page(Record, frozen=True, kw_only=True):
    """Some rows in order, and the mark of the last one where others follow."""

    rows: list[dict[str, Any]]
    after: str | None = None


def mark(part: Part, row: dict[str, Any]) -> str:
    """The mark of a row."""
    return _marked([row[name] for name, _ in _KEYS[part]])


def _marked(values: list[Any]) -> str:
    return urlsafe_b64encode(msgspec.json.encode(values)).decode().rstrip("=")


def values_of(part: Part, text: str) -> list[Any]:
    """The key that a mark holds.

    Raises:
        UsageError: it is no mark of this part.
    """
    kinds = tuple(kind for _, kind in _KEYS[part])
    try:
        content = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        values = msgspec.json.decode(content, type=tuple[*kinds])  # type: ignore[valid-type]
    except (ValueError, msgspec.MsgspecError) as error:
        raise UsageError("after: not a mark that an earlier page gave") from error
    found = list(values)
    if _marked(found) != text or any(
        isinstance(value, int) and not -(2**63) <= value < 2**63 for value in found
    ):
        raise UsageError("after: not a mark that an earlier page gave")
    return found


class Reading:
    """Rows of the datasets of a library."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def page(
        self, shelf: Shelved, part: Part, *, after: str | None = None, limit: int = PAGE
    ) -> Page:
        """The rows behind the mark ``after``, in the order of the file.

        Raises:
            UsageError: ``after`` is no mark of this part.
        """
        limit = max(1, min(limit, MOST))
        where: str = "true"
        values: list[Any] = []
        if after is not None:
            where, values = _behind(part, values_of(part, after))
        number = ", file_row_number = true" if part is Part.NONDIFF else ""
        rows = self._rows(shelf, part, where, [*values, limit + 1], tail=" LIMIT ?", more=number)
        more = len(rows) > limit
        shown = _bounded(rows[:limit])
        more = more or len(shown) < min(len(rows), limit)
        last = mark(part, shown[-1]) if more and shown else None
        for row in shown:
            row.pop("file_row_number", None)
        return Page(rows=shown, after=last)

    def article(self, shelf: Shelved, page_id: int, *columns: str) -> dict[str, Any] | None:
        """The row of an article in the diffset; all columns where none is named."""
        chosen = ", ".join(columns) or "*"
        found = self._rows(shelf, Part.DIFFSET, "id = ?", [page_id], columns=chosen)
        return found[0] if found else None

    def sentences(self, shelf: Shelved, page_id: int, *columns: str) -> list[dict[str, Any]]:
        """The diff sentences of an article, in order; all columns where none is named."""
        chosen = ", ".join(columns) or "*"
        return self._rows(shelf, Part.SENTENCES, "id = ?", [page_id], columns=chosen)

    def facts_of(
        self, shelf: Shelved, part: Part, page_id: int, *columns: str
    ) -> list[dict[str, Any]]:
        """The facts of a part whose subject's article it is; all columns where none is named."""
        chosen = ", ".join(columns) or "*"
        return self._rows(shelf, part, "page_id = ?", [page_id], columns=chosen)

    def facts_at(
        self, shelf: Shelved, keys: Sequence[tuple[str, ...]], *, whole: bool
    ) -> list[dict[str, Any]]:
        """Facts by part, subject, relation and object, in that order; the part in ``part``.

        Not ``whole``: the columns of a list alone. Hits lie in as many row groups, and most of
        the time goes into reading columns.
        """
        columns = "*" if whole else ", ".join(_LISTED)
        found: dict[tuple[str, ...], dict[str, Any]] = {}
        for part in sorted({key[0] for key in keys}):
            subjects = sorted({key[1] for key in keys if key[0] == part})
            marks = ", ".join("?" * len(subjects))
            for row in self._rows(
                shelf, Part(part), f"subject_qid IN ({marks})", subjects, columns=columns
            ):
                key = (part, *(row[name] for name, _ in _FACT_KEY))
                found[key] = {**row, "part": part}
        return [found[key] for key in keys if key in found]

    def fact(
        self, shelf: Shelved, part: Part, subject: str, relation: str, digest: str
    ) -> dict[str, Any] | None:
        """The fact whose object has that :func:`object_digest`."""
        where = "subject_qid = ? AND relation_pid = ?"
        rows = self._rows(shelf, part, where, [subject, relation])
        return next((r for r in rows if object_digest(r["object_qid_or_value"]) == digest), None)

    def passages(self, shelf: Shelved, page_id: int) -> list[dict[str, Any]]:
        """The passages of an article that the window left as they were."""
        return self._rows(shelf, Part.NONDIFF, "id = ?", [page_id])

    def _rows(
        self,
        shelf: Shelved,
        part: Part,
        where: str,
        values: Sequence[object],
        *,
        tail: str = "",
        more: str = "",
        columns: str = "*",
    ) -> list[dict[str, Any]]:
        path = shelf.folder / part.file
        sql = f"SELECT {columns} FROM read_parquet($files{more}) WHERE {where}{tail}"  # noqa: S608 - no input in it
        return self.tables.rows(sql, path, values)


def object_digest(value: str) -> str:
    """A short name for an object in an address: BLAKE2b-64 of its id or value."""
    return blake2b(value.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _behind(part: Part, key: list[Any]) -> tuple[str, list[Any]]:
    """SQL for the rows behind a key: the first column alone decides which row groups are read."""
    names = [name for name, _ in _KEYS[part]]
    first = names[0]
    terms, values = [], [key[0]]
    for depth, name in enumerate(names):
        equal = " AND ".join(f"{other} = ?" for other in names[:depth])
        terms.append(f"({equal} AND {name} > ?)" if equal else f"{name} > ?")
        values += [*key[:depth], key[depth]]
    return f"{first} >= ? AND ({' OR '.join(terms)})", values


def _bounded(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As many of the rows as keep the page small; one at least."""
    size = 0
    shown: list[dict[str, Any]] = []
    for row in rows:
        size += sum(len(value) for value in row.values() if isinstance(value, str))
        if shown and size > _MOST_CHARACTERS:
            break
        shown.append(row)
    return shown
