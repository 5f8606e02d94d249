"""The Faust applications: agents of a few lines around the commit and :mod:`twiki.apply`.

::

    app = state_app(settings, Role.ARTICLE, folder, generation=0)   # revisions → state, live feed
    app = hydrator_app(settings, folder, contents_for)              # changes → revisions
    faust.Worker(app).execute_from_commandline()

A factory, not a module-level app: settings are given, and tests make several.
"""

from asyncio import gather
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import faust
from faust.auth import Credentials
from faust.types import TP

from stream.cluster.admin import first_offset, pages_of
from stream.cluster.batches import Batches
from stream.cluster.client import tls
from stream.cluster.commit import NumberedCommit, Taken
from stream.cluster.exposition import PARTITIONS
from stream.cluster.flow import Order, SteadyFlow, SteadyTransport
from stream.cluster.hydration import Fetching, Hydration
from stream.cluster.steps import Message, Steps
from stream.cluster.tables import NumberedStore, NumberedTable, NumberedTables
from stream.metrics import Metrics
from stream.settings import KafkaConfig, Settings
from stream.topics import (
    CHANGELOGS,
    REVISIONS,
    Role,
    Topic,
    group_of,
    name_of,
    request_bytes,
)

_FETCH_BYTES = 8 << 20
_RECOVERING = 131_072
"""Changelog records read ahead: none is acknowledged, so none makes room."""


