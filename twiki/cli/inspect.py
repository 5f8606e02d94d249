"""``twiki inspect``: the parts of the core by themselves, on files."""

import typer

from twiki.cli import inspect_facts, inspect_text


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    inspect = typer.Typer(help="Try the parts of the core on files.", no_args_is_help=True)
    inspect_text.commands(inspect)
    inspect_facts.commands(inspect)
    app.add_typer(inspect, name="inspect")
