"""The tables of a dataset: one frozen record a row, from which the Parquet schemas follow.

Each :class:`Part` is one Parquet file, its rows in the order of :func:`order_key`, no key
twice. The columns of a file are the fields of its record, in their order; the description of
a field is the documentation of the column, in the file itself and in the dataset card. No
column may depend on how the content came, by stream or by dump (L19).

Times are microseconds in UTC. A column allows null exactly where its field allows None.
"""

from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
import pyarrow as pa

from twiki.records import Category, FactClass, Record, SentenceKind

SCHEMA_VERSION = 1
"""Raised when a column is added, removed or changes its meaning."""


class Part(StrEnum):
    """The Parquet files of a dataset, by stem."""

    DIFFSET = "diffset"
    SENTENCES = "sentences"
    PROBES_CHANGED = "probes_changed"
    PROBES_UNCHANGED = "probes_unchanged"
    PROBES_REMOVED = "probes_removed"
    FACTS_REMOVED = "facts_removed"
    LIGHTTUNING_CHANGED = "lighttuning_changed"
    LIGHTTUNING_UNCHANGED = "lighttuning_unchanged"
    NONDIFF = "nondiff"
    TOMBSTONES = "tombstones"

    @property
    def file(self) -> str:
        """The file's name in the dataset folder."""
        return f"{self.value}.parquet"


class ArticleKind(StrEnum):
    """How an article came into the diffset (DESIGN: new article)."""

    NEW_ARTICLE = "new_article"
    UPDATED = "updated"


class Quality(StrEnum):
    """Whether a fact went through quality control; facts_removed is given as it is."""

    PASSED = "passed"
    NONE = "none"


def _column(description: str) -> msgspec.Meta:
    return msgspec.Meta(description=description)


class DiffsetRow(Record, frozen=True, kw_only=True):
    """An article with the text that the window brought: the paper's TWiki-Diffsets."""

    id: Annotated[int, _column("page id")]
    url: Annotated[str, _column("address of the article by page id")]
    title: Annotated[str, _column("title as of the window's end")]
    text: Annotated[
        str,
        _column(
            "the diff sentences in reading order, joined by a space within a paragraph and by "
            "a line feed between paragraphs"
        ),
    ]
    old_rev: Annotated[int | None, _column("revision as of the start; null: no live article")]
    new_rev: Annotated[int, _column("revision as of the end")]
    old_timestamp: Annotated[datetime | None, _column("timestamp of old_rev")]
    new_timestamp: Annotated[datetime, _column("timestamp of new_rev")]
    kind: Annotated[ArticleKind, _column("new_article: not live at the start; else updated")]
    sentences: Annotated[int, _column("number of diff sentences in text")]


class SentenceRow(Record, frozen=True, kw_only=True):
    """A diff sentence, with the sentence that it replaced."""

    id: Annotated[int, _column("page id")]
    title: Annotated[str, _column("title as of the window's end")]
    ordinal: Annotated[int, _column("place among the article's diff sentences, from 0")]
    text: Annotated[str, _column("the sentence")]
    kind: Annotated[SentenceKind, _column("new_article, added or updated")]
    replaced: Annotated[str | None, _column("updated only: the sentence that it replaced")]
    cosmetic: Annotated[bool, _column("updated only: same words, other punctuation")]
    block: Annotated[int, _column("index of its block of wikitext in new_rev")]
    paragraph: Annotated[int, _column("index of its paragraph in the block")]
    old_rev: Annotated[int | None, _column("revision as of the start; null: no live article")]
    new_rev: Annotated[int, _column("revision as of the end")]
    new_timestamp: Annotated[datetime, _column("timestamp of new_rev")]


