"""``twiki sandbox``: Wikimedia in a box, served on loopback."""

import signal
import sys
from collections.abc import Mapping
from types import FrameType
from typing import Annotated, NoReturn

import typer


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    sandbox = typer.Typer(help="A little world that speaks Wikimedia's protocols.")
    sandbox.callback()(lambda: None)  # keeps "serve" a word of its own while it is the only one
    sandbox.command("serve")(serve)
    app.add_typer(sandbox, name="sandbox", no_args_is_help=True)


def serve(
    seed: Annotated[int, typer.Option(help="The same seed gives the same world.")] = 1,
    articles: Annotated[int, typer.Option(min=1, help="Articles at the beginning.")] = 150,
    months: Annotated[int, typer.Option(min=1, help="Months that the world lives.")] = 2,
    rate: Annotated[
        float | None,
        typer.Option(min=0.001, help="Events a second; without it as fast as they are read."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 0,
    faults: Annotated[
        int | None,
        typer.Option(help="Seed of a plan of cuts, refusals, duplicates and disorder."),
    ] = None,
    close: Annotated[
        bool,
        typer.Option("--close", help="End the stream after its last event; else it is held open."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="The addresses as one JSON object, first line.")
    ] = False,
) -> None:
    """Serve a deterministic little world on 127.0.0.1 until Ctrl-C or SIGTERM.

    EventStreams under /v2/stream, the action API under /w/api.php, Special:EntityData, dumps
    under /dumps. /enwiki and /wikidatawiki stand for the two wikis: settings for a client are
    stream.url = URL, wiki.url = URL/enwiki, wiki.repository_url = URL/wikidatawiki.
    GET /books/<month>.json is what is true of a month: diff sentences, facts and probes.

    Example: twiki sandbox serve --seed 1 --json

    With --json the first line is {"url", "stream", "api", "dumps", "months": [name, …]}
    """
    import msgspec

    from stream.sandbox.faults import Faults, rough_weather
    from stream.sandbox.server import SandboxServer, grace_at
    from stream.sandbox.world import World
    from twiki.errors import UsageError

    try:
        world = World(seed, articles=articles, months=months)
    except ValueError as error:
        raise UsageError(str(error)) from error
    planned = Faults() if faults is None else rough_weather(faults)
    try:
        server = SandboxServer(
            world, rate=rate, faults=planned, port=port, hold=not close, grace=grace_at(rate)
        )
    except OSError as error:
        raise UsageError(f"port {port}: cannot be listened on: {error.strerror}") from error
    addresses = {
        "url": server.url,
        "stream": server.stream_url,
        "api": server.api_url,
        "dumps": server.dumps_url,
        "months": [window.name for window in world.windows],
    }
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        if as_json:
            sys.stdout.write(msgspec.json.encode(addresses).decode() + "\n")
            sys.stdout.flush()
        else:
            _say(addresses)
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.close()


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _say(addresses: Mapping[str, object]) -> None:
    from rich.console import Console

    console = Console(stderr=True)
    for name, value in addresses.items():
        shown = ", ".join(value) if isinstance(value, list) else value
        console.print(f"[bold]{name:7}[/bold] {shown}", highlight=False)
    console.print("Ctrl-C ends it.")
