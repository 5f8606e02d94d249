"""Search in a dataset's sentences and facts, by the index that :mod:`stream.pages.index` makes.

Hits come in the order of the file, so that paging is stable and a page costs the same wherever
it lies; ranking would read every hit. All words must be there; ``word*`` finds its beginnings::

    indexes = Indexes(Path("~/.cache/twiki"))
    indexes.want(shelf)                            # made in the background, one at a time
    indexes.status(shelf)                          # Ready() | Making(done, of) | Broken(why)
"""

import json
import queue
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from stream.pages import index
from stream.pages.index import ORDINAL_BITS
from stream.pages.library import Library, Shelved
from stream.pages.query import TooLong
from twiki.errors import UsageError
from twiki.records import Record
from twiki.windows.versions import Status

SECONDS = 2.0
_WORD = re.compile(r"([^\W_]+)(\*?)")
"""About what the index takes for a word; where it differs, the question is refused."""
_MOST_WORDS = 12
_PREFIX = 4
"""Letters before a star: the index puts together the places of every word that fits, in memory."""
COUNTED = 1_000
"""Hits are counted up to here."""


class Progress(Record, frozen=True, kw_only=True):
    """How far an index is; ``problem`` says why it cannot be made."""

    ready: bool = False
    done: int = 0
    of: int = 0
    problem: str = ""


class Hits(Record, frozen=True, kw_only=True):
    """Some hits by row id, in order; ``more``: there are others behind them."""

    rows: tuple[int, ...]
    more: bool
    count: int
    """At most :data:`COUNTED` + 1, which means: more than :data:`COUNTED`."""


def expression(asked: str) -> str | None:
    """What people typed as an FTS5 expression: words only, nothing of it active."""
    words = _WORD.findall(asked)[:_MOST_WORDS]
    terms = (f'"{word}"*' if star and len(word) >= _PREFIX else f'"{word}"' for word, star in words)
    return " ".join(terms) or None


