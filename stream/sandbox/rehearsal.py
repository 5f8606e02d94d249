"""The main job, rehearsed on the sandbox: dumps, stream, windows, reconciliation, verdict.

::

    world ──▶ server (SSE with faults, API, dumps) ──▶ bootstrap ──▶ embedded engine
      │                                                                  │ window closes: v1
      └──▶ books ◀──── verdict ◀──── v2 ◀──── reconcile with the dump ◀──┘

Everything but the world is the product itself, over HTTP on loopback; :class:`Rehearsal` only
plays the operator.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

from msgspec.structs import replace

from stream.clock import SystemClock
from stream.embedded import Embedded
from stream.exporter import Exporter
from stream.metrics import Metrics
from stream.sandbox.dump_files import DumpSet, write_dumps
from stream.sandbox.faults import Faults
from stream.sandbox.model import WikiWorld
from stream.sandbox.server import SandboxServer
from stream.sandbox.verdict import Verdict, judge
from stream.service import api, live, live_source
from stream.settings import Settings
from twiki.dumps.files import verify
from twiki.engine import Engine
from twiki.errors import EngineError
from twiki.needs import RevisionsById
from twiki.records import Policy, Record, Window
from twiki.state.store import Store
from twiki.windows.bootstrap import bootstrap
from twiki.windows.cut import CutReport
from twiki.windows.dataset import Dataset
from twiki.windows.publishing import cut_closed, reconcile_and_cut
from twiki.windows.reconcile import Reconciled

Tell = Callable[[str, int], None]
"""Told (stage, how many more are done)."""
_BEFORE = timedelta(minutes=10)
FOR_EVER_SECONDS = 1e9
"""Thirty years: a little world's positions are as good as on the day they were made."""
_FAST = {
    "requests_per_second": 10_000.0,
    "burst": 10_000,
    "backoff_seconds": 0.01,
    "backoff_cap_seconds": 0.05,
    "retry_after_cap_seconds": 0.05,
    "read_seconds": 5.0,
    "offsets_valid_seconds": FOR_EVER_SECONDS,
    "retention_seconds": FOR_EVER_SECONDS,
}
"""A server in this process is not to be spared, and its world may lie months back."""


class Outcome(Record, frozen=True, kw_only=True):
    """What became of one window."""

    window: Window
    first: CutReport
    """Version 1, cut when the window closed."""
    reconciled: Reconciled
    final: CutReport
    """Version 2, with the dump."""
    verdict: Verdict


def settings_for(settings: Settings, server: SandboxServer) -> Settings:
    """The settings with the sandbox in place of Wikimedia, every Unchanged fact sampled."""
    wiki = settings.wiki
    hosts = {name: server.wiki_url(name) for name in (wiki.name, wiki.repository)}
    return replace(
        settings,
        stream=replace(settings.stream, url=server.url, hosts=hosts, **_FAST),
        facts=replace(settings.facts, unchanged_rate=1.0),
    )


