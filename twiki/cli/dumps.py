"""``twiki dumps``: which dumps there are, and getting one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from twiki.cli.common import Config, Json, console, give, say, settings
from twiki.errors import UsageError

if TYPE_CHECKING:
    from stream.download import Progress
    from stream.dumps_site import DumpsSite, Layout, Run

Wiki = Annotated[
    str | None,
    typer.Option(help="Database name, such as enwiki. Default: [wiki] of the settings."),
]
Date = Annotated[
    str,
    typer.Option(help="Day of the run, YYYY-MM-DD or YYYYMMDD; 'latest': the newest complete."),
]
Entities = Annotated[
    bool,
    typer.Option("--entities", help="The entity dump of the repository instead of pages."),
]
KindName = Annotated[
    Literal["articles", "current", "history"],
    typer.Option(help="Articles; all pages; all pages with their history."),
]
LayoutName = Annotated[
    Literal["classic", "content"],
    typer.Option(help="The SQL/XML run, or the content export (mediawiki_content_…)."),
]
Site = Annotated[str | None, typer.Option(help="Another site or mirror. Default: Wikimedia's.")]

_SHOWN = 10


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    dumps = typer.Typer(help="Dumps of Wikimedia: which there are, and getting one.")
    dumps.command("list")(list_runs)
    dumps.command("get")(get)
    app.add_typer(dumps, name="dumps", no_args_is_help=True)


def list_runs(
    wiki: Wiki = None,
    date: Annotated[str | None, typer.Option(help="Only the run of this day.")] = None,
    entities: Entities = False,
    kind: KindName = "articles",
    layout: LayoutName = "classic",
    site: Site = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """List the newest runs, complete or not.

    Example: twiki dumps list --wiki simplewiki

    With --json: {"runs": [{"wiki", "date", "layout", "complete", "missing", "files", "bytes"}, …]}
    """
    with _site(config, site) as (dumps, name, repository):
        shape = _layout(entities, layout)
        which = repository if entities else wiki or name
        dates = [_day(date)] if date else dumps.dates(which, shape, kind)[:_SHOWN]
        runs = [dumps.run(which, each, shape, kind) for each in dates]
    if as_json:
        give({"runs": [_described(run) for run in runs]})
        return
    if not runs:
        say(f"{which}: the site has no runs")
    for run in runs:
        size = "" if run.size is None else f", {run.size:,} bytes"
        state = f"complete: {len(run.files)} files{size}" if run.complete else run.missing
        say(f"{run.wiki} {run.date} {run.layout.value}: {state}")


def get(
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for the run's files.")],
    wiki: Wiki = None,
    date: Date = "latest",
    entities: Entities = False,
    kind: KindName = "articles",
    layout: LayoutName = "classic",
    tables: Annotated[
        Literal["none", "too", "only"],
        typer.Option(
            help="too: page_props and redirect beside the texts; only: these and page, no texts."
        ),
    ] = "none",
    site: Site = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Get a complete run: resumable, checksummed, at most two connections.

    Run it again after an interruption: it goes on where it stopped. Wikimedia's hosts want a
    contact: set TWIKI_CONTACT to a mail address or web page.

    Example: twiki dumps get --wiki simplewiki --date latest --out dumps/simplewiki

    Merged items: twiki dumps get --wiki wikidatawiki --tables only --out dumps/wikidatawiki

    With --json: {"wiki", "date", "layout", "files": [{"file", "bytes", "sha256", "verified_by"}]}
    """
    with _site(config, site) as (dumps, name, repository), _bars() as progress:
        shape = _layout(entities, layout)
        which = repository if entities else wiki or name
        if date == "latest":
            run = dumps.newest(which, shape, kind, tables=tables)
        else:
            run = dumps.run(which, _day(date), shape, kind, tables=tables)
            _refuse_incomplete(dumps, run, kind)
        files = dumps.get(run, out, progress)
    if as_json:
        found = [
            {
                "file": str(file.path),
                "bytes": file.bytes,
                "sha256": file.sha256,
                "verified_by": file.verified_by,
            }
            for file in files
        ]
        give({"wiki": run.wiki, "date": run.date, "layout": run.layout.value, "files": found})
    for file in files:
        say(f"{file.path}: {file.bytes:,} bytes, {file.verified_by}")


@contextmanager
def _site(config: Path | None, site: str | None) -> "Iterator[tuple[DumpsSite, str, str]]":
    """The site, with the names of wiki and repository in the settings."""
    import random

    from stream.clock import SystemClock
    from stream.download import Downloads
    from stream.dumps_site import SITE, DumpsSite

    read = settings(config)
    clock = SystemClock()
    downloads = Downloads(read.stream, clock, random.Random())
    try:
        yield DumpsSite(site or SITE, downloads), read.wiki.name, read.wiki.repository
    finally:
        clock.stop()
        downloads.close()


@contextmanager
def _bars() -> "Iterator[Progress]":
    """A bar for each file; none where standard error is no terminal."""
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    screen = console()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, disable=not screen.is_terminal) as bars:
        tasks: dict[str, TaskID] = {}

        def show(name: str, have: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
            bars.update(tasks[name], completed=have, total=total)

        yield show


def _layout(entities: bool, name: str) -> "Layout":
    from stream.dumps_site import Layout

    return Layout.ENTITIES if entities else Layout(name)


def _day(text: str) -> str:
    from datetime import date

    try:
        return f"{date.fromisoformat(text):%Y%m%d}"
    except ValueError as error:
        raise UsageError(f"--date {text!r} is not a day: write 2026-11-01 or 20261101") from error


def _refuse_incomplete(dumps: "DumpsSite", run: "Run", kind: KindName) -> None:
    from twiki.errors import SourceError

    if not run.complete:
        dates = ", ".join(dumps.dates(run.wiki, run.layout, kind)[:_SHOWN]) or "none"
        raise SourceError(
            f"{run.wiki} {run.date} is not complete: {run.missing}. Runs on the site: {dates}"
        )


def _described(run: "Run") -> dict[str, object]:
    return {
        "wiki": run.wiki,
        "date": run.date,
        "layout": run.layout.value,
        "complete": run.complete,
        "missing": run.missing,
        "files": len(run.files),
        "bytes": run.size,
    }
