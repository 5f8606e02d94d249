"""Entities are fetched as the gate and their redirects want it."""

import json

from hydrate_wiki import Wiki, fetch, item, reason
from stream_fakes import FakeApi, FakeClock, reply

from stream.found import Failure
from twiki.records import ChangeKind, ContentModel, Revision


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
