"""The bridge as a service: source and brokers put together, and both waited for."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from stream import metrics as names
from stream.backoff import Backoff
from stream.bridge import Bridge
from stream.clock import Clock
from stream.cluster.admin import last_bridge, topic_ids
from stream.cluster.client import producer, wait_for_broker
from stream.embedded import Item, chunked
from stream.metrics import Metrics
from stream.replay import open_replay
from stream.service import live_source
from stream.settings import Settings
from stream.topics import BridgeRecord
from twiki.context import build
from twiki.errors import SourceError
from twiki.times import to_ms

log = logging.getLogger(__name__)
_CHUNK = 500


def feed(
    settings: Settings,
    clock: Clock,
    backoff: Backoff,
    *,
    replay: Path | None = None,
    since: datetime | None = None,
    as_of: datetime | None = None,
    metrics: Metrics | None = None,
) -> BridgeRecord:
    """Bridge until the source ends or the clock is stopped; where it stands then.

    A broker that goes away is waited for, and the bridge goes on behind the last position that
    it acknowledged.

    Raises:
        ConfigError: the brokers or the source refuse us.
        SourceError: topics are missing, or the source refuses us.
    """
    metrics = metrics or Metrics()
    attempt = 0
    while True:
        wait_for_broker(settings.kafka, backoff, clock)
        topic_ids(settings.kafka)
        before = last_bridge(settings.kafka)
        first = 0 if as_of is None else to_ms(as_of)
        with ExitStack() as stack:
            sender = producer(settings.kafka)
            stack.callback(sender.close, timeout=5)
            bridge = Bridge(settings, sender, before, first=first, metrics=metrics)
            sent = bridge.sent
            chunks = _chunks(settings, bridge, clock, stack, metrics, replay=replay, since=since)
            try:
                bridge.run(_until(chunks, clock, metrics))
            except SourceError as error:
                attempt = 0 if bridge.sent > sent else attempt + 1
                if clock.stopped or attempt >= settings.stream.attempts:
                    raise
                log.warning("event=bridge_restarts reason=%s", error)
                clock.sleep(backoff.delay(attempt))
                continue
            return bridge.record()


def _chunks(
    settings: Settings,
    bridge: Bridge,
    clock: Clock,
    stack: ExitStack,
    metrics: Metrics,
    *,
    replay: Path | None,
    since: datetime | None,
) -> Iterable[Sequence[Item]]:
    if replay is not None:
        return chunked(open_replay(replay, settings), _CHUNK)
    reader = stack.enter_context(
        live_source(
            settings,
            bridge.positions,
            build(settings, ()).site,
            clock=clock,
            metrics=metrics,
            since=since,
        )
    )
    return reader.chunks()


def _until(
    chunks: Iterable[Sequence[Item]], clock: Clock, metrics: Metrics
) -> Iterator[Sequence[Item]]:
    for chunk in chunks:
        yield chunk
        now = clock.now().timestamp()
        metrics.set(names.STEP, now)
        if watermark := metrics.value(names.WATERMARK):
            metrics.set(names.LAG, now - watermark)
        if clock.stopped:
            return
