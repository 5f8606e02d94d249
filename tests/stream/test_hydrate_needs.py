"""Revisions by id, before a time and as they are now; every recorded answer."""

import json

import pytest
from hydrate_wiki import DATA, Wiki, edit, fetch, item, make, reason, utc
from stream_fakes import NOON, FakeApi, reply

from stream.found import Failed, Failure
from twiki.records import Change, ChangeKind, ContentModel, Revision


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
