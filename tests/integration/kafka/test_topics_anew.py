"""Topics made anew, groups set back, records that are none of ours or too large."""

import msgspec
import pytest

from stream.cluster.client import admin, producer
from stream.topics import CHANGELOGS, REVISIONS, Role, Topic, group_of, name_of
from twiki.windows.dataset import data_bytes
from twiki.windows.publishing import cut_closed

STATE = (Role.ARTICLE, Role.ENTITY)
FULL = pytest.mark.kafka_full


@FULL
def test_a_changelog_made_anew_is_filled_again_from_the_revisions(cluster, embedded):
    cluster.begin()
    cluster.start_all()
    cluster.wait_settled()
    cluster.stop(Role.ARTICLE)
    cluster.recreate(CHANGELOGS[Role.ARTICLE])
    cluster.start(Role.ARTICLE)
    # The files of the old changelog, for whoever wants to look; the group is set back by then.
    cluster.wait_for(lambda: len(list(cluster.folder.glob("article/article.of-*"))) == 1)
    cluster.wait_settled()
    cluster.check(embedded)


@FULL
def test_a_changelog_made_anew_before_anything_was_in_it(cluster, embedded):
    cluster.create()
    cluster.start(Role.ARTICLE)
    cluster.wait_for(lambda: cluster.members(Role.ARTICLE) == 1)
    cluster.stop(Role.ARTICLE)
    cluster.recreate(CHANGELOGS[Role.ARTICLE])
    cluster.fill()
    cluster.bridge()
    cluster.start_all()
    cluster.wait_settled()
    cluster.check(embedded)


@FULL
def test_a_source_topic_made_anew_begins_a_new_generation_of_numbers(cluster, embedded):
    half = len(cluster.items) // 2
    cluster.create()
    cluster.fill()
    cluster.bridge(cluster.items[:half])
    cluster.start_all()
    cluster.wait_settled()
    cluster.stop(Role.ARTICLE)
    cluster.stop(Role.HYDRATOR)
    cluster.recreate(REVISIONS[Role.ARTICLE])
    cluster.start(Role.ARTICLE)
    cluster.start(Role.HYDRATOR)
    cluster.bridge(cluster.items[half:])
    cluster.wait_settled()
    _, expected = embedded
    assert cluster.cut() == expected


@FULL
@pytest.mark.parametrize("role", STATE)
def test_a_group_set_back_to_the_beginning(cluster, embedded, role):
    cluster.begin()
    cluster.start_all()
    cluster.wait_settled()
    cluster.stop(role)
    cluster.wait_for(lambda: cluster.members(role) == 0)
    with admin(cluster.config) as client:
        client.delete_groups([group_of(role, cluster.config)])
    cluster.start(role)
    cluster.wait_settled()
    cluster.check(embedded)


def test_poison_records_are_dead_letters(cluster, embedded):
    cluster.begin()
    sender = producer(cluster.config)
    for topic in (Topic.CHANGES, Topic.PAGES, Topic.ENTITIES):
        for value in (b"\xff\x00", b"{}", b'{"record":"revision","v":1}'):
            sender.send(name_of(topic, cluster.config), key=b"?", value=value, partition=1)
    sender.close()
    cluster.start_all()
    cluster.wait_settled()
    cluster.check(embedded)
    assert sorted(cluster.dead().values()) == ["poison"] * 9


@FULL
def test_a_record_over_the_limit_goes_without_its_content(cluster, world, tmp_path, dumps):
    """The page counts as one whose text is not held; all others are as in the embedded engine."""
    cluster.reconfigure(max_record_bytes=60_000)
    limits = msgspec.structs.replace(cluster.settings.text, max_page_bytes=50_000)
    cluster.settings = msgspec.structs.replace(cluster.settings, text=limits)
    items, page = cluster.with_a_large_page(200_000)
    cluster.create()
    cluster.fill()
    cluster.bridge(items)
    cluster.start_all()
    cluster.wait_settled()
    assert "too_large" in cluster.dead().values()
    engine = cluster.embedded_engine(items)
    report = cut_closed(engine, world.windows[0], tmp_path / "embedded")
    assert report.counts["diffset"] > 0
    assert cluster.cut() == data_bytes(report.folder)
    assert page in dict(engine.store.pages())
