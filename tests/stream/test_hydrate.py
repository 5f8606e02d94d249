import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests
from stream_fakes import NOON, FakeApi, FakeClock, reply

from stream import metrics as names
from stream.found import Failed, Failure
from stream.hydrate import Hydrator
from stream.metrics import Metrics
from stream.settings import Settings, StreamConfig
from twiki.config import WikiConfig
from twiki.errors import ConfigError
from twiki.records import Change, ChangeKind, ContentModel, Revision

DATA = Path(__file__).parents[3] / "shared" / "data"
LOCAL = WikiConfig(url="http://wiki.test", repository_url="http://data.test")


def utc(*parts):
    return datetime(*parts, tzinfo=UTC)


class Wiki:
    """A little API in memory: pages by revision, entities by revision, faults by hand."""

    def __init__(self):
        self.revisions = {}
        self.current = {}
        self.entities = {}
        self.log = []
        self.faults = []
        self.calls = []

    def add(self, rev, text, page=7, title="Marie Curie", parent=0, minute=0, **flags):
        slot = {"contentmodel": "wikitext", "content": text}
        for flag in ("texthidden", "textmissing"):
            if flag in flags:
                slot = {flag: True}
        self.revisions[rev] = (
            {"pageid": page, "ns": 0, "title": title},
            {
                "revid": rev,
                "parentid": parent,
                "timestamp": f"2026-11-05T12:{minute:02}:00Z",
                "slots": {"main": slot},
            },
        )
        self.current[title] = rev
        return self

    def entity(self, entity_id, rev, redirect=None):
        stored = {"entity": entity_id, "redirect": redirect} if redirect else {"id": entity_id}
        self.add(rev, json.dumps(stored), page=int(entity_id[1:]), title=entity_id)
        self.revisions[rev][1]["slots"]["main"]["contentmodel"] = "wikibase-item"
        self.entities[entity_id] = rev
        return self

    def __call__(self, url, params):
        self.calls.append((urlsplit(url).path, dict(params)))
        if self.faults:
            fault = self.faults.pop(0)
            if fault is not None:
                if isinstance(fault, Exception):
                    raise fault
                return fault
        if "Special:EntityData" in url:
            return self.entity_data(urlsplit(url).path.rpartition("/")[2][:-5], params)
        if params.get("action") == "wbgetentities":
            return reply({"entities": {i: self.now(i) for i in params["ids"].split("|")}})
        if params.get("list") == "logevents":
            rows = [row for row in self.log if row["title"] == params["letitle"]]
            return reply({"query": {"logevents": rows}})
        return reply({"query": self.query(params)})

    def now(self, entity_id):
        rev = self.entities.get(entity_id)
        stored = rev and json.loads(self.revisions[rev][1]["slots"]["main"]["content"])
        if not stored or "redirect" in stored:
            return {"id": entity_id, "missing": ""}
        return self.told(entity_id, rev)

    def told(self, entity_id, rev):
        modified = self.revisions[rev][1]["timestamp"]
        return {
            "id": entity_id,
            "type": "item",
            "pageid": int(entity_id[1:]),
            "lastrevid": rev,
            "modified": modified,
            "labels": {},
        }

    def entity_data(self, entity_id, params):
        rev = params.get("revision", self.entities.get(entity_id))
        if rev not in self.revisions:
            return reply(b"", 404)
        slot = self.revisions[rev][1]["slots"]["main"]
        if "content" not in slot:
            return reply(b"", 404)
        stored = json.loads(slot["content"])
        if "redirect" in stored:
            if "revision" in params:
                return reply(b"", 400)
            target = stored["redirect"]
            return reply({"entities": {target: self.told(target, self.entities[target])}})
        return reply({"entities": {entity_id: self.told(entity_id, rev)}})

    def query(self, params):
        if "revids" in params:
            wanted = [int(rev) for rev in str(params["revids"]).split("|")]
        else:
            titles = str(params.get("titles", "")).split("|")
            wanted = [self.current[title] for title in titles if title in self.current]
            missing = [title for title in titles if title not in self.current]
            if "rvstart" in params:
                wanted = [
                    rev
                    for rev, (page, revision) in sorted(self.revisions.items(), reverse=True)
                    if page["pageid"] == params["pageids"]
                    and revision["timestamp"] <= params["rvstart"]
                ][:1]
            return {
                "pages": self.pages(wanted)
                + [{"title": title, "ns": 0, "missing": True} for title in missing]
            }
        known = [rev for rev in wanted if rev in self.revisions]
        bad = {str(rev): {"revid": rev, "missing": True} for rev in wanted if rev not in known}
        return {"pages": self.pages(known), **({"badrevids": bad} if bad else {})}

    def pages(self, revs):
        return [self.revisions[r][0] | {"revisions": [self.revisions[r][1]]} for r in revs]


