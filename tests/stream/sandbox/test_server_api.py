import json
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from stream.sandbox import api
from stream.sandbox.api_lists import log_parameters
from stream.sandbox.model import ENWIKI, WIKIDATA

SAMPLES = Path(__file__).parents[4] / "shared" / "data" / "api"


def ask(view, wiki=ENWIKI, **parameters):
    given = {"action": "query", "format": "json", "formatversion": "2"}
    return api.answer(view, wiki, given | {name: str(value) for name, value in parameters.items()})


def texts(view, revids, **more):
    return ask(view, prop="revisions", revids=revids, rvprop="ids|content", rvslots="main", **more)[
        "query"
    ]


def at(view, moment, **more):
    return msgspec.structs.replace(view, now=moment, **more)


def sample(name):
    path = SAMPLES / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    recorded = json.loads(path.read_bytes())
    if "response" in recorded:
        return json.loads(recorded["response"]["body"])
    return recorded


def shape(value):
    """Types and member names, so that answers about different pages can be compared."""
    if isinstance(value, dict):
        return {name: shape(member) for name, member in sorted(value.items())}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def test_revisions_are_read_by_id_and_grouped_by_page(view):
    answer = texts(view, "102|501|104")
    (page,) = answer["pages"]
    assert (page["pageid"], page["title"], page["ns"]) == (1, "Anna Berg", 0)
    assert [row["revid"] for row in page["revisions"]] == [102, 104]
    assert page["revisions"][0]["slots"]["main"] == {
        "contentmodel": "wikitext",
        "contentformat": "text/x-wiki",
        "content": "'''Anna Berg''' lives in Årdal.",
    }
    assert answer["badrevids"] == {"501": {"revid": 501, "missing": True}}


def test_the_older_format_marks_flags_by_empty_texts_and_keys_pages_by_id(view):
    answer = texts(view, "102|9|103", formatversion=1)
    assert answer["badrevids"] == {"9": {"revid": 9, "missing": ""}}
    shown, hidden = answer["pages"]["1"]["revisions"]
    assert shown["slots"]["main"]["*"] == "'''Anna Berg''' lives in Årdal."
    assert hidden["slots"]["main"] == {"texthidden": ""}


def test_without_slots_the_text_stands_in_the_revision_itself(view):
    answer = ask(view, prop="revisions", revids=102, rvprop="content", formatversion=1)
    (row,) = answer["query"]["pages"]["1"]["revisions"]
    assert row["*"].startswith("'''Anna Berg'''")
    assert row["contentmodel"] == "wikitext"


def test_hidden_texts_say_so_and_suppressed_ones_too(view):
    (page,) = texts(view, 103)["pages"]
    assert page["revisions"] == [
        {"revid": 103, "parentid": 102, "slots": {"main": {"texthidden": True}}}
    ]
    (page,) = texts(view, 140)["pages"]
    assert page["revisions"][0]["suppressed"] is True
    (page,) = ask(view, prop="revisions", revids=103, rvprop="sha1")["query"]["pages"]
    assert page["revisions"] == [{"sha1hidden": True}]


def test_a_deleted_page_takes_its_revisions_along(view):
    assert texts(view, 120)["badrevids"] == {"120": {"revid": 120, "missing": True}}
    before = at(view, view.world.boundaries[0] + timedelta(days=5))
    assert texts(before, 120)["pages"][0]["title"] == "Gone page"


def test_grace_tells_a_reader_that_is_behind_what_it_would_have_read(view):
    (page,) = texts(at(view, view.now, grace=None), "103|120")["pages"][:1]
    assert page["revisions"][0]["slots"]["main"]["content"] == "libel"
    late = at(view, view.now, grace=timedelta(days=1))
    assert texts(late, 103)["pages"][0]["revisions"][0]["slots"]["main"] == {"texthidden": True}
    soon = at(
        view, view.world.boundaries[0] + timedelta(days=14, hours=12), grace=timedelta(days=1)
    )
    assert texts(soon, 120)["pages"][0]["revisions"][0]["slots"]["main"]["content"] == "Soon gone."


def test_a_revision_that_is_still_to_come_is_unknown(view):
    before = at(view, view.world.boundaries[0])
    assert "102" in texts(before, "101|102")["badrevids"]


def test_titles_are_normalised_and_answered_as_of_now(view):
    answer = ask(view, prop="revisions", titles="anna_Berg|Nobody|Gone page", rvprop="ids")
    assert answer["query"]["normalized"] == [
        {"fromencoded": False, "from": "anna_Berg", "to": "Anna Berg"}
    ]
    assert answer["query"]["pages"] == [
        {"ns": 0, "title": "Nobody", "missing": True},
        {"ns": 0, "title": "Gone page", "missing": True},
        {
            "pageid": 1,
            "ns": 0,
            "title": "Anna Berg",
            "revisions": [{"revid": 104, "parentid": 103}],
        },
    ]


def test_an_impossible_title_is_invalid(view):
    (page,) = ask(view, titles="a[b]")["query"]["pages"]
    assert page["invalid"] is True
    assert "invalidreason" in page


