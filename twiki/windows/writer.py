"""Writing a dataset: rows stream in, a complete folder appears at once or not at all.

::

    with DatasetWriter(root, config, month("2026-11")) as writer:
        writer.article(old, new, diff)                 # pages ascending by id
        writer.extend(Part.PROBES_CHANGED, rows)       # sorted by schema.order_key
        folder = writer.finish(quality={…}, run=Run(engine="stream"))

Everything is written into ``.v1.partial`` beside the target, the manifest last, each file
synced, then the folder is renamed. An error or a kill leaves no ``v1``; the next writer clears
what a kill left. Same rows and settings give the same bytes (L20): rows must come in order, row
groups end by counts of rows and characters, compression and its level are fixed. Memory is
bounded by one row group a part.
"""

import errno
import fcntl
import importlib.metadata
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import pyarrow.parquet as pq

from twiki.config import CoreConfig
from twiki.errors import DatasetError, OutputExists
from twiki.records import Article, Category, Diff, Record, Window
from twiki.windows import card, charts, citation, export, harness, manifest, versions
from twiki.windows.convert import article_rows
from twiki.windows.schema import (
    SCHEMA_VERSION,
    Part,
    arrow_schema,
    misplaced,
    order_key,
    to_batch,
)
from twiki.windows.stats import QualitySteps, Tally, Tokenizer, Volume

ROW_GROUP_ROWS = 10_000
ROW_GROUP_CHARACTERS = 16_000_000
"""A row group ends at whichever comes first; both are functions of the rows alone."""

STATS, RECONCILE, CARD = "stats.json", "reconcile.json", "README.md"
CITATION = "CITATION.cff"
OF_RUN = (CARD, CITATION, RECONCILE)
"""Files that tell how the content came: outside L19."""