def make(api, clock=None, metrics=None, **stream):
    settings = Settings(wiki=LOCAL, stream=StreamConfig(requests_per_second=0, **stream))
    return Hydrator(
        settings,
        clock=clock or FakeClock(),
        chance=random.Random(1),
        metrics=metrics or Metrics(),
        transport=api,
    )


def fetch(api, *changes, clock=None, metrics=None, wanted=None, **stream):
    with make(api, clock, metrics, **stream) as hydrator:
        return hydrator.fetch(changes, **({"wanted": wanted} if wanted else {}))


def edit(rev=11, kind=ChangeKind.EDIT, age=0.0, **fields):
    time = NOON - timedelta(seconds=age)
    base = {
        "wiki": "enwiki",
        "kind": kind,
        "rev_id": rev,
        "title": "Marie Curie",
        "namespace": 0,
        "effective_time": time,
        "arrival_time": time,
    }
    return Change(**(base | fields))


def item(rev=11, title="Q7", **fields):
    return edit(rev, wiki="wikidatawiki", title=title, **fields)


def reason(result):
    assert isinstance(result, Failed), result
    return result.reason


# --- texts ----------------------------------------------------------------------------------


def test_a_text_is_fetched_by_revision_id_and_fills_what_the_event_left_open():
    [revision] = fetch(Wiki().add(11, "text", parent=10), edit())
    assert revision.content == "text"
    change = revision.change
    assert (change.page_id, change.parent_rev_id, change.rev_dt) == (7, 10, NOON)


def test_what_the_event_says_is_not_overwritten_by_what_is_true_today():
    api = Wiki().add(11, "text", page=99, title="Moved since", parent=3)
    [revision] = fetch(api, edit(page_id=7, parent_rev_id=10, rev_dt=utc(2026, 11, 1)))
    change = revision.change
    assert (change.page_id, change.title, change.parent_rev_id) == (7, "Marie Curie", 10)
    assert change.rev_dt == utc(2026, 11, 1)
    assert revision.content == "text"


def test_batches_hold_fifty_and_results_keep_the_order():
    api = Wiki()
    for rev in range(1, 131):
        api.add(rev, f"text {rev}")
    revs = list(range(130, 0, -1))
    results = fetch(api, *(edit(rev) for rev in revs))
    assert [result.content for result in results] == [f"text {rev}" for rev in revs]
    assert sorted(len(str(p["revids"]).split("|")) for _, p in api.calls) == [30, 50, 50]


def test_hidden_text_is_a_revision_without_text():
    [revision] = fetch(Wiki().add(11, "", texthidden=True), edit())
    assert revision.content is None
    assert revision.change.visible is False


def test_blank_text_is_not_missing_text():
    [blank, missing] = fetch(Wiki().add(11, "").add(12, "", textmissing=True), edit(11), edit(12))
    assert blank.content == ""
    assert reason(missing) is Failure.TEXT_MISSING


def test_a_revision_deleted_meanwhile_is_missing_and_the_others_are_read():
    good, bad = fetch(Wiki().add(11, "text"), edit(11), edit(99, age=3600))
    assert good.content == "text"
    assert reason(bad) is Failure.MISSING
    assert bad.change.rev_id == 99


def test_a_revision_not_yet_replicated_is_asked_for_again_while_its_event_is_young():
    api = Wiki()
    clock = FakeClock()

    def lagging(url, params):
        if clock.passed >= 2:
            api.add(11, "text")
        return api(url, params)

    [revision] = fetch(lagging, edit(age=1), clock=clock)
    assert revision.content == "text"
    assert clock.slept == [1.0, 1.0]


def test_an_old_event_is_not_waited_for():
    api, clock = Wiki(), FakeClock()
    [failed] = fetch(api, edit(age=11), clock=clock)
    assert reason(failed) is Failure.MISSING
    assert clock.slept == []


def test_waiting_for_replication_ends():
    api, clock = Wiki(), FakeClock()
    [failed] = fetch(api, edit(age=-3600), clock=clock)
    assert reason(failed) is Failure.MISSING
    assert len(api.calls) == 4


