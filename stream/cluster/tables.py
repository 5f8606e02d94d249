"""Faust's table, store and recovery with our rules (ENGINE 5).

* Nothing writes through the table: :class:`stream.cluster.commit.NumberedCommit` sends the
  changelog itself and writes RocksDB afterwards.
* Recovery takes the value with the greatest number of a key, not the last one.
* How far the changelog is in RocksDB is written after the commit of the source offsets.
* A standby's files are a second behind the changelog, not 500 records.
* A changelog that ends in transaction markers is known as read without Faust's wait of ten
  seconds for records that never come.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, MutableMapping
from typing import Any

import faust
import rocksdict
from faust.stores.rocksdb import Store
from faust.tables.manager import TableManager
from faust.types import TP, EventT
from mode import Service

from stream.cluster.state import number_of

_WATCH_SECONDS = 0.3
_QUIET_ROUNDS = 3
_STANDBY_SECONDS = 1.0


class NumberedStore(Store):
    """A RocksDB folder a partition."""

    def load(self, partition: int, key: bytes) -> bytes | None:
        """The value at ``key``."""
        value: bytes | None = self._db_for_partition(partition).get(key)
        return value

    def write(self, partition: int, puts: dict[bytes, bytes]) -> None:
        """Write values, all or nothing."""
        batch = rocksdict.WriteBatch(raw_mode=True)
        for key, value in puts.items():
            batch.put(key, value)
        self._db_for_partition(partition).write(batch)

    def apply_changelog_batch(
        self,
        batch: Iterable[EventT[Any]],
        to_key: Callable[[Any], Any],
        to_value: Callable[[Any], Any],
    ) -> None:
        """Take in changelog records: of a key the value with the greatest number."""
        del to_key, to_value
        best: dict[int, dict[bytes, bytes]] = defaultdict(dict)
        ends: dict[TP, int] = {}
        for event in batch:
            message = event.message
            ends[message.tp] = max(message.offset, ends.get(message.tp, -1))
            if message.value is None or message.key is None:
                continue
            partition, key = message.partition, message.key
            held = best[partition].get(key) or self.load(partition, key)
            if number_of(message.value) >= number_of(held):
                best[partition][key] = message.value
        for partition, puts in best.items():
            self.write(partition, puts)
        for tp, offset in ends.items():
            self.set_persisted_offset(tp, offset)

    def revoke_partitions(self, table: Any, tps: set[TP]) -> None:  # noqa: ANN401 - Faust's own type
        """Close what another worker takes over; a lock left behind would block it."""
        for tp in tps:
            if tp.topic in table.changelog_topic.topics:
                db = self._dbs.pop(tp.partition, None)
                if db is not None:
                    db.close()


class NumberedTable(faust.Table[bytes, bytes]):
    """The state of one role."""

    def _new_store(self) -> NumberedStore:
        return NumberedStore(
            self.app.conf.store,
            self.app,
            self,
            table_name=self.name,
            key_type=bytes,
            value_type=bytes,
            key_serializer="raw",
            value_serializer="raw",
            options=dict(self.options or {}),
        )

    async def on_changelog_event(self, event: EventT[Any]) -> None:
        """Count the marker behind the last record as read: it never comes as a record."""
        app: Any = self.app
        recovery, tp = app.tables.recovery, event.message.tp
        if app.in_transaction and recovery.active_highwaters.get(tp) == event.message.offset + 1:
            recovery.active_offsets[tp] = event.message.offset + 1


class NumberedTables(TableManager):
    """Faust's tables; writes how far a changelog is in RocksDB once the source is committed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Faust's own signature
        super().__init__(*args, **kwargs)
        self._logged: dict[int, deque[tuple[int, int]]] = defaultdict(deque)

    def logged(self, partition: int, upto: int, changelog: int) -> None:
        """Records below ``upto`` of a source partition are in its changelog up to an offset."""
        self._logged[partition].append((upto, changelog))

    def on_commit(self, offsets: MutableMapping[TP, int]) -> None:
        """Write the changelog offsets that the committed source offsets stand for."""
        super().on_commit(offsets)
        for table in self.values():
            changelog = table.changelog_topic.get_topic_name()
            for tp, committed in offsets.items():
                persisted = self._committed(tp.partition, committed)
                if persisted is not None and tp.partition in table.data._dbs:  # noqa: SLF001 - our own store
                    # One less: the last record is read again, and the marker behind it known.
                    table.data.set_persisted_offset(
                        TP(changelog, tp.partition), max(persisted - 1, 0)
                    )

    def forget(self) -> None:
        """After a rebalance what was noted may be another worker's."""
        self._logged.clear()

    def _committed(self, partition: int, committed: int) -> int | None:
        waiting, found = self._logged[partition], None
        while waiting and waiting[0][0] <= committed:
            found = waiting.popleft()[1]
        return found

    @Service.task
    async def _write_standbys(self) -> None:
        """Write what standbys have read: Faust would keep up to 500 records in memory."""
        while not self.should_stop:
            await asyncio.sleep(_STANDBY_SECONDS)
            recovery: Any = self._recovery
            if recovery is not None and recovery.standby_tps and not recovery.in_recovery:
                recovery.flush_buffers()

    @Service.task
    async def _watch_markers(self) -> None:
        """End a recovery that waits for nothing but the markers of aborted transactions."""
        quiet, before = 0, None
        while not self.should_stop:
            await asyncio.sleep(_WATCH_SECONDS)
            recovery: Any = self._recovery
            if recovery is None or not recovery.in_recovery or not self.app.in_transaction:
                quiet, before = 0, None
                continue
            now = dict(recovery.active_offsets)
            if now != before or not self.changelog_queue.empty() or not await self._at_end():
                quiet, before = 0, now
                continue
            quiet += 1
            if quiet >= _QUIET_ROUNDS:
                for tp, highwater in recovery.active_highwaters.items():
                    recovery.active_offsets[tp] = max(highwater, recovery.active_offsets[tp])
                recovery.flush_buffers()
                recovery._set_recovery_ended()  # noqa: SLF001 - what Faust does after its wait
                recovery.signal_recovery_end.set()

    async def _at_end(self) -> bool:
        recovery: Any = self._recovery
        waiting = [tp for tp, left in recovery.active_remaining().items() if left > 0]
        if not waiting:
            return False
        for tp in waiting:
            position = await self.app.consumer.position(tp)
            if position is None or position < recovery.active_highwaters[tp]:
                return False
        return True
