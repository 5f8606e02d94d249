import http.client
import json
import re
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
import requests

from stream.sandbox.faults import Faults, connection_plans
from stream.sandbox.log import DATA_CENTRES, FIRST_OFFSET, build
from stream.sandbox.model import PAGE_CHANGE, RECENTCHANGE, STREAMS
from stream.sandbox.server import SandboxServer

BOTH = ",".join(STREAMS)
RC = f"eqiad.{RECENTCHANGE}"


def parse(body):
    """Whole events of a body as (event, id, data); what is cut off is left out."""
    blocks = body.split(b"\n\n")[:-1]
    assert blocks[:1] in ([b":ok"], [])
    events = []
    for block in blocks[1:]:
        fields = [line.split(b": ", 1) for line in block.split(b"\n")]
        kinds = [name for name, _ in fields]
        assert kinds == [b"event", b"id", *[b"data"] * (len(fields) - 2)]
        data = b"\n".join(value for name, value in fields if name == b"data")
        events.append((fields[0][1].decode(), json.loads(fields[1][1]), json.loads(data)))
    return events


def read(server, streams=BOTH, **request):
    """All that comes until the connection ends, however it ends: (body, whole)."""
    headers = {"User-Agent": "test"} | request.pop("headers", {})
    url = f"{server.stream_url}/{streams}"
    answer = requests.get(url, headers=headers, stream=True, timeout=10, **request)
    assert answer.status_code == 200, answer.text
    received = b""
    try:
        for piece in answer.iter_content(None):
            received += piece
    except requests.exceptions.ChunkedEncodingError:
        return received, False
    return received, True


def places(events):
    return [(e["meta"]["topic"], e["meta"]["offset"]) for kind, _, e in events if kind == "message"]


def resume(positions):
    return {"Last-Event-ID": json.dumps(positions)}


@pytest.fixture(scope="module")
def server(small_world):
    with SandboxServer(small_world) as running:
        yield running


@pytest.fixture(scope="module")
def everything(server):
    body, whole = read(server)
    assert whole
    return parse(body)


def test_a_stream_begins_with_ok_and_names_no_charset(server):
    answer = requests.get(f"{server.stream_url}/{RECENTCHANGE}", timeout=10)
    assert answer.headers["Content-Type"] == "text/event-stream"
    assert answer.headers["Transfer-Encoding"] == "chunked"
    assert answer.content.startswith(b":ok\n\nevent: message\nid: [{")


def test_line_separators_and_accents_come_through_as_they_are(server):
    body, _ = read(server, RECENTCHANGE)
    assert "line\u2028Å\u0085end".encode() in body


def test_every_event_of_the_world_is_sent_once_in_order_of_arrival(everything, small_world):
    sent = [e["meta"]["id"] for _, _, e in everything if e["meta"]["domain"] != "canary"]
    expected = [e.body["meta"]["id"] for e in small_world.events if e.wiki != "canary"]
    assert sent == expected


def test_offsets_run_without_gap_in_each_topic(everything):
    for topic in (f"{centre}.{stream}" for centre in DATA_CENTRES for stream in STREAMS):
        offsets = [offset for name, offset in places(everything) if name == topic]
        assert offsets == list(range(FIRST_OFFSET, FIRST_OFFSET + len(offsets)))
        assert offsets


def test_the_last_message_of_every_topic_is_a_canary_of_the_end(everything, small_world):
    last = {event["meta"]["topic"]: event for _, _, event in everything}
    assert len(last) == 4
    for event in last.values():
        assert event["meta"]["domain"] == "canary"
        assert event["meta"]["dt"] == f"{small_world.now:%Y-%m-%dT%H:%M:%SZ}"


def test_the_id_names_all_topics_and_the_timestamp_plus_one(everything):
    _, first, _ = everything[0]
    assert [entry["topic"] for entry in first] == [
        f"{centre}.{stream}" for stream in STREAMS for centre in DATA_CENTRES
    ]
    assert first[1] == {"topic": f"codfw.{RECENTCHANGE}", "partition": 0, "offset": -1}
    event = next(e for e in everything if e[2]["meta"]["id"] == "r140")
    assert event[1][0] == {"topic": RC, "partition": 0, "timestamp": 1793577601251}


