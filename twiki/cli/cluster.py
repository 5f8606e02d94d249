"""``twiki topics``, ``twiki bridge``, ``twiki worker``: the same processors on Kafka and Faust."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twiki.cli.common import Config, Json, counting, give, say, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stream.settings import Settings
    from stream.topics import WindowRecord
    from twiki.windows.cut import Beside

Brokers = Annotated[
    list[str] | None, typer.Option("--broker", help="Address of a broker, HOST:PORT; repeatable.")
]
MetricsPort = Annotated[
    int | None,
    typer.Option(min=0, max=65535, help="Of /metrics, on loopback; a process its own."),
]
FOLDER = Path("worker")
_CHUNK = 500


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    topics = typer.Typer(help="The topics of the cluster.", no_args_is_help=True)
    topics.command("create")(create)
    topics.command("fill")(fill)
    app.add_typer(topics, name="topics")
    app.command("bridge")(bridge)
    app.command("worker")(worker)
    app.command("listen")(listen)


@contextmanager
def needing_kafka() -> Iterator[None]:
    """Say which extra is missing instead of a traceback."""
    from twiki.errors import ConfigError

    quiet = logging.getLogger("kafka")  # what it has to say comes back as an error of ours
    quiet.addHandler(logging.NullHandler())
    quiet.propagate = False
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"kafka", "faust", "aiokafka", "mode"}:
            raise
        raise ConfigError(f"{error.name} is not installed: pip install 'twiki[kafka]'") from error


def create(broker: Brokers = None, config: Config = None, as_json: Json = False) -> None:
    """Make the topics that are not there yet; those that are stay as they are.

    Example: twiki topics create --config twiki.toml

    With --json: {"made": [name, …], "found": [name, …]}
    """
    with needing_kafka():
        from stream.cluster.admin import create_topics
    chosen = settings(config, kafka__brokers=broker)
    made, found = create_topics(chosen.kafka)
    for name in made:
        say(f"{name}: made, {chosen.kafka.partitions} partitions")
    say(f"{len(made)} made, {len(found)} were there")
    if as_json:
        give({"made": made, "found": found})


def fill(
    as_of: Annotated[str, typer.Option(help="The boundary that the dumps stand for.")],
    articles: Annotated[list[Path], typer.Option("--articles", help="pages-articles files.")],
    entities: Annotated[
        list[Path] | None, typer.Option("--entities", help="Wikidata's JSON dump.")
    ] = None,
    broker: Brokers = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Send the dumps of a boundary to the workers: where every state begins.

    Example: twiki topics fill --as-of 2026-11-01 --articles dumps/enwiki/20261101

    With --json: {"pages", "redirects", "other_namespaces", "unreadable", "entities",
    "not_entities"}
    """
    with needing_kafka():
        from stream.cluster.windows import fill as send
    from twiki.cli.sources import described
    from twiki.dumps import layout
    from twiki.windows import calendar

    chosen = settings(config, kafka__brokers=broker)
    files, items = layout.expand(articles), layout.expand(entities or [], "entities")
    described(files, items)
    with counting("fill") as progress:
        done = send(chosen, calendar.moment(as_of), files, items, progress=progress)
    say(f"{done.pages:,} pages and {done.entities:,} entities sent to the workers")
    if as_json:
        give(done)


