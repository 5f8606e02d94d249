import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from stream_fakes import NOON, FakeClock, FakeConnection, FakeSource, framed, recent_change

from stream import metrics as names
from stream.connection import Cut
from stream.events import Canary, Decoder, Rejected
from stream.eventstreams import EventStreams
from stream.metrics import Metrics
from stream.position import Positions
from stream.settings import StreamConfig
from stream.sse import frames
from twiki.errors import ConfigError, SourceError
from twiki.records import Change

DATA = Path(__file__).parents[3] / "shared" / "data"
CONFIG = StreamConfig(url="http://127.0.0.1:1", backoff_seconds=1.0)
START = datetime.fromtimestamp(1_762_467_620, UTC)


class Reader:
    """Reads a source to the end of its script, applying everything at once."""

    def __init__(self, source, config=CONFIG, positions=None, **options):
        self.clock = FakeClock(START)
        self.metrics = Metrics()
        self.positions = positions or Positions(config)
        self.stream = EventStreams(
            config,
            self.positions,
            clock=self.clock,
            chance=random.Random(1),
            metrics=self.metrics,
            connect=source,
            **options,
        )
        self.source = source
        self.items = []

    def read(self, limit=1000):
        decoder = Decoder(None, CONFIG)
        for frame in self.stream:
            item = self.stream.decode(frame, decoder)
            position = item.position
            if self.positions.begin(position):
                self.items.append(item)
                self.positions.done(position)
            if len(self.items) >= limit:
                self.stream.stop()
        return self

    def run(self):
        """Read until the script is over."""
        connect = self.source

        def ends(url, params, headers):
            if not connect.script:
                self.stream.stop()
                raise Cut("unreachable", "the script is over")
            return connect(url, params, headers)

        self.stream._connect = ends
        return self.read()

    @property
    def revisions(self):
        return [item.rev_id for item in self.items if isinstance(item, Change)]


def event(offset):
    return framed(recent_change(offset, 100 + offset))


def connection(*chunks, **options):
    return FakeConnection(chunks, **options)


def parsed(data, size=None, **limits):
    chunks = [data] if size is None else [data[i : i + size] for i in range(0, len(data), size)]
    options = {"max_bytes": 1 << 20, "head_bytes": 100} | limits
    return list(frames(chunks, **options))


# --- bytes to frames ------------------------------------------------------------------------


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [None, 1, 2, 3, 7])
def test_frames_are_the_same_however_the_bytes_are_cut(newline, size):
    data = b":ok\n\nevent: message\nid: [1]\ndata: {a\ndata: b}\n\ndata: c\n\n"
    found = parsed(data.replace(b"\n", newline), size)
    assert [(f.event, f.id, f.data) for f in found] == [
        ("message", "[1]", b"{a\nb}"),
        ("message", "", b"c"),
    ]


def test_a_partial_event_at_the_end_is_discarded_with_its_id():
    whole = b"id: [1]\ndata: a\n\n"
    for cut in range(len(whole)):
        assert [frame.data for frame in parsed(whole + whole[:cut])] == [b"a"]


def test_bytes_inside_an_event_are_kept_whatever_they_are():
    strange = "a\u2028b\u2029c\u0085dÅ".encode() + b"\xff\x1c\x0b"
    assert parsed(b"data: " + strange + b"\n\n", 1)[0].data == strange


def test_an_oversize_event_gives_its_head_and_the_next_one_is_read():
    huge = b"id: [1]\ndata: " + b"x" * 5000 + b"\n\n"
    found = parsed(b"data: a\n\n" + huge + b"data: b\n\n", 64, max_bytes=1000, head_bytes=50)
    assert [frame.event for frame in found] == ["message", "oversize", "message"]
    assert found[1].id == "[1]"
    assert len(found[1].data) < 60
    assert found[2].data == b"b"


def test_an_oversize_event_costs_no_memory():
    held = []

    def endless():
        for _ in range(200):
            held.append(1)
            yield b"x" * 10_000
        yield b"\n\ndata: after\n\n"

    found = list(frames(endless(), max_bytes=20_000, head_bytes=100))
    assert [frame.data for frame in found][-1] == b"after"


# --- resume ---------------------------------------------------------------------------------


def test_reading_goes_on_after_a_cut_where_applied_events_end():
    source = FakeSource(
        connection(b":ok\n\n" + event(1) + event(2)), connection(event(3) + event(4))
    )
    reader = Reader(source).run()
    assert reader.revisions == [101, 102, 103, 104]
    assert source.last_event_ids() == [
        None,
        [{"topic": "eqiad.mediawiki.recentchange", "partition": 0, "offset": 3}],
    ]


def test_only_applied_events_count_for_resuming():
    source = FakeSource(connection(event(1) + event(2) + event(3)), connection())
    reader = Reader(source)
    reader.positions.done = lambda _position: None
    reader.run()
    assert source.last_event_ids()[1][0]["offset"] == 1


