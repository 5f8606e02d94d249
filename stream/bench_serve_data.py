"""A window of any size for ``twiki bench serve``, made column by column."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from twiki.config import CoreConfig
from twiki.windows import manifest, versions
from twiki.windows.calendar import month
from twiki.windows.manifest import Data, Run
from twiki.windows.schema import SCHEMA_VERSION, Part, arrow_schema
from twiki.windows.stats import Tally

WINDOW = month("2026-11")
ID = manifest.dataset_id("enwiki", WINDOW.name, 1)
_GROUP = 10_000
_AN_ARTICLE = 5
"""Diff sentences of an article."""
_LETTERS = "etaoinshrdlucmfwypvbgkjqxz"


def write(root: Path, *, sentences: int, facts: int, seed: int = 1) -> Path:
    """Write a dataset with so many diff sentences and facts of each kind; return its folder."""
    folder = versions.version_folder(root, "enwiki", WINDOW.name, 1)
    folder.mkdir(parents=True)
    draw = random.Random(seed)
    phrases = _phrases(draw)
    counts = dict.fromkeys((part.value for part in Part), 0)
    articles = max(1, sentences // _AN_ARTICLE)
    batches: dict[Part, Iterator[dict[str, Any]]] = {
        Part.SENTENCES: _sentences(draw, phrases, sentences),
        Part.DIFFSET: _articles(draw, phrases, articles),
        Part.PROBES_CHANGED: _facts(phrases, facts, articles, "changed", "new_object"),
        Part.PROBES_UNCHANGED: _facts(phrases, facts, articles, "unchanged", "unchanged"),
    }
    for part in Part:
        schema = arrow_schema(part)
        with pq.ParquetWriter(folder / part.file, schema, compression="zstd") as writer:
            for columns in batches.get(part, ()):
                table = pa.table(columns, schema=schema)
                writer.write_table(table, row_group_size=_GROUP)
                counts[part.value] += table.num_rows
    stats = {**Tally().report({}), "rows": counts}
    (folder / "stats.json").write_bytes(manifest.json_bytes(stats))
    (folder / "reconcile.json").write_bytes(manifest.json_bytes(None))
    _finish(folder, counts)
    versions.enter(folder.parent, 1)
    return folder


def words(draw: random.Random, count: int) -> list[str]:
    """Made-up words, short ones first."""
    return ["".join(draw.choices(_LETTERS, k=2 + n * 9 // count)) for n in range(count)]


def _phrases(draw: random.Random) -> list[str]:
    """Phrases of five words, the frequent words in most of them, as in prose."""
    known = words(draw, 60_000)
    weights = [1 / (rank + 10) for rank in range(len(known))]
    chosen = draw.choices(known, weights, k=500_000)
    return [" ".join(chosen[at : at + 5]) for at in range(0, len(chosen), 5)]


def _sentences(draw: random.Random, phrases: list[str], count: int) -> Iterator[dict[str, Any]]:
    for begin in range(0, count, _GROUP):
        rows = range(begin, min(begin + _GROUP, count))
        size = len(rows)
        ids = [1 + row // _AN_ARTICLE for row in rows]
        parts = [draw.choices(phrases, k=size) for _ in range(3)]
        new = [row % 3 == 0 for row in rows]
        yield {
            "id": ids,
            "title": [f"{phrases[page % len(phrases)]} {page}" for page in ids],
            "ordinal": [row % _AN_ARTICLE for row in rows],
            "text": [f"{a} {b} {c} {n}." for a, b, c, n in zip(*parts, rows, strict=True)],
            "kind": ["updated" if one else "added" for one in new],
            "replaced": [
                f"{a} {b}." if one else None for a, b, one in zip(*parts[:2], new, strict=True)
            ],
            "cosmetic": [False] * size,
            "block": [row % _AN_ARTICLE for row in rows],
            "paragraph": [0] * size,
            "old_rev": [page * 10 for page in ids],
            "new_rev": [page * 10 + 1 for page in ids],
            "new_timestamp": [_moment(page) for page in ids],
        }


def _articles(draw: random.Random, phrases: list[str], count: int) -> Iterator[dict[str, Any]]:
    for begin in range(0, count, _GROUP):
        ids = [1 + row for row in range(begin, min(begin + _GROUP, count))]
        size = len(ids)
        yield {
            "id": ids,
            "url": [f"https://en.wikipedia.org/wiki?curid={page}" for page in ids],
            "title": [f"{phrases[page % len(phrases)]} {page}" for page in ids],
            "text": draw.choices(phrases, k=size),
            "old_rev": [page * 10 for page in ids],
            "new_rev": [page * 10 + 1 for page in ids],
            "old_timestamp": [WINDOW.start] * size,
            "new_timestamp": [_moment(page) for page in ids],
            "kind": ["updated"] * size,
            "sentences": [_AN_ARTICLE] * size,
        }


def _facts(
    phrases: list[str], count: int, articles: int, category: str, fact_class: str
) -> Iterator[dict[str, Any]]:
    ids = sorted(f"Q{1 + n}" for n in range(count))
    for begin in range(0, count, _GROUP):
        subjects = ids[begin : begin + _GROUP]
        pages = [1 + int(one[1:]) % articles for one in subjects]
        size = len(subjects)
        said = [phrases[page % len(phrases)] for page in pages]
        same: dict[str, list[Any]] = {
            name: [value] * size
            for name, value in (
                ("relation", "located in"),
                ("relation_pid", "P131"),
                ("object_datatype", "wikibase-item"),
                ("category", category),
                ("class", fact_class),
                ("rank", "normal"),
                ("current", True),
                ("window", WINDOW.name),
                ("qc", "passed"),
                ("changed_at", datetime(2026, 11, 5, tzinfo=UTC)),
                ("old_rev", 1),
                ("new_rev", 2),
                ("previous_objects", ["Q2"]),
                ("all_objects", ["Q1"]),
                ("previous_labels", ["before"]),
                ("object_labels", ["after"]),
            )
        }
        columns = {
            **same,
            "subject": [f"{one} {text}" for one, text in zip(subjects, said, strict=True)],
            "object": said,
            "subject_qid": subjects,
            "object_qid_or_value": [f"Q9{one[1:]}" for one in subjects],
            "statement_id": subjects,
            "page_id": pages,
            "page_title": said,
            "evidence": [f"It is {text}." for text in said],
            "evidence_rev": pages,
        }
        names = arrow_schema(Part.PROBES_CHANGED).names
        yield {name: columns.get(name, [None] * size) for name in names}


def _finish(folder: Path, counts: dict[str, int]) -> None:
    config = CoreConfig()
    files = manifest.entries(folder, (path for path in folder.iterdir() if path.is_file()))
    data = Data(
        schema_version=SCHEMA_VERSION,
        wiki="enwiki",
        window=WINDOW.name,
        start=WINDOW.start,
        end=WINDOW.end,
        settings=manifest.shaping(config),
        counts=counts,
        files=files,
    )
    run = Run(engine="generated", id=ID, version=1)
    (folder / manifest.NAME).write_bytes(manifest.encode(manifest.make(data, run)))


def digest(folder: Path) -> str:
    """SHA-256 of the manifest."""
    return sha256((folder / manifest.NAME).read_bytes()).hexdigest()


def _moment(page: int) -> datetime:
    return WINDOW.start + timedelta(seconds=page * 7919 % 2_500_000)
