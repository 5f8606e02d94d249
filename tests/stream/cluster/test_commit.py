import asyncio

import msgspec
import pytest
from cluster_records import record

from stream.cluster import state
from stream.cluster.batches import Batches
from stream.cluster.commit import NumberedCommit, Taken
from stream.cluster.steps import Steps
from stream.topics import Topic, encode

KEY = b"enwiki:7"


class Kafka:
    """Topics and RocksDB in memory; ``fails`` names the port that refuses."""

    def __init__(self, fails=""):
        self.fails = fails
        self.happened = []
        self.topics, self.changelog, self.rocks = [], [], {}

    async def tell(self, messages):
        self._do("tell")
        self.topics += messages

    async def log(self, partition, puts):
        self._do("log")
        self.changelog += [(partition, key, value) for key, value in puts.items()]
        return len(self.changelog) - 1

    def load(self, partition, key):
        return self.rocks.get((partition, key))

    def write(self, partition, puts):
        self._do("write")
        self.rocks.update({(partition, key): value for key, value in puts.items()})

    def logged(self, partition, upto, changelog):
        self.happened.append(f"logged {partition} {upto} {changelog}")

    def _do(self, name):
        self.happened.append(name)
        if name == self.fails:
            raise ConnectionError(name)


def taken(kafka, offset, told, partition=0, key=KEY):
    value = told if isinstance(told, bytes | None) else encode(told)
    return Taken(partition, offset, key, value, lambda: kafka.happened.append(f"ack {offset}"))


def commit(settings, kafka, *events, generation=0):
    asyncio.run(NumberedCommit(Steps(settings), kafka, generation)(events))


def test_the_five_steps_come_in_their_order(settings):
    kafka = Kafka()
    commit(settings, kafka, taken(kafka, 4, record()))
    assert kafka.happened == ["tell", "log", "logged 0 5 0", "write", "ack 4"]


@pytest.mark.parametrize("fails", ["tell", "log", "write"])
def test_an_error_in_a_step_acknowledges_nothing(settings, fails):
    kafka = Kafka(fails)
    with pytest.raises(ConnectionError):
        commit(settings, kafka, taken(kafka, 4, record()))
    assert not any(step.startswith("ack") for step in kafka.happened)


def test_several_revisions_of_a_page_in_one_batch_make_one_changelog_record(settings):
    kafka = Kafka()
    more = record(2, "Ada died in 1852.", parent=1, day=3)
    commit(settings, kafka, taken(kafka, 4, record()), taken(kafka, 5, more))
    assert len(kafka.changelog) == 1
    assert state.number_of(kafka.changelog[0][2]) == state.number(0, 5)
    assert [message.topic for _, message in kafka.topics] == [Topic.SENTENCES] * 2


def test_what_was_applied_goes_to_the_changelog_again_and_nowhere_else(settings):
    kafka = Kafka()
    commit(settings, kafka, taken(kafka, 4, record()))
    commit(settings, kafka, taken(kafka, 4, record()))
    assert len(kafka.topics) == 1
    assert kafka.changelog[0] == kafka.changelog[1]


def test_killed_behind_any_step_and_started_again_nothing_lacks(settings):
    for fails in ("tell", "log", "write"):
        kafka = Kafka(fails)
        with pytest.raises(ConnectionError):
            commit(settings, kafka, taken(kafka, 4, record()))
        kafka.fails = ""
        commit(settings, kafka, taken(kafka, 4, record()))
        assert len({message.value for _, message in kafka.topics}) == 1
        assert kafka.rocks[(0, KEY)] == kafka.changelog[-1][2]


def test_poison_is_a_dead_letter_and_the_batch_goes_on(settings):
    kafka = Kafka()
    events = [
        taken(kafka, 1, b"\xff"),
        taken(kafka, 2, b'{"record":"change","v":1}'),
        taken(kafka, 3, record(), key=b"no page"),
        taken(kafka, 4, record()),
    ]
    commit(settings, kafka, *events)
    dead = [m for _, m in kafka.topics if m.topic is Topic.DEAD]
    assert {msgspec.json.decode(message.value)["reason"] for message in dead} == {"poison"}
    assert len(dead) == 3
    assert (0, KEY) in kafka.rocks
    assert [s for s in kafka.happened if s.startswith("ack")] == [f"ack {n}" for n in (1, 2, 3, 4)]


def test_a_tombstone_does_nothing(settings):
    kafka = Kafka()
    commit(settings, kafka, taken(kafka, 1, None))
    assert kafka.topics == []
    assert kafka.changelog == []


def test_the_value_with_the_greatest_number_counts_not_the_last_one():
    old, new = (state.encode(state.number(0, n), state.Kept()) for n in (4, 9))
    assert state.greatest([new, old, None]) == new
    assert state.greatest([state.encode(state.number(1, 0), state.Kept()), new]) != new


# --- batches ----------------------------------------------------------------------------------


def run_batches(events, size, seconds, fail=None):
    seen, failed = [], []

    async def work(batch):
        seen.append(list(batch))
        if fail is not None:
            raise fail

    async def source():
        for event in events:
            yield event
        await asyncio.wait_for(enough.wait(), 5)

    async def go():
        batches = Batches(work, size, seconds, failed.append)
        task = asyncio.create_task(batches.run(source()))
        while sum(map(len, seen)) < len(events):
            await asyncio.sleep(0)
        enough.set()
        await task

    enough = asyncio.Event()
    asyncio.run(go())
    return seen, failed


def test_a_batch_ends_by_count():
    seen, _ = run_batches(range(10), 5, 60.0)
    assert seen == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_a_batch_ends_by_time():
    seen, _ = run_batches(range(3), 100, 0.01)
    assert [event for batch in seen for event in batch] == [0, 1, 2]


def test_an_error_of_a_commit_ends_the_worker():
    error = ConnectionError("no broker")
    _, failed = run_batches(range(2), 2, 60.0, error)
    assert failed == [error]