def test_two_events_of_one_millisecond_are_both_read_after_a_cut_between_them():
    first = recent_change(1, 101)
    twin = first.replace(b'"offset": 1', b'"offset": 2').replace(b"101", b"102")
    source = FakeSource(connection(framed(first)), connection(framed(twin)))
    assert Reader(source).run().revisions == [101, 102]
    assert source.last_event_ids()[1][0]["offset"] == 2


def test_a2_a_cut_at_every_byte_loses_nothing_and_doubles_nothing():
    log = [recent_change(offset, 100 + offset, title="Å\u2028é") for offset in range(1, 5)]
    whole = b":ok\n\n" + b"".join(framed(data, sse_id='[{"x":1}]') for data in log)

    def rest(headers):
        wanted = json.loads(headers["Last-Event-ID"])[0]["offset"] if len(headers) > 3 else 1
        return connection(*(framed(data) for data in log[wanted - 1 :]))

    for cut in range(len(whole) + 1):
        source = FakeSource(connection(whole[:cut]), rest)
        assert Reader(source).run().revisions == [101, 102, 103, 104], cut


def test_a_cut_between_id_and_data_and_then_another_loses_nothing():
    half = b'event: message\nid: [{"topic":"eqiad.mediawiki.recentchange","offset":9}]\n'
    source = FakeSource(
        connection(event(1), half), connection(b":ok\n\n", Cut("broken")), connection(event(2))
    )
    assert Reader(source).run().revisions == [101, 102]
    offsets = [ids[0]["offset"] for ids in source.last_event_ids()[1:]]
    assert offsets == [2, 2]


def test_events_sent_again_are_read_once():
    source = FakeSource(connection(event(1), event(2), event(1)), connection(event(2), event(3)))
    assert Reader(source).run().revisions == [101, 102, 103]


def test_a_refused_position_is_asked_for_by_time_and_then_by_since():
    refused = {"status": 400, "headers": {}}
    source = FakeSource(
        connection(event(1)),
        connection(b"bad offset", **refused),
        connection(b"bad timestamp", **refused),
        connection(event(2)),
        connection(event(3)),
    )
    reader = Reader(source).run()
    assert reader.revisions == [101, 102, 103]
    ids = source.last_event_ids()
    assert "offset" in ids[1][0]
    assert "timestamp" in ids[2][0]
    assert ids[3] is None
    assert "since" in source.asked[3][0]
    assert "offset" in ids[4][0]


def test_the_first_connection_starts_at_since_and_later_ones_do_not():
    source = FakeSource(connection(event(1)), connection())
    Reader(source, since=NOON).run()
    assert source.asked[0][0] == {"since": str(int(NOON.timestamp() * 1000))}
    assert source.asked[1][0] == {}


def test_idle_topics_of_the_id_are_asked_for_when_resuming():
    sse_id = json.dumps(
        [
            {"topic": "eqiad.mediawiki.recentchange", "partition": 0, "timestamp": 5},
            {"topic": "codfw.mediawiki.recentchange", "partition": 0, "offset": -1},
        ]
    )
    source = FakeSource(connection(framed(recent_change(1, 101), sse_id=sse_id)), connection())
    Reader(source).run()
    parts = {part["topic"][:5]: part for part in source.last_event_ids()[1]}
    assert parts["codfw"]["timestamp"] == (1_762_467_621 - 60) * 1000
    assert parts["eqiad"]["offset"] == 2


# --- trouble --------------------------------------------------------------------------------


def test_a_refusal_in_between_is_waited_out():
    source = FakeSource(
        connection(event(1)),
        connection(status=503, headers={}),
        connection(status=503, headers={}),
        connection(event(2)),
    )
    reader = Reader(source).run()
    assert reader.revisions == [101, 102]
    assert reader.metrics.value(names.CUTS, "busy") == 2


def test_a_retry_after_is_kept_and_bounded():
    source = FakeSource(
        connection(status=429, headers={"Retry-After": "17"}),
        connection(status=503, headers={"retry-after": "999999"}),
        connection(event(1)),
    )
    reader = Reader(source).run()
    assert reader.clock.slept[0] == 17
    assert reader.clock.slept[1] == CONFIG.retry_after_cap_seconds


def test_a_retry_after_may_be_a_date():
    later = START + timedelta(seconds=90)
    source = FakeSource(
        connection(status=429, headers={"Retry-After": f"{later:%a, %d %b %Y %H:%M:%S} GMT"}),
        connection(event(1)),
    )
    assert Reader(source).run().clock.slept[0] == 90


def test_waits_grow_with_jitter_and_start_over_after_an_event():
    source = FakeSource(*[Cut("unreachable")] * 8, connection(event(1)), Cut("unreachable"))
    slept = Reader(source).run().clock.slept
    for number, wait in enumerate(slept[:8]):
        ceiling = min(60, 2**number)
        assert ceiling / 2 <= wait <= ceiling
    assert len(set(slept)) == len(slept)
    assert slept[8] <= 1


