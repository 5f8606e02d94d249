"""Sort more than memory holds: sorted runs in a temporary folder, merged as they are read.

::

    for data in sort(((key, data) for …), budget=64 << 20):   # keys are pairs of integers
        …
"""

import heapq
import struct
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

Key = tuple[int, int]
Item = tuple[Key, bytes]

MERGED_AT_ONCE = 64
"""Runs open at the same time; more are merged in steps."""

_HEAD = struct.Struct("<qqI")


def sort(items: Iterable[Item], *, budget: int) -> Iterator[bytes]:
    """Yield the data of ``items`` by key; about ``budget`` bytes of it are held in memory.

    Items with equal keys come out in the order of their data, so that equal input sorts equal.
    """
    with tempfile.TemporaryDirectory(prefix="twiki-sort-") as folder:
        runs: list[Path] = []
        held: list[Item] = []
        size = 0
        for item in items:
            held.append(item)
            size += len(item[1]) + 100
            if size >= budget:
                runs.append(_write(sorted(held), Path(folder) / f"{len(runs)}"))
                held, size = [], 0
        held.sort()
        if not runs:
            yield from (data for _, data in held)
            return
        runs.append(_write(held, Path(folder) / f"{len(runs)}"))
        del held
        level = 0
        while len(runs) > MERGED_AT_ONCE:
            level += 1
            groups = [runs[at : at + MERGED_AT_ONCE] for at in range(0, len(runs), MERGED_AT_ONCE)]
            runs = [
                _write(heapq.merge(*map(_read, group)), Path(folder) / f"{level}-{number}", group)
                for number, group in enumerate(groups)
            ]
        yield from (data for _, data in heapq.merge(*map(_read, runs)))


def _write(items: Iterable[Item], path: Path, replaces: Iterable[Path] = ()) -> Path:
    with path.open("wb") as file, zstandard.ZstdCompressor(level=1).stream_writer(file) as out:
        for (first, second), data in items:
            out.write(_HEAD.pack(first, second, len(data)))
            out.write(data)
    for merged in replaces:
        merged.unlink()
    return path


def _read(path: Path) -> Iterator[Item]:
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as run:
        while head := _exactly(run, _HEAD.size):
            first, second, size = _HEAD.unpack(head)
            yield (first, second), _exactly(run, size)


def _exactly(run: BinaryIO, size: int) -> bytes:
    parts = []
    while size and (part := run.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