def bridge(
    source: Annotated[str | None, typer.Option(help="Address of an EventStreams service.")] = None,
    replay: Annotated[
        Path | None, typer.Option(exists=True, help="Read a recording instead, to its end.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Where a bridge without a position begins: a time.")
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(help="The first boundary that is kept, as given to `twiki topics fill`."),
    ] = None,
    broker: Brokers = None,
    metrics_port: MetricsPort = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Send the change events of a wiki to Kafka, and the closing of windows.

    Runs until Ctrl-C or SIGTERM. It goes on where the last bridge stood, on any machine: the
    position is kept in Kafka and moves after the brokers' acknowledgement. Run one.

    Example: TWIKI_CONTACT=me@example.org twiki bridge --as-of 2026-11-01

    With --json, at the end: {"sent", "watermarks", "closed"}
    """
    with needing_kafka():
        from stream.cluster.exposition import CLUSTER, exposed
        from stream.cluster.feeding import feed
    import random

    from stream.backoff import Backoff
    from stream.clock import SystemClock
    from stream.metrics import Metrics
    from twiki.windows import calendar

    chosen = settings(
        config, stream__url=source, kafka__brokers=broker, kafka__metrics_port=metrics_port
    )
    clock = SystemClock()
    _on_signals(clock.stop)
    _log_to_stderr()
    metrics = Metrics(CLUSTER)
    with exposed(metrics, chosen.kafka):
        sent = feed(
            chosen,
            clock,
            Backoff(chosen.stream, random.Random()),
            replay=replay,
            since=None if since is None else calendar.moment(since),
            as_of=None if as_of is None else calendar.moment(as_of),
            metrics=metrics,
        )
    say(f"stopped; {sent.sent:,} changes sent since the beginning")
    if as_json:
        give({"sent": sent.sent, "watermarks": sent.watermarks, "closed": sent.closed})


def worker(
    role: Annotated[
        str, typer.Option(help="hydrator, article, entity, or all: a process for each.")
    ] = "all",
    folder: Annotated[
        Path, typer.Option(help="Local state; every worker on a machine its own.")
    ] = FOLDER,
    broker: Brokers = None,
    metrics_port: MetricsPort = None,
    config: Config = None,
) -> None:
    """Work: fetch contents, keep the state of articles or entities, tell diffs and facts.

    Start as many as there is work; partitions move to them and back. Waits for a broker that
    does not answer. A worker that ends with exit code 70 could not commit: start it again
    (`--role all` does; its three take --metrics-port and the two after it). Ctrl-C or SIGTERM
    ends it within 5 s.

    Example: twiki worker --role article --folder /var/lib/twiki/w1
    """
    with needing_kafka():
        from stream.cluster.worker import run, supervise
    import random

    from stream.backoff import Backoff
    from stream.clock import SystemClock
    from stream.topics import Role
    from twiki.errors import UsageError

    chosen = settings(config, kafka__brokers=broker, kafka__metrics_port=metrics_port)
    if role != "all":
        if role not in set(Role):
            raise UsageError(f"role {role!r}: expected {', '.join(Role)} or all")
        _log_to_stderr()
        run(chosen, Role(role), folder)
        return
    _log_to_stderr()
    flags = ["--folder", str(folder)]
    flags += [] if config is None else ["--config", str(config)]
    flags += [word for address in broker or () for word in ("--broker", address)]
    supervise(
        [
            ["worker", "--role", str(one), *flags, *_port(chosen.kafka.metrics_port, number)]
            for number, one in enumerate(Role)
        ],
        clock=SystemClock(),
        backoff=Backoff(chosen.stream, random.Random()),
    )


def _port(first: int | None, number: int) -> list[str]:
    """The flag for the metrics of the process ``number`` of several."""
    return [] if first is None else ["--metrics-port", str(first + number if first else 0)]


def listen(broker: Brokers = None, config: Config = None) -> None:
    """Train on every dataset of the cluster that is announced, each method once.

    Methods and models are those of [trainer] in the settings. Run it where the datasets lie.

    Example: twiki listen --config twiki.toml
    """
    with needing_kafka():
        from stream.listener import Listener
    from stream.clock import SystemClock
    from twiki.errors import ConfigError

    chosen = settings(config, kafka__brokers=broker)
    methods = tuple(chosen.trainer.get("on_close", ()))
    if config is None or not methods:
        raise ConfigError("nothing to train: --config with [trainer] on_close = [METHOD, …]")
    clock = SystemClock()
    _on_signals(clock.stop)
    _log_to_stderr()
    Listener(chosen, methods, lambda record, method: _train(record, method, config)).run(clock)


def _train(record: "WindowRecord", method: str, config: Path) -> bool:
    import subprocess

    command = [sys.executable, "-m", "twiki", "train", record.folder or ""]
    command += ["--methods", method, "--config", str(config)]
    return subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode == 0  # noqa: S603 - our own command


def _on_signals(stop: Any) -> None:  # noqa: ANN401 - a callable of no arguments
    import signal

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _signal, _frame: stop())


def _log_to_stderr() -> None:
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(name)s %(message)s")
    for noisy in ("aiokafka", "faust", "mode"):
        logging.getLogger(noisy).setLevel(logging.ERROR)


# --- what `twiki window --kafka` does ---------------------------------------------------------


def cut_cluster(
    chosen: "Settings",
    name: str,
    datasets: Path,
    *,
    corrections: bool,
    labels: bool,
    beside: "Callable[[object], Beside]",
    as_json: bool,
) -> None:
    """Cut a window from the changelogs; revisions that the workers lack are fetched by id."""
    with needing_kafka():
        from stream.cluster.changelogs import gathered
        from stream.cluster.windows import cut_window
    from twiki.cli.sources import contents_for

    with (
        counting(f"cut {name}") as progress,
        gathered(chosen, folder=datasets, progress=progress) as found,
        contents_for(chosen, needed=True) as contents,
    ):
        report = cut_window(
            chosen,
            found,
            name,
            datasets,
            corrections=corrections,
            contents=contents,
            beside=beside(contents if labels else None),
            progress=progress,
        )
    say(f"{report.folder}: {report.counts['sentences']:,} diff sentences")
    if as_json:
        give(report)


def reconcile_cluster(
    chosen: "Settings",
    name: str,
    articles: "Sequence[Path]",
    entities: "Sequence[Path]",
    datasets: Path,
    *,
    sources: tuple[dict[str, Any], ...],
    fetch: bool,
    beside: "Callable[[object], Beside]",
    as_json: bool,
) -> Path:
    """Reconcile a window of the cluster, and its workers' state; the dataset's folder."""
    with needing_kafka():
        from stream.cluster.changelogs import gathered
        from stream.cluster.windows import reconcile_window
    import msgspec

    from twiki.cli.sources import contents_for

    with (
        counting(f"reconcile {name}") as progress,
        gathered(chosen, folder=datasets, progress=progress) as found,
        contents_for(chosen, needed=fetch) as contents,
    ):
        report, written = reconcile_window(
            chosen,
            found,
            name,
            articles,
            entities,
            datasets,
            sources=sources,
            contents=contents,
            beside=beside(contents if fetch else None),
            progress=progress,
        )
    pages = report.pages
    say(f"{written.folder}: {pages.had:,} of {pages.in_dump:,} pages of the dump were known")
    if as_json:
        told: dict[str, Any] = msgspec.to_builtins(written, enc_hook=str)
        give({**told, "reconcile": report.report()})
    return written.folder
