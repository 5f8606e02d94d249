import json

import pytest

from twiki.entities import BadEntity, BadReason, decode

OLD = {
    "label": {"en": "universe", "de": {"language": "de", "value": "Universum"}},
    "aliases": {"en": {"0": "cosmos", "2": "all there is"}},
    "links": {"enwiki": {"name": "Universe", "badges": []}, "dewiki": "Universum"},
    "entity": ["item", 1],
    "claims": [
        {
            "m": ["value", 793, "wikibase-entityid", {"entity-type": "item", "numeric-id": 323}],
            "q": [
                ["value", 580, "time", {"time": "+00000001999-03-00T00:00:00Z", "precision": 10}]
            ],
            "g": "Q1$a",
            "rank": 1,
            "refs": [],
        },
        {"m": ["somevalue", 793], "q": [], "g": "Q1$b", "rank": 1, "refs": []},
        {
            "m": ["value", 31, "wikibase-entityid", {"entity-type": "item", "numeric-id": 5}],
            "q": [],
            "g": "Q1$c",
            "rank": 0,
            "refs": [],
        },
    ],
}


def test_the_storage_format_of_2013_gives_the_same_records():
    entity = decode(json.dumps(OLD), languages=("en", "de"))
    assert entity.id == "Q1"
    assert entity.labels == {"en": "universe", "de": "Universum"}
    assert entity.aliases == {"en": ("cosmos", "all there is")}
    assert entity.sitelink == "Universe"
    (fact,) = entity.facts
    assert (fact.relation, fact.object, fact.statement_id) == ("P793", "Q323", "Q1$a")
    assert fact.valid_from == "1999-03"


def test_an_id_was_also_a_word_and_empty_maps_lists():
    old = {"label": [], "aliases": [], "links": [], "entity": "q42", "claims": []}
    assert decode(json.dumps(old)).id == "Q42"


@pytest.mark.parametrize(
    "damage",
    [
        {"entity": ["lexeme", 1]},
        {"claims": [{"m": []}]},
        {"claims": [{"m": ["value", "x"]}]},
        {"claims": 7},
        {"links": {"enwiki": {}}},
        {"label": {"en": 7}},
    ],
)
def test_a_damaged_one_is_refused(damage):
    with pytest.raises(BadEntity) as refusal:
        decode(json.dumps({**OLD, **damage}))
    assert refusal.value.reason is BadReason.SHAPE
