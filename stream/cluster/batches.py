"""From a stream of events to batches: by count or by time, whatever comes first, under one lock."""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from stream import metrics as names
from stream.cluster.exposition import BATCHES, BUSY
from stream.metrics import Metrics

log = logging.getLogger(__name__)
T = TypeVar("T")

FAILED = 70
"""Exit code of a worker that could not commit: start it again."""


def die(error: BaseException) -> None:
    """End the process at once: nothing that was not committed counts."""
    log.critical("event=worker_ends reason=%r", error, exc_info=error)
    os._exit(FAILED)


class Batches(Generic[T]):
    """Collects events and hands them to ``commit``, one batch at a time.

    Args:
        commit: works a batch through; an error of it ends the process by ``fail``.
        size: most events of a batch.
        seconds: longest wait of an event for its batch.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[T]], Awaitable[None]],
        size: int,
        seconds: float,
        fail: Callable[[BaseException], None] = die,
        metrics: Metrics | None = None,
    ) -> None:
        self._commit = commit
        self._size = size
        self._seconds = seconds
        self._fail = fail
        self._metrics = metrics or Metrics()
        self._batch: list[T] = []
        self._lock = asyncio.Lock()

    async def run(self, events: AsyncIterable[T]) -> None:
        """Commit what comes until the source ends."""
        ticker = asyncio.create_task(self._tick())
        try:
            async for event in events:
                async with self._lock:
                    self._batch.append(event)
                    if len(self._batch) >= self._size:
                        await self._flush()
        finally:
            ticker.cancel()
            with suppress(asyncio.CancelledError):
                await ticker

    async def drop(self) -> None:
        """Forget what was not committed: its partitions may be another worker's now."""
        async with self._lock:
            self._batch.clear()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            async with self._lock:
                await self._flush()

    async def _flush(self) -> None:
        self._metrics.set(names.STEP, time.time())
        batch, self._batch = self._batch, []
        if not batch:
            return
        began = time.perf_counter()
        try:
            await self._commit(batch)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - the outermost supervisor of a worker
            self._fail(error)
        self._metrics.add(BATCHES)
        self._metrics.add(BUSY, time.perf_counter() - began)
