"""Brokers and topics that are not as the settings say, in words."""

import subprocess
import sys

import msgspec
import pytest

from stream.cluster.admin import create_topics
from stream.topics import Role
from twiki.errors import SourceError


@pytest.mark.apache("copies to count")
def test_more_copies_than_there_are_brokers_is_said_in_the_brokers_words(cluster):
    with pytest.raises(SourceError, match=r"kafka\.replication=3 cannot be met.*1 broker"):
        create_topics(msgspec.structs.replace(cluster.config, replication=3))


def test_another_number_of_partitions_than_the_topics_have(cluster):
    cluster.create()
    with pytest.raises(SourceError, match=r"has 4 partitions, kafka\.partitions says 5"):
        create_topics(msgspec.structs.replace(cluster.config, partitions=5))


def test_a_command_without_a_broker_ends_with_1_and_the_address():
    done = subprocess.run(
        [sys.executable, "-m", "twiki", "topics", "create", "--broker", "127.0.0.1:9"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "no Kafka broker answers at 127.0.0.1:9" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.apache("disk: what it held is gone after a restart")
def test_a_worker_waits_for_a_broker_that_does_not_answer_yet(cluster):
    cluster.create()
    cluster.broker.stop()
    try:
        cluster.start(Role.ARTICLE)
        cluster.wait_for(lambda: "event=no_broker" in cluster.log(Role.ARTICLE))
    finally:
        cluster.broker.start()
    cluster.wait_for(lambda: cluster.members(Role.ARTICLE) == 1)
    assert cluster.restarts == []


def test_a_worker_without_topics_says_which_command_makes_them(cluster):
    cluster.start(Role.HYDRATOR)
    assert cluster.wait_for_end(Role.HYDRATOR) == 1
    assert "twiki topics create" in cluster.log(Role.HYDRATOR)
