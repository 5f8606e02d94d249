import random
from datetime import UTC, datetime, timedelta

import pytest
from stream_fakes import FakeApi, FakeClock, reply

from stream.api import Client
from stream.backfill import Backfill, missing_spans, out_of_reach
from stream.position import Gap, Positions
from stream.settings import StreamConfig
from twiki.config import WikiConfig
from twiki.errors import SourceError
from twiki.records import Change, ChangeKind, SourcePosition

WIKI = WikiConfig(url="http://wiki.test", repository_url="http://data.test")
START = datetime(2026, 11, 5, 12, tzinfo=UTC)
END = START + timedelta(hours=1)


def rc(rev, **fields):
    row = {
        "type": "edit",
        "ns": 0,
        "title": "Marie Curie",
        "pageid": 7,
        "revid": rev,
        "old_revid": rev - 1,
        "timestamp": "2026-11-05T12:10:00Z",
        "comment": "c",
    }
    return row | fields


def log(kind, action, params=None, **fields):
    row = {
        "logid": 1,
        "ns": 0,
        "title": "Marie Curie",
        "pageid": 0,
        "logpage": 7,
        "type": kind,
        "action": action,
        "timestamp": "2026-11-05T12:20:00Z",
        "comment": "c",
        "params": {} if params is None else params,
    }
    return row | fields


def run(rows=(), logs=(), wiki="enwiki", config=WIKI, **options):
    def answer(_url, params):
        if params.get("list") == "recentchanges":
            return reply({"query": {"recentchanges": list(rows)}})
        chosen = [row for row in logs if row["type"] == params["letype"]]
        return reply({"query": {"logevents": chosen}})

    api = FakeApi(answer)
    return list(make(api, config).changes(wiki, START, END, **options)), api


def make(api, config=WIKI):
    stream = StreamConfig(requests_per_second=0, attempts=2)
    client = Client(stream, clock=FakeClock(), chance=random.Random(1), transport=api)
    return Backfill(client, config, stream)


def test_an_edit_of_the_list_is_the_change_that_the_event_would_have_been():
    [change], _ = run([rc(11)])
    assert change == Change(
        wiki="enwiki",
        kind=ChangeKind.EDIT,
        effective_time=START + timedelta(minutes=10),
        arrival_time=START + timedelta(minutes=10),
        page_id=7,
        title="Marie Curie",
        namespace=0,
        rev_id=11,
        parent_rev_id=10,
        rev_dt=START + timedelta(minutes=10),
        comment="c",
    )


def test_new_pages_and_redirects_are_told_apart():
    (new, redirect), _ = run([rc(11, type="new", old_revid=0), rc(12, redirect=True)])
    assert (new.kind, new.parent_rev_id, new.redirect) == (ChangeKind.CREATE, 0, None)
    assert redirect.redirect is True


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (log("delete", "delete"), {"kind": ChangeKind.DELETE, "page_id": 7}),
        (log("delete", "delete_redir2"), {"kind": ChangeKind.DELETE}),
        (log("delete", "restore", {"count": {"revisions": 2}}), {"kind": ChangeKind.RESTORE}),
        (log("import", "interwiki"), {"kind": ChangeKind.RESTORE}),
        (
            log("delete", "revision", {"type": "revision", "ids": [4, 1], "new": {"bitmask": 1}}),
            {"kind": ChangeKind.VISIBILITY, "rev_ids": (1, 4), "visible": False},
        ),
        (
            log("delete", "revision", {"type": "archive", "ids": ["4"], "new": {"bitmask": 2}}),
            {"rev_ids": (4,), "visible": True},
        ),
        (log("delete", "revision", {"type": "revision", "ids": [4]}), {"visible": None}),
        (
            log("move", "move_redir", {"target_ns": 0, "target_title": "B"}),
            {"kind": ChangeKind.MOVE, "title": "B", "from_title": "Marie Curie"},
        ),
        (
            log("move", "move", {"target_ns": 118, "target_title": "Draft:B"}),
            {"namespace": 118, "from_title": "Marie Curie"},
        ),
        (
            log("move", "move", {"target_ns": 0, "target_title": "B"}, ns=118, title="Draft:B"),
            {"namespace": 0, "title": "B", "from_title": "Draft:B"},
        ),
        (
            log("merge", "merge", {"dest_title": "B", "mergerevid": 4}),
            {"kind": ChangeKind.MERGE, "target_title": "B", "rev_ids": (4,)},
        ),
    ],
)
def test_actions_of_the_log_become_changes(row, expected):
    [change], _ = run(logs=[row])
    assert {name: getattr(change, name) for name in expected} == expected
    assert change.effective_time == START + timedelta(minutes=20)