def test_a_stream_can_be_resumed_by_offset(server, everything):
    for cut in range(1, len(everything)):
        seen = {}
        for _, _, event in everything[:cut]:
            seen[event["meta"]["topic"]] = event["meta"]["offset"] + 1
        positions = [
            {"topic": topic, "partition": 0, "offset": seen.get(topic, 0)}
            for topic in sorted({event["meta"]["topic"] for _, _, event in everything})
        ]
        rest, _ = read(server, headers=resume(positions))
        assert places(parse(rest)) == places(everything[cut:])


def test_a_resume_by_timestamp_skips_what_shares_the_millisecond(server, everything):
    index = next(i for i, e in enumerate(everything) if e[2]["meta"]["id"] == "r140")
    rest, _ = read(server, headers=resume(everything[index][1]))
    ids = [event["meta"]["id"] for _, _, event in parse(rest)]
    assert "r140" not in ids
    assert "p140" in ids, "the other topic has not been read so far"
    body, _ = read(
        server, RECENTCHANGE, headers=resume([{"topic": RC, "timestamp": 1793577601251}])
    )
    assert parse(body)[0][2]["meta"]["id"] == "r102"


def test_offset_wins_over_timestamp_and_minus_one_means_the_end(server, everything):
    both = [{"topic": RC, "partition": 0, "offset": FIRST_OFFSET + 3, "timestamp": 1}]
    body, _ = read(server, RECENTCHANGE, headers=resume(both))
    assert places(parse(body))[0] == (RC, FIRST_OFFSET + 3)
    body, _ = read(server, RECENTCHANGE, headers=resume([{"topic": RC, "offset": -1}]))
    assert body == b":ok\n\n"


@pytest.mark.parametrize(
    "since", ["2026-11-10T00:00:00Z", "2026-11-10", "2026-11-10T01:00+01:00", "1794268800000"]
)
def test_since_takes_milliseconds_and_dates(server, since, everything):
    body, _ = read(server, RECENTCHANGE, params={"since": since})
    assert parse(body)[0][2]["meta"]["id"] == "r512"


def test_since_gives_way_to_last_event_id_and_means_the_end_when_it_lies_ahead(server, everything):
    headers = resume([{"topic": RC, "offset": FIRST_OFFSET}])
    body, _ = read(server, RECENTCHANGE, params={"since": "2026-11-10"}, headers=headers)
    assert places(parse(body))[0] == (RC, FIRST_OFFSET)
    body, _ = read(server, RECENTCHANGE, params={"since": "2031-01-01"})
    assert body == b":ok\n\n"


@pytest.mark.parametrize(
    ("streams", "headers", "params"),
    [
        ("mediawiki.unknown", {}, {}),
        (f"{RECENTCHANGE},", {}, {}),
        (RECENTCHANGE, {"Last-Event-ID": "not json"}, {}),
        (RECENTCHANGE, {"Last-Event-ID": '{"topic": "x"}'}, {}),
        (RECENTCHANGE, resume([{"topic": RC}]), {}),
        (RECENTCHANGE, resume([{"topic": f"eqiad.{PAGE_CHANGE}", "offset": 1}]), {}),
        (RECENTCHANGE, {}, {"since": "yesterday"}),
    ],
)
def test_what_cannot_be_understood_is_refused_with_400(server, streams, headers, params):
    url = f"{server.stream_url}/{streams}"
    assert requests.get(url, headers=headers, params=params, timeout=10).status_code == 400


def test_who_names_no_stream_gets_all(server, everything):
    answer = requests.get(server.stream_url, timeout=10)
    assert places(parse(answer.content)) == places(everything)


def test_ids_can_be_offsets(small_world):
    with SandboxServer(small_world, ids="offset") as server:
        body, _ = read(server, RECENTCHANGE)
    _, identity, event = parse(body)[2]
    assert identity[0] == {"topic": RC, "partition": 0, "offset": event["meta"]["offset"] + 1}


@pytest.mark.parametrize("options", [{"gzip_stream": True}, {"chunk_bytes": 7}, {"rate": 1e6}])
def test_framing_and_pace_do_not_change_the_content(small_world, everything, options):
    with SandboxServer(small_world, **options) as server:
        body, whole = read(server)
    assert whole
    assert places(parse(body)) == places(everything)


