"""Topics made, checked and told apart: what an operator does once, and a worker at its start."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kafka import TopicPartition, errors
from kafka.admin import NewTopic

from stream.cluster.client import admin, consumer, producer, translating
from stream.settings import KafkaConfig
from stream.topics import (
    CHANGELOGS,
    REVISIONS,
    BridgeRecord,
    Role,
    Topic,
    TopicsRecord,
    decode_position,
    decode_title,
    encode,
    group_of,
    name_of,
    partition_of,
    specs,
)
from twiki.errors import SourceError

_POLL_MS = 1000
_COMMITTED_MS = 10_000
_BEYOND_MS = 100


def create_topics(config: KafkaConfig) -> tuple[list[str], list[str]]:
    """Make the topics that are not there; (made, found).

    Raises:
        SourceError: no broker answers, it refuses, or a topic has another number of partitions.
    """
    made, found = [], []
    with admin(config) as client:
        for spec in specs(config):
            topic = NewTopic(
                spec.name, spec.partitions, spec.replication, topic_configs=spec.config
            )
            try:
                client.create_topics([topic], wait_for_metadata=True)
            except errors.TopicAlreadyExistsError:
                found.append(spec.name)
            else:
                made.append(spec.name)
    topic_ids(config)
    return made, found


def topic_ids(config: KafkaConfig) -> dict[Topic, str]:
    """The id of every topic: a topic made anew has another one.

    Raises:
        SourceError: a topic is missing, or has another number of partitions than the settings.
    """
    names = {name_of(topic, config): topic for topic in Topic}
    with admin(config) as client:
        told = {row["name"]: row for row in client.describe_topics(list(names))}
    missing = [name for name in names if told.get(name, {"error_code": 3})["error_code"]]
    if missing:
        raise SourceError(
            f"topics are missing: {', '.join(missing)}; make them with `twiki topics create`"
        )
    for name, row in told.items():
        if len(row["partitions"]) != config.partitions:
            raise SourceError(
                f"topic {name} has {len(row['partitions'])} partitions, kafka.partitions says "
                f"{config.partitions}: keys are bound to partitions, so it cannot change"
            )
    return {topic: str(told[name]["topic_id"]) for name, topic in names.items()}


# --- positions ------------------------------------------------------------------------------


def read_all(config: KafkaConfig, topic: Topic) -> Iterator[Any]:
    """Every record of a topic up to its present end, partition by partition.

    Raises:
        SourceError: no broker answers, or it refuses us.
    """
    name = name_of(topic, config)
    reader = consumer(config)
    try:
        with translating(config):
            for number in range(config.partitions):
                yield from read_partition(reader, name, number)
    finally:
        reader.close()


def read_partition(reader: Any, topic: str, number: int) -> Iterator[Any]:  # noqa: ANN401 - kafka-python has no types
    """The records of a partition from its beginning to its present end."""
    partition = TopicPartition(topic, number)
    reader.assign([partition])
    end = reader.end_offsets([partition])[partition]
    reader.seek_to_beginning(partition)
    while reader.position(partition) < end:
        for records in reader.poll(timeout_ms=_POLL_MS).values():
            yield from records
    if reader.config["isolation_level"] == "read_uncommitted":
        # A broker without transactions may name the last batch's first offset as the end.
        for records in reader.poll(timeout_ms=_BEYOND_MS).values():
            yield from records


def first_offset(config: KafkaConfig, role: Role, topic: str, number: int) -> int | None:
    """The offset of the first record of a partition that a role's group has not committed.

    None: there is no such record. Compaction may have taken those that follow the commit.

    Raises:
        SourceError: no broker answers, or it refuses us.
    """
    partition = TopicPartition(topic, number)
    reader = consumer(config, group_id=group_of(role, config))
    try:
        with translating(config):
            committed = reader.committed(partition, timeout_ms=_COMMITTED_MS)
            reader.assign([partition])
            end = reader.end_offsets([partition])[partition]
            if committed:
                reader.seek(partition, committed)
            else:
                reader.seek_to_beginning(partition)
            while reader.position(partition) < end:
                for rows in reader.poll(timeout_ms=_POLL_MS, max_records=1).values():
                    return int(rows[0].offset)
    finally:
        reader.close()
    return None


def pages_of(config: KafkaConfig, keys: Iterable[bytes]) -> dict[bytes, int]:
    """The pages that bore titles at the first boundary, by key, as far as they are known.

    It reads the partitions of the keys to their ends: for the few events of which neither the
    bridge nor the API knows the page.

    Raises:
        SourceError: no broker answers, or it refuses us.
    """
    wanted: dict[int, set[bytes]] = {}
    for key in keys:
        wanted.setdefault(partition_of(key, config.partitions), set()).add(key)
    found: dict[bytes, int] = {}
    if not wanted:
        return found
    reader = consumer(config)
    try:
        with translating(config):
            for number, among in wanted.items():
                for row in read_partition(reader, name_of(Topic.TITLES, config), number):
                    if row.key in among:
                        found[row.key] = decode_title(row.value).page
    finally:
        reader.close()
    return found


def position(
    config: KafkaConfig, wanted: Callable[[BridgeRecord | TopicsRecord], bool]
) -> BridgeRecord | TopicsRecord | None:
    """The last record of ``positions`` that is wanted."""
    last = None
    for row in read_all(config, Topic.POSITIONS):
        if row.value is not None:
            told = decode_position(row.value)
            last = told if wanted(told) else last
    return last


def last_bridge(config: KafkaConfig) -> BridgeRecord | None:
    """Where the last bridge stood; None: there was none.

    Raises:
        SourceError: no broker answers, or there are no topics.
    """
    found = position(config, lambda record: isinstance(record, BridgeRecord))
    return found if isinstance(found, BridgeRecord) else None


def put_positions(config: KafkaConfig, records: Iterable[tuple[bytes, TopicsRecord]]) -> None:
    """Write records of ``positions`` and wait for their acknowledgement."""
    sender = producer(config)
    try:
        with translating(config):
            for key, record in records:
                number = partition_of(key, config.partitions)
                sender.send(
                    name_of(Topic.POSITIONS, config),
                    key=key,
                    value=encode(record),
                    partition=number,
                ).get(timeout=60)
    finally:
        sender.close()


# --- what a worker's state was made with --------------------------------------------------


def settle(config: KafkaConfig, role: Role) -> TopicsRecord:
    """Make sure that a role's state and its topics belong together; what they are now.

    A source topic made anew begins a new generation of numbers. A changelog made anew holds
    nothing: the group reads ``revisions-*`` from the beginning, and state is made again.

    Raises:
        SourceError: topics are missing, or the group is at work and cannot be set back.
    """
    ids = topic_ids(config)
    source, changelog = ids[REVISIONS[role]], ids[CHANGELOGS[role]]
    before = position(config, lambda r: isinstance(r, TopicsRecord) and r.role == role)
    now = TopicsRecord(role=role, source=source, changelog=changelog)
    if isinstance(before, TopicsRecord):
        anew = int(before.source != source)
        now = TopicsRecord(
            role=role, source=source, changelog=changelog, generation=before.generation + anew
        )
        if before.changelog != changelog:
            set_back(config, role)
    if now != before:
        put_positions(config, [(f"topics/{role}".encode(), now)])
    return now


def set_back(config: KafkaConfig, role: Role) -> None:
    """Let a role's group read its source from the beginning.

    Raises:
        SourceError: a member of the group is at work: stop all workers of the role first.
    """
    group = group_of(role, config)
    with admin(config) as client:
        told = client.delete_groups([group])[group]
    if told not in ("OK", "GroupIdNotFoundError"):
        raise SourceError(
            f"{name_of(REVISIONS[role], config)} has to be read from the beginning, but the group "
            f"{group} cannot be set back ({told}): stop all workers of the role, then start again"
        )
