import hashlib
import json
import os
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta

import pytest
import sentencex

from stream.sandbox.model import DOMAINS, ENWIKI, STREAMS, WIKIDATA, WIKIS
from stream.sandbox.prose import Document
from stream.sandbox.world import World

FINGERPRINT = """
import hashlib, json
from stream.sandbox.world import World
world = World(3, articles=60)
digest = hashlib.sha256()
for event in world.events:
    digest.update(json.dumps(event.body).encode())
for window in world.windows:
    digest.update(json.dumps(world.books(window).data).encode())
for boundary in world.boundaries:
    for dumped in (*world.dump_pages(boundary), *world.dump_entities(boundary)):
        digest.update(repr(dumped).encode())
print(digest.hexdigest())
"""


@pytest.fixture(scope="module")
def world():
    return World(3, articles=60)


def fingerprint(hash_seed):
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", FINGERPRINT], env=environment, capture_output=True, check=True
    )
    return done.stdout


def test_the_same_seed_gives_the_same_bytes_in_another_process():
    assert fingerprint("1") == fingerprint("2")


def test_another_seed_gives_another_world(world):
    other = World(4, articles=60)
    assert other.events[0] != world.events[0]
    assert other.books(other.windows[0]) != world.books(world.windows[0])


def test_windows_are_calendar_months_that_touch():
    world = World(1, articles=60, months=3, start=date(2026, 11, 1))
    assert [window.name for window in world.windows] == ["2026-11", "2026-12", "2027-01"]
    assert world.boundaries == tuple(
        datetime(year, month, 1, tzinfo=UTC)
        for year, month in ((2026, 11), (2026, 12), (2027, 1), (2027, 2))
    )
    assert world.now > world.dump_complete(world.boundaries[-1])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"articles": 10}, "articles=10"),
        ({"months": 0}, "months=0"),
        ({"start": date(2026, 9, 2)}, "2026-09-02"),
    ],
)
def test_a_world_that_cannot_be_is_refused(arguments, named):
    with pytest.raises(ValueError, match=named):
        World(1, **arguments)


def test_events_arrive_in_order_and_carry_their_envelope(world):
    arrivals = [event.arrival_time for event in world.events]
    assert arrivals == sorted(arrivals)
    assert arrivals[-1] < world.now
    for event in world.events:
        meta = event.body["meta"]
        assert event.stream in STREAMS
        assert meta["stream"] == event.stream
        assert event.topic == f"eqiad.{event.stream}"
        assert meta["dt"] == f"{event.arrival_time:%Y-%m-%dT%H:%M:%S}." + meta["dt"][-4:]
        assert meta["domain"] == ("canary" if event.wiki == "canary" else DOMAINS[event.wiki])
        json.dumps(event.body)
    identifiers = [event.body["meta"]["id"] for event in world.events]
    assert len(set(identifiers)) == len(identifiers)


def test_every_revision_of_an_event_can_be_read_when_it_arrives(world):
    for event in world.events:
        if event.wiki not in WIKIS or "revision" not in event.body:
            continue
        revision = event.body["revision"]
        rev_id = revision.get("rev_id") or revision["new"]
        view = world.revision(event.wiki, rev_id, event.arrival_time)
        assert view is not None
        if event.body.get("page_change_kind") in {"create", "edit", "move"}:
            assert view.text is not None
            assert view.sha1 == revision["rev_sha1"]
            assert view.size == len(view.text.encode()) == revision["rev_size"]
            assert view.page_id == event.body["page"]["page_id"]
            assert view.parent_id == revision.get("rev_parent_id", 0)


def test_a_page_is_found_by_id_and_by_title_as_of_an_instant(world):
    move = next(event for event in world.events if event.body.get("page_change_kind") == "move")
    moment = datetime.fromisoformat(move.body["dt"])
    page_id = move.body["page"]["page_id"]
    before = world.page(ENWIKI, page_id, moment - timedelta(seconds=1))
    after = world.page(ENWIKI, page_id, moment)
    assert before.title == move.body["prior_state"]["page"]["page_title"].replace("_", " ")
    assert after.title == move.body["page"]["page_title"].replace("_", " ")
    assert after.rev_id == move.body["revision"]["rev_id"]
    assert world.page(ENWIKI, after.title, moment).page_id == page_id
    assert world.page(ENWIKI, after.title, moment - timedelta(seconds=1)) is None