class ProbeRow(Record, frozen=True, kw_only=True):
    """A fact as a probe; also a removed fact, which has no evidence."""

    subject: Annotated[str, _column("label of the subject; empty: none (facts_removed only)")]
    relation: Annotated[str, _column("label of the relation; empty: none (facts_removed only)")]
    object: Annotated[str, _column("label or rendered value of the object; empty as above")]
    subject_qid: Annotated[str, _column("Wikidata id of the subject")]
    relation_pid: Annotated[str, _column("Wikidata id of the property")]
    object_qid_or_value: Annotated[str, _column("Wikidata id, or the literal as rendered")]
    object_datatype: Annotated[str, _column("Wikidata's datatype, e.g. wikibase-item or time")]
    category: Annotated[Category, _column("changed, unchanged or removed")]
    fact_class: Annotated[
        FactClass, _column("new_subject, new_relation, new_object, unchanged or removed")
    ] = msgspec.field(name="class")
    previous_objects: Annotated[
        tuple[str, ...], _column("objects of (subject, relation) as of the start, ids or values")
    ]
    all_objects: Annotated[
        tuple[str, ...], _column("objects of (subject, relation) as of the end, ids or values")
    ]
    previous_labels: Annotated[tuple[str, ...], _column("labels of previous_objects")]
    object_labels: Annotated[tuple[str, ...], _column("labels of all_objects: the gold answers")]
    previous_object: Annotated[
        str | None,
        _column(
            "new_object only: label of the object before, the first that is gone; where none is "
            "gone, the first that still holds beside the new one"
        ),
    ] = None
    statement_id: Annotated[str, _column("Wikidata's id of the statement")]
    rank: Annotated[str, _column("rank of the statement: preferred or normal")]
    valid_from: Annotated[str | None, _column("qualifier start time (P580), ISO 8601")]
    valid_to: Annotated[str | None, _column("qualifier end time (P582), ISO 8601")]
    point_in_time: Annotated[str | None, _column("qualifier point in time (P585), ISO 8601")]
    current: Annotated[bool, _column("false: valid_to lies before the window's end")]
    old_rev: Annotated[int | None, _column("revision of the subject's entity as of the start")]
    new_rev: Annotated[int | None, _column("the same as of the end; null: no longer there")]
    changed_at: Annotated[datetime | None, _column("timestamp of new_rev")]
    page_id: Annotated[int | None, _column("page id of the subject's article")]
    page_title: Annotated[str, _column("title of the subject's article")]
    evidence: Annotated[str | None, _column("sentence of the article that states the object")]
    evidence_rev: Annotated[int | None, _column("revision of the article with the evidence")]
    cloze: Annotated[
        str | None, _column("sentence that the object completes; null: none for this relation")
    ] = None
    question: Annotated[str | None, _column("question that the object answers; null as above")] = (
        None
    )
    window: Annotated[str, _column("name of the window")]
    qc: Annotated[Quality, _column("passed: kept by all rules; none: rules were not applied")]


class NondiffRow(Record, frozen=True, kw_only=True):
    """A passage that the window left as it was: the paper's Non-Diffset."""

    id: Annotated[int, _column("page id")]
    url: Annotated[str, _column("address of the article by page id")]
    title: Annotated[str, _column("title as of the window's end")]
    text: Annotated[str, _column("consecutive unchanged paragraphs, joined by line feeds")]
    rev: Annotated[int, _column("revision as of the end")]
    ordinal: Annotated[int, _column("place among the article's passages, from 0")]
    first: Annotated[int, _column("index of the first paragraph in the article")]
    paragraphs: Annotated[int, _column("number of paragraphs, whole or in part")]


class Tombstone(Record, frozen=True, kw_only=True):
    """A revision whose text was hidden after an earlier version had published it (L21)."""

    wiki: Annotated[str, _column("wiki of the revision")]
    rev_id: Annotated[int, _column("the hidden revision")]
    page_id: Annotated[int | None, _column("its page; null: not known")]
    version: Annotated[int, _column("first version of the dataset without its text")]


ROWS: dict[Part, type[Record]] = {
    Part.DIFFSET: DiffsetRow,
    Part.SENTENCES: SentenceRow,
    Part.PROBES_CHANGED: ProbeRow,
    Part.PROBES_UNCHANGED: ProbeRow,
    Part.PROBES_REMOVED: ProbeRow,
    Part.FACTS_REMOVED: ProbeRow,
    Part.LIGHTTUNING_CHANGED: ProbeRow,
    Part.LIGHTTUNING_UNCHANGED: ProbeRow,
    Part.NONDIFF: NondiffRow,
    Part.TOMBSTONES: Tombstone,
}
MEANINGS: dict[Part, str] = {
    Part.DIFFSET: "an article, with the text that the window brought (TWiki-Diffsets)",
    Part.SENTENCES: "a diff sentence, with the sentence that it replaced",
    Part.PROBES_CHANGED: "a fact that is new, with the diff sentence that states it",
    Part.PROBES_UNCHANGED: "a fact that stayed, with the sentence that states it",
    Part.PROBES_REMOVED: "a fact that is gone and passed quality control: what to unlearn",
    Part.FACTS_REMOVED: "a fact that is gone; without evidence and quality control",
    Part.LIGHTTUNING_CHANGED: "a changed fact for light-tuning, overlapping no probe",
    Part.LIGHTTUNING_UNCHANGED: "an unchanged fact for light-tuning, overlapping no probe",
    Part.NONDIFF: "a passage that the window left as it was (Non-Diffset)",
    Part.TOMBSTONES: "a revision hidden since an earlier version published its text",
}
"""What a row of each part is."""

FACT_PARTS = tuple(part for part, row in ROWS.items() if row is ProbeRow)

_CATEGORIES = {
    Part.PROBES_CHANGED: Category.CHANGED,
    Part.LIGHTTUNING_CHANGED: Category.CHANGED,
    Part.PROBES_UNCHANGED: Category.UNCHANGED,
    Part.LIGHTTUNING_UNCHANGED: Category.UNCHANGED,
    Part.PROBES_REMOVED: Category.REMOVED,
    Part.FACTS_REMOVED: Category.REMOVED,
}
_CLASSES = {
    Category.CHANGED: {FactClass.NEW_SUBJECT, FactClass.NEW_RELATION, FactClass.NEW_OBJECT},
    Category.UNCHANGED: {FactClass.UNCHANGED},
    Category.REMOVED: {FactClass.REMOVED},
}


