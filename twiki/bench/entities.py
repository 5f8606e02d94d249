"""Entities: edits through the engine, and an entity dump held against a state.

Edits are decoded, compared, written and told, with RocksDB. The dump is generated in real shapes
and sizes; five of a hundred entities have another revision than the state. Its peers in the same
run are the decompression of the same file by the standard library and by ``isal``. Seconds are
by the clock, the least of several rounds, for a dump is decompressed in a thread of its own; those
of the processor, all threads together, stand beside them.

Each part runs in a process of its own: memory is that of the process.
"""

import gzip
import json
import multiprocessing
import resource
import tempfile
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from isal import igzip

from twiki.bench import items
from twiki.bench.figures import Figure, figure, seconds
from twiki.config import CoreConfig, WikiConfig
from twiki.engine import Engine
from twiki.entities import decode, shapes
from twiki.records import Change, ChangeKind, ContentModel, Policy, Record, Revision
from twiki.state.rocks import RocksKeyValues
from twiki.state.store import Store
from twiki.windows.bootstrap import bootstrap
from twiki.windows.reconcile import Reconciled, reconcile

_ENTITIES = 2_000
_SMALL, _LARGE = 20_000, 200_000
_EDITS_BUDGET = 3_000
_GUNZIP_BUDGET, _ISAL_BUDGET = 1.5, 3.0
_BUFFERS_MB = 128
"""Ten times as many entities may fill RocksDB's two write buffers, and nothing else."""
_CHANGED = 0.05
_BATCH = 256
_START, _END = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)
_CHUNK = 1 << 20
_isal: Callable[..., Any] = igzip.open


class Reconciling(Record, frozen=True):
    """What one dump cost: seconds by the clock and the processor's."""

    ours: float
    gunzip: float
    isal: float
    ours_processor: float
    gunzip_processor: float
    repaired: int
    peak_mb: float


def run(
    entities: int = _ENTITIES, small: int = _SMALL, large: int = _LARGE, rounds: int = 3
) -> list[Figure]:
    """Figures of ``entities`` edits, and of dumps of ``small`` and ``large`` entities."""
    rate = _apart(edits, entities)
    little, much = _apart(reconciling, small, rounds), _apart(reconciling, large, 2)
    return [
        figure("entity edits through the engine", rate, "edits/s", budget=_EDITS_BUDGET),
        *_decoding(entities),
        *(
            found
            for count, cost in ((small, little), (large, much))
            for found in _cost(count, cost)
        ),
        figure(f"peak memory, {small:,} entities", little.peak_mb, "MiB"),
        figure(
            f"memory that {large:,} entities take beyond {small:,}",
            much.peak_mb - little.peak_mb,
            "MiB",
            budget=_BUFFERS_MB,
            better="less",
        ),
    ]


def edits(entities: int) -> float:
    """Edits a processor second: every entity once in a dump, then edited twice."""
    before = [_revision(number, 0) for number in range(1, entities + 1)]
    after = [[_revision(number, edited) for number in range(1, entities + 1)] for edited in (1, 2)]
    with tempfile.TemporaryDirectory() as name:
        store = Store(RocksKeyValues(Path(name) / "db", create=True))
        engine = Engine.open(store, CoreConfig(), fixed=(_START, _END))
        _feed(engine, before)
        spent = min(_timed(partial(_feed, engine, each))[0] for each in after)
        store.close()
    return entities / spent


def reconciling(entities: int, rounds: int) -> Reconciling:
    """Cost of a dump of ``entities``, the least of ``rounds`` each."""
    with tempfile.TemporaryDirectory() as name:
        old, new = Path(name) / "old.json.gz", Path(name) / "new.json.gz"
        _write(old, items.lines(entities))
        _write(new, items.lines(entities, edited_share=_CHANGED))
        costs, gunzips, isals, repaired = [], [], [], 0
        for turn in range(rounds):
            gunzips.append(_timed(lambda: _read(gzip.open, new)))
            isals.append(_timed(lambda: _read(_isal, new)))
            cost, repaired = _reconciled(Path(name) / f"db{turn}", old, new)
            costs.append(cost)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Reconciling(
        ours=min(clock for _, clock in costs),
        gunzip=min(clock for _, clock in gunzips),
        isal=min(clock for _, clock in isals),
        ours_processor=min(cpu for cpu, _ in costs),
        gunzip_processor=min(cpu for cpu, _ in gunzips),
        repaired=repaired,
        peak_mb=peak,
    )


