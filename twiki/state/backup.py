"""A copy of a state, with nobody or beside a live worker, and back again.

::

    <backup>/db/            RocksDB
    <backup>/backup.json    what it is a copy of

Without a worker the writer's own checkpoint is taken: table files are linked, so that a copy on
the same disk costs seconds. Beside a worker the state is read through a RocksDB secondary, whose
view stands still while it is read, and written anew.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec

from twiki.engine import read_progress
from twiki.errors import OutputExists, StateCorrupt, StateError, StateLocked
from twiki.records import Record
from twiki.state.codec import VERSION
from twiki.state.rocks import RocksKeyValues
from twiki.state.store import Store

DB, NOTE = "db", "backup.json"
_BATCH = 2000


class Note(Record, frozen=True, kw_only=True):
    """What a backup holds."""

    version: int
    """Of the stored bytes."""
    wiki: str
    watermarks: dict[str, int]
    """Greatest arrival time of each stream, milliseconds: where the stream goes on."""
    way: str
    """checkpoint, or copy (beside a worker)."""


def backup(state: Path, target: Path, progress: Callable[[int], None] = lambda _more: None) -> Note:
    """Copy the state in ``state`` to the folder ``target``; a kill leaves no half of one.

    Raises:
        OutputExists: there is something at ``target``.
        StateError: there is no state, or nothing in it.
    """
    if target.exists():
        raise OutputExists(f"{target}: exists already, nothing was written: choose another folder")
    partial = target.with_name(f".{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        way = _copy(state / DB, partial / DB, progress)
        note = _described(partial, way)
        (partial / NOTE).write_bytes(msgspec.json.encode(note))
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return note


def restore(source: Path, state: Path) -> Note:
    """Make a state of the backup in ``source``; its stream goes on where it stood.

    Raises:
        StateError: ``source`` is no backup.
        OutputExists: there is a state at ``state``.
        StateCorrupt: the backup cannot be opened; nothing was put in place.
    """
    if not (source / NOTE).is_file():
        raise StateError(f"{source}: expected a folder with {NOTE}, as `twiki state backup` makes")
    if (state / DB).exists():
        raise OutputExists(f"{state / DB}: there is a state; move it aside first")
    state.mkdir(parents=True, exist_ok=True)
    partial = state / f".{DB}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        shutil.copytree(source / DB, partial)
        _open(partial).close()
        partial.rename(state / DB)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    try:
        return msgspec.json.decode((source / NOTE).read_bytes(), type=Note)
    except msgspec.DecodeError as error:
        raise StateCorrupt(f"{source / NOTE}: cannot be read: {error}") from error


def _copy(db: Path, target: Path, progress: Callable[[int], None]) -> str:
    try:
        writer = RocksKeyValues(db)
    except StateLocked:
        _copy_beside(db, target, progress)
        return "copy"
    try:
        writer.checkpoint(target)
    finally:
        writer.close()
    return "checkpoint"


def _copy_beside(db: Path, target: Path, progress: Callable[[int], None]) -> None:
    reader = RocksKeyValues(db, reader=True)
    try:
        copy = RocksKeyValues(target, create=True)
        try:
            puts: list[tuple[bytes, bytes]] = []
            for item in reader.scan(b""):
                puts.append(item)
                if len(puts) == _BATCH:
                    copy.write(puts, [])
                    progress(len(puts))
                    puts.clear()
            copy.write(puts, [], sync=True)
            copy.flush()
        finally:
            copy.close()
    finally:
        reader.close()


def _described(folder: Path, way: str) -> Note:
    kv = _open(folder / DB)
    try:
        progress = read_progress(Store(kv))
    finally:
        kv.close()
    if progress is None:
        raise StateError("this state is empty: there is nothing to back up")
    watermarks = dict(sorted(progress.watermarks.items()))
    return Note(version=VERSION, wiki=progress.wiki, watermarks=watermarks, way=way)


def _open(path: Path) -> RocksKeyValues:
    return RocksKeyValues(path)