class Indexes:
    """The indexes in ``cache``, made in the background by a process of their own."""

    def __init__(
        self,
        library: Library,
        cache: Path,
        *,
        told: Callable[[Shelved, Progress], None] = lambda _shelf, _progress: None,
    ) -> None:
        self._library = library
        self._cache = cache
        self._told = told
        self._progress: dict[str, Progress] = {}
        self._queue: queue.SimpleQueue[Shelved | None] = queue.SimpleQueue()
        self._process: subprocess.Popen[str] | None = None
        self._closing = False
        self._lock = threading.Lock()
        self._worker = threading.Thread(target=self._work, daemon=True, name="indexes")
        self._worker.start()

    def want(self, shelf: Shelved) -> Progress:
        """How far the dataset's index is; begun where there is none."""
        with self._lock:
            known = self._progress.get(shelf.digest)
            if known is not None and not known.ready:
                return known
            if index.path_of(self._cache, shelf.digest).exists():
                known = Progress(ready=True)
            else:
                known = Progress(of=index.total(self._library.dataset(shelf)))
                self._queue.put(shelf)
            self._progress[shelf.digest] = known
            return known

    def want_all(self) -> None:
        """Begin with everything that is in use, the newest window first."""
        shelves = self._library.listing().shelves.values()
        current = [shelf for shelf in shelves if shelf.status is Status.CURRENT]
        for shelf in sorted(current, key=lambda one: one.window, reverse=True):
            self.want(shelf)

    def sentences(self, shelf: Shelved, asked: str, *, after: int, limit: int) -> Hits:
        """Sentences that hold all words; row ids as :mod:`stream.pages.index` says.

        Raises:
            TooLong: it took more than two seconds.
        """
        return self._hits(shelf, "sentences", asked, after, limit)

    def facts(self, shelf: Shelved, asked: str, *, after: int, limit: int) -> Hits:
        """Facts that hold all words."""
        return self._hits(shelf, "facts", asked, after, limit)

    def sentences_at(self, shelf: Shelved, numbers: tuple[int, ...]) -> list[dict[str, Any]]:
        """Page id, ordinal, title, text and kind of sentences by row id, in their order."""
        found = []
        with self._reading(shelf) as database:
            for number in numbers:
                title, text, kind = database.execute(
                    "SELECT title, text, kind FROM sentence WHERE number = ?", (number,)
                ).fetchone()
                page, ordinal = number >> ORDINAL_BITS, number & ((1 << ORDINAL_BITS) - 1)
                found.append(
                    {"id": page, "ordinal": ordinal, "title": title, "text": text, "kind": kind}
                )
        return found

    def fact_keys(self, shelf: Shelved, numbers: tuple[int, ...]) -> list[tuple[str, ...]]:
        """Part, subject, relation and object of facts by number, in their order."""
        marks = ", ".join("?" * len(numbers))
        with self._reading(shelf) as database:
            found = database.execute(
                f"SELECT part, subject, relation, object FROM fact WHERE number IN ({marks}) "  # noqa: S608 - question marks
                "ORDER BY number",
                numbers,
            ).fetchall()
        return [tuple(row) for row in found]

    def summary(self, shelf: Shelved, name: str) -> Any:  # noqa: ANN401 - JSON
        """What a pass over the whole dataset counted; None while there is no index."""
        if not self.want(shelf).ready:
            return None
        with self._reading(shelf) as database:
            row = database.execute("SELECT content FROM summary WHERE name = ?", (name,)).fetchone()
        return None if row is None else json.loads(row[0])

    def wait(self, shelf: Shelved, seconds: float = 60.0) -> Progress:
        """Wait until the index is made or cannot be."""
        made = threading.Event()
        progress = self.want(shelf)
        for _ in range(int(seconds * 20)):
            progress = self.want(shelf)
            if progress.ready or progress.problem:
                break
            made.wait(0.05)
        return progress

    def close(self) -> None:
        """End the process that makes an index, if there is one; what it made is thrown away."""
        self._closing = True
        self._queue.put(None)
        process = self._process
        if process is not None:
            process.terminate()
        self._worker.join(timeout=5)

    def _hits(self, shelf: Shelved, table: str, asked: str, after: int, limit: int) -> Hits:
        wanted = expression(asked)
        if wanted is None:
            return Hits(rows=(), more=False, count=0)
        with self._reading(shelf) as database:
            found = database.execute(
                f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND rowid > ? "  # noqa: S608 - one of two names
                "ORDER BY rowid LIMIT ?",
                (wanted, after, limit + 1),
            ).fetchall()
            count = database.execute(
                f"SELECT count(*) FROM (SELECT rowid FROM {table} WHERE {table} MATCH ? LIMIT ?)",  # noqa: S608 - the same
                (wanted, COUNTED + 1),
            ).fetchone()[0]
        rows = tuple(row[0] for row in found[:limit])
        return Hits(rows=rows, more=len(found) > limit, count=count)

    @contextmanager
    def _reading(self, shelf: Shelved) -> Iterator[sqlite3.Connection]:
        address = (
            f"{index.path_of(self._cache, shelf.digest).resolve().as_uri()}?mode=ro&immutable=1"
        )
        with closing(sqlite3.connect(address, uri=True, check_same_thread=False)) as database:
            bell = threading.Timer(SECONDS, database.interrupt)
            bell.daemon = True
            bell.start()
            try:
                yield database
            except sqlite3.OperationalError as error:
                if "fts5" in str(error):
                    raise UsageError("words in this writing cannot be searched for") from error
                if "interrupted" not in str(error):
                    raise
                raise TooLong(f"this took longer than {SECONDS:g} seconds: add a word") from error
            finally:
                bell.cancel()

    # --- making ---

    def _work(self) -> None:
        while (shelf := self._queue.get()) is not None and not self._closing:
            progress = self._make(shelf)
            with self._lock:
                self._progress[shelf.digest] = progress
            self._told(shelf, progress)
            if progress.ready:
                self._drop_others()

    def _make(self, shelf: Shelved) -> Progress:
        of = self._progress[shelf.digest].of
        path = index.path_of(self._cache, shelf.digest)
        command = [sys.executable, "-m", "stream.pages.index", str(shelf.folder), str(path)]
        with subprocess.Popen(  # noqa: S603 - this Python and our own module
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            self._process = process
            for line in process.stdout or ():
                progress = Progress(done=int(line), of=of)
                with self._lock:
                    self._progress[shelf.digest] = progress
                self._told(shelf, progress)
            problem = (process.stderr.read() if process.stderr else "").strip()
        self._process = None
        if path.exists():
            return Progress(ready=True, done=of, of=of)
        return Progress(of=of, problem=problem[-500:] or "the process that makes it ended")

    def _drop_others(self) -> None:
        """Throw away indexes of manifests that are no longer in the library."""
        shelves = self._library.listing().shelves.values()
        kept = {index.path_of(self._cache, shelf.digest) for shelf in shelves}
        for path in self._cache.glob("*.sqlite"):
            if path not in kept:
                path.unlink(missing_ok=True)
