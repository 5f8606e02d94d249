"""What the service takes of its machine: memory, and room on disk by part of the state."""

import os
from collections.abc import Iterator
from pathlib import Path

_STATM = Path("/proc/self/statm")


def resident_bytes() -> int | None:
    """Memory of this process that is in RAM; None where the system does not tell (not Linux)."""
    try:
        pages = int(_STATM.read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def part_bytes(state: Path) -> dict[str, int]:
    """Bytes of the files below each folder of a state: ``db``, ``feed``, ``dumps`` and so on."""
    with os.scandir(state) as entries:
        parts = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    return {part.name: sum(_sizes(part.path)) for part in sorted(parts, key=lambda e: e.name)}


def _sizes(folder: str) -> Iterator[int]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _sizes(entry.path)
                else:
                    yield entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:
        return  # compaction and the exporter remove files at any time
