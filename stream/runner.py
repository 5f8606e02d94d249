"""The service for months: stream, windows, dumps, datasets, signs of life, in one loop.

::

    service = Service(state, store, settings, datasets=…, clock=SystemClock(), metrics=Metrics())
    signal.signal(signal.SIGTERM, lambda *_: service.stop())
    service.run()

The thread that calls :meth:`Service.run` is the only one that touches the state; reading the
source, waiting for dumps and serving health have threads of their own.
"""

import logging
import random
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from stream.awaiting import AwaitedDumps
from stream.clock import SystemClock
from stream.download import Downloads
from stream.dumps_site import DumpsSite
from stream.embedded import Embedded, Item
from stream.exporter import Exporter
from stream.health import Health, HealthServer, notify
from stream.hydrate import Hydrator
from stream.metrics import Metrics
from stream.operator import Event, Operator
from stream.service import api, live, live_source
from stream.settings import Settings
from stream.telling import FILE, Telling
from stream.telling import FILE as TOLD
from stream.vitals import Vitals
from twiki.engine import Engine
from twiki.state.store import Store
from twiki.times import from_ms

log = logging.getLogger(__name__)

FEED, DUMPS, SCRATCH, MEMORY = "feed", "dumps", "scratch", "liveness.bin"
"""What lies beside the store in a state folder."""
_BEFORE = timedelta(minutes=10)
_LOOK_SECONDS = 1.0


class Service:
    """One state, followed until :meth:`stop`.

    Args:
        state: the state folder; feed, dumps and notes lie in it beside the store.
        on_dataset: hears of every new version of a dataset.
        on_health: hears the address of the health endpoint when it listens.
        tick: called about every second.
        heal: starts the backfill of what is known to be missing, e.g. with a progress bar.
        notify_address: where systemd listens, see :func:`stream.settings.notify_socket`.
    """

    def __init__(
        self,
        state: Path,
        store: Store,
        settings: Settings,
        *,
        datasets: Path,
        clock: SystemClock,
        metrics: Metrics,
        on_dataset: Callable[[Event, Path], None] = lambda _event, _folder: None,
        on_health: Callable[[str], None] = lambda _url: None,
        tick: Callable[[], None] = lambda: None,
        heal: Callable[[Embedded], None] | None = None,
        notify_address: str | None = None,
    ) -> None:
        self.engine = Engine.open(store, settings)
        self.metrics = metrics
        self._state = state
        self._settings = settings
        self._datasets = datasets
        self._clock = clock
        self._on_dataset = on_dataset
        self._on_health = on_health
        self._tick = tick
        self._heal = heal or _heal
        self._notify = notify_address
        self._stopping = False
        self._looked = self._synced = clock.monotonic()
        self._health = Health(settings.service, clock, metrics)
        self._tell = Telling(metrics, state / FILE, clock)

    def stop(self) -> None:
        """End after the chunk at hand; safe in a signal handler."""
        self._stopping = True
        # Setting an event takes a lock that the interrupted thread may hold.
        threading.Thread(target=self._clock.stop, daemon=True).start()

    def run(self, *, since: datetime | None = None, until: datetime | None = None) -> None:
        """Follow the source; ``until``: end when all before it is dealt with.

        Raises:
            SourceError: the source refuses us for good.
            EngineError: the disk is full.
        """
        settings, clock = self._settings, self._clock
        with ExitStack() as stack:
            server = HealthServer(self._health, settings.service.port)
            self._on_health(stack.enter_context(server).url)
            # At work from here on: a backfill or a cut at the start may take hours.
            notify("READY=1", self._notify)
            hydrator = stack.enter_context(api(settings, clock=clock, metrics=self.metrics))
            operator = self._operator(hydrator, stack)
            exporter = Exporter(self.engine, self._state / FEED)
            telling = Telling(self.metrics, self._state / TOLD, clock)

            def committed() -> None:
                exporter.run()
                telling()

            embedded = Embedded(
                self.engine,
                settings,
                hydrator,
                self.metrics,
                on_closed=operator.closed,
                on_commit=committed,
                beat=self._beat,
                live=live(hydrator, settings, now=self._now),
            )
            self._heal(embedded)
            operator.look()
            reader = stack.enter_context(
                live_source(
                    settings,
                    embedded.positions,
                    self.engine.context.site,
                    clock=clock,
                    metrics=self.metrics,
                    since=since or self._begin(),
                )
            )
            vitals = Vitals(
                embedded,
                self._health,
                settings.service,
                clock,
                memory=self._state / MEMORY,
                reconnect=reader.reconnect,
            )
            self._loop(embedded, operator, vitals, reader.chunks(), until)
            notify("STOPPING=1", self._notify)
            vitals.save()
            self._tell(at_once=True)
            self.engine.commit(positions=embedded.positions.to_bytes(), sync=True)
            exporter.run()

    def _loop(
        self,
        embedded: Embedded,
        operator: Operator,
        vitals: Vitals,
        chunks: Iterable[Sequence[Item]],
        until: datetime | None,
    ) -> None:
        for chunk in vitals.watching(chunks):
            embedded.take(chunk)
            vitals.step()
            self._tell()
            self._now_and_then(operator)
            if self._stopping or embedded.stopping:
                return
            watermark = self.engine.watermark
            reached = until is not None and watermark is not None and watermark >= until
            if reached and operator.idle:
                break
        embedded.drain()
        operator.look()

    def _now_and_then(self, operator: Operator) -> None:
        now = self._clock.monotonic()
        if now - self._synced >= self._settings.service.sync_seconds:
            self.engine.commit(sync=True)
            self._synced = now
        if now - self._looked >= _LOOK_SECONDS:
            operator.look()
            self._tick()
            notify("WATCHDOG=1", self._notify)
            self._looked = now

    def _operator(self, hydrator: Hydrator, stack: ExitStack) -> Operator:
        settings = self._settings
        dumps = None
        if settings.service.dumps_site:
            dumps = stack.enter_context(self._dumps())
        return Operator(
            self.engine,
            settings.service,
            hydrator,
            datasets=self._datasets,
            scratch=self._state / SCRATCH,
            clock=self._clock,
            metrics=self.metrics,
            dumps=dumps,
            on_dataset=self._on_dataset,
            beat=self._beat,
        )

    @contextmanager
    def _dumps(self) -> Iterator[AwaitedDumps]:
        settings, clock = self._settings, self._clock
        downloads = Downloads(settings.stream, clock, random.Random())
        site = DumpsSite(settings.service.dumps_site, downloads)
        awaited = AwaitedDumps(site, settings, self._state / DUMPS, clock, self.metrics)
        try:
            with awaited:
                yield awaited
        finally:
            downloads.close()

    def _beat(self, doing: str) -> None:
        """Long work goes on: a sign of life, at most one a second."""
        now = self._clock.monotonic()
        if now - self._looked >= _LOOK_SECONDS:
            self._health.beat(self.engine.watermark, doing=doing)
            notify("WATCHDOG=1", self._notify)
            self._looked = now

    def _now(self) -> datetime:
        """The clock's now; a sandbox lives in its own months."""
        if not self._settings.stream.hosts:
            return self._clock.now()
        return self.engine.watermark or self._clock.now()

    def _begin(self) -> datetime | None:
        first = self.engine.progress.first
        return from_ms(first) - _BEFORE if first else None


def _heal(embedded: Embedded) -> None:
    if embedded.mender is not None:
        embedded.mender.start()