def _cost(count: int, cost: Reconciling) -> list[Figure]:
    dump = f"dump of {count:,} entities reconciled"
    return [
        figure(
            f"{dump}, peer: gunzip",
            cost.ours,
            "s",
            peer=cost.gunzip,
            budget=_GUNZIP_BUDGET,
            budget_of="ratio",
            better="less",
        ),
        figure(
            f"{dump}, peer: isal",
            cost.ours,
            "s",
            peer=cost.isal,
            budget=_ISAL_BUDGET,
            budget_of="ratio",
            better="less",
        ),
        figure(
            f"{dump}, seconds of the processor, peer: gunzip",
            cost.ours_processor,
            "s",
            peer=cost.gunzip_processor,
        ),
        figure(f"{dump}: repaired", cost.repaired, "entities"),
    ]


def _decoding(entities: int) -> list[Figure]:
    """Decoding alone, beside the standard library and beside reading the same typed fields."""
    contents = [items.encoded(number) for number in range(1, entities + 1)]
    megabytes = sum(map(len, contents)) / 1e6
    wiki = WikiConfig()
    typed = shapes.decoder(wiki.name, wiki.languages, shapes.Claims)
    decoding = seconds(lambda: [decode(content) for content in contents], repeat=3)
    reading = seconds(lambda: [typed.decode(content) for content in contents], repeat=3)
    plain = seconds(lambda: [json.loads(content) for content in contents])
    return [
        figure(
            "decode, peer: msgspec typed", megabytes / decoding, "MB/s", peer=megabytes / reading
        ),
        figure("decode, peer: json.loads", megabytes / decoding, "MB/s", peer=megabytes / plain),
        figure("mean size of an entity", megabytes * 1e3 / entities, "KB"),
    ]


def _reconciled(folder: Path, old: Path, new: Path) -> tuple[tuple[float, float], int]:
    """Seconds that ``new`` took against a state of ``old``, and how many it repaired."""
    files = RocksKeyValues(folder, create=True)
    store = Store(files)
    engine = Engine.open(store, CoreConfig(), fixed=(_START, _END))
    bootstrap(engine, [], [old])
    files.flush()  # what the state still had to write is not the reconcile's
    window = engine.windows()[0]
    engine.close(window)
    made: list[Reconciled] = []
    cost = _timed(lambda: made.append(reconcile(engine, window, [], [new], policy=Policy.DUMP)))
    store.close()
    return cost, made[0].entities.classes["repaired_from_dump"]


def _revision(number: int, edited: int) -> Revision:
    made = _START + timedelta(hours=edited, seconds=number) if edited else _START - timedelta(1)
    change = Change(
        wiki=WikiConfig().repository,
        kind=ChangeKind.EDIT,
        title=f"Q{number}",
        namespace=0,
        rev_id=number + edited * 1_000_000,
        parent_rev_id=number + (edited - 1) * 1_000_000 if edited else 0,
        rev_dt=made,
        redirect=False,
        effective_time=made,
        arrival_time=made,
    )
    return Revision(
        change=change,
        content=items.encoded(number, edited=edited).decode(),
        model=ContentModel.ITEM,
        boundary=None if edited else _START,
    )


def _feed(engine: Engine, revisions: Iterable[Revision]) -> None:
    for number, revision in enumerate(revisions, 1):
        engine.apply(revision)
        if number % _BATCH == 0:
            engine.commit()
    engine.commit()


def _write(path: Path, lines: Iterable[bytes]) -> None:
    with _isal(path, "wb", compresslevel=2) as file:
        for line in lines:
            file.write(line)


def _read(opened: Callable[..., Any], path: Path) -> int:
    size = 0
    with opened(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            size += len(chunk)
    return size


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Processor seconds of this process, and seconds by the clock."""
    clock, cpu = perf_counter(), process_time()
    work()
    return process_time() - cpu, perf_counter() - clock


def _apart(work: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401 - what work gives
    """Run in a fresh process, so that neither memory nor caches come from another part."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)
