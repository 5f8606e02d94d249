"""The ``twiki`` command: parses arguments and wires objects, nothing else.

A module a topic; each adds its commands with ``register(app)`` and imports what they need when
they run, so that ``--help`` is fast and an extra that is not installed costs only its commands.
JSON goes to standard output alone, everything for people to standard error. Exit code 0 done,
1 failed, 2 wrong use.
"""

import importlib
import os
import sys
from collections.abc import Sequence

import typer

from twiki.errors import TwikiError

TOPICS = (
    "demo",
    "stream",
    "run",
    "serve",
    "bootstrap",
    "window",
    "cluster",
    "diff",
    "corpus",
    "dataset",
    "publish",
    "state",
    "dumps",
    "train",
    "sandbox",
    "inspect",
    "doctor",
    "bench",
)
MANY_VALUES = ("--articles", "--entities", "--page-props", "--redirects")
"""Options that take several values in a row, as if each had the option's name before it."""
_INTERRUPTED = 130


def build() -> typer.Typer:
    """The whole command, from the modules of this package."""
    app = typer.Typer(
        name="twiki",
        help="A living TemporalWiki: what changed in Wikipedia and Wikidata, as datasets.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    for topic in TOPICS:
        importlib.import_module(f"twiki.cli.{topic}").register(app)
    return app


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command and leave the process with its exit code."""
    try:
        build()(args=spread(sys.argv[1:] if argv is None else argv))
    except TwikiError as error:
        typer.echo(f"twiki: {error}", err=True)
        raise SystemExit(error.exit_code) from error
    except BrokenPipeError as error:  # the reader of a pipe has gone, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from error
    except KeyboardInterrupt as error:
        raise SystemExit(_INTERRUPTED) from error


def spread(argv: Sequence[str]) -> list[str]:
    """Repeat the name of an option that takes many values before each of them."""
    out: list[str] = []
    name, values = "", 0
    for word in argv:
        if word.startswith("-"):
            name, values = (word, 0) if word in MANY_VALUES else ("", 0)
        elif name:
            values += 1
            if values > 1:
                out.append(name)
        out.append(word)
    return out