def test_a_deleted_page_is_found_by_its_id_only(world):
    deletion = next(
        event
        for event in world.events
        if event.wiki == ENWIKI and event.body.get("page_change_kind") == "delete"
    )
    page = world.page(ENWIKI, deletion.body["page"]["page_id"], deletion.arrival_time)
    assert page.deleted
    assert page.revisions == ()
    assert world.page(ENWIKI, page.title, deletion.arrival_time) is None
    assert world.revision(ENWIKI, page.rev_id, deletion.arrival_time).archived


def test_what_is_not_there_is_none(world):
    assert world.page(ENWIKI, 1) is None
    assert world.page(WIKIDATA, "Q1") is None
    assert world.revision(ENWIKI, 1) is None
    newest = max(view.rev_id for view in world.pages(WIKIDATA))
    assert world.entity_revision(newest) is not None
    assert world.entity_revision(newest, world.boundaries[0]) is None


def test_the_item_of_a_page_is_the_one_whose_sitelink_names_it(world):
    linked = [page for page in world.pages(ENWIKI) if page.item]
    assert len(linked) > 40
    for page in linked[:20]:
        item = world.page(WIKIDATA, page.item)
        entity = json.loads(world.entity_revision(item.rev_id).text)
        assert entity["sitelinks"]["enwiki"]["title"] == page.title


def test_entity_text_is_real_shaped(world):
    kinds = set()
    for page in world.pages(WIKIDATA):
        entity = json.loads(world.entity_revision(page.rev_id).text)
        if page.redirect:
            assert entity == {"entity": page.title, "redirect": page.redirect}
            continue
        assert page.title in (entity["id"], f"Property:{entity['id']}")
        for relation, statements in (entity["claims"] or {}).items():
            for statement in statements:
                snak = statement["mainsnak"]
                assert snak["property"] == relation
                assert ("datavalue" in snak) == (snak["snaktype"] == "value")
                kinds.add((snak["datatype"], snak["snaktype"], statement["rank"]))
    assert {kind for kind, _, _ in kinds} == {
        "wikibase-item", "time", "quantity", "string", "monolingualtext", "external-id",
    }  # fmt: skip
    assert {snak for _, snak, _ in kinds} == {"value", "somevalue", "novalue"}
    assert {rank for _, _, rank in kinds} == {"preferred", "normal", "deprecated"}


def test_dumps_hold_pages_at_different_moments_some_past_the_boundary(world):
    for boundary in world.boundaries[1:]:
        dump = world.dump_pages(boundary)
        assert [one.page.page_id for one in dump] == sorted(one.page.page_id for one in dump)
        assert {one.page.namespace for one in dump} >= {0, 1, 2, 3, 4, 10, 14, 118}
        assert any(one.page.redirect for one in dump)
        assert any(one.revision.timestamp >= boundary for one in dump)
        assert any(one.revision.timestamp >= boundary for one in world.dump_entities(boundary))
        for one in dump:
            assert boundary < one.read_at < world.dump_complete(boundary)
            assert one.page == world.page(ENWIKI, one.page.page_id, one.read_at)
            assert not one.page.deleted
            assert one.revision.rev_id == one.page.rev_id


def test_the_first_dump_is_the_state_at_the_boundary(world):
    first = world.boundaries[0]
    just_before = first - timedelta(microseconds=1)
    for wiki, dump in (
        (ENWIKI, world.dump_pages(first)),
        (WIKIDATA, world.dump_entities(first)),
    ):
        held = {page.page_id: page.rev_id for page in world.pages(wiki, just_before)}
        assert {one.page.page_id: one.page.rev_id for one in dump} == held


def test_sentences_leave_no_doubt_where_they_end(world):
    for revision in world._scene.wiki.wiki.revisions.values():
        if not isinstance(revision.content, Document):
            continue
        for part in revision.content.parts():
            said = [one.clean for one in part.sentences]
            assert [one.strip() for one in sentencex.segment("en", " ".join(said))] == said


def test_events_grow_with_articles(world):
    larger = World(3, articles=300)
    assert 3 < len(larger.events) / len(world.events) < 6
    months = [window.start for window in larger.windows]
    assert len(months) == 2


def test_a_world_of_the_usual_size_has_the_usual_number_of_events():
    world = World(1)
    for window in world.windows:
        real = [
            event
            for event in world.events
            if event.wiki in WIKIS and window.start <= event.arrival_time < window.end
        ]
        assert 600 < len(real) < 1200


def test_sha1_is_base_36_of_the_text(world):
    page = next(world.pages(ENWIKI))
    view = world.revision(ENWIKI, page.rev_id)
    expected = hashlib.sha1(view.text.encode()).hexdigest()  # noqa: S324 - MediaWiki's own
    assert int(view.sha1, 36) == int(expected, 16)
    assert len(view.sha1) == 31