def page_hash(page_id: int) -> int:
    """Return BLAKE2b-64 of the page id in decimal: the order of articles in ``nondiff``."""
    return int.from_bytes(blake2b(str(page_id).encode(), digest_size=8).digest(), "big")


def order_key(row: Record) -> tuple[Any, ...]:
    """Return the key by which a file is sorted, ascending and without repetition."""
    match row:
        case DiffsetRow():
            return (row.id,)
        case SentenceRow():
            return (row.id, row.ordinal)
        case ProbeRow():
            return (row.subject_qid, row.relation_pid, row.object_qid_or_value)
        case NondiffRow():
            return (page_hash(row.id), row.id, row.ordinal)
        case Tombstone():
            return (row.wiki, row.rev_id)
    raise TypeError(f"{type(row).__name__} is not a row of a dataset")


def misplaced(part: Part, row: Record) -> str | None:
    """Say what makes ``row`` wrong in the file ``part``; None: it may stand there."""
    if type(row) is not ROWS[part]:
        return f"a {type(row).__name__} where a {ROWS[part].__name__} belongs"
    if not isinstance(row, ProbeRow):
        return None
    if row.category is not _CATEGORIES[part] or row.fact_class not in _CLASSES[row.category]:
        return f"category {row.category}, class {row.fact_class}"
    if part is Part.FACTS_REMOVED:
        return None
    missing = [
        name
        for name in ("subject", "relation", "object", "page_id")
        if getattr(row, name) in ("", None)
    ]
    if part is not Part.PROBES_REMOVED:
        stated = ("new_rev", "changed_at", "evidence", "evidence_rev")
        missing += [name for name in stated if getattr(row, name) is None]
    return f"a probe without {', '.join(missing)}" if missing else None


# --- Arrow ----------------------------------------------------------------------------------

_ARROW: dict[type, pa.DataType] = {
    int: pa.int64(),
    bool: pa.bool_(),
    datetime: pa.timestamp("us", tz="UTC"),
}


def columns(part: Part) -> dict[str, str]:
    """Return the columns of a part in order, with their descriptions."""
    return {name: description for name, _, description in _fields(ROWS[part])}


def arrow_schema(part: Part) -> pa.Schema:
    """Return the Arrow schema of a part; descriptions and version are in its metadata."""
    fields = []
    for name, annotation, description in _fields(ROWS[part]):
        nullable = type(None) in get_args(annotation)
        kind = next(
            (a for a in get_args(annotation) if nullable and a is not type(None)), annotation
        )
        arrow = (
            pa.list_(pa.string()) if get_origin(kind) is tuple else _ARROW.get(kind, pa.string())
        )
        fields.append(pa.field(name, arrow, nullable, {"description": description}))
    metadata = {"twiki_part": part.value, "twiki_schema_version": str(SCHEMA_VERSION)}
    return pa.schema(fields, metadata)


def _fields(row: type[Record]) -> list[tuple[str, Any, str]]:
    """Return (column, type, description) of every field."""
    hints = get_type_hints(row, include_extras=True)
    found = []
    for field in msgspec.structs.fields(row):
        annotation, meta = get_args(hints[field.name])
        found.append((field.encode_name, annotation, meta.description))
    return found


def to_batch(part: Part, rows: list[Record]) -> pa.RecordBatch:
    """Turn rows of one part into a record batch, null-checked.

    Raises:
        ValueError: a value that its column cannot hold, a lone surrogate for example.
    """
    schema = arrow_schema(part)
    names = [field.name for field in msgspec.structs.fields(ROWS[part])]
    try:
        arrays = [
            pa.array([getattr(row, name) for row in rows], type=field.type)
            for name, field in zip(names, schema, strict=True)
        ]
    except OverflowError as error:
        raise ValueError(str(error)) from error
    for array, field in zip(arrays, schema, strict=True):
        if array.null_count and not field.nullable:
            raise ValueError(f"column {field.name}: null where there must be a value")
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def from_batch(part: Part, batch: pa.RecordBatch) -> list[Record]:
    """Turn a record batch back into rows; ``from_batch(p, to_batch(p, rows)) == rows``.

    Raises:
        msgspec.ValidationError: a value outside its field's type.
    """
    columns = {field.name: _values(batch.column(index)) for index, field in enumerate(batch.schema)}
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return [msgspec.convert(row, ROWS[part]) for row in rows]


def _values(array: pa.Array) -> list[Any]:
    """Return Python values; times by way of naive ones, to need no time zone database."""
    if not pa.types.is_timestamp(array.type):
        return array.to_pylist()  # type: ignore[no-any-return] # pyarrow ships no types
    naive = array.cast(pa.timestamp("us")).to_pylist()
    return [time and time.replace(tzinfo=UTC) for time in naive]
