"""``twiki corpus``: the cleaned text of every article as of a boundary."""

from pathlib import Path
from typing import Annotated

import typer

from twiki.cli.common import Config, Json, State, counting, give, opened, say, settings


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("corpus")(corpus)


def corpus(
    state: State,
    as_of: Annotated[str, typer.Option("--as-of", help="A boundary that the state keeps.")],
    out: Annotated[Path, typer.Option("--out", file_okay=False, help="Folder of the shards.")],
    sample: Annotated[
        int | None, typer.Option(min=1, help="At most so many articles, chosen by hash.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that clean; all cores by default.")
    ] = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Write every live article as of a boundary: Parquet shards id, url, title, text.

    A killed run is completed by running it again.

    Example: twiki corpus --state state --as-of 2026-11-01 --out corpus/2026-11-01

    With --json: {"wiki", "as_of", "counts": {"articles", "sentences", "words", "bytes",
    "unreadable"}, "files", …}
    """
    from twiki.engine import reading
    from twiki.errors import UsageError
    from twiki.records import Policy
    from twiki.times import to_ms
    from twiki.windows import calendar
    from twiki.windows import corpus as core

    chosen = settings(config)
    moment = calendar.moment(as_of)
    with opened(state, reader=True) as store, counting("corpus") as progress:
        engine = reading(store, chosen)
        kept = [b for b in engine.context.boundaries if b <= to_ms(engine.watermark or moment)]
        if to_ms(moment) not in kept:
            raise UsageError(f"{as_of} is not a boundary that this state keeps")
        pinned = [w for w in engine.windows() if w.end == moment]
        pins = pinned and Policy(chosen.windows.policy) is Policy.DUMP
        view = engine.as_of(pins=pinned[0] if pins else None)
        made = core.write(
            view, moment, out, chosen, sample=sample, workers=workers, progress=progress
        )
    say(f"{out}: {made.counts['articles']:,} articles, {made.counts['words']:,} words")
    if as_json:
        give(made)
