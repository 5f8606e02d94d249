"""Questions to Parquet files: DuckDB with everything closed that a question does not need.

The only files that it may open lie below the folders given at the start; extensions, other
files, the network and changes of these settings are off. Values are bound, never written into
the SQL. A question that takes too long is interrupted, and an answer is bounded in rows::

    tables = Tables([Path("datasets")])
    tables.rows(Sql("SELECT title FROM {file} WHERE id = ?"), path, (12,))
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from twiki.errors import EngineError

SECONDS = 5.0
"""Longest time that a question may take."""
MOST_ROWS = 1_000
_MEMORY = "192MB"
_THREADS = 2
_CURSORS = 8
"""Questions at the same time; more wait for their turn."""


class TooLong(EngineError):
    """A question took longer than it may; the page says so and offers a smaller one."""


class Tables:
    """One closed DuckDB over the Parquet files below ``folders``. Threads may share it."""

    def __init__(self, folders: Sequence[Path], *, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._turns = threading.BoundedSemaphore(_CURSORS)
        self._db = duckdb.connect(":memory:")
        allowed = [str(folder.resolve()) for folder in folders]
        for name, value in (
            ("allowed_directories", allowed),
            ("autoinstall_known_extensions", False),
            ("autoload_known_extensions", False),
            ("memory_limit", _MEMORY),
            ("threads", _THREADS),
            ("parquet_metadata_cache", True),
            ("temp_directory", ""),
            ("enable_external_access", False),
            ("lock_configuration", True),
        ):
            # Not for this connection alone: each question has one of its own.
            self._db.execute(f"SET GLOBAL {name} = {_literal(value)}")

    def rows(
        self, sql: str, file: Path | Sequence[Path], values: Sequence[object] = ()
    ) -> list[dict[str, Any]]:
        """The answer to ``sql``, in which ``{file}`` stands for the rows of ``file``.

        At most :data:`MOST_ROWS` rows. ``sql`` is always ours; the rest goes into ``values``.

        Raises:
            TooLong: it took more than the seconds allowed.
        """
        files = [str(one.resolve()) for one in ([file] if isinstance(file, Path) else file)]
        asked = sql.replace("{file}", "read_parquet($files)")
        bound: dict[str, object] = {"files": files}
        for number, value in enumerate(values):
            asked = asked.replace("?", f"$v{number}", 1)
            bound[f"v{number}"] = value
        with self._cursor() as cursor:
            cursor.execute(asked, bound)
            names = [column[0] for column in cursor.description]
            found = cursor.fetchmany(MOST_ROWS)
        return [dict(zip(names, map(_plain, row), strict=True)) for row in found]

    def close(self) -> None:
        """Release the database."""
        self._db.close()

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        with self._turns:
            cursor = self._db.cursor()
            bell = threading.Timer(self._seconds, cursor.interrupt)
            bell.daemon = True
            bell.start()
            try:
                yield cursor
            except duckdb.InterruptException as error:
                raise TooLong(
                    f"this took longer than {self._seconds:g} seconds: narrow it, or read the "
                    "Parquet file itself"
                ) from error
            finally:
                bell.cancel()
                cursor.close()


def _literal(value: object) -> str:
    """A setting's value as SQL: settings cannot be bound, and these are ours."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(_literal(one) for one in value) + "]"
    return "'" + str(value).replace("'", "''") + "'"


def _plain(value: object) -> object:
    """Times in UTC, whatever zone this machine has."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value
