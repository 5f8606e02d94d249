import asyncio
from collections import defaultdict
from types import SimpleNamespace

import pytest
from faust.types import TP
from intervaltree import IntervalTree
from mode.utils.queues import FlowControlQueue

from stream.app import state_app
from stream.cluster.commit import Taken
from stream.cluster.flow import Order, SteadyConsumer, SteadyFlow
from stream.settings import KafkaConfig, Settings
from stream.topics import Role
from twiki.errors import EngineError

SOURCE = TP("t", 0)


def order(committed=None, gaps=(), first=None):
    tree = IntervalTree()
    for begin, upto in gaps:
        tree.addi(begin, upto)
    consumer = SimpleNamespace(
        _committed_offset={SOURCE: committed}, _gap=defaultdict(IntervalTree, {SOURCE: tree})
    )
    return Order(SimpleNamespace(consumer=consumer), "t", lambda _partition: first)


def seen(*offsets):
    return [Taken(0, offset, b"", b"", lambda: None) for offset in offsets]


def test_resuming_what_flows_keeps_what_is_in_the_queues():
    async def go():
        flow = SteadyFlow()
        queue = FlowControlQueue(maxsize=9, flow_control=flow, clear_on_resume=True)
        flow.resume()
        await queue.put("a record")
        flow.resume()
        assert queue.qsize() == 1
        flow.suspend()
        flow.resume()
        assert queue.qsize() == 0

    asyncio.run(go())


def test_a_record_that_was_passed_over_ends_the_worker():
    watch = order(committed=4)
    watch.check(seen(4, 5))
    with pytest.raises(EngineError, match="t/0: records 6 to 8 never came"):
        watch.check(seen(9))


def test_records_lost_behind_the_committed_offset_end_the_worker():
    with pytest.raises(EngineError, match="25 to 32"):
        order(committed=24).check(seen(33))


def test_offsets_that_the_log_lacks_are_no_loss():
    order(committed=24, gaps=[(25, 33)]).check(seen(33, 34))


def test_where_faust_knows_no_commit_the_first_record_without_one_is_asked_for():
    order().check(seen(0, 1))
    order(first=70).check(seen(70, 71))  # compaction took what was before
    with pytest.raises(EngineError, match="t/0: records 3 to 69 never came"):
        order(first=3).check(seen(70))


def test_without_a_commit_a_partition_goes_back_to_its_beginning(tmp_path):
    """What a rebalance dropped lies there; a changelog stays where recovery left it."""
    config = KafkaConfig(partitions=2)
    app = state_app(Settings(kafka=config), Role.ARTICLE, tmp_path)
    changelog = TP("twiki.pages-changelog", 0)
    fresh, known = TP("twiki.revisions-pages", 0), TP("twiki.revisions-pages", 1)
    sought = {}

    async def go():
        consumer = app._new_consumer()
        assert isinstance(consumer, SteadyConsumer)
        app.topics.acks_enabled_for = lambda topic: topic == fresh.topic
        consumer.assignment = lambda: {fresh, known, changelog}
        consumer.seek_to_committed = lambda: told({fresh: None, known: 7, changelog: None})
        consumer.earliest_offsets = lambda *tps: told(dict.fromkeys(tps, 2))
        consumer.seek_wait = lambda offsets: told(sought.update(offsets))
        await consumer.perform_seek()

    asyncio.run(go())
    assert sought == {fresh: 2}


async def told(value):
    return value


def test_after_a_rebalance_everything_begins_at_the_committed_offset():
    watch = order(committed=4)
    watch.check(seen(4, 5, 6))
    watch.forget()
    watch.check(seen(4, 5))
