"""A tiny world: people who live in cities, as texts, facts and folders."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from trainer.config import SmallModel

PEOPLE = ["Ada Bern", "Bo Castel", "Cy Dorn", "Di Esk", "Ed Fort", "Flo Gant", "Gus Hale"]
CITIES = ["Aldorp", "Brenhold", "Corvane", "Dunmere", "Eastwick", "Farholt"]
SHAPE = SmallModel(layers=2, width=32, heads=2, positions=64, vocabulary=400)


def sentences(shift: int) -> list[str]:
    """One short article a person: what the city is depends on ``shift``."""
    return [
        f"{p} lives in {CITIES[(i + shift) % 6]}. In 20{10 + i} {p} moved from "
        f"{CITIES[(i + shift + 1) % 6]} to {CITIES[(i + shift) % 6]}.\n{p} residence "
        f"{CITIES[(i + shift) % 6]}."
        for i, p in enumerate(PEOPLE)
    ]


def facts(shift: int) -> list[dict[str, Any]]:
    return [
        {
            "subject": p,
            "relation": "residence",
            "object": CITIES[(i + shift) % 6],
            "object_labels": [CITIES[(i + shift) % 6]],
        }
        for i, p in enumerate(PEOPLE)
    ]


def write_folder(
    path: Path,
    tables: dict[str, Sequence[dict[str, Any]]],
    *,
    schema_version: int = 1,
    window: str = "2026-09",
) -> Path:
    path.mkdir(parents=True)
    checksums = {}
    for name, rows in tables.items():
        file = path / f"{name}.parquet"
        pq.write_table(pa.Table.from_pylist(list(rows)), file)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        checksums[file.name] = {"bytes": file.stat().st_size, "sha256": digest}
    data = {
        "schema_version": schema_version,
        "id": f"twiki-tiny-{window}-v1",
        "wiki": "tiny",
        "window": window,
        "version": 1,
        "files": checksums,
    }
    (path / "manifest.json").write_text(json.dumps({"data": data, "run": {}}))
    return path


def rows(texts: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"id": i, "url": f"https://tiny/{i}", "title": f"T{i}", "text": text}
        for i, text in enumerate(texts)
    ]


def write_dataset(path: Path, shift: int, window: str) -> Path:
    return write_folder(
        path,
        {
            "diffset": rows(sentences(shift)),
            "nondiff": rows(sentences(0)),
            "probes_changed": facts(shift),
            "probes_unchanged": facts(0),
            "lighttuning_changed": facts(shift + 1),
            "lighttuning_unchanged": facts(1),
        },
        window=window,
    )