@pytest.mark.parametrize(
    "row",
    [
        log("delete", "event"),
        log("delete", "revision", {"type": "oldimage", "ids": [1]}),
        log("delete", "revision", {"type": "revision", "ids": "x"}),
        log("delete", "delete", ns=1, title="Talk:X"),
        log("delete", "delete", title=None),
        log("delete", "delete", timestamp="never"),
        log("move", "move", {}),
        log("move", "move", []),
        log("move", "move", {"target_ns": 1, "target_title": "Talk:B"}, ns=1),
        log("merge", "merge", {}),
    ],
)
def test_rows_without_effect_or_sense_are_passed(row):
    assert run(logs=[row])[0] == []


def test_rows_of_edits_that_cannot_be_read_are_passed():
    assert run([rc(0), rc(11, title=None), rc(12, timestamp=None)])[0] == []


def test_long_lists_are_continued_and_the_reader_hears_how_far():
    pages = [
        reply({"query": {"recentchanges": [rc(11)]}, "continue": {"rccontinue": "x|12"}}),
        reply({"query": {"recentchanges": [rc(12)]}}),
        *[reply({"query": {"logevents": []}})] * 4,
    ]
    api, heard = FakeApi(pages), []
    changes = list(make(api).changes("enwiki", START, END, heard.append))
    assert [change.rev_id for change in changes] == [11, 12]
    assert api.asked[1][1]["rccontinue"] == "x|12"
    assert heard == [START + timedelta(minutes=10)] * 2


def test_a_list_that_goes_on_without_end_is_an_error():
    api = FakeApi(lambda *_: reply({"query": {}, "continue": {"rccontinue": "same"}}))
    with pytest.raises(SourceError, match="without end"):
        list(make(api).changes("enwiki", START, END))


@pytest.mark.parametrize(
    "answer", [reply(b"", 503), reply({"error": {"code": "badvalue", "info": "x"}})]
)
def test_an_api_that_does_not_answer_is_an_error(answer):
    with pytest.raises(SourceError, match="backfill of enwiki"):
        list(make(FakeApi(lambda *_: answer)).changes("enwiki", START, END))


def test_each_wiki_is_asked_for_its_own_namespaces():
    _, api = run(wiki="wikidatawiki")
    assert api.asked[0][0] == "http://data.test/w/api.php"
    assert api.asked[0][1]["rcnamespace"] == "0|120"
    _, api = run()
    assert api.asked[0][1]["rcnamespace"] == "0"
    everywhere = WikiConfig(url="http://w.test", repository_url="http://d.test", namespaces="all")
    _, api = run(config=everywhere)
    assert "rcnamespace" not in api.asked[0][1]


# --- spans ----------------------------------------------------------------------------------


def gap(after, before, topic="t"):
    return Gap(topic=topic, partition=0, first=1, last=2, after_ms=after, before_ms=before)


def test_gaps_are_widened_and_joined_where_they_touch():
    spans = missing_spans(
        [gap(100_000, 110_000), gap(0, 10_000), gap(8_000, 20_000, "u")], timedelta(seconds=5)
    )
    moments = [(start.timestamp(), end.timestamp()) for start, end in spans]
    assert moments == [(-5, 25), (95, 115)]
    assert missing_spans([], timedelta(0)) == []


def test_what_recentchanges_does_not_reach_is_told():
    now = datetime(2026, 12, 31, tzinfo=UTC)
    horizon = now - timedelta(days=30)
    assert out_of_reach((horizon - timedelta(days=5), now), now) == (
        horizon - timedelta(days=5),
        horizon,
    )
    assert out_of_reach((horizon, now), now) is None


def test_a_backfilled_gap_is_healed():
    positions = Positions()
    for offset in (1, 5):
        positions.begin(
            SourcePosition(topic="t", partition=0, offset=offset, timestamp_ms=offset * 1000)
        )
    gaps = positions.gaps()
    [(start, end)] = missing_spans(gaps, timedelta(seconds=1))
    assert (start.timestamp(), end.timestamp()) == (0, 6)
    positions.healed(gaps)
    assert positions.gaps() == ()
