"""The live feed as files: diff sentences and facts as they happened.

The outbox in RocksDB holds what every batch told; the exporter follows with a cursor of its
own and writes segments of JSON lines::

    <state>/feed/2026-11/00000000.jsonl      records 0 to 999 of the window
    <state>/feed/2026-11/00001000.jsonl

A segment is written aside, synced and renamed before the cursor moves, so that after a kill
it is written again with the same bytes. It holds :data:`SEGMENT` records, fewer only where its
window, or a later one, closed behind its last one: what late events told waits for that.
"""

from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path

import msgspec

from twiki.engine import Engine
from twiki.live import Output
from twiki.records import Window
from twiki.state import codec, layout
from twiki.times import to_ms
from twiki.windows.versions import write_aside

SEGMENT = 1000
_CURSOR = "exporter"


class Cursor(msgspec.Struct, kw_only=True):
    """By window start: the last outbox key exported, and how many records that makes."""

    after: dict[int, bytes] = {}
    records: dict[int, int] = {}


class Exporter:
    """Writes what the engine's outbox holds to ``folder``."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self._engine = engine
        self._folder = folder
        self._cursor = engine.store.meta(_CURSOR, Cursor) or Cursor()
        self._exported = (0, 0)

    def run(self, *, told: Callable[[int], None] = lambda _records: None) -> None:
        """Export every full segment, and what is left of windows that have closed."""
        progress = self._engine.progress
        if (progress.outbox, progress.closed) == self._exported:
            return
        for window in self._engine.windows():
            while records := self._segment(window):
                told(records)
        self._exported = (progress.outbox, progress.closed)

    def _segment(self, window: Window) -> int:
        start = to_ms(window.start)
        marks = self._marks(window)
        lines: list[bytes] = []
        last, part, whole = b"", 0, False
        after = self._cursor.after.get(start, b"")
        for key, value in self._engine.store.kv.scan(layout.OUTBOX + layout.number(start), after):
            of = bisect_right(marks, int.from_bytes(key[-8:], "big"))
            if lines and of > part:
                break
            lines.append(msgspec.json.encode(codec.decode(value, Output)))  # type: ignore[arg-type]
            last, part, whole = key, of, len(lines) == SEGMENT
            if whole:
                break
        if not lines or (not whole and part == len(marks)):
            return 0
        first = self._cursor.records.get(start, 0)
        folder = self._folder / window.name
        folder.mkdir(parents=True, exist_ok=True)
        write_aside(folder / f"{first:08d}.jsonl", b"\n".join(lines) + b"\n")
        self._cursor.after[start] = last
        self._cursor.records[start] = first + len(lines)
        cursor = codec.encode(self._cursor)
        self._engine.store.kv.write([(layout.META + _CURSOR.encode(), cursor)], [])
        return len(lines)

    def _marks(self, window: Window) -> list[int]:
        """Numbers of outputs at which the window, or a later one, closed."""
        ended = to_ms(window.end)
        return sorted(count for end, count in self._engine.progress.marks.items() if end >= ended)
