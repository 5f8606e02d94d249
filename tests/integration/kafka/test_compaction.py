"""Changelogs that the broker has compacted: recovery and cut are the same."""

import shutil

import pytest
from kafka.admin import ConfigResource, ConfigResourceType

from stream.cluster.admin import read_all
from stream.cluster.client import admin
from stream.topics import CHANGELOGS, Role, name_of

pytestmark = [pytest.mark.apache("compaction"), pytest.mark.kafka_full]
AT_ONCE = {
    "segment.ms": "100",
    "min.compaction.lag.ms": "0",
    "min.cleanable.dirty.ratio": "0.001",
}


def test_a_compacted_changelog_rebuilds_state_and_cut(cluster, embedded):
    cluster.start_slowly()  # many records of a page
    cluster.begin()
    cluster.start_all()
    cluster.wait_settled()
    topic = CHANGELOGS[Role.ARTICLE]
    full = held(cluster, topic)
    compact(cluster, topic)
    cluster.bridge_again()  # the last segment is never compacted: it has to be followed
    cluster.wait_settled()
    cluster.wait_for(lambda: held(cluster, topic) < full)
    cluster.kill(Role.ARTICLE)
    shutil.rmtree(cluster.folder / "article")
    cluster.start(Role.ARTICLE)
    cluster.bridge_again()
    cluster.wait_settled()
    cluster.check(embedded)


def compact(cluster, topic):
    """Let the broker compact as soon as it can, where production waits for a day."""
    with admin(cluster.config) as client:
        name = name_of(topic, cluster.config)
        client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, configs=AT_ONCE)])


def held(cluster, topic):
    return sum(1 for _ in read_all(cluster.config, topic))