def test_a_batch_too_large_for_one_answer_is_continued():
    api = Wiki().add(11, "a").add(12, "b", page=8, title="B")
    first = api.query({"revids": "11"})
    second = api.query({"revids": "12"})
    parts = FakeApi(
        [
            reply({"query": first, "continue": {"rvcontinue": "8|12", "continue": "||"}}),
            reply({"query": second}),
        ]
    )
    a, b = fetch(parts, edit(11), edit(12))
    assert (a.content, b.content) == ("a", "b")
    assert parts.asked[1][1]["rvcontinue"] == "8|12"


def test_an_api_that_continues_for_ever_is_left():
    endless = FakeApi(
        lambda _url, _params: reply({"query": {}, "continue": {"rvcontinue": "1", "continue": "|"}})
    )
    [failed] = fetch(endless, edit())
    assert reason(failed) is Failure.BAD_ANSWER


def test_answers_of_the_older_format_are_read():
    page = {
        "pageid": 7,
        "ns": 0,
        "title": "Marie Curie",
        "revisions": [
            {"revid": 11, "parentid": 10, "timestamp": "2026-11-05T12:00:00Z", "*": "text"},
            {"revid": 12, "timestamp": "2026-11-05T12:00:00Z", "texthidden": ""},
        ],
    }
    bad = {"13": {"revid": 13}}
    api = FakeApi(lambda *_: reply({"query": {"pages": {"7": page}, "badrevids": bad}}))
    a, b, c = fetch(api, edit(11), edit(12), edit(13, age=99))
    assert a.content == "text"
    assert (b.content, b.change.visible) == (None, False)
    assert reason(c) is Failure.MISSING


def test_a_move_or_restore_without_revision_id_takes_what_is_current_at_its_title():
    api = Wiki().add(11, "text", title="New title")
    moved = edit(None, ChangeKind.MOVE, title="New title", from_title="Old")
    gone = edit(None, ChangeKind.RESTORE, title="Nowhere", age=99)
    a, b = fetch(api, moved, gone)
    assert (a.content, a.change.rev_id, a.change.page_id) == ("text", 11, 7)
    assert reason(b) is Failure.MISSING


def test_titles_asked_for_under_another_spelling_are_found():
    answer = {
        "normalized": [{"from": "marie Curie", "to": "Marie Curie"}],
        "pages": Wiki().add(11, "text").pages([11]),
    }
    change = edit(None, ChangeKind.RESTORE, title="marie Curie")
    [revision] = fetch(FakeApi(lambda *_: reply({"query": answer})), change)
    assert revision.content == "text"


def test_a_title_with_a_pipe_cannot_smuggle_in_another():
    api = Wiki().add(11, "text", title="B")
    [failed] = fetch(api, edit(None, ChangeKind.RESTORE, title="A|B", age=99))
    assert reason(failed) is Failure.MISSING
    assert all("B" not in str(params.get("titles")) for _, params in api.calls)


def test_titles_are_cut_into_addresses_that_are_short_enough():
    api = Wiki()
    titles = [f"{'Ж' * 250}{number}" for number in range(9)]
    for number, title in enumerate(titles):
        api.add(number + 1, "text", title=title)
    results = fetch(api, *(edit(None, ChangeKind.RESTORE, title=title) for title in titles))
    assert all(isinstance(result, Revision) for result in results)
    assert len(api.calls) > 1


# --- changes without content ----------------------------------------------------------------


def test_a_deletion_that_knows_its_page_asks_nothing():
    api = Wiki()
    change = edit(11, ChangeKind.DELETE, page_id=7)
    assert fetch(api, change) == [Revision(change=change)]
    assert api.calls == []


def test_a_deletion_without_page_id_finds_it_in_the_log():
    api = Wiki()
    moment = "2026-11-05T12:00:00Z"
    api.log = [
        {"title": "Marie Curie", "logpage": 8, "timestamp": "2026-11-05T11:59:59Z"},
        {"title": "Marie Curie", "logpage": 7, "pageid": 0, "timestamp": moment},
    ]
    [revision] = fetch(api, edit(None, ChangeKind.DELETE))
    assert (revision.change.page_id, revision.change.rev_id, revision.content) == (7, None, None)
    [unresolved] = fetch(Wiki(), edit(None, ChangeKind.DELETE, age=99))
    assert unresolved.change.page_id is None


