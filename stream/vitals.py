"""What is watched while the stream runs: rates, lag, silence of a kind, silence of the source.

::

    vitals = Vitals(embedded, health, clock, memory=state / "liveness.bin", reconnect=…)
    for chunk in vitals.watching(chunks):
        embedded.take(chunk)
        vitals.step()
"""

import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from stream import metrics as names
from stream.clock import Clock
from stream.embedded import Embedded, Item
from stream.events import Canary, Rejected
from stream.health import Health
from stream.liveness import Liveness, Silence, Watchdog
from stream.measuring import part_bytes
from stream.position import NoticeKind
from stream.settings import ServiceConfig
from twiki.records import Change
from twiki.windows.versions import write_aside

log = logging.getLogger(__name__)

_SAVED_SECONDS = 60.0
_SIZED_SECONDS = 300.0


class Vitals:
    """Watches one engine.

    Args:
        memory: file that keeps what is normal for each kind over a restart.
        reconnect: gives up the connection at hand.
    """

    def __init__(
        self,
        embedded: Embedded,
        health: Health,
        config: ServiceConfig,
        clock: Clock,
        *,
        memory: Path,
        reconnect: Callable[[], None],
        liveness: Liveness | None = None,
    ) -> None:
        self._embedded = embedded
        self._health = health
        self._metrics = health.metrics
        self._clock = clock
        self._memory = memory
        self._reconnect = reconnect
        self._liveness = liveness or Liveness()
        if memory.is_file():
            self._liveness.load(memory.read_bytes())
        self._seconds = config.watchdog_seconds
        self._watchdog = Watchdog(clock, seconds=self._seconds)
        self._silent: set[str] = set()
        self._saved = clock.monotonic()
        self._sized = float("-inf")

    def watching(self, chunks: Iterable[Sequence[Item]]) -> Iterator[Sequence[Item]]:
        """Pass the chunks on, noting what comes and what does not."""
        for chunk in chunks:
            if chunk:
                self._watchdog.saw_event()
            elif self._watchdog.overdue:
                log.warning("event=watchdog no_event_for_seconds=%d", self._seconds)
                self._metrics.add(names.CUTS, label="watchdog")
                self._reconnect()
                self._watchdog.saw_event()
            for item in chunk:
                self._note(item)
            yield chunk

    def step(self) -> None:
        """Set the gauges after a step of the engine, raise and end alarms."""
        embedded, metrics = self._embedded, self._metrics
        for notice in embedded.positions.notices():
            metrics.add(names.NOTICES, label=str(notice.kind))
            if notice.kind is NoticeKind.GAP:
                metrics.add(names.GAPS)
            log.warning("event=%s topic=%s %s", notice.kind, notice.topic, notice.detail)
        metrics.set(names.IN_FLIGHT, embedded.positions.in_flight)
        metrics.set(names.GAPS_OPEN, len(embedded.positions.gaps()))
        metrics.set(names.QUEUE, len(embedded.beside))
        self._measure()
        watermark, window = embedded.engine.watermark, embedded.engine.open_window
        if watermark is not None:
            metrics.set(names.WATERMARK, watermark.timestamp())
            metrics.set(names.LAG, (self._clock.now() - watermark).total_seconds())
            self._alarm(self._liveness.silences(watermark))
        self._health.beat(
            watermark, window=window.name if window else None, silent=sorted(self._silent)
        )
        if self._clock.monotonic() - self._saved > _SAVED_SECONDS:
            self.save()

    def _measure(self) -> None:
        """Set what is left of the disk, and now and then what the state takes of it."""
        folder, now = self._memory.parent, self._clock.monotonic()
        self._metrics.set(names.DISK_FREE, shutil.disk_usage(folder).free)
        if now - self._sized < _SIZED_SECONDS:
            return
        self._sized = now
        for part, size in part_bytes(folder).items():
            self._metrics.set(names.STATE_BYTES, size, label=part)

    def save(self) -> None:
        """Keep what is normal."""
        write_aside(self._memory, self._liveness.to_bytes())
        self._saved = self._clock.monotonic()

    def _note(self, item: Item) -> None:
        match item:
            case Change():
                self._metrics.add(names.EVENTS, label="change")
                self._liveness.observe(item.wiki, item.kind, item.arrival_time)
            case Canary():
                self._metrics.add(names.EVENTS, label="canary")
            case Rejected():
                self._metrics.add(names.EVENTS, label="rejected")

    def _alarm(self, silences: Sequence[Silence]) -> None:
        now = {f"{one.wiki}/{one.kind}": one for one in silences}
        for kind in sorted(now.keys() - self._silent):
            log.error(
                "event=kind_silent kind=%s last=%s longest_pause_seconds=%d",
                kind,
                now[kind].last.isoformat(),
                now[kind].longest_pause.total_seconds(),
            )
            self._metrics.set(names.SILENT, 1, label=kind)
        for kind in sorted(self._silent - now.keys()):
            log.info("event=kind_heard_again kind=%s", kind)
            self._metrics.set(names.SILENT, 0, label=kind)
        self._silent = set(now)
