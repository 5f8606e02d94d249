"""The parts of the edge put together: the live source, and the API behind it."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from stream.backfill import Backfill
from stream.clock import Clock
from stream.embedded import Item, Live
from stream.events import Decoder
from stream.eventstreams import EventStreams
from stream.hydrate import Hydrator
from stream.metrics import Metrics
from stream.position import Positions
from stream.reader import Reader
from stream.settings import Settings
from twiki.text.siteinfo import SiteInfo


@contextmanager
def live_source(
    settings: Settings,
    positions: Positions,
    site: SiteInfo,
    *,
    clock: Clock,
    metrics: Metrics,
    since: datetime | None = None,
) -> Iterator[Reader]:
    """The events of the configured source from where ``positions`` stand, in chunks.

    Raises:
        ConfigError: the source wants a contact and there is none.
    """
    source = EventStreams(
        settings.stream,
        positions,
        clock=clock,
        chance=random.Random(),
        metrics=metrics,
        since=since,
    )
    decoder = Decoder(settings.wiki, settings.stream, site.namespace_of)

    def items() -> Iterator[Item]:
        for frame in source:
            yield source.decode(frame, decoder)

    reader = Reader(items(), source.stop, reconnect=source.reconnect)
    try:
        yield reader
    finally:
        reader.close()


@contextmanager
def api(settings: Settings, *, clock: Clock, metrics: Metrics) -> Iterator[Hydrator]:
    """The API of the wiki and its repository.

    Raises:
        ConfigError: the wiki wants a contact and there is none.
    """
    with Hydrator(settings, clock=clock, chance=random.Random(), metrics=metrics) as hydrator:
        yield hydrator


def live(hydrator: Hydrator, settings: Settings, *, now: Callable[[], datetime]) -> Live:
    """What the engine has beside a live source's events: contents, lists, and what now is."""
    return Live(hydrator, Backfill(hydrator.client, settings.wiki, settings.stream), now)