def test_a_compressed_stream_delivers_each_event_at_once(small_world):
    with SandboxServer(small_world, gzip_stream=True, rate=1e6, hold=True) as server:
        url = f"{server.stream_url}/{BOTH}"
        with requests.get(url, stream=True, timeout=10) as answer:
            assert answer.headers["Content-Encoding"] == "gzip"
            received = b""
            for piece in answer.iter_content(1):
                received += piece
                if received.count(b"\n\n") > len(server.streams.log.messages):
                    break
        assert len(parse(received)) == len(server.streams.log.messages)


def test_a_cut_at_any_byte_loses_nothing_for_who_resumes_by_what_it_has(small_world, everything):
    whole, _ = read_raw(small_world)
    cuts = [*range(0, 2000, 41), *range(2000, len(whole), 499)]
    with SandboxServer(small_world, faults=Faults(cut_at=tuple(cuts))) as server:
        for cut in cuts:
            body, complete = read(server)
            assert not complete
            assert body == whole[:cut]
            head = parse(body) if len(body) > 5 else []
            positions = dict.fromkeys(server.streams.log.topics, FIRST_OFFSET)
            positions |= {topic: offset + 1 for topic, offset in places(head)}
            rest = server.streams.log.read(
                {t: server.streams.log.at_offset(t, offset) for t, offset in positions.items()}
            )
            assert places(head) + [(m.topic, m.offset) for m in rest] == places(everything)
        assert read(server) == (whole, True)


def read_raw(world, **options):
    with SandboxServer(world, **options) as server:
        return read(server)


def test_a_cut_ends_inside_a_chunk(small_world):
    with SandboxServer(small_world, faults=Faults(cut_at=(300,))) as server:
        host = urlsplit(server.url).netloc
        connection = http.client.HTTPConnection(host, timeout=10)
        connection.request("GET", f"/v2/stream/{RECENTCHANGE}")
        with pytest.raises(http.client.IncompleteRead) as caught:
            connection.getresponse().read()
        connection.close()
    assert len(caught.value.partial) == 300


def test_a_mute_connection_stays_open_until_the_reader_leaves(small_world):
    faults = Faults(mutes=1, cut_bytes=1)
    with SandboxServer(small_world, faults=faults) as server:
        url = f"{server.stream_url}/{BOTH}"
        with pytest.raises(requests.exceptions.ConnectionError):
            requests.get(url, timeout=(5, 0.2))
        assert read(server)[1], "the next connection runs clean"


def test_refusals_carry_retry_after_and_never_hit_the_first_connection(small_world):
    faults = Faults(seed=3, refusals=4, retry_after_seconds=2)
    with SandboxServer(small_world, faults=faults) as server:
        url = f"{server.stream_url}/{BOTH}"
        answers = [requests.get(url, timeout=10) for _ in range(6)]
    statuses = [answer.status_code for answer in answers]
    assert statuses[0] == 200
    assert statuses[5] == 200
    assert set(statuses[1:5]) == {503, 429}
    assert all(answer.headers["Retry-After"] == "2" for answer in answers[1:5])


def test_an_error_event_leaves_the_stream_going(small_world, everything):
    faults = Faults(seed=1, errors=1, cut_bytes=3000)
    body, whole = read_raw(small_world, faults=faults)
    events = parse(body)
    errors = [event for event in events if event[0] == "error"]
    assert whole
    assert [data["message"] for _, _, data in errors] == ["Broker: transport failure"]
    assert [event for event in events if event[0] == "message"] == everything


def test_the_plan_of_the_connections_depends_on_the_seed_alone():
    faults = Faults(seed=5, cuts=5, mutes=2, refusals=3, errors=2)
    assert connection_plans(faults) == connection_plans(faults)
    assert len(connection_plans(faults)) == 10
    assert sum(plan.error_after is not None for plan in connection_plans(faults)) == 2
    assert connection_plans(faults) != connection_plans(
        Faults(seed=6, cuts=5, mutes=2, refusals=3, errors=2)
    )
    assert connection_plans(Faults(refusals=2))[0].refuse is None


def log_of(world, **faults):
    start, end = world.boundaries[0], world.now
    return build(world.events, start=start, end=end, faults=Faults(**faults))


def identities(log):
    return [json.loads(m.data)["meta"]["id"] for m in log.messages if b'"canary"' not in m.data]


