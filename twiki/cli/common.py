"""What the commands share: settings, state folders, output for programs and for people."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.console import Console

    from stream.settings import Settings
    from twiki.state.store import Store

Config = Annotated[
    Path | None,
    typer.Option("--config", exists=True, dir_okay=False, help="Settings, a TOML file."),
]
State = Annotated[Path, typer.Option("--state", file_okay=False, help="The state folder.")]
Datasets = Annotated[
    Path, typer.Option("--datasets", file_okay=False, help="The folder of all datasets.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]

DB = "db"
"""The RocksDB folder inside a state folder."""


def settings(path: Path | None, **overrides: Any) -> "Settings":  # noqa: ANN401 - values of any section
    """The settings file with flags over it: ``wiki__name="x"`` sets ``[wiki] name``."""
    from stream.settings import read_settings

    given = {
        name.replace("__", "."): value for name, value in overrides.items() if value is not None
    }
    return read_settings(path, given)


@contextmanager
def opened(state: Path, *, create: bool = False, reader: bool = False) -> "Iterator[Store]":
    """The store in a state folder, closed in any case."""
    from twiki.state.rocks import RocksKeyValues
    from twiki.state.store import Store

    store = Store(RocksKeyValues(state / DB, create=create, reader=reader))
    try:
        yield store
    finally:
        store.close()


def console() -> "Console":
    """Where people read: standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """A line for people."""
    typer.echo(text, err=True)


def give(value: object) -> None:
    """One JSON object for programs, on a line of its own."""
    sys.stdout.write(msgspec.json.encode(value, order="sorted", enc_hook=str).decode() + "\n")
    sys.stdout.flush()


def patient_threads() -> None:
    """Let OpenMP's idle threads sleep: spinning ones cost 20 x when a core is busy elsewhere.

    Must run before torch is imported; what the environment says already wins.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")


@contextmanager
def counting(
    title: str, totals: "Mapping[str, int] | None" = None
) -> "Iterator[Callable[[str, int], None]]":
    """A progress display that counts stages; silent where standard error is no terminal.

    A stage in ``totals`` has a bar, with the time that is left.
    """
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.completed:,.0f}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    screen = console()
    with Progress(*columns, console=screen, disable=not screen.is_terminal) as progress:
        tasks: dict[str, Any] = {}

        def advance(stage: str, more: int) -> None:
            if stage not in tasks:
                total = (totals or {}).get(stage)
                tasks[stage] = progress.add_task(f"{title}: {stage}", total=total)
            progress.advance(tasks[stage], more)

        yield advance