def test_a30_a_mute_socket_is_left_and_nothing_is_lost():
    source = FakeSource(connection(event(1), Cut("timeout")), connection(event(2)))
    reader = Reader(source).run()
    assert reader.revisions == [101, 102]
    assert reader.metrics.value(names.CUTS, "timeout") == 1


def test_an_html_page_in_place_of_events_is_not_read():
    html = connection(b"<html>\n\n", headers={"Content-Type": "text/html"})
    reader = Reader(FakeSource(html, connection(event(1)))).run()
    assert reader.revisions == [101]
    assert reader.metrics.value(names.CUTS, "content_type") == 1


@pytest.mark.parametrize(
    "kind", ["text/event-stream", "Text/Event-Stream ; charset=UTF-8", "text/event-stream;x=1"]
)
def test_the_content_type_may_be_spelt_in_any_way(kind):
    source = FakeSource(connection(event(1), headers={"CONTENT-TYPE": kind}))
    assert Reader(source).run().revisions == [101]


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_for_good_is_an_error_that_says_what_to_do(status):
    source = FakeSource(connection(b"no such stream", status=status, headers={}))
    with pytest.raises(SourceError, match=rf"HTTP {status}.*no such stream.*contact"):
        Reader(source).run()


def test_an_error_event_is_logged_and_counted_and_is_no_change(caplog):
    error = framed(b'{"message":"Broker: transport failure"}', event="error")
    reader = Reader(FakeSource(connection(error + event(1)))).run()
    assert reader.revisions == [101]
    assert reader.metrics.value(names.SERVER_ERRORS) == 1
    assert "transport failure" in caplog.text


def test_an_oversize_event_becomes_a_dead_letter_with_its_position():
    config = StreamConfig(url=CONFIG.url, max_event_bytes=2000, max_raw_bytes=1000)
    huge = framed(recent_change(2, 102, filler="x" * 9000))
    chunks = [huge[i : i + 500] for i in range(0, len(huge), 500)]
    reader = Reader(FakeSource(connection(event(1), *chunks, event(3))), config).run()
    assert reader.revisions == [101, 103]
    rejected = reader.items[1]
    assert isinstance(rejected, Rejected)
    assert (rejected.reason, rejected.position.offset) == ("too_large", 2)
    assert reader.positions.gaps() == ()


def test_stopping_ends_the_iteration_and_closes_the_connection():
    open_one = connection(event(1), event(2), event(3))
    reader = Reader(FakeSource(open_one))
    reader.read(limit=1)
    assert reader.revisions == [101]
    assert open_one.closed
    assert open_one.interrupted  # a read that waits for data would not end by itself


def test_wikimedia_is_not_asked_without_a_contact():
    with pytest.raises(ConfigError, match="TWIKI_CONTACT"):
        Reader(FakeSource(), StreamConfig())


def test_every_request_says_who_asks_and_takes_gzip():
    source = FakeSource(connection(event(1)))
    config = StreamConfig(url=CONFIG.url, contact="ops@example.org")
    Reader(source, config).run()
    headers = source.asked[0][1]
    assert headers["User-Agent"].startswith("twiki/")
    assert "ops@example.org" in headers["User-Agent"]
    assert headers["Accept-Encoding"] == "gzip"


# --- the ready-made exchange ----------------------------------------------------------------


def exchange():
    path = DATA / "synthetic" / "sse_frames.txt"
    if not path.exists():
        pytest.skip(f"{path} is missing")
    return path.read_bytes()


def outcome(reader):
    changes = [item for item in reader.items if isinstance(item, Change)]
    return changes, [item for item in reader.items if isinstance(item, Canary)]


def test_a1_one_event_one_canary_one_error():
    reader = Reader(FakeSource(connection(exchange()))).run()
    changes, canaries = outcome(reader)
    assert [change.rev_id for change in changes] == [11]
    assert "\u2028" in changes[0].comment
    assert "\u0085" in changes[0].comment
    assert len(canaries) == 1
    assert reader.metrics.value(names.SERVER_ERRORS) == 1
    mark = next(m for m in reader.positions.mark() if m.topic.startswith("eqiad"))
    assert mark.offset == 2
    assert mark.timestamp_ms == canaries[0].position.timestamp_ms == 1762467620156


def test_a2_the_same_exchange_cut_at_every_byte_has_the_same_outcome():
    whole = exchange()
    first, second, third = [block + b"\n\n" for block in whole[5:].split(b"\n\n") if block]

    for cut in range(len(whole) + 1):
        before = whole[:cut]
        left = [part for part in (first, second, third) if before.find(part) < 0]
        reader = Reader(FakeSource(connection(before), connection(*left))).run()
        changes, canaries = outcome(reader)
        assert [change.rev_id for change in changes] == [11], cut
        assert len(canaries) == 1, cut
        assert reader.metrics.value(names.SERVER_ERRORS) == 1, cut


def test_a_real_transcript_is_read_whole():
    path = DATA / "events" / "sse" / "example.events"
    if not path.exists():
        pytest.skip(f"{path} is missing")
    data = path.read_bytes()
    assert len(parsed(data + b"\n\n", 100)) == data.count(b"\ndata: ")
