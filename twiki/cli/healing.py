"""What the live commands do before they read on: fetch what earlier runs could not have heard."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from twiki.cli.common import console

if TYPE_CHECKING:
    from stream.clock import Clock
    from stream.embedded import Embedded
    from stream.settings import Settings
    from twiki.engine import Engine


def moment_of(engine: "Engine", chosen: "Settings", clock: "Clock") -> "Callable[[], datetime]":
    """What now is for the source: the clock's, but a sandbox lives in its own months."""
    if not chosen.stream.hosts:
        return clock.now
    return lambda: engine.watermark or clock.now()


def heal(embedded: "Embedded") -> None:
    """Backfill every gap that is known, with a bar where somebody watches."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    if embedded.mender is None:
        return
    screen = console()
    columns = (
        TextColumn("backfill"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} changes, at {task.description}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=screen, disable=not screen.is_terminal) as progress:
        task = progress.add_task("-", total=None, visible=False)

        def told(moment: datetime) -> None:
            progress.update(task, advance=1, description=f"{moment:%Y-%m-%d %H:%M}", visible=True)

        embedded.mender.start(told)
