"""Dataset and corpus folders as the trainer reads them: texts, probes, light-tuning facts.

Both folders hold Parquet files beside a ``manifest.json`` with the sha256 of each. A file is
checked once when its folder is opened, before any training starts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from trainer import files
from twiki.errors import DatasetError, TrainerError

IDENTITY = ("wiki", "window", "start", "end", "version", "id")
"""What of a manifest says which window it is."""

SCHEMAS = (1,)
"""Schema versions that this code reads."""


@dataclass(frozen=True)
class ProbeRow:
    """A fact as text: what the model is asked, and every object that would be right."""

    subject: str
    relation: str
    object: str
    golds: tuple[str, ...] = ()
    """Objects of the same subject and relation as of the window's end."""

    @property
    def prompt(self) -> str:
        """What precedes the object."""
        return f"{self.subject} {self.relation}"

    @property
    def text(self) -> str:
        """The whole fact as one string, as the paper scores it."""
        return f"{self.subject} {self.relation} {self.object}"


@dataclass(frozen=True)
class Folder:
    """A dataset or corpus folder that has been checked."""

    path: Path
    manifest: dict[str, Any]

    @property
    def data(self) -> dict[str, Any]:
        """The part of the manifest that describes the data, and which version it is."""
        run = self.manifest.get("run", {})
        which = {name: run[name] for name in ("version", "id") if name in run}
        return {**self.manifest.get("data", self.manifest), **which}

    @property
    def checksums(self) -> dict[str, str]:
        """sha256 by file name."""
        return _checksums(self.data)

    @cached_property
    def digest(self) -> str:
        """A hash of all the data: same digest, same content."""
        lines = [f"{name} {value}" for name, value in sorted(self.checksums.items())]
        return files.sha256_text("\n".join(lines))

    @property
    def is_corpus(self) -> bool:
        """Whether this is a corpus of whole articles rather than a window's dataset."""
        return not (self.path / "diffset.parquet").exists()

    def shards(self, part: str) -> list[Path]:
        """Parquet files of a part (``diffset``, ``nondiff`` or ``corpus``) in order."""
        if part != "corpus":
            return [self.path / f"{part}.parquet"]
        return sorted(self.path / name for name in self.checksums if name.endswith(".parquet"))

    def texts(self, part: str | None = None) -> Iterator[str]:
        """Texts of a part in file order; default the corpus or the diffset. Empty ones not.

        Raises:
            DatasetError: the part is missing or empty.
        """
        part = part or ("corpus" if self.is_corpus else "diffset")
        found = False
        for shard in self.shards(part):
            if not shard.exists():
                raise DatasetError(f"{shard}: missing; the dataset has no part {part!r}")
            with pq.ParquetFile(shard) as table:
                for batch in table.iter_batches(256, columns=["text"]):
                    for text in batch.column(0).to_pylist():
                        if text and text.strip():
                            found = True
                            yield text
        if not found:
            raise DatasetError(f"{self.path}: the part {part!r} holds no text to use")

    def has_text(self, part: str) -> bool:
        """Whether a part has at least one row.

        Raises:
            DatasetError: a file of it is damaged.
        """
        return all(shard.exists() and _rows(shard) for shard in self.shards(part))

    def probes(self, category: str, *, lighttuning: bool = False) -> list[ProbeRow]:
        """Probes (or light-tuning facts) of a category, in file order."""
        name = f"{'lighttuning' if lighttuning else 'probes'}_{category}.parquet"
        path = self.path / name
        if not path.exists():
            raise DatasetError(f"{path}: missing")
        rows = pq.read_table(path).to_pylist()
        return [_probe(row) for row in rows]


def open_folder(path: Path, *, verify: bool = True) -> Folder:
    """Open a dataset or corpus folder.

    Raises:
        DatasetError: no manifest, another schema version, or a file whose sha256 differs.
    """
    try:
        manifest = files.read_json(path / "manifest.json")
    except TrainerError as error:
        raise DatasetError(f"{path}: not a dataset or corpus folder: {error}") from error
    folder = Folder(path, manifest)
    version = folder.data.get("schema_version", folder.data.get("schema"))
    if version not in SCHEMAS:
        raise DatasetError(
            f"{path}/manifest.json: schema version {version!r}, this program reads "
            f"{', '.join(map(str, SCHEMAS))}; use the release that wrote it, or build it anew"
        )
    if verify:
        for name, expected in folder.checksums.items():
            _check(path / name, expected)
    return folder


def _checksums(data: dict[str, Any]) -> dict[str, str]:
    """Both layouts: {name: sha256} and [{"name": …, "sha256": …}] or {name: {"sha256": …}}."""
    listed = data.get("files", data.get("sha256", {}))
    if isinstance(listed, list):
        return {str(f.get("name", f.get("path"))): str(f["sha256"]) for f in listed}
    return {
        str(name): str(value["sha256"] if isinstance(value, dict) else value)
        for name, value in listed.items()
    }


def _check(path: Path, expected: str) -> None:
    if not path.exists():
        raise DatasetError(f"{path}: named in the manifest but missing")
    if (found := files.sha256_of(path)) != expected:
        raise DatasetError(f"{path}: sha256 {found}, the manifest says {expected}")


def _probe(row: dict[str, Any]) -> ProbeRow:
    golds = row.get("object_labels") or row.get("all_objects") or ()
    if isinstance(golds, str):
        golds = (golds,)
    return ProbeRow(
        subject=row["subject"],
        relation=row["relation"],
        object=row["object"],
        golds=tuple(dict.fromkeys((row["object"], *golds))),
    )


def _rows(shard: Path) -> int:
    try:
        return int(pq.read_metadata(shard).num_rows)
    except pa.ArrowInvalid as error:
        raise DatasetError(f"{shard}: no Parquet file: {error}") from error