def test_a_history_is_read_in_either_direction_and_continued(view):
    asked = {"prop": "revisions", "pageids": 1, "rvprop": "ids", "rvlimit": 2}
    first = ask(view, **asked, rvdir="newer")
    assert [row["revid"] for row in first["query"]["pages"][0]["revisions"]] == [101, 102]
    assert first["continue"] == {"rvcontinue": "20261106000000|103", "continue": "||"}
    rest = ask(view, **asked, rvdir="newer", rvcontinue=first["continue"]["rvcontinue"])
    assert [row["revid"] for row in rest["query"]["pages"][0]["revisions"]] == [103, 104]
    assert "continue" not in rest
    back = ask(view, **asked, rvstart="2026-11-06T00:00:00Z", rvend="20261105000000")
    assert [row["revid"] for row in back["query"]["pages"][0]["revisions"]] == [103, 102]
    by_id = ask(view, **asked, rvstartid=102, rvdir="newer")
    assert [row["revid"] for row in by_id["query"]["pages"][0]["revisions"]] == [102, 103]


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"revids": "|".join(map(str, range(51)))}, "toomanyvalues"),
        ({"titles": "A", "pageids": 1}, "multisource"),
        ({"revids": "12x"}, "badinteger"),
        ({"prop": "revisions", "pageids": "1|2", "rvlimit": 1}, "multpages"),
        ({"prop": "revisions", "revids": "1", "rvlimit": 1}, "invalidparammix"),
        ({"prop": "revisions", "pageids": "1", "rvstart": "soon"}, "badtimestamp"),
        ({"list": "everything"}, "badvalue"),
        ({"list": "recentchanges", "rccontinue": "x"}, "badcontinue"),
        ({"action": "explode"}, "badvalue"),
        ({"action": "wbgetentities", "ids": "Q1"}, "badvalue"),
    ],
)
def test_wrong_use_is_an_error_in_the_answer(view, parameters, code):
    assert ask(view, **parameters)["error"]["code"] == code


def test_fifty_values_are_allowed(view):
    assert len(texts(view, "|".join(map(str, range(1000, 1050))))["badrevids"]) == 50


def test_recent_changes_list_what_has_arrived(view):
    asked = {"list": "recentchanges", "rcprop": "title|ids|timestamp", "rcdir": "newer"}
    rows = ask(view, **asked, rclimit="max")["query"]["recentchanges"]
    assert [row["revid"] for row in rows] == [140, 102, 103, 130, 0, 0, 104]
    assert rows[0] == {
        "type": "new",
        "ns": 0,
        "title": "Secret",
        "pageid": 5,
        "revid": 140,
        "old_revid": 0,
        "rcid": 805,
        "timestamp": "2026-11-02T00:00:00Z",
    }
    early = at(view, view.world.boundaries[0] + timedelta(days=4, seconds=2))
    assert len(ask(early, **asked)["query"]["recentchanges"]) == 2


def test_recent_changes_are_paged_and_filtered(view):
    asked = {"list": "recentchanges", "rcdir": "newer", "rclimit": 3, "rctype": "edit|new"}
    seen, following = [], {}
    while True:
        answer = ask(view, **asked, **following)
        seen += [row["revid"] for row in answer["query"]["recentchanges"]]
        following = answer.get("continue", {})
        if not following:
            break
    assert seen == [140, 102, 103, 130, 104]
    drafts = ask(view, list="recentchanges", rcnamespace=118)["query"]["recentchanges"]
    assert [row["revid"] for row in drafts] == [130]
    between = ask(view, list="recentchanges", rcstart="2026-11-07", rcend="2026-11-06T00:00:00Z")
    assert [row["revid"] for row in between["query"]["recentchanges"]] == [130, 103]


def test_log_events_name_what_was_hidden(view):
    (row,) = ask(view, list="logevents", leaction="delete/revision")["query"]["logevents"]
    assert row["params"]["ids"] == [103]
    assert row["params"]["new"]["content"] is True
    assert row["params"]["old"]["content"] is False
    (row,) = ask(view, list="logevents", letitle="Gone page")["query"]["logevents"]
    assert (row["logid"], row["type"], row["action"], row["pageid"]) == (77, "delete", "delete", 0)


def test_the_log_keeps_the_id_of_a_page_that_is_gone(view):
    acted_on = {(ENWIKI, "Gone page", 1794700800): 3}
    kept = at(view, view.now, pages_of_actions=acted_on)
    (row,) = ask(kept, list="logevents", letype="delete", letitle="Gone page")["query"]["logevents"]
    assert (row["pageid"], row["logpage"]) == (0, 3)


