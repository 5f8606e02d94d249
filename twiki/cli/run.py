"""``twiki run``: the service that does all of it, for months."""

import signal
from pathlib import Path
from typing import Annotated, Any

import typer

from twiki.cli import serve
from twiki.cli.common import Config, Datasets, Json, State, give, opened, say, settings


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("run")(run)


def run(
    state: State,
    datasets: Datasets = Path("datasets"),
    source: Annotated[str | None, typer.Option(help="Address of an EventStreams service.")] = None,
    dumps: Annotated[
        str | None, typer.Option(help="Address of a dumps site; empty: do not reconcile.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Of /healthz, /readyz and /metrics.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Where an empty state begins to read: a time.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Stop when everything before this time is dealt with.")
    ] = None,
    log_json: Annotated[
        bool, typer.Option("--log-json/--log-plain", help="Log lines as JSON, or for people.")
    ] = True,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Follow the events, close windows, reconcile them, write datasets, start trainings.

    Runs until Ctrl-C or SIGTERM; started again it goes on where it stood, whatever ended it.
    Dumps are waited for on the dumps site, late events and hidden texts become new versions,
    what the trainer section of the settings asks for is started in a process of its own.
    Health and metrics are served on 127.0.0.1; the log is one JSON object a line.

    Example: TWIKI_CONTACT=me@example.org twiki run --state state --datasets datasets

    With --json: first {"health": url}, at the end {"watermark", "counts", "datasets"}
    """
    from stream import logs
    from stream.clock import SystemClock
    from stream.metrics import Metrics
    from stream.runner import Service
    from stream.settings import notify_socket
    from twiki.cli.healing import heal
    from twiki.cli.stream import at_source
    from twiki.cli.trainings import Trainings
    from twiki.windows import calendar

    chosen = at_source(settings(config, service__dumps_site=dumps, service__port=port), source)
    logs.to_stderr(as_json=log_json)
    clock, metrics, written = SystemClock(), Metrics(), list[str]()
    with (
        opened(state, create=True) as store,
        serve.beside(chosen, config, state, datasets),
        Trainings(state, chosen, config, metrics) as trainings,
    ):

        def on_dataset(event: str, folder: Path) -> None:
            written.append(str(folder))
            trainings.told(event, folder)

        service = Service(
            state,
            store,
            chosen,
            datasets=datasets,
            clock=clock,
            metrics=metrics,
            on_dataset=on_dataset,
            on_health=_tell_health if as_json else lambda url: say(f"health: {url}/healthz"),
            tick=trainings.tick,
            heal=heal,
            notify_address=notify_socket(),
        )
        _stop_on_signals(service)
        service.run(
            since=calendar.moment(since) if since else None,
            until=calendar.moment(until) if until else None,
        )
        if until:
            trainings.finish(lambda: clock.stopped)
        told = {"watermark": service.engine.watermark, "counts": service.engine.counts}
    say(f"stopped at {told['watermark']}")
    if as_json:
        give({**told, "datasets": written})


def _tell_health(url: str) -> None:
    give({"health": url})


def _stop_on_signals(service: Any) -> None:  # noqa: ANN401 - imported when it runs
    """Ctrl-C and SIGTERM end the loop after the chunk at hand; a second one ends at once."""

    def handler(number: int, _frame: object) -> None:
        service.stop()
        signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)
