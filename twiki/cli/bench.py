"""``twiki bench``: measurements against their budgets, as JSON."""

from pathlib import Path
from typing import Annotated

import typer

from twiki.cli.common import give, say


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("bench")(bench)


def bench(
    name: Annotated[str, typer.Argument(help="Which; 'list' names them.")],
    check: Annotated[
        bool, typer.Option("--check", help="Exit code 1 when a budget is missed.")
    ] = False,
    model: Annotated[
        str | None, typer.Option(help="train: gpt2-large-config or small; by the device else.")
    ] = None,
    tokens: Annotated[int | None, typer.Option(min=1, help="train: tokens to time.")] = None,
    out: Annotated[Path | None, typer.Option(help="study: folder to work in.")] = None,
    minutes: Annotated[
        float | None, typer.Option(min=0.0, help="soak: how long; whole rounds, at least one.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="soak: of the first round.")] = None,
    soak: Annotated[
        bool | None, typer.Option("--soak", help="kafka: workers killed 50 times at random.")
    ] = None,
    kills: Annotated[int | None, typer.Option(min=1, help="kafka --soak: how often.")] = None,
) -> None:
    """Measure one part of the system on this machine and print the figures beside the budget.

    Ratios compare with a peer or a floor in the same run, since machines differ.

    Example: twiki bench edits --check

    Prints {"bench", "machine", "figures": [{"figure", "value", "unit", "budget", "met",
    "peer", "ratio"}, …]}
    """
    from twiki.cli.benches import BENCHES, machine, run

    if name == "list":
        for known in sorted(BENCHES):
            say(f"{known:<14} {BENCHES[known].about}")
        return
    figures = run(
        name,
        model=model,
        tokens=tokens,
        out=out,
        minutes=minutes,
        seed=seed,
        soak=soak,
        kills=kills,
    )
    give({"bench": name, "machine": machine(), "figures": figures})
    for figure in figures:
        budget = "" if figure.met is None else ("  met" if figure.met else "  MISSED")
        say(f"{figure.figure}: {figure.value:,.4g} {figure.unit}{budget}")
    if check and any(figure.met is False for figure in figures):
        raise typer.Exit(1)