def test_log_parameters_are_worded_as_the_api_words_them():
    move = {"target": "Draft:Plan", "noredir": "1"}
    assert log_parameters(ENWIKI, {"log_type": "move", "log_params": move}) == {
        "target_ns": 118,
        "target_title": "Draft:Plan",
        "suppressredirect": True,
    }
    merge = {"dest": "Anna Berg", "mergepoint": "20140804160710", "mergerevid": "1234"}
    assert log_parameters(ENWIKI, {"log_type": "merge", "log_params": merge}) == {
        "dest_ns": 0,
        "dest_title": "Anna Berg",
        "mergepoint": "2014-08-04T16:07:10Z",
        "mergerevid": 1234,
    }
    assert log_parameters(ENWIKI, {"log_type": "import", "log_params": {"count": "1"}}) == {
        "count": 1
    }
    assert log_parameters(ENWIKI, {"log_type": "delete", "log_params": []}) == {}


def test_site_information_names_the_namespaces(view):
    answer = ask(view, meta="siteinfo", siprop="general|namespaces|namespacealiases|magicwords")
    query = answer["query"]
    assert query["namespaces"]["118"] | {"canonical": "Draft"} == query["namespaces"]["118"]
    assert query["general"]["wikiid"] == "enwiki"
    old = ask(view, meta="siteinfo", siprop="namespaces", formatversion=1)["query"]
    assert old["namespaces"]["118"]["*"] == "Draft"


def test_entities_are_told_with_their_page_and_redirects_named(view):
    answer = ask(view, WIKIDATA, action="wbgetentities", ids="Q1|Q2|Q77|P31")
    entities = answer["entities"]
    assert answer["success"] == 1
    assert entities["Q1"]["lastrevid"] == 502
    assert entities["Q2"]["redirects"] == {"from": "Q2", "to": "Q1"}
    assert entities["Q2"]["id"] == "Q1"
    assert entities["Q77"] == {"id": "Q77", "missing": ""}
    assert entities["P31"]["title"] == "Property:P31"
    unresolved = ask(view, WIKIDATA, action="wbgetentities", ids="Q2", redirects="no")
    assert unresolved["entities"]["Q2"] == {"id": "Q2", "missing": ""}


def test_entities_are_cut_to_props_and_languages_and_found_by_article(view):
    narrow = {"action": "wbgetentities", "props": "labels", "languages": "de"}
    (entity,) = ask(view, WIKIDATA, ids="Q1", **narrow)["entities"].values()
    assert entity == {
        "type": "item",
        "id": "Q1",
        "labels": {"de": {"language": "de", "value": "Anna Berg (DE)"}},
    }
    found = ask(view, WIKIDATA, action="wbgetentities", sites="enwiki", titles="Anna Berg|No one")
    assert sorted(found["entities"]) == ["-1", "Q1"]


def test_an_id_that_is_none_spoils_the_request(view):
    answer = ask(view, WIKIDATA, action="wbgetentities", ids="Q1|bogus")
    assert answer["error"]["code"] == "no-such-entity"


@pytest.mark.parametrize(
    ("name", "mine"),
    [
        (
            "wdqs/w_apiphp-362cccd6-18c0-4bc2-8700-e6dbe6af4443.json",
            {"titles": "Nobody|Anna Berg", "prop": "revisions", "rvprop": "ids"},
        ),
        (
            "wdqs/w_apiphp-1f132ed9-f302-49e6-93df-ac227ead784f.json",
            {
                "list": "recentchanges",
                "rcprop": "title|ids|timestamp",
                "rctype": "edit",
                "rclimit": 500,
                "formatversion": 1,
            },
        ),
        ("wdtk/query-Not_Found.json", {"titles": "Nobody", "formatversion": 1}),
        ("wdtk/query-Not_Found_twice.json", {"titles": "Nobody|No one", "formatversion": 1}),
        (
            "wdtk/query-Albert_Einstein_Head_normalized.jpg.json",
            {"titles": "Anna_Berg", "formatversion": 1},
        ),
    ],
)
def test_query_answers_have_the_shape_of_the_real_ones(view, name, mine):
    def unkeyed(answer):
        pages = answer["query"].get("pages")
        if isinstance(pages, dict):
            answer["query"]["pages"] = [pages[key] for key in sorted(pages)]
        return shape(answer)

    assert unkeyed(ask(view, **mine)) == unkeyed(sample(name))


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("wdtk/wbgetentities-Q32063953.json", "Q2"),
        ("wdtk/wbgetentities-Q6-Q42-P31.json", "Q6|Q1"),
    ],
)
def test_entity_answers_have_the_members_of_the_real_ones(view, name, ids):
    real = sample(name)
    mine = ask(view, WIKIDATA, action="wbgetentities", ids=ids)
    for entity_id, entity in mine["entities"].items():
        same = real["entities"].get(entity_id) or next(
            each for each in real["entities"].values() if "missing" not in each
        )
        assert set(same) - {"redirects"} == set(entity) - {"redirects"}
        assert ("redirects" in entity) <= ("redirects" in same)


def test_maxlag_has_the_shape_of_the_real_one(view):
    real = sample("wdtk/error-maxlag-full.json")["error"]
    call = api.Call(view=view, wiki=WIKIDATA, parameters={})
    mine = api.error_body(call, api.maxlag_error(3.45))["error"]
    assert mine["code"] == real["code"]
    assert mine["info"] == real["info"]
    assert set(mine) <= set(real)
