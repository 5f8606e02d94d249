"""``twiki serve``: pages to watch the stream and to read a window."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from twiki.cli.common import Config, Datasets, Json, console, give, say, settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.pages.library import Shelved
    from stream.pages.search import Progress as Making
    from stream.settings import Settings

DATASETS = Path("datasets")
_NICE = 5
"""Where processors are scarce the worker goes first."""
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("serve")(serve)


def serve(
    state: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="The state folder of a worker, read beside it."),
    ] = None,
    datasets: Datasets = DATASETS,
    report: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="The trainer's report; default: beside the datasets."),
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="The trainer's runs; default: beside the datasets."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Search indexes; default: in the user's cache folder."),
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on; not loopback: --allow-remote.")
    ] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="0: any that is free.")] = None,
    allow_remote: Annotated[
        bool,
        typer.Option("--allow-remote", help="Let others than this machine read all of it."),
    ] = False,
    host_names: Annotated[
        list[str] | None,
        typer.Option("--host-name", help="Another name it is reached under, behind a proxy."),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser.")
    ] = False,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show the stream, the windows, articles, probes and models in the browser; read-only.

    Runs beside a worker and never writes to its state or to a dataset. Everything is also JSON
    under /api/v1. Ctrl-C ends it.

    Example: twiki serve --state demo/state --datasets demo/datasets

    With --json, first: {"url"}
    """
    from stream.clock import SystemClock
    from stream.pages.app import application, open_site
    from stream.settings import cache_folder

    chosen = settings(
        config, pages__host=host, pages__port=port, pages__host_names=host_names or None
    )
    address = _checked(chosen.pages.host, allowed=allow_remote)
    os.nice(_NICE)
    with _indexing() as told:
        site = open_site(
            chosen,
            SystemClock(),
            state=state,
            datasets=datasets,
            cache=cache or cache_folder() / "indexes",
            report=_beside(report, datasets, "report"),
            runs=_beside(runs, datasets, "runs"),
            told=told,
        )
        if site.feed is None and state is not None:
            say(f"{state}: no state there yet; serving the datasets alone")
        names = {address, *chosen.pages.host_names}
        if allow_remote and address in ("0.0.0.0", "::"):  # noqa: S104 - compared, and told
            say("name the addresses it is reached under with --host-name")
        _listen(
            application(site, hosts=names),
            address,
            chosen.pages.port,
            lambda url: _started(url, as_json=as_json, open_page=open_page),
        )


@contextlib.contextmanager
def beside(chosen: "Settings", config: Path | None, state: Path, datasets: Path) -> Iterator[None]:
    """Serve in a process of its own while the block runs, where the settings ask for it."""
    if not chosen.pages.with_run:
        yield
        return
    command = [sys.executable, "-m", "twiki", "serve", "--state", state, "--datasets", datasets]
    if config is not None:
        command += ["--config", config]
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL) as process:  # noqa: S603 - this Python and our own command
        try:
            yield
        finally:
            process.terminate()


def _checked(host: str, *, allowed: bool) -> str:
    """The address to listen on.

    Raises:
        UsageError: others could reach it, and that is not allowed.
    """
    from twiki.errors import UsageError

    if host in _LOOPBACK:
        return host
    exposed = (
        "everyone who reaches this address can read all datasets, the state's live feed and the "
        "names of its pages; nothing can be changed, nobody is asked for a password"
    )
    if not allowed:
        raise UsageError(f"{host} is not a loopback address: {exposed}. --allow-remote does it")
    say(f"warning: {exposed}")
    return host


def _beside(given: Path | None, datasets: Path, name: str) -> Path | None:
    """A folder of the trainer: as given, or where the demo puts it."""
    found = given or datasets.parent / name
    return found if given is not None or found.is_dir() else None


def _started(url: str, *, as_json: bool, open_page: bool) -> None:
    if as_json:
        give({"url": url})
    say(f"serving {url} (Ctrl-C ends it)")
    if open_page:
        import webbrowser

        webbrowser.open(url)


def _listen(app: Any, host: str, port: int, started: "Callable[[str], None]") -> None:  # noqa: ANN401 - an ASGI application
    """Serve until a signal; ``started`` is told the address once requests are answered.

    Raises:
        UsageError: the port is taken.
    """
    import socket

    import uvicorn

    from twiki.errors import UsageError

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named asyncio sends small answers at once (TCP_NODELAY); without it each
    # waits 40 ms for the other side's acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise UsageError(f"{host} port {port}: {error.strerror}; choose another --port") from error
    shown = f"[{host}]" if ":" in host else host
    url = urlsplit(f"http://{shown}:{listener.getsockname()[1]}/").geturl()

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            if self.started:
                started(url)

    options = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=16 << 10,
        limit_concurrency=256,
    )
    Server(options).run(sockets=[listener])


@contextlib.contextmanager
def _indexing() -> Iterator["Callable[[Shelved, Making], None]"]:
    """A progress bar for each search index that is made; silent where nobody watches."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    screen = console()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, disable=not screen.is_terminal) as progress:
        tasks: dict[str, Any] = {}

        def told(shelf: "Shelved", now: "Making") -> None:
            if shelf.id not in tasks:
                tasks[shelf.id] = progress.add_task(f"search index of {shelf.id}", total=now.of)
            done = now.of if now.ready else now.done
            progress.update(tasks[shelf.id], completed=done, visible=not now.ready)
            if now.problem:
                say(f"{shelf.id}: no search index: {now.problem}")

        yield told
