"""The search index of a dataset: one SQLite file in a cache folder, made once, thrown away freely.

::

    <cache>/<SHA-256 of the manifest>.sqlite
      sentences   FTS5 without content; rowid = page id << 20 | ordinal: the order of the file
      sentence    the same number → title, text, kind: hits lie in as many row groups of the
                  Parquet file, each of which would have to be read whole
      facts       FTS5 without content; rowid = number of the fact
      fact        number → part, subject, relation, object
      summary     name → JSON: counts that take a pass over the whole file

The dataset folder is only read. Making it takes minutes for ten million sentences, so that a
process of its own does it (``python -m stream.pages.index``), which tells how far it is.
"""

import json
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from twiki.errors import DatasetError
from twiki.windows.dataset import Dataset
from twiki.windows.schema import FACT_PARTS, Part

VERSION = 3
ORDINAL_BITS = 20
# Words are asked for by themselves, never as a phrase or in one column: where they stand in a
# sentence need not be kept.
_FEATURES = "content='', detail=none, columnsize=0, tokenize='unicode61 remove_diacritics 2'"
# Parts are not merged: that writes everything several times over, a fifth of the whole effort, and
# a question to forty parts takes half a millisecond more than one to ten.
_LAYOUT = """
PRAGMA journal_mode = off;
PRAGMA synchronous = off;
PRAGMA page_size = 8192;
CREATE VIRTUAL TABLE sentences USING fts5(title, text, FEATURES);
CREATE VIRTUAL TABLE facts USING fts5(subject, relation, object, title, FEATURES);
CREATE TABLE sentence (number INTEGER PRIMARY KEY, title TEXT, text TEXT, kind TEXT);
CREATE TABLE fact (
    number INTEGER PRIMARY KEY, part TEXT, subject TEXT, relation TEXT, object TEXT
);
CREATE TABLE summary (name TEXT PRIMARY KEY, content TEXT);
INSERT INTO sentences(sentences, rank) VALUES ('hashsize', 67108864);
INSERT INTO sentences(sentences, rank) VALUES ('automerge', 0);
INSERT INTO sentences(sentences, rank) VALUES ('crisismerge', 1000);
""".replace("FEATURES", _FEATURES)
_LENGTHS = (1, 2, 3, 5, 10, 20, 50, 100)
"""Lower bounds of the classes of articles by diff sentences."""


def path_of(cache: Path, digest: str) -> Path:
    """Where the index of the dataset with that manifest is."""
    return cache / f"{digest}-{VERSION}.sqlite"


def total(dataset: Dataset) -> int:
    """How many rows a pass over the dataset reads."""
    return sum(dataset.counts[part] for part in (Part.SENTENCES, Part.DIFFSET, *FACT_PARTS))


def build(dataset: Dataset, path: Path, told: Callable[[int], None]) -> None:
    """Make the index at ``path``; there is none, or the whole of it. ``told``: rows done since.

    Raises:
        DatasetError: a file of the dataset cannot be read.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.partial")
    aside.unlink(missing_ok=True)
    with closing(sqlite3.connect(aside, isolation_level=None)) as database:
        database.executescript(_LAYOUT)
        database.execute("BEGIN")
        days = _sentences(dataset, database, told)
        _facts(dataset, database, told)
        summaries = {"days": days, "lengths": _lengths(dataset, told)}
        database.executemany(
            "INSERT INTO summary VALUES (?, ?)",
            [(name, json.dumps(content)) for name, content in summaries.items()],
        )
        database.execute("COMMIT")
    aside.replace(path)


def _sentences(
    dataset: Dataset, database: sqlite3.Connection, told: Callable[[int], None]
) -> dict[str, dict[str, int]]:
    """Enter the sentences; return their number by day and kind."""
    days: Counter[tuple[str, str]] = Counter()
    columns = ["id", "ordinal", "title", "text", "kind", "new_timestamp"]
    for batch in dataset.batches(Part.SENTENCES, columns):
        ids, ordinals, titles, texts, kinds = (batch.column(i).to_pylist() for i in range(5))
        numbers = [
            (page << ORDINAL_BITS) | ordinal for page, ordinal in zip(ids, ordinals, strict=True)
        ]
        database.executemany(
            "INSERT INTO sentences(rowid, title, text) VALUES (?, ?, ?)",
            zip(numbers, titles, texts, strict=True),
        )
        database.executemany(
            "INSERT INTO sentence VALUES (?, ?, ?, ?)",
            zip(numbers, titles, texts, kinds, strict=True),
        )
        day = batch.column(5).cast(pa.date32()).cast(pa.string()).to_pylist()
        days.update(zip(day, kinds, strict=True))
        told(batch.num_rows)
    found: dict[str, dict[str, int]] = {}
    for (day, kind), count in sorted(days.items()):
        found.setdefault(day, {})[kind] = count
    return found


def _facts(dataset: Dataset, database: sqlite3.Connection, told: Callable[[int], None]) -> None:
    number = 0
    words = ["subject", "relation", "object", "page_title"]
    keys = ["subject_qid", "relation_pid", "object_qid_or_value"]
    for part in FACT_PARTS:
        for batch in dataset.batches(part, words + keys):
            table = batch.to_pydict()
            count = batch.num_rows
            numbers = range(number, number + count)
            database.executemany(
                "INSERT INTO facts(rowid, subject, relation, object, title) VALUES (?, ?, ?, ?, ?)",
                zip(numbers, *(table[name] for name in words), strict=True),
            )
            database.executemany(
                "INSERT INTO fact VALUES (?, ?, ?, ?, ?)",
                zip(numbers, [part.value] * count, *(table[name] for name in keys), strict=True),
            )
            number += count
            told(count)


def _lengths(dataset: Dataset, told: Callable[[int], None]) -> list[dict[str, Any]]:
    """Articles by the number of their diff sentences."""
    classes: Counter[int] = Counter()
    for batch in dataset.batches(Part.DIFFSET, ["sentences"]):
        for entry in pc.value_counts(batch.column(0)).to_pylist():
            bound = max((b for b in _LENGTHS if b <= entry["values"]), default=0)
            classes[bound] += entry["counts"]
        told(batch.num_rows)
    return [{"from": bound, "articles": classes[bound]} for bound in (0, *_LENGTHS)]


def main(argv: list[str]) -> int:
    """Make the index of the dataset folder ``argv[0]`` at ``argv[1]``; a line each 50,000 rows."""
    dataset = Dataset.open(Path(argv[0]))
    for line in _lines(dataset, Path(argv[1])):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
    return 0


def _lines(dataset: Dataset, path: Path) -> Iterator[str]:
    done = [0, 0]

    def told(rows: int) -> None:
        done[0] += rows
        if done[0] - done[1] >= 50_000:  # noqa: PLR2004 - a line about every second
            done[1] = done[0]
            sys.stdout.write(f"{done[0]}\n")
            sys.stdout.flush()

    build(dataset, path, told)
    yield str(done[0])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except DatasetError as error:
        sys.exit(str(error))