def test_a_merge_takes_what_still_stands_at_the_source():
    api = Wiki().add(30, "left", title="Source")
    api.log = [{"title": "Source", "logpage": 7, "timestamp": "2026-11-05T12:00:00Z"}]
    change = edit(None, ChangeKind.MERGE, title="Source", target_title="Target", rev_ids=(20,))
    [revision] = fetch(api, change)
    assert (revision.change.page_id, revision.change.rev_id, revision.content) == (7, 30, "left")
    api.current.clear()
    [gone] = fetch(api, change)
    assert (gone.change.page_id, gone.change.rev_id, gone.content) == (7, None, None)


def test_hiding_old_revisions_finds_their_page_and_never_their_text():
    api = Wiki().add(5, "old text")
    [revision] = fetch(api, edit(None, ChangeKind.VISIBILITY, rev_ids=(5,), visible=False))
    assert (revision.change.page_id, revision.content) == (7, None)
    assert revision.change.visible is False
    assert revision.change.rev_id is None


def test_a_hiding_that_does_not_say_which_way_is_looked_up():
    api = Wiki().add(5, "", texthidden=True).add(6, "seen")
    hidden, seen = fetch(
        api,
        edit(None, ChangeKind.VISIBILITY, rev_ids=(5,)),
        edit(None, ChangeKind.VISIBILITY, rev_ids=(6,)),
    )
    assert (hidden.change.visible, seen.change.visible) == (False, True)


# --- entities -------------------------------------------------------------------------------


def test_current_entities_come_in_one_batch():
    api = Wiki().entity("Q7", 11).entity("Q8", 12)
    a, b = fetch(api, item(11, "Q7"), item(12, "Q8"))
    assert json.loads(a.content)["lastrevid"] == 11
    assert json.loads(b.content)["id"] == "Q8"
    assert (a.model, a.change.page_id) == (ContentModel.ITEM, 7)
    assert len(api.calls) == 1


def test_an_entity_edited_since_is_fetched_at_its_revision():
    api = Wiki().entity("Q7", 11).entity("Q7", 12)
    a, b = fetch(api, item(11), item(12))
    assert json.loads(a.content)["lastrevid"] == 11
    assert json.loads(b.content)["lastrevid"] == 12
    paths = [path for path, _ in api.calls]
    assert paths == ["/w/api.php", "/wiki/Special:EntityData/Q7.json"]


def test_a25_a_revision_that_is_a_redirect_gives_its_content():
    api = Wiki().entity("Q1", 5).entity("Q7", 11, redirect="Q1")
    [revision] = fetch(api, item(11))
    assert json.loads(revision.content) == {"entity": "Q7", "redirect": "Q1"}


def test_a25_another_id_than_asked_for_is_a_redirect():
    target = {"entities": {"Q1": {"id": "Q1", "lastrevid": 5, "labels": {}}}}
    api = FakeApi(lambda url, _p: reply(target) if "EntityData" in url else reply({"entities": {}}))
    [revision] = fetch(api, item(11))
    assert json.loads(revision.content) == {"entity": "Q7", "redirect": "Q1"}


def test_a25_not_found_is_asked_again_while_young_and_then_missing():
    api, clock = Wiki(), FakeClock()
    [failed] = fetch(api, item(11, age=1), clock=clock)
    assert reason(failed) is Failure.MISSING
    assert clock.slept == [1.0, 1.0, 1.0]
    assert sum("EntityData" in path for path, _ in api.calls) == 4


def test_a25_an_empty_answer_fails():
    api = FakeApi(
        lambda url, _p: reply(b"", 204) if "EntityData" in url else reply({"entities": {}})
    )
    [failed] = fetch(api, item(11))
    assert reason(failed) is Failure.BAD_ANSWER


def test_a25_too_many_requests_waits_as_told():
    api, clock = Wiki().entity("Q7", 11), FakeClock()
    api.faults = [reply(b"", 429, Retry_After="30")]
    [revision] = fetch(api, item(11), clock=clock)
    assert revision.content is not None
    assert clock.slept == [30.0]


def test_a_hidden_entity_revision_has_no_content():
    api = Wiki().entity("Q7", 12)
    api.add(11, "", page=7, title="Q7", texthidden=True)
    [revision] = fetch(api, item(11))
    assert (revision.content, revision.change.visible) == (None, False)


def test_an_entity_of_another_revision_is_not_taken_for_it():
    other = {"entities": {"Q7": {"id": "Q7", "lastrevid": 99}}}
    api = FakeApi(lambda url, _p: reply(other) if "EntityData" in url else reply({"entities": {}}))
    assert reason(fetch(api, item(11))[0]) is Failure.BAD_ANSWER


