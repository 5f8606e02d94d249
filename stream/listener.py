"""Starts a training on each announced dataset: each (window, version, method) once.

::

    listener = Listener(settings, ("diff", "kadapter"), start)
    listener.run(clock)             # until the clock is stopped

What was trained is told in ``windows`` too, so that the listener can be started again anywhere
and knows what is left to do: it reads the topic from its beginning. ``start`` is handed in; the
edge knows no trainer.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any

from kafka import TopicPartition
from kafka.errors import KafkaError

from stream.clock import Clock
from stream.cluster.admin import read_all
from stream.cluster.client import consumer, meaning, producer
from stream.settings import Settings
from stream.topics import (
    BadRecordError,
    Topic,
    WindowRecord,
    decode_window,
    encode,
    name_of,
    partition_of,
)

log = logging.getLogger(__name__)

DATASET, TRAINED = "dataset", "trained"
_POLL_MS = 1000
Start = Callable[[WindowRecord, str], bool]
"""Train on a dataset by a method; whether it went well."""


class Listener:
    """Follows the announcements of one wiki.

    Args:
        methods: the trainer's names.
        start: trains; returns when it is done.
    """

    def __init__(self, settings: Settings, methods: Sequence[str], start: Start) -> None:
        self._config = settings.kafka
        self._wiki = settings.wiki.name
        self._methods = tuple(methods)
        self._start = start
        self._topic = name_of(Topic.WINDOWS, settings.kafka)

    def run(self, clock: Clock) -> None:
        """Train what was announced and is not trained yet, then what is announced.

        Raises:
            SourceError: no broker answers, or it refuses us.
        """
        reader = consumer(self._config)
        parts = [TopicPartition(self._topic, n) for n in range(self._config.partitions)]
        reader.assign(parts)
        reader.seek_to_beginning()
        try:
            while not clock.stopped:
                told = reader.poll(timeout_ms=_POLL_MS)
                rows = [row for records in told.values() for row in records]
                if rows:
                    self.take([row.value for row in rows])
        finally:
            reader.close()

    def take(self, values: Sequence[bytes | None]) -> None:
        """Train the datasets among some announcements, unless they are trained already."""
        announced = [r for r in map(_announcement, values) if r is not None]
        wanted = [r for r in announced if r.event == DATASET and r.wiki == self._wiki]
        if not wanted:
            return
        done = self._done()
        for record in sorted(wanted, key=lambda r: (r.window, r.version or 0)):
            for method in self._methods:
                key = (record.window, record.version, method)
                if key in done:
                    continue
                log.info("event=training window=%s version=%s method=%s", *key)
                if self._start(record, method):
                    self._tell(record, method)
                    done.add(key)
                else:
                    log.warning("event=training_failed window=%s version=%s method=%s", *key)

    def _done(self) -> set[tuple[str, int | None, str]]:
        """What is trained, as the topic tells now: another listener may have been at work."""
        rows = (_announcement(row.value) for row in read_all(self._config, Topic.WINDOWS))
        return {
            (r.window, r.version, r.method or "")
            for r in rows
            if r is not None and r.event == TRAINED and r.wiki == self._wiki
        }

    def _tell(self, record: WindowRecord, method: str) -> None:
        told = WindowRecord(
            event=TRAINED,
            window=record.window,
            wiki=record.wiki,
            version=record.version,
            folder=record.folder,
            method=method,
        )
        key = f"{record.window}/{record.version}".encode()
        sender: Any = producer(self._config)
        try:
            number = partition_of(key, self._config.partitions)
            sender.send(self._topic, key=key, value=encode(told), partition=number).get(timeout=60)
        except KafkaError as error:
            raise meaning(error, self._config) from error
        finally:
            sender.close()


def _announcement(value: bytes | None) -> WindowRecord | None:
    try:
        return decode_window(value)
    except BadRecordError as error:
        log.warning("event=bad_announcement detail=%s", error)
        return None