def state_app(
    settings: Settings,
    role: Role,
    folder: Path,
    *,
    generation: int = 0,
    after: Callable[[int], None] = lambda _step: None,
    metrics: Metrics | None = None,
) -> faust.App:
    """The application that keeps the state of pages, or of entities.

    Args:
        role: ARTICLE or ENTITY.
        folder: RocksDB's files; a folder a worker.
        generation: see :class:`stream.topics.TopicsRecord`.
        after: called after each step of each commit (tests end the process there).
        metrics: counts what is worked in.
    """
    config = settings.kafka
    metrics = metrics or Metrics()
    app = _app(config, role, folder, fence=config.transactions)
    table = NumberedTable(
        app,
        name=str(role),
        key_type=bytes,
        value_type=bytes,
        partitions=config.partitions,
        recovery_buffer_size=500,
        changelog_topic=_raw(app, name_of(CHANGELOGS[role], config), changelog=True),
        options={
            "driver": "rocksdict",
            "block_cache_size": max(1 << 20, config.cache_bytes // config.partitions),
            "write_buffer_size": 8 << 20,
        },
    )
    app.tables.add(table)
    ports = _Ports(app, table, config)
    commit = NumberedCommit(Steps(settings), ports, generation, after=after, metrics=metrics)
    source = name_of(REVISIONS[role], config)
    order = Order(app, source, lambda number: first_offset(config, role, source, number))

    async def take(events: Sequence[faust.EventT[bytes]]) -> None:
        batch = [_taken(event) for event in events]
        order.check(batch)
        await commit(batch)

    batches = Batches[faust.EventT[bytes]](
        take, config.batch_records, config.batch_seconds, metrics=metrics
    )

    @app.agent(_raw(app, source), concurrency=1, name=str(role))
    async def keep(stream: Any) -> None:  # noqa: ANN401 - Faust's own type
        await batches.run(stream.noack().events())

    _drop_when_revoked(app, batches, order)
    _count_partitions(app, role, source, metrics)
    return app


def hydrator_app(
    settings: Settings,
    folder: Path,
    contents: Fetching,
    after: Callable[[int], None] = lambda _step: None,
    metrics: Metrics | None = None,
) -> faust.App:
    """The application that fetches contents: ``changes`` and ``needs`` → ``revisions-*``."""
    config = settings.kafka
    metrics = metrics or Metrics()
    app = _app(config, Role.HYDRATOR, folder, fence=False)
    sources = (name_of(Topic.CHANGES, config), name_of(Topic.NEEDS, config))
    hydration = Hydration(
        settings,
        contents,
        lambda messages: _tell(app, config, messages),
        after,
        metrics,
        pages_of=lambda keys: pages_of(config, keys),
    )
    batches = Batches[faust.EventT[bytes]](
        lambda events: hydration([_taken(event) for event in events]),
        config.batch_records,
        config.batch_seconds,
        metrics=metrics,
    )

    @app.agent(_raw(app, *sources), concurrency=1, name="hydrator")
    async def hydrate(stream: Any) -> None:  # noqa: ANN401 - Faust's own type
        await batches.run(stream.noack().events())

    @app.on_partitions_assigned.connect(weak=False)
    async def share(_app: faust.App, assigned: set[TP], **_: Any) -> None:  # noqa: ANN401
        mine = sum(tp.topic == sources[0] for tp in assigned)
        await hydration.share(mine / config.partitions)

    _drop_when_revoked(app, batches)
    _count_partitions(app, Role.HYDRATOR, sources[0], metrics)
    return app


class _App(faust.App):
    @cached_property
    def flow_control(self) -> SteadyFlow:
        """Faust's own would empty queues that flow."""
        return SteadyFlow()

    def _new_transport(self) -> SteadyTransport:
        return SteadyTransport(self.conf.broker_consumer, self)


def _app(config: KafkaConfig, role: Role, folder: Path, *, fence: bool) -> faust.App:
    fetch = max(_FETCH_BYTES, request_bytes(config))
    return _App(
        group_of(role, config),
        broker=[f"kafka://{broker}" for broker in config.brokers],
        broker_credentials=_credentials(config),
        store="rocksdb://",
        datadir=str(folder),
        autodiscover=False,
        TableManager=NumberedTables,
        processing_guarantee="exactly_once" if fence else "at_least_once",
        topic_partitions=config.partitions,
        topic_replication_factor=config.replication,
        topic_allow_declare=False,
        topic_disable_leader=True,
        web_enabled=False,
        worker_redirect_stdouts=False,
        broker_session_timeout=config.session_seconds,
        broker_heartbeat_interval=max(0.5, config.session_seconds / 5),
        broker_request_timeout=max(90.0, config.session_seconds + 30),
        broker_commit_interval=config.commit_seconds,
        consumer_auto_offset_reset="earliest",
        consumer_max_fetch_size=fetch,
        producer_acks=-1,
        producer_linger=0.003,
        producer_max_batch_size=1 << 20,
        producer_max_request_size=request_bytes(config),
        # Texts in state are compressed already; revisions are not.
        producer_compression_type=None if fence or role is not Role.HYDRATOR else "zstd",
        stream_buffer_maxsize=2 * config.batch_records,
        stream_wait_empty=False,
        stream_recovery_delay=0.0,
        table_standby_replicas=config.standbys if role is not Role.HYDRATOR else 0,
        # Topics made anew are noticed by their ids before the application starts.
        recovery_consistency_check=False,
    )


def _credentials(config: KafkaConfig) -> Credentials | None:
    context = tls(config)
    if config.security.startswith("SASL"):
        return faust.SASLCredentials(
            username=config.username,
            password=config.password,
            ssl_context=context,
            mechanism=config.sasl_mechanism,
        )
    return None if context is None else faust.SSLCredentials(context)


def _raw(app: faust.App, *names: str, changelog: bool = False) -> Any:  # noqa: ANN401 - Faust's own type
    """Topics of bytes: Faust's default would write keys as JSON, other clients raw ones."""
    return app.topic(
        *names,
        key_type=bytes,
        value_type=bytes,
        key_serializer="raw",
        value_serializer="raw",
        acks=not changelog,
        internal=changelog,
        allow_empty=True,
        maxsize=_RECOVERING if changelog else None,
    )


def _taken(event: Any) -> Taken:  # noqa: ANN401 - Faust's own type
    message = event.message
    return Taken(message.tp.partition, message.offset, message.key, message.value, event.ack)


def _drop_when_revoked(app: faust.App, batches: Batches[Any], order: Order | None = None) -> None:
    @app.on_partitions_revoked.connect(weak=False)
    async def revoked(app: Any, _revoked: set[TP], **_: Any) -> None:  # noqa: ANN401
        await batches.drop()
        app.tables.forget()
        if order is not None:
            order.forget()


def _count_partitions(app: faust.App, role: Role, source: str, metrics: Metrics) -> None:
    @app.on_partitions_assigned.connect(weak=False)
    async def count(_app: faust.App, assigned: set[TP], **_: Any) -> None:  # noqa: ANN401
        metrics.set(PARTITIONS, sum(tp.topic == source for tp in assigned), label=str(role))


async def _tell(
    app: Any,  # noqa: ANN401 - Faust's own type
    config: KafkaConfig,
    messages: Sequence[tuple[int, Message]],
) -> None:
    """Send by the plain producer, which no transaction can take back, and await every answer."""
    sent = [
        await app.producer.send(
            name_of(message.topic, config), message.key, message.value, partition, None, None
        )
        for partition, message in messages
    ]
    await gather(*sent)


class _Ports:
    """Kafka and RocksDB as :class:`stream.cluster.commit.Ports`."""

    def __init__(self, app: Any, table: NumberedTable, config: KafkaConfig) -> None:  # noqa: ANN401 - Faust's own type
        self._app = app
        self._table = table
        self._config = config
        self._changelog = table.changelog_topic.get_topic_name()

    async def tell(self, messages: Sequence[tuple[int, Message]]) -> None:
        await _tell(self._app, self._config, messages)

    async def log(self, partition: int, puts: dict[bytes, bytes]) -> int:
        sent = [
            await self._table.changelog_topic.send(key=key, value=value, partition=partition)
            for key, value in puts.items()
        ]
        return max(answer.offset for answer in await gather(*sent))

    def load(self, partition: int, key: bytes) -> bytes | None:
        return self._store.load(partition, key)

    def write(self, partition: int, puts: dict[bytes, bytes]) -> None:
        self._store.write(partition, puts)

    @property
    def _store(self) -> NumberedStore:
        return cast("NumberedStore", self._table.data)

    def logged(self, partition: int, upto: int, changelog: int) -> None:
        self._app.tables.logged(partition, upto, changelog)
