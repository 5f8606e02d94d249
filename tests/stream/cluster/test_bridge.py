from datetime import timedelta

import msgspec
import pytest
from cluster_records import FIRST, at, change
from kafka.errors import KafkaTimeoutError

from stream.bridge import Bridge, Titles, WindowClock
from stream.events import Canary, Rejected
from stream.kinds import Reason
from stream.topics import ChangeRecord, CloseRecord, Topic, decode_change, decode_position, name_of
from twiki.errors import SourceError
from twiki.records import ChangeKind, SourcePosition


class Answer:
    def __init__(self, error):
        self.error = error

    def get(self, timeout):
        if self.error is not None:
            raise self.error


class Producer:
    """Takes everything, or refuses."""

    def __init__(self, error=None):
        self.error = error
        self.sent = []

    def send(self, topic, *, key, value, partition):
        self.sent.append((topic.partition(".")[2], partition, value))
        return Answer(self.error)

    def flush(self, timeout):
        pass

    def of(self, topic):
        return [value for name, _, value in self.sent if name == topic]


def where(offset, topic="eqiad.mediawiki.recentchange"):
    return SourcePosition(topic=topic, partition=0, offset=offset, timestamp_ms=offset)


def told(offset, rev, **more):
    return change(rev, position=where(offset), event_id=f"e{offset}", **more)


def test_the_position_is_sent_behind_what_it_stands_for(settings):
    producer = Producer()
    bridge = Bridge(settings, producer, first=FIRST)
    bridge.take([told(5, 1), told(6, 2)])
    assert [topic for topic, _, _ in producer.sent] == ["changes", "changes", "positions"]
    assert decode_position(producer.of("positions")[0]).sent == 2


def test_without_an_acknowledgement_the_position_does_not_move(settings):
    producer = Producer(KafkaTimeoutError("gone"))
    bridge = Bridge(settings, producer, first=FIRST)
    with pytest.raises(SourceError, match="no Kafka broker answers at 127"):
        bridge.take([told(5, 1)])
    assert producer.of("positions") == []
    assert bridge.positions.mark()[0].offset == 5


def test_another_bridge_goes_on_where_the_last_one_stood(settings):
    producer = Producer()
    Bridge(settings, producer, first=FIRST).take([told(5, 1)])
    before = decode_position(producer.of("positions")[-1])
    successor = Bridge(settings, Producer(), before)
    successor.take([told(5, 1), told(6, 2)])
    assert successor.sent == 2
    assert successor.clock.first == FIRST


def test_a_window_closes_before_what_comes_after_it(settings):
    producer = Producer()
    bridge = Bridge(settings, producer, first=FIRST)
    late = at(30).replace(month=12, day=1, hour=2)
    bridge.take([told(5, 1), Canary(arrival_time=late, position=where(6)), told(7, 2)])
    records = [decode_change(value) for value in producer.of("changes")]
    assert [type(r) for r in records] == [ChangeRecord, *[CloseRecord] * 3, ChangeRecord]
    assert [r.closed for r in records if isinstance(r, ChangeRecord)] == [0, records[1].end]
    closes = [n for t, n, value in producer.sent if b'"close"' in value and t == "changes"]
    assert closes == [0, 1, 2]


def test_the_slowest_stream_holds_the_watermark():
    clock = WindowClock(timedelta(hours=1), None, FIRST)
    december = at(30).replace(month=12, day=1)
    assert clock.arrived("a", at(2)) == []
    assert clock.arrived("b", december + timedelta(hours=2)) == []
    closed = clock.arrived("a", december + timedelta(hours=1))
    assert [window.name for window in closed] == ["2026-11"]
    assert clock.open.name == "2026-12"


def test_page_changes_account_takes_the_place_of_the_nameless_one(settings):
    producer = Producer()
    nameless = told(5, 1, page=None)
    named = msgspec.structs.replace(told(6, 1), position=where(3, "eqiad.mediawiki.page_change.v1"))
    Bridge(settings, producer, first=FIRST).take([nameless, named])
    (record,) = [decode_change(value) for value in producer.of("changes")]
    assert record.change.page_id == 7


def test_an_account_with_a_page_is_sent_where_the_one_before_had_none(settings):
    producer = Producer()
    bridge = Bridge(settings, producer, first=FIRST)
    bridge.take([told(5, 1, page=None)])
    bridge.take([told(6, 1), told(7, 1)])
    assert [decode_change(v).change.page_id for v in producer.of("changes")] == [None, 7]


def test_a_title_leads_to_the_page_that_bore_it_last():
    titles = Titles("enwiki", 2)
    titles.page_of(change(1))
    titles.page_of(change(2, page=8))
    nameless = change(3, page=None, kind=ChangeKind.DELETE)
    assert titles.page_of(nameless) == 8
    assert titles.page_of(change(4, page=None, kind=ChangeKind.CREATE)) is None
    for page in (9, 10):
        titles.page_of(change(page, page=page, title=f"P{page}"))
    assert titles.page_of(nameless) is None  # forgotten: the API is asked


def test_bad_input_is_a_dead_letter_with_its_bytes(settings):
    producer = Producer()
    bad = Rejected(reason=Reason.MALFORMED, detail="no JSON", raw=b"{", position=where(5))
    Bridge(settings, producer, first=FIRST).take([bad])
    (letter,) = [msgspec.json.decode(value) for value in producer.of("dead")]
    assert letter["reason"] == "malformed"
    assert name_of(Topic.DEAD, settings.kafka) == "twiki.dead"