class Rehearsal:
    """One run of the whole stream over one world.

    Args:
        store: an empty store; its folder is the caller's.
        folder: where dumps, live feed and datasets go.
        faults: what goes wrong on the way; None: one cut in the middle of an event.
        tell: progress, for people.
    """

    def __init__(
        self,
        world: WikiWorld,
        store: Store,
        folder: Path,
        settings: Settings | None = None,
        *,
        faults: Faults | None = None,
        tell: Tell = lambda _stage, _more: None,
    ) -> None:
        self.world = world
        self.metrics = Metrics()
        self.datasets = folder / "datasets"
        self._store = store
        self._folder = folder
        self._settings = settings or Settings()
        self._faults = faults or one_cut(world)
        self._tell = tell

    def run(self) -> Iterator[Outcome]:
        """Yield each window's outcome as soon as its dump is reconciled.

        Raises:
            EngineError: the stream ended before the world did.
        """
        clock = SystemClock()
        with ExitStack() as stack:
            server = stack.enter_context(SandboxServer(self.world, faults=self._faults, grace=None))
            settings = settings_for(self._settings, server)
            dumps = [self._dumps(number) for number in range(len(self.world.boundaries))]
            engine = Engine.open(self._store, settings, as_of=self.world.boundaries[0])
            bootstrap(engine, dumps[0].articles, [dumps[0].entities], progress=self._tell)
            contents = stack.enter_context(api(settings, clock=clock, metrics=self.metrics))
            exporter = Exporter(engine, self._folder / "feed")
            closed: list[Window] = []
            embedded = Embedded(
                engine,
                settings,
                contents,
                self.metrics,
                on_closed=closed.append,
                on_commit=exporter.run,
                live=live(contents, settings, now=lambda: engine.watermark or clock.now()),
            )
            source = live_source(
                settings,
                embedded.positions,
                engine.context.site,
                clock=clock,
                metrics=self.metrics,
                since=self.world.boundaries[0] - _BEFORE,
            )
            operator = _Operator(self.world, engine, contents, dumps, self.datasets, self._tell)
            for chunk in stack.enter_context(source).chunks():
                embedded.take(chunk)
                self._tell("events", len(chunk))
                yield from operator.look(closed)
                if operator.finished:
                    break
            self.counts = engine.counts
            if not operator.finished:
                raise EngineError(f"the stream ended at {engine.watermark}, before its world")

    def _dumps(self, number: int) -> DumpSet:
        boundary = self.world.boundaries[number]
        self._tell("dumps", 1)
        return write_dumps(self.world, boundary, self._folder / "dumps" / f"{boundary:%Y%m%d}")


class _Operator:
    """Cuts what has closed, and reconciles it when its dump is complete."""

    def __init__(
        self,
        world: WikiWorld,
        engine: Engine,
        contents: RevisionsById,
        dumps: Sequence[DumpSet],
        datasets: Path,
        tell: Tell,
    ) -> None:
        self._world = world
        self._engine = engine
        self._contents = contents
        self._dumps = dumps
        self._datasets = datasets
        self._tell = tell
        self._waiting: list[tuple[Window, CutReport]] = []

    @property
    def finished(self) -> bool:
        """Whether everything of the world's last window has been told and dealt with."""
        return not self._waiting and self._has_dump(self._world.windows[-1])

    def look(self, closed: list[Window]) -> Iterator[Outcome]:
        """Deal with the windows in ``closed``, emptying it, and with what waits for a dump."""
        while closed:
            window = closed.pop(0)
            report = cut_closed(self._engine, window, self._datasets, progress=self._tell)
            self._waiting.append((window, report))
        while self._waiting and self._has_dump(self._waiting[0][0]):
            yield self._reconcile(*self._waiting.pop(0))

    def _has_dump(self, window: Window) -> bool:
        watermark = self._engine.watermark
        return watermark is not None and watermark >= self._world.dump_complete(window.end)

    def _reconcile(self, window: Window, first: CutReport) -> Outcome:
        dump = self._dumps[self._world.windows.index(window) + 1]
        report, final = reconcile_and_cut(
            self._engine,
            window,
            dump.articles,
            [dump.entities],
            self._datasets,
            policy=Policy(self._engine.config.windows.policy),
            sources=_sources(dump),
            contents=self._contents,
            progress=self._tell,
        )
        verdict = judge(Dataset.open(final.folder), self._world.books(window))
        return Outcome(window=window, first=first, reconciled=report, final=final, verdict=verdict)


def one_cut(world: WikiWorld) -> Faults:
    """The demo's weather: one connection that breaks in the middle of an event."""
    return Faults(cut_at=(random.Random(len(world.events)).randrange(200_000, 400_000),))


def _sources(dumps: DumpSet) -> tuple[dict[str, object], ...]:
    found = [verify(path) for path in (*dumps.articles, dumps.entities)]
    return tuple(
        {
            "file": one.path.name,
            "bytes": one.bytes,
            "sha256": one.sha256,
            "verified_by": one.verified_by,
        }
        for one in found
    )