def test_duplicates_are_equal_but_for_their_offset_and_may_lie_far_apart(small_world):
    log = log_of(small_world, duplicates=1.0, duplicate_span=timedelta(days=9))
    ids = identities(log)
    assert sorted(ids) == sorted(2 * identities(log_of(small_world)))
    assert any(ids.count(i) == 2 and ids[::-1].index(i) + ids.index(i) < len(ids) - 2 for i in ids)
    offsets = [(m.topic, m.offset) for m in log.messages]
    assert len(set(offsets)) == len(offsets)


def test_disorder_keeps_within_its_bound_and_times_as_they_are(small_world):
    log = log_of(small_world, disorder=timedelta(seconds=60), seed=2)
    ids = identities(log)
    assert sorted(ids) == sorted(identities(log_of(small_world)))
    assert ids != identities(log_of(small_world))
    latest = 0
    for message in log.messages:
        latest = max(latest, message.arrival_ms)
        assert message.arrival_ms > latest - 60_000


def test_a_lost_event_leaves_a_gap_in_the_offsets(small_world):
    log = log_of(small_world, losses=0.5)
    gaps = 0
    for messages in log.topics.values():
        offsets = [message.offset for message in messages]
        gaps += offsets[-1] - offsets[0] + 1 - len(offsets)
    assert gaps == len(identities(log_of(small_world))) - len(identities(log)) > 0


def test_a_switch_of_the_data_centre_moves_events_to_the_other_topics(small_world):
    log = log_of(small_world, switch_at=0.5)
    active = [m.topic[:5] for m in log.messages if b'"canary"' not in m.data]
    assert active == sorted(active, reverse=True)
    assert set(active) == {"eqiad", "codfw"}
    assert identities(log) == identities(log_of(small_world))


def test_huge_and_redacted_events_change_nothing_else(small_world):
    log = log_of(small_world, huge=2, huge_bytes=100_000, redactions=1.0)
    assert sum(len(message.data) > 100_000 for message in log.messages) == 2
    assert not any(b'"user"' in m.data or b'"performer"' in m.data for m in log.messages)
    assert identities(log) == identities(log_of(small_world))


def test_positions_before_retention_silently_start_at_what_is_kept(small_world):
    with SandboxServer(small_world, retention=timedelta(days=20)) as server:
        read(server)
        body, _ = read(
            server, RECENTCHANGE, headers=resume([{"topic": RC, "offset": FIRST_OFFSET}])
        )
    assert parse(body)[0][2]["meta"]["id"] == "d1"


def test_more_connections_than_allowed_get_429(small_world):
    with SandboxServer(small_world, hold=True, connection_limit=1) as server:
        url = f"{server.stream_url}/{BOTH}"
        with requests.get(url, stream=True, timeout=10):
            assert requests.get(url, timeout=10).status_code == 429


def test_a_held_stream_goes_on_with_canaries(small_world):
    options = {"hold": True, "heartbeat_seconds": 0.01}
    with SandboxServer(small_world, **options) as server:
        expected = len(server.streams.log.messages) + 8
        received = b""
        with requests.get(f"{server.stream_url}/{BOTH}", stream=True, timeout=10) as answer:
            for piece in answer.iter_content(None):
                received += piece
                if received.count(b"\n\n") > expected:
                    break
    events = parse(received)[expected - 8 : expected]
    assert [e["meta"]["dt"] for _, _, e in events] == (
        ["2026-12-04T00:15:00Z"] * 4 + ["2026-12-04T00:30:00Z"] * 4
    )
    assert len({(e["meta"]["topic"], e["meta"]["offset"]) for _, _, e in events}) == 8


def test_now_is_the_arrival_of_the_newest_event_served(small_world):
    with SandboxServer(small_world) as server:
        assert server.now == small_world.boundaries[0]
        read(server)
        assert server.now == small_world.now


def test_closing_ends_held_and_mute_connections(small_world):
    with SandboxServer(small_world, hold=True, heartbeat_seconds=3600) as server:
        answer = requests.get(f"{server.stream_url}/{BOTH}", stream=True, timeout=10)
        assert next(answer.iter_content(5)) == b":ok\n\n"
    answer.close()
    with pytest.raises(requests.exceptions.ConnectionError):
        requests.get(server.url, timeout=5)


def test_requests_are_kept_for_who_wants_to_look(server):
    read(server, RECENTCHANGE, headers={"User-Agent": "twiki/1 (me@example.org)"})
    assert server.requests[-1].headers["user-agent"] == "twiki/1 (me@example.org)"
    assert re.fullmatch(r"/v2/stream/[\w.,]+", server.requests[-1].path)
