"""The dataset on disk: what a folder holds, and how to read it. Programs may rely on this.

::

    <root>/<wiki>/<window>/v<version>/
      manifest.json                 read first: counts, settings, SHA-256 of every file
      diffset.parquet               an article a row, with what the window added to it
      sentences.parquet             a diff sentence a row
      probes_changed.parquet        facts that changed, each with its evidence sentence
      probes_unchanged.parquet
      facts_removed.parquet
      lighttuning_changed.parquet   facts for light-tuning, none of them a probe
      lighttuning_unchanged.parquet
      nondiff.parquet               passages that did not change
      tombstones.parquet            revisions hidden since an earlier version
      csv/                          the paper's names and columns (export.py)
      charts/                       SVG, shown by the card
      stats.json · reconcile.json · README.md · CITATION.cff
    <root>/<wiki>/<window>/index.json    which version to use (versions.py)

Columns and order of rows are in :mod:`twiki.windows.schema`. Example::

    dataset = Dataset.open(Path("datasets/enwiki/2026-11/v1"))
    for probe in dataset.rows(Part.PROBES_CHANGED):
        ...
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from twiki.errors import DatasetError
from twiki.records import Record, Window
from twiki.windows import card, manifest, versions
from twiki.windows.manifest import Data, FileEntry, Manifest, Run
from twiki.windows.schema import Part, arrow_schema, from_batch, misplaced, order_key
from twiki.windows.writer import CARD, STATS, DatasetWriter

__all__ = ["Data", "Dataset", "DatasetWriter", "Part", "Run"]


class Dataset:
    """An open dataset folder; get one by :meth:`open`."""

    def __init__(self, folder: Path, content: Manifest) -> None:
        self.folder = folder
        self.manifest = content

    @classmethod
    def open(cls, folder: Path) -> "Dataset":
        """Open a version's folder, or the current version of a window's folder.

        Checks the manifest, and that every file is there in its size. Checksums cost reading
        everything: :meth:`verify`.

        Raises:
            DatasetError: the folder breaks the contract; the message names the file.
        """
        if not (folder / manifest.NAME).exists() and (folder / versions.INDEX).exists():
            folder = versions.current(folder)
        dataset = cls(folder, manifest.read(folder))
        for name, entry in dataset.files().items():
            path = folder / name
            size = path.stat().st_size if path.is_file() else None
            if size != entry.bytes:
                found = "no such file" if size is None else f"{size} bytes"
                raise DatasetError(f"{path}: expected {entry.bytes} bytes, found {found}")
        return dataset

    @property
    def window(self) -> Window:
        """The interval."""
        return self.manifest.data.interval

    @property
    def counts(self) -> dict[Part, int]:
        """Rows of each part."""
        return {part: self.manifest.data.counts[part.value] for part in Part}

    @property
    def id(self) -> str:
        """Stable name of this version, e.g. ``twiki-enwiki-2026-11-v1``."""
        return self.manifest.run.id

    def path(self, part: Part) -> Path:
        """Return the Parquet file of a part."""
        return self.folder / part.file

    def files(self) -> dict[str, FileEntry]:
        """Return every file but the manifest, by path in the folder."""
        return {**self.manifest.data.files, **self.manifest.run.files}

    def batches(self, part: Part, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part as record batches, memory bounded by a row group.

        Raises:
            DatasetError: the file is not Parquet, or has other columns.
        """
        path = self.path(part)
        try:
            with pq.ParquetFile(path) as file:
                if not file.schema_arrow.equals(arrow_schema(part)):
                    raise DatasetError(
                        f"{path}: expected columns {arrow_schema(part).names}, "
                        f"found {file.schema_arrow.names}"
                    )
                yield from file.iter_batches(batch_size=1000, columns=columns)
        except (OSError, pa.ArrowException) as error:
            raise DatasetError(f"{path}: cannot be read as Parquet: {error}") from error

    def rows(self, part: Part) -> Iterator[Any]:
        """Yield the rows of a part as its record (``schema.ROWS``), in order."""
        for batch in self.batches(part):
            try:
                yield from from_batch(part, batch)
            except msgspec.ValidationError as error:
                raise DatasetError(f"{self.path(part)}: not a row of it: {error}") from error

    def stats(self) -> dict[str, Any]:
        """Return ``stats.json``.

        Raises:
            DatasetError: it is not JSON.
        """
        path = self.folder / STATS
        try:
            content: dict[str, Any] = msgspec.json.decode(path.read_bytes())
        except (OSError, msgspec.DecodeError) as error:
            raise DatasetError(f"{path}: expected JSON, found {error}") from error
        return content

    def verify(self) -> None:
        """Read everything and hold it against the manifest and the contract.

        Raises:
            DatasetError: the first thing that is wrong, with file, expected and found.
        """
        listed = {*self.files(), manifest.NAME}
        present = {
            path.relative_to(self.folder).as_posix()
            for path in self.folder.rglob("*")
            if not path.is_dir()
        }
        for name in sorted(present - listed):
            raise DatasetError(f"{self.folder / name}: expected no such file, found one")
        for name, expected in sorted(self.files().items()):
            found = manifest.entry(self.folder / name)
            if found != expected:
                raise DatasetError(
                    f"{self.folder / name}: expected sha256 {expected.sha256}, "
                    f"found {found.sha256}: get the file again"
                )
        for part in Part:
            self._verify_rows(part)
        told = self.stats().get("rows")
        if told != self.manifest.data.counts:
            raise DatasetError(
                f"{self.folder / STATS}: expected rows {self.manifest.data.counts}, found {told}"
            )

    def _verify_rows(self, part: Part) -> None:
        last: tuple[Any, ...] | None = None
        count = 0
        for row in self.rows(part):
            key = order_key(row)
            wrong = misplaced(part, row)
            if last is not None and key <= last:
                wrong = f"it follows {last}"
            if wrong:
                raise DatasetError(f"{self.path(part)}: row {count} {key}: {wrong}")
            last, count = key, count + 1
        if count != self.counts[part]:
            raise DatasetError(
                f"{self.path(part)}: expected {self.counts[part]} rows, found {count}"
            )


def data_bytes(folder: Path) -> dict[str, bytes]:
    """Return what must be equal however the content came (L19), by name: for tests and checks.

    The manifest's part ``data`` stands as ``manifest.json#data``, the card up to its section
    on provenance as ``README.md#data``.
    """
    content = manifest.read(folder)
    found = {name: (folder / name).read_bytes() for name in sorted(content.data.files)}
    found[f"{manifest.NAME}#data"] = manifest.json_bytes(content.data)
    about_data, _ = card.split((folder / CARD).read_text(encoding="utf-8"))
    found[f"{CARD}#data"] = about_data.encode()
    return found


def row_key(row: Record) -> str:
    """Return a row's key as text, for messages and comparisons."""
    return "|".join(str(part) for part in order_key(row))