def test_one_invalid_id_does_not_spoil_the_batch():
    api = Wiki().entity("Q7", 11)
    error = {"error": {"code": "no-such-entity", "info": "Invalid id: Q0"}}
    api.faults = [reply(error)]
    [revision] = fetch(api, item(11))
    assert revision.content is not None


def test_properties_are_asked_for_by_their_id():
    api = Wiki().entity("P31", 11)
    [revision] = fetch(api, item(11, "Property:P31"))
    assert revision.model is ContentModel.PROPERTY
    assert api.calls[0][1]["ids"] == "P31"


def test_a_deleted_entity_needs_no_request():
    api = Wiki()
    change = item(11, kind=ChangeKind.DELETE)
    assert fetch(api, change) == [Revision(change=change, model=ContentModel.ITEM)]
    assert api.calls == []


def test_a_content_that_is_not_wanted_is_not_asked_for():
    api = Wiki().entity("Q7", 11)
    [revision] = fetch(api, item(11), wanted=lambda _change: False)
    assert (revision.content, api.calls) == (None, [])


# --- politeness -----------------------------------------------------------------------------


def maxlag():
    return reply(
        {"error": {"code": "maxlag", "info": "Waiting for all: 3.45 seconds lagged.", "lag": 3.45}}
    )


def test_a24_maxlag_in_an_answer_of_status_200_waits_and_asks_again():
    api, clock = Wiki().add(11, "text"), FakeClock()
    api.faults = [maxlag()]
    [revision] = fetch(api, edit(), clock=clock)
    assert revision.content == "text"
    assert clock.slept == [3.45]
    path = DATA / "api" / "wdtk" / "error-maxlag-full.json"
    if path.exists():
        api.faults = [reply(path.read_bytes())]
        assert fetch(api, edit())[0].content == "text"


@pytest.mark.parametrize(
    "fault",
    [
        reply(b"", 503),
        reply(b"dummy error", 429),
        reply(b"<html>busy</html>"),
        reply(b""),
        reply({"error": {"code": "ratelimited", "info": ""}}),
        reply({"error": {"code": "readonly", "info": ""}}),
        reply({"error": {"code": "internal_api_error_DBQueryError", "info": ""}}),
        requests.ConnectionError("reset"),
        requests.Timeout("slow"),
        TimeoutError("slow"),
        OSError("too large"),
    ],
)
def test_passing_trouble_is_waited_out(fault):
    api, clock = Wiki().add(11, "text"), FakeClock()
    api.faults = [fault, fault]
    metrics = Metrics()
    [revision] = fetch(api, edit(), clock=clock, metrics=metrics)
    assert revision.content == "text"
    assert metrics.value(names.RETRIES) == 2
    assert 0.5 <= clock.slept[0] <= 1
    assert 1 <= clock.slept[1] <= 2


@pytest.mark.parametrize(
    "error", [{"code": 123, "reason": "some"}, "some error", {"code": "badtoken", "info": "x"}]
)
def test_a_refusal_for_good_is_a_failure_at_once(error):
    api, clock = Wiki().add(11, "text"), FakeClock()
    api.faults = [reply({"error": error})]
    [failed] = fetch(api, edit(), clock=clock)
    assert reason(failed) is Failure.REFUSED
    assert clock.slept == []


def test_trouble_without_end_fails_after_the_attempts():
    api = FakeApi(lambda *_: reply(b"", 503))
    metrics = Metrics()
    results = fetch(api, edit(11), edit(12), metrics=metrics, attempts=3)
    assert [reason(result) for result in results] == [Failure.UNAVAILABLE] * 2
    assert len(api.asked) == 3
    assert metrics.value(names.FAILED, "unavailable") == 2


def test_stopping_ends_the_waiting_and_says_so():
    clock = FakeClock()
    api = FakeApi(lambda *_: reply(b"", 503))

    def stop(seconds):
        clock.stopped = clock.stopped or seconds > 0

    clock.sleep = stop
    assert reason(fetch(api, edit(), clock=clock)[0]) is Failure.STOPPED


def test_one_bucket_a_host_spreads_requests():
    api, clock = Wiki(), FakeClock()
    for rev in range(1, 11):
        api.entity(f"Q{rev}", rev)
        api.entity(f"Q{rev}", 100 + rev)
    settings = Settings(
        wiki=LOCAL, stream=StreamConfig(requests_per_second=2, burst=1, in_flight=1)
    )
    hydrator = Hydrator(
        settings, clock=clock, chance=random.Random(1), metrics=Metrics(), transport=api
    )
    with hydrator:
        results = hydrator.fetch([item(rev, f"Q{rev}") for rev in range(1, 11)])
    assert all(isinstance(result, Revision) for result in results)
    assert clock.passed == pytest.approx((len(api.calls) - 1) / 2)


