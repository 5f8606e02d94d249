"""State on disk: RocksDB through ``rocksdict``.

One writer; readers beside it open the folder with ``reader=True`` (a RocksDB *secondary*,
whose own files lie in a temporary folder) and may ``catch_up``. A live iterator keeps
RocksDB's lock after ``close``, so scans here read in chunks and hold none between them.
"""

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from rocksdict import (
    AccessType,
    BlockBasedOptions,
    Cache,
    Checkpoint,
    DBCompressionType,
    Options,
    Rdict,
    WriteBatch,
    WriteOptions,
)

from twiki.errors import EngineError, StateCorrupt, StateError, StateLocked

_CHUNK = 1024
_CACHE_BYTES = 256 << 20
_WRITE_BUFFER_BYTES = 64 << 20


class RocksKeyValues:
    """A RocksDB folder as :class:`twiki.state.kv.KeyValues`.

    Raises:
        StateLocked: another process writes to it.
        StateCorrupt: RocksDB refuses the files.
        StateError: there is no state at ``path`` and ``create`` is not set.
    """

    def __init__(self, path: Path, *, create: bool = False, reader: bool = False) -> None:
        self.path = path
        self._scratch: str | None = None
        if not create and not (path / "CURRENT").is_file():
            raise StateError(f"{path}: no state here; make one with `twiki bootstrap`")
        with _translating(path):
            if reader:
                self._scratch = tempfile.mkdtemp(prefix="twiki-reader-")
                access = AccessType.secondary(self._scratch)
                self._db = Rdict(str(path), _options(), access_type=access)
            else:
                path.mkdir(parents=True, exist_ok=True)
                self._db = Rdict(str(path), _options())
        self._synced = WriteOptions()
        self._synced.sync = True
        self._plain = WriteOptions()

    def get(self, key: bytes) -> bytes | None:
        """The value at ``key``, or None."""
        try:  # a context manager would cost as much as the read
            value: bytes | None = self._db.get(key)
        except Exception as error:
            with _translating(self.path):
                raise error from None
        return value

    def scan(self, prefix: bytes, after: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Items under ``prefix`` after ``after``; later writes may or may not be seen."""
        start = after + b"\0" if after > prefix else prefix
        while True:
            chunk = self._chunk(prefix, start)
            yield from chunk
            if len(chunk) < _CHUNK:
                return
            start = chunk[-1][0] + b"\0"

    def write(
        self, puts: Iterable[tuple[bytes, bytes]], deletes: Iterable[bytes], *, sync: bool = False
    ) -> None:
        """Apply all or nothing in one write batch: deletes, then puts."""
        batch = WriteBatch(raw_mode=True)
        for key in deletes:
            batch.delete(key)
        for key, value in puts:
            batch.put(key, value)
        with _translating(self.path):
            self._db.write(batch, self._synced if sync else self._plain)

    def catch_up(self) -> None:
        """Reader: see what the writer has written since."""
        with _translating(self.path):
            self._db.try_catch_up_with_primary()

    def flush(self) -> None:
        """Write what is in memory to table files."""
        with _translating(self.path):
            self._db.flush()

    def checkpoint(self, target: Path) -> None:
        """Copy the state as it stands to ``target``: table files are linked, not copied.

        Only the writer's own view is whole; beside a writer read with a scan.
        """
        with _translating(self.path):
            Checkpoint(self._db).create_checkpoint(str(target))

    def close(self) -> None:
        """Release the folder."""
        self._db.close()
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _chunk(self, prefix: bytes, start: bytes) -> list[tuple[bytes, bytes]]:
        with _translating(self.path):
            items: Any = self._db.items(from_key=start)
            chunk: list[tuple[bytes, bytes]] = list(islice(items, _CHUNK))
            del items
        if chunk and not chunk[-1][0].startswith(prefix):
            chunk = [item for item in chunk if item[0].startswith(prefix)]
        return chunk


def _options() -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)  # noqa: FBT003 - rocksdict's own signature
    options.set_write_buffer_size(_WRITE_BUFFER_BYTES)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_max_background_jobs(2)
    options.set_keep_log_file_num(2)
    table = BlockBasedOptions()
    table.set_block_cache(Cache(_CACHE_BYTES))
    table.set_bloom_filter(10, block_based=False)
    options.set_block_based_table_factory(table)
    return options


@contextmanager
def _translating(path: Path) -> Iterator[None]:
    """RocksDB's errors as ours; the one place where they are read."""
    try:
        yield
    except Exception as error:  # rocksdict raises plain Exception for everything
        text = str(error)
        if "lock" in text.lower():
            raise StateLocked(
                f"{path}: another process has this state open; stop it, or read beside it with "
                "a read-only command"
            ) from error
        gone = "No such file or directory" in text
        if not gone and ("No space left" in text or "IO error" in text):
            raise EngineError(
                f"{path}: the disk refuses: {text}; free space, then restart"
            ) from error
        if gone or "orruption" in text or "Invalid argument" in text:
            raise StateCorrupt(
                f"{path}: RocksDB refuses these files: {text}; restore the last backup into an "
                "empty folder"
            ) from error
        raise
