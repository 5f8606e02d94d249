"""The changelogs read into a store: what a cut in the cluster reads, beside live workers.

::

    changelog partition ──greatest number of each key──▶ raw values ──▶ Store with its indexes

Frozen slots follow from the ledger: an entry knows which window had closed when it arrived, so
the cut does not depend on when it reads. It costs what is held, not what was touched.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from stream.cluster import state
from stream.cluster.admin import last_bridge, read_partition
from stream.cluster.client import consumer, translating
from stream.cluster.state import PROGRESS, Progress
from stream.cluster.steps import boundaries
from stream.settings import KafkaConfig, Settings
from stream.topics import CHANGELOGS, Role, name_of, parse_page_key
from twiki import engine as engines
from twiki.apply import Applied
from twiki.context import Context
from twiki.engine import META, Engine
from twiki.errors import SourceError
from twiki.records import Window
from twiki.state.codec import Held
from twiki.state.kv import KeyValues, MemoryKeyValues
from twiki.state.ledger import Entry
from twiki.state.rocks import RocksKeyValues
from twiki.state.store import Batch, Store
from twiki.times import to_ms
from twiki.windows.reconcile import Progress as Told

_CHUNK = 1000
_READERS = 4
ROLES = (Role.ARTICLE, Role.ENTITY)


class Gathered(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the cluster as one store, and what each partition knows of time."""

    store: Store
    partitions: dict[tuple[Role, int], Progress]

    @property
    def closed(self) -> int:
        """End of the last window that has closed everywhere; 0: none."""
        return min((p.closed for p in self.partitions.values()), default=0)

    def open_in(self, window: Window) -> list[str]:
        """The partitions in which a window has not closed yet."""
        end = to_ms(window.end)
        return [f"{role}/{n}" for (role, n), p in self.partitions.items() if p.closed < end]

    def reconciled(self, start: int) -> str | None:
        """The policy under which a window was reconciled, where that stands everywhere."""
        policies = {p.reconciled.get(start) for p in self.partitions.values()}
        return policies.pop() if len(policies) == 1 else None


@contextmanager
def gathered(
    settings: Settings,
    *,
    folder: Path | None = None,
    progress: Told = lambda _stage, _more: None,
) -> Iterator[Gathered]:
    """The changelogs as they are now.

    Args:
        folder: where to keep it while it is used (RocksDB); None: in memory.

    Raises:
        SourceError: no broker answers, it refuses us, or there is no state yet.
    """
    config = settings.kafka
    with _stores(folder) as (raw, kv):
        with ThreadPoolExecutor(_READERS) as readers:
            tasks = [
                readers.submit(_read, config, role, number, raw, progress)
                for role in ROLES
                for number in range(config.partitions)
            ]
            for task in tasks:
                task.result()
        parts = {
            (role, number): state.decode_progress(raw.get(_prefix(role, number) + PROGRESS))
            for role in ROLES
            for number in range(config.partitions)
        }
        store = Store(kv)
        found = Gathered(store=store, partitions=parts)
        _build(settings, found, raw, progress)
        yield found


def engine_of(found: Gathered, settings: Settings) -> Engine:
    """The gathered state as an engine: to be read, and for a reconcile to write to."""
    return Engine.open(found.store, settings)


def _read(config: KafkaConfig, role: Role, number: int, raw: KeyValues, progress: Told) -> None:
    prefix = _prefix(role, number)
    reader = consumer(config)
    try:
        with translating(config):
            chunk: dict[bytes, bytes] = {}
            for row in read_partition(reader, name_of(CHANGELOGS[role], config), number):
                if row.key is None or row.value is None:
                    continue
                key = prefix + row.key
                held = chunk.get(key) or raw.get(key)
                if state.number_of(row.value) >= state.number_of(held):
                    chunk[key] = row.value
                progress("changelog records", 1)
                if len(chunk) >= _CHUNK:
                    raw.write(chunk.items(), ())
                    chunk.clear()
            raw.write(chunk.items(), ())
    finally:
        reader.close()


def _build(settings: Settings, found: Gathered, raw: KeyValues, progress: Told) -> None:
    """Write the store's records and indexes, as the embedded engine has them."""
    first = max(p.first for p in found.partitions.values())
    if not first:
        raise SourceError(
            "the changelogs hold no closed window yet: are bridge, hydrator and workers at work?"
        )
    bridge = last_bridge(settings.kafka)
    told = {} if bridge is None else bridge.watermarks
    latest = max([found.closed, first, *told.values()])
    starts = {start for p in found.partitions.values() for start in p.reconciled}
    batch = Batch(found.store)
    made = engines.Progress(
        wiki=settings.wiki.name,
        repository=settings.wiki.repository,
        first=first,
        closed=found.closed,
        watermarks=told,
        reconciled={s: p for s in sorted(starts) if (p := found.reconciled(s)) is not None},
    )
    batch.put_meta(META, made)
    context = Engine(found.store, settings, made).context
    context = msgspec.structs.replace(context, boundaries=tuple(boundaries(first, latest)))
    for key, value in raw.scan(b""):
        name = key[_PREFIX_BYTES:]
        if name == PROGRESS:
            continue
        page, kept = parse_page_key(name), state.decode_kept(value)
        applied = Applied(
            held=kept.held,
            puts=kept.contents,
            touched=touched(kept.held.entries, context),
            titles=tuple(sorted({e.title for e in kept.held.entries if e.title is not None})),
            sampled=kept.sampled,
        )
        batch.update(page, Held(), applied)
        progress("pages and entities", 1)
        if len(batch) >= _CHUNK:
            batch.commit()
    batch.commit()


def touched(entries: Iterable[Entry], context: Context) -> tuple[int, ...]:
    """Starts of the windows that a ledger touches; a pin touches both sides of its boundary."""
    moments = {entry.effective for entry in entries}
    for entry in entries:
        if entry.boundary is not None:
            moments |= {entry.boundary - 1, entry.boundary}
    starts = {context.window_start(moment) for moment in moments}
    return tuple(sorted(start for start in starts if start is not None))


_PREFIX_BYTES = 3


def _prefix(role: Role, number: int) -> bytes:
    return bytes([ROLES.index(role)]) + number.to_bytes(2, "big")


@contextmanager
def _stores(folder: Path | None) -> Iterator[tuple[KeyValues, KeyValues]]:
    if folder is None:
        yield MemoryKeyValues(), MemoryKeyValues()
        return
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder, prefix="gathered-") as name:
        raw = RocksKeyValues(Path(name) / "raw", create=True)
        kv = RocksKeyValues(Path(name) / "db", create=True)
        try:
            yield raw, kv
        finally:
            raw.close()
            kv.close()