class DatasetWriter:
    """One version of one window's dataset, under ``<root>/<wiki>/<window>/v<version>``.

    Args:
        root: the folder of all datasets.
        config: its wiki names the folder, its settings go into the manifest.
        window: the interval.
        version: None takes the next free number.
        tokenizer: counts tokens for ``stats.json``; ``tokenizer_name`` is recorded with it.

    Raises:
        OutputExists: the version is there already.
        DatasetError: another process is writing it.
    """

    def __init__(
        self,
        root: Path,
        config: CoreConfig,
        window: Window,
        version: int | None = None,
        *,
        tokenizer: Tokenizer | None = None,
        tokenizer_name: str = "",
    ) -> None:
        self._config = config
        self._window = window
        self._settings = {**manifest.shaping(config), "tokenizer": tokenizer_name or None}
        self._beside = versions.window_folder(root, config.wiki.name, window.name)
        self._beside.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(self._beside / ".lock")
        self._version = version or versions.next_version(self._beside)
        self.folder = self._beside / f"v{self._version}"
        if self.folder.exists():
            os.close(self._lock)
            raise OutputExists(
                f"{self.folder}: exists already, nothing was written: "
                "choose another folder or version"
            )
        self._partial = self._beside / f".v{self._version}.partial"
        shutil.rmtree(self._partial, ignore_errors=True)
        self._partial.mkdir()
        self._tally = Tally(tokenizer, tokenizer_name)
        self._files = {part: _PartFile(self._partial, part) for part in Part}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Clear away what was not finished.

        Raises:
            DatasetError: in place of an error that says that the disk is full.
        """
        for file in self._files.values():
            file.abandon()
        shutil.rmtree(self._partial, ignore_errors=True)
        os.close(self._lock)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DatasetError(
                f"{self.folder}: no space left, nothing was published: free some and cut again"
            ) from error

    def add(self, part: Part, row: Record) -> None:
        """Append one row.

        Raises:
            DatasetError: a row of another part, or out of order, or a key twice.
        """
        self._files[part].add(row)
        self._tally.add(part, row)

    def extend(self, part: Part, rows: Iterable[Record]) -> None:
        """Append rows, already in order."""
        for row in rows:
            self.add(part, row)

    def article(self, old: Article | None, new: Article, diff: Diff) -> bool:
        """Append an article and its diff sentences; False: the diff is empty, nothing added."""
        rows = article_rows(self._config.wiki.url, old, new, diff)
        if rows is None:
            return False
        article, sentences = rows
        self.add(Part.DIFFSET, article)
        self.extend(Part.SENTENCES, sentences)
        return True

    def finish(
        self,
        *,
        run: manifest.Run,
        quality: Mapping[Category, QualitySteps] | None = None,
        snapshot: Volume | None = None,
        entity_types: Mapping[str, Mapping[str, int]] | None = None,
        reconcile: object = None,
        withdraws: str = "",
        corrects: str = "",
    ) -> Path:
        """Write everything but the rows, publish the folder, enter it in the index.

        Args:
            run: how the content came; its program and files are filled in here.
            quality: steps of quality control of the changed and the unchanged probes.
            snapshot: size of the whole corpus as of the end, from a corpus manifest.
            entity_types: for ``subjects`` and ``objects`` of the changed probes, how many are
                of each type (person, place, …), where they were worked out.
            reconcile: what goes into ``reconcile.json``: any value that JSON can hold.
            withdraws: why the earlier versions must no longer be used; empty: they may.
            corrects: why there is a newer version at all.

        Returns:
            The folder of the version.

        Raises:
            DatasetError: the counts do not add up.
            OutputExists: the version appeared in the meantime.
        """
        for file in self._files.values():
            file.close()
        stats = self._tally.report(quality or {}, snapshot, entity_types)
        self._write(STATS, manifest.json_bytes(stats))
        for name, svg in charts.charts(stats).items():
            self._write(name, svg.encode())
        for name, content in harness.files(self._window.name).items():
            self._write(f"{harness.FOLDER}/{name}", content.encode())
        export.write_csv(self._partial, self._window)
        data = self._data()
        run = msgspec.structs.replace(
            run,
            id=manifest.dataset_id(data.wiki, data.window, self._version),
            version=self._version,
            program=f"twiki {importlib.metadata.version('twiki')}",
        )
        examples = {part: self._tally.examples(part) for part in card.EXAMPLES}
        self._write(RECONCILE, manifest.json_bytes(reconcile))
        self._write(CARD, card.render(data, stats, examples, run, reconcile).encode())
        self._write(CITATION, citation.citation(data, run).encode())
        of_run = manifest.entries(self._partial, (self._partial / name for name in OF_RUN))
        run = msgspec.structs.replace(run, files=of_run)
        self._write(manifest.NAME, manifest.encode(manifest.make(data, run)))
        self._publish()
        reason = withdraws or corrects
        versions.enter(self._beside, self._version, withdraw=bool(withdraws), reason=reason)
        return self.folder

    def _data(self) -> manifest.Data:
        files = (path for path in self._partial.rglob("*") if path.is_file())
        return manifest.Data(
            schema_version=SCHEMA_VERSION,
            wiki=self._config.wiki.name,
            window=self._window.name,
            start=self._window.start,
            end=self._window.end,
            settings=self._settings,
            counts=manifest.part_counts(self._tally.rows),
            files=manifest.entries(self._partial, files),
        )

    def _write(self, name: str, content: bytes) -> None:
        path = self._partial / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)

    def _publish(self) -> None:
        for path in sorted(self._partial.rglob("*")):
            versions.sync(path)
        versions.sync(self._partial)
        try:
            self._partial.rename(self.folder)
        except OSError as error:
            if self.folder.exists():
                raise OutputExists(f"{self.folder}: appeared meanwhile, not replaced") from error
            raise
        versions.sync(self._beside)


class _PartFile:
    """One Parquet file being written, in order, a row group at a time."""

    def __init__(self, folder: Path, part: Part) -> None:
        self._part = part
        self._writer = pq.ParquetWriter(
            folder / part.file,
            arrow_schema(part),
            version="2.6",
            compression="zstd",
            compression_level=3,
            use_dictionary=True,
            write_statistics=True,
        )
        self._rows: list[Record] = []
        self._characters = 0
        self._last: tuple[Any, ...] | None = None

    def add(self, row: Record) -> None:
        wrong = misplaced(self._part, row)
        if wrong:
            raise DatasetError(f"{self._part.file}: {wrong}: {order_key(row)}")
        key = order_key(row)
        if self._last is not None and key <= self._last:
            raise DatasetError(
                f"{self._part.file}: expected rows in ascending order of their keys, "
                f"found {key} after {self._last}"
            )
        self._last = key
        self._rows.append(row)
        self._characters += len(getattr(row, "text", ""))
        if len(self._rows) >= ROW_GROUP_ROWS or self._characters >= ROW_GROUP_CHARACTERS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def abandon(self) -> None:
        with suppress(OSError):  # the footer of a file that nobody will read
            self._writer.close()

    def _flush(self) -> None:
        if not self._rows:
            return
        try:
            batch = to_batch(self._part, self._rows)
        except ValueError as error:
            first, last = order_key(self._rows[0]), order_key(self._rows[-1])
            raise DatasetError(
                f"{self._part.file}: rows {first} to {last} do not fit their columns: {error}"
            ) from error
        self._writer.write_batch(batch, row_group_size=len(self._rows))
        self._rows, self._characters = [], 0


def _lock(path: Path) -> int:
    """Lock a window's folder; the kernel lets go when the process ends, however it ends.

    The file stays: to unlink it would let two writers lock two files of one name.
    """
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise DatasetError(
            f"{path.parent}: another process is writing a version of this window: let it end"
        ) from error
    return descriptor


__all__ = ["CARD", "CITATION", "OF_RUN", "RECONCILE", "STATS", "DatasetWriter"]
