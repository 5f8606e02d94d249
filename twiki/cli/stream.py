"""``twiki stream``: follow the change events and keep the state."""

import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer
from msgspec.structs import replace

from twiki.cli import healing
from twiki.cli.common import Config, Json, State, console, give, opened, say, settings
from twiki.cli.training import InTurn
from twiki.times import from_ms, to_ms

if TYPE_CHECKING:
    from stream.clock import Clock
    from stream.embedded import Contents, Embedded, Item, Live
    from stream.settings import Settings
    from twiki.engine import Engine
    from twiki.records import Window
    from twiki.windows.view import EarlierRevisions

_MARGIN = timedelta(minutes=10)
_CHUNK = 200
FEED = "feed"


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("stream")(stream)


def stream(
    state: State,
    source: Annotated[str | None, typer.Option(help="Address of an EventStreams service.")] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            help="Read from here instead: a recording, an SSE transcript, a full-history dump, "
            "or a folder or tar of EntityData.",
        ),
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help="Write events and contents here, zstd JSON lines.")
    ] = None,
    datasets: Annotated[
        Path | None, typer.Option(help="Cut every window that closes into this folder.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Where an empty state begins to read: a time.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Stop when everything before this time has arrived.")
    ] = None,
    namespaces: Annotated[
        str | None, typer.Option(help="'all': every namespace holds articles.")
    ] = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Follow the events of a wiki and its repository; state, diffs and facts as they happen.

    Runs until Ctrl-C or SIGTERM, which stop it cleanly; started again it goes on where it
    stood. Live diff sentences and facts are written to STATE/feed.

    Example: TWIKI_CONTACT=me@example.org twiki stream --state state
    Example: twiki stream --state state --replay enwiki-pages-meta-history1.xml.bz2

    With --json, at the end: {"watermark", "windows_closed", "counts", "needs"}
    """
    from stream.clock import SystemClock
    from stream.embedded import Embedded, NoContents
    from stream.exporter import Exporter
    from stream.metrics import Metrics
    from stream.record import Recorder
    from stream.service import api, live
    from stream.telling import FILE, Telling
    from twiki.engine import Engine
    from twiki.windows import calendar

    chosen = at_source(settings(config, wiki__namespaces=namespaces), source)
    clock, metrics = SystemClock(), Metrics()
    with ExitStack() as stack:
        store = stack.enter_context(opened(state, create=True))
        engine = Engine.open(store, chosen)
        exporter = Exporter(engine, state / FEED)
        show = stack.enter_context(status_line(engine, None if replay else clock))
        tell = Telling(metrics, state / FILE, clock)

        def committed() -> None:
            exporter.run()
            tell()
            show()
            trainings.tick()

        contents: Contents = NoContents()
        beside: Live | None = None
        labels: EarlierRevisions | None = None
        if replay is None:
            contents = source_api = stack.enter_context(api(chosen, clock=clock, metrics=metrics))
            beside = live(source_api, chosen, now=healing.moment_of(engine, chosen, clock))
            labels = source_api
        trainings = stack.enter_context(InTurn(chosen, config))
        windows = _Windows(engine, trainings, datasets, labels)
        embedded = Embedded(
            engine,
            chosen,
            contents,
            metrics,
            on_closed=windows.announce,
            on_commit=committed,
            recorder=stack.enter_context(Recorder(record)) if record else None,
            live=beside,
        )
        _stop_on_signals(embedded.stop)
        healing.heal(embedded)
        windows.announce_uncut()
        begin = calendar.moment(since) if since else _begin(engine)
        chunks = _chunks(stack, embedded, chosen, replay, begin, clock)
        embedded.run(chunks, until=calendar.moment(until) if until else None)
        exporter.run()
        tell(at_once=True)
        told = {
            "watermark": engine.watermark,
            "windows_closed": windows.closed,
            "counts": engine.counts,
            "needs": sum(1 for _ in store.needs()),
        }
    trained = trainings.finish()
    say(f"stopped at {told['watermark']}; {told['needs']} revisions still to be fetched")
    if as_json:
        give(told)
    if not trained:
        raise typer.Exit(1)


class _Windows:
    """What happens when a window closes: a line, a dataset, a training."""

    def __init__(
        self,
        engine: "Engine",
        trainings: InTurn,
        datasets: Path | None,
        labels: "EarlierRevisions | None",
    ) -> None:
        self.closed: list[str] = []
        self.trainings = trainings
        self._engine = engine
        self._datasets = datasets
        self._labels = labels

    def announce(self, window: "Window") -> None:
        """Tell that a window closed, cut it and train on it where that is asked for."""
        from twiki.windows.cut import Beside
        from twiki.windows.publishing import cut_closed

        self.closed.append(window.name)
        say(f"window {window.name} closed")
        if self._datasets is None:
            return
        beside = Beside(labels=self._labels)
        folder = cut_closed(self._engine, window, self._datasets, beside=beside).folder
        say(f"  {folder}")
        self.trainings.told("cut", folder)

    def announce_uncut(self) -> None:
        """The same for windows that closed just before a kill."""
        for window in _uncut(self._engine, self._datasets):
            self.announce(window)


def _chunks(
    stack: ExitStack,
    embedded: "Embedded",
    chosen: "Settings",
    replay: Path | None,
    begin: datetime | None,
    clock: "Clock",
) -> "Iterable[Sequence[Item]]":
    """The items to apply: a replay's by count, the live stream's as they come."""
    from stream.embedded import chunked
    from stream.replay import open_replay
    from stream.service import live_source

    site = embedded.engine.context.site
    if replay is not None:
        return chunked(open_replay(replay, chosen, site.namespace_of), _CHUNK)
    reader = live_source(
        chosen, embedded.positions, site, clock=clock, metrics=embedded.metrics, since=begin
    )
    return stack.enter_context(reader).chunks()


def _uncut(engine: "Engine", datasets: Path | None) -> "list[Window]":
    """Windows that closed just before a kill, so that their cut is still to be made."""
    from twiki.windows import versions

    if datasets is None:
        return []
    wiki = engine.config.wiki.name
    closed = (window for window in engine.windows() if to_ms(window.end) <= engine.progress.closed)
    folders = {w: versions.window_folder(datasets, wiki, w.name) for w in closed}
    return [window for window, folder in folders.items() if not versions.folders(folder)]


def at_source(chosen: "Settings", source: str | None) -> "Settings":
    """The settings with another event source; a local one answers for the wikis too.

    A sandbox has each wiki below its own address, see :mod:`stream.sandbox.server`.
    """
    if source is None:
        return chosen
    base = source.rstrip("/").removesuffix("/v2/stream")
    stream = replace(chosen.stream, url=base)
    if urlsplit(base).hostname in {"127.0.0.1", "::1", "localhost"}:
        from stream.sandbox.rehearsal import FOR_EVER_SECONDS

        wikis = (chosen.wiki.name, chosen.wiki.repository)
        stream = replace(
            stream,
            hosts={name: f"{base}/{name}" for name in wikis},
            offsets_valid_seconds=FOR_EVER_SECONDS,
            retention_seconds=FOR_EVER_SECONDS,
        )
    return replace(chosen, stream=stream)


def _begin(engine: "Engine") -> datetime | None:
    """Where a bootstrapped state begins to read: a little before its boundary."""
    first = engine.progress.first
    return from_ms(first) - _MARGIN if first else None


def _stop_on_signals(stop: Callable[[], None]) -> None:
    """Ctrl-C and SIGTERM end the loop after the chunk at hand; a second one ends at once."""

    def handler(number: int, _frame: object) -> None:
        stop()
        signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


@contextmanager
def status_line(engine: "Engine", clock: "Clock | None" = None) -> "Iterator[Callable[[], None]]":
    """A line with watermark, lag, window, rate and counts; silent where nobody watches.

    ``clock`` tells the lag of a live stream; a replay has none.
    """
    from rich.live import Live
    from rich.text import Text

    screen = console()
    began = time.monotonic()
    first = engine.counts.get("revisions", 0)

    def line() -> Text:
        counts = engine.counts
        rate = (counts.get("revisions", 0) - first) / max(time.monotonic() - began, 1e-9)
        window = engine.open_window
        letters = sum(n for name, n in counts.items() if name.startswith("dead:"))
        watermark = engine.watermark
        lag = ""
        if clock is not None and watermark is not None:
            lag = f"  lag {timedelta(seconds=(clock.now() - watermark) // timedelta(seconds=1))}"
        return Text(
            f"{watermark or 'waiting'}{lag}  window {window.name if window else '-'}  "
            f"{counts.get('revisions', 0):,} revisions  {rate:,.0f}/s  {letters:,} dead letters"
        )

    if not screen.is_terminal:
        yield lambda: None
        return
    with Live(line(), console=screen, refresh_per_second=4) as live:
        yield lambda: live.update(line())