def test_every_query_is_polite():
    api = Wiki().add(11, "text")
    fetch(api, edit())
    params = api.calls[0][1]
    assert (params["maxlag"], params["formatversion"]) == (5, 2)


def test_wikimedia_is_not_asked_without_a_contact():
    settings = Settings()
    hydrator = Hydrator(
        settings, clock=FakeClock(), chance=random.Random(1), metrics=Metrics(), transport=Wiki()
    )
    with hydrator, pytest.raises(ConfigError, match="TWIKI_CONTACT"):
        hydrator.fetch([edit()])


# --- by id alone, before a time, current ----------------------------------------------------


def test_a_needed_revision_is_made_of_the_answer():
    with make(Wiki().add(11, "text", parent=10, minute=3)) as hydrator:
        revision = hydrator.revision("enwiki", 11)
    assert revision.content == "text"
    assert revision.change == Change(
        wiki="enwiki",
        kind=ChangeKind.EDIT,
        effective_time=utc(2026, 11, 5, 12, 3),
        arrival_time=utc(2026, 11, 5, 12, 3),
        page_id=7,
        title="Marie Curie",
        namespace=0,
        rev_id=11,
        parent_rev_id=10,
        rev_dt=utc(2026, 11, 5, 12, 3),
        visible=True,
    )


def test_needed_revisions_keep_their_order_and_failures_their_place():
    with make(Wiki().add(11, "a").add(12, "b")) as hydrator:
        results = hydrator.revisions("enwiki", [12, 99, 11])
    assert [getattr(result, "content", None) for result in results] == ["b", None, "a"]
    assert (results[1].rev_id, results[1].reason) == (99, Failure.MISSING)


def test_a_needed_entity_revision_has_the_served_content_and_the_stored_time():
    api = Wiki().entity("Q7", 11).entity("Q7", 12)
    with make(api) as hydrator:
        revision = hydrator.revision("wikidatawiki", 11)
    assert json.loads(revision.content)["lastrevid"] == 11
    assert revision.change.rev_dt == NOON
    assert (revision.change.title, revision.model) == ("Q7", ContentModel.ITEM)


def test_the_revision_before_a_boundary_excludes_the_boundary_itself():
    api = Wiki().add(11, "a", minute=0).add(12, "b", minute=5)
    with make(api) as hydrator:
        at = hydrator.revision_before("enwiki", utc(2026, 11, 5, 12, 5), page_id=7)
        after = hydrator.revision_before("enwiki", utc(2026, 11, 5, 12, 5, 1), page_id=7)
        none = hydrator.revision_before("enwiki", utc(2026, 11, 5, 12), page_id=7)
    assert (at.content, after.content) == ("a", "b")
    assert reason(none) is Failure.MISSING


def test_current_pages_and_entities_are_read_by_title():
    api = Wiki().add(11, "text").entity("Q1", 5).entity("Q7", 12, redirect="Q1")
    with make(api) as hydrator:
        page, missing = hydrator.current("enwiki", ["Marie Curie", "Nobody"])
        live, redirect = hydrator.current("wikidatawiki", ["Q1", "Q7"])
    assert page.content == "text"
    assert reason(missing) is Failure.MISSING
    assert json.loads(live.content)["lastrevid"] == 5
    assert json.loads(redirect.content)["redirect"] == "Q1"
    assert redirect.change.rev_id == 12


def test_work_in_the_background_gives_the_same():
    with make(Wiki().add(11, "text")) as hydrator:
        assert hydrator.submit([edit()]).result()[0].content == "text"


@pytest.mark.parametrize("name", ["wdtk", "wdqs"])
def test_every_recorded_answer_becomes_a_value(name):
    folder = DATA / "api" / name
    if not folder.exists():
        pytest.skip(f"{folder} is missing")
    for path in sorted(folder.glob("*.json")):
        body = path.read_bytes()
        recorded = json.loads(body)
        if isinstance(recorded, dict) and "response" in recorded:
            body = recorded["response"].get("body", "").encode()
        api = FakeApi(lambda *_, body=body: reply(body))
        for result in fetch(api, edit(age=99), item(11, "Q42", age=99), attempts=1):
            assert isinstance(result, Revision | Failed), path
