import asyncio
from collections import defaultdict
from types import SimpleNamespace

import pytest
from faust.types import TP
from intervaltree import IntervalTree
from mode.utils.queues import FlowControlQueue

from stream.cluster.commit import Taken
from stream.cluster.flow import Order, SteadyFlow
from twiki.errors import EngineError

SOURCE = TP("t", 0)


def order(committed=None, gaps=()):
    tree = IntervalTree()
    for first, upto in gaps:
        tree.addi(first, upto)
    consumer = SimpleNamespace(
        _committed_offset={SOURCE: committed}, _gap=defaultdict(IntervalTree, {SOURCE: tree})
    )
    return Order(SimpleNamespace(consumer=consumer), "t")


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


def test_a_group_without_a_commit_begins_anywhere():
    order().check(seen(70, 71))


def test_after_a_rebalance_everything_begins_at_the_committed_offset():
    watch = order(committed=4)
    watch.check(seen(4, 5, 6))
    watch.forget()
    watch.check(seen(4, 5))
