import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twiki.entities import BadEntity, BadReason, decode, label


def item(**fields):
    return json.dumps({"type": "item", "id": "Q23", **fields})


def statement(relation, value, *, kind="wikibase-entityid", rank="normal", datatype=None, **more):
    snak = {"snaktype": "value", "property": relation, "datavalue": {"type": kind, "value": value}}
    if datatype:
        snak["datatype"] = datatype
    return {"type": "statement", "mainsnak": snak, "rank": rank, "id": f"Q23${relation}", **more}


def to_item(identifier):
    return {"entity-type": "item", "numeric-id": int(identifier[1:]), "id": identifier}


def claims(*statements):
    grouped = {}
    for each in statements:
        grouped.setdefault(each["mainsnak"]["property"], []).append(each)
    return grouped


def pairs(entity):
    return [(fact.relation, fact.object) for fact in entity.facts]


def test_labels_aliases_and_the_sitelink_of_the_wiki_are_kept_and_others_are_not():
    entity = decode(
        item(
            labels={
                "de": {"language": "de", "value": "Erde"},
                "mul": {"language": "mul", "value": "Terra"},
                "en": {"language": "en", "value": "Earth"},
            },
            aliases={"en": [{"language": "en", "value": "the world"}], "de": [{"value": "Welt"}]},
            sitelinks={
                "dewiki": {"site": "dewiki", "title": "Erde"},
                "enwiki": {"site": "enwiki", "title": "Earth", "badges": []},
            },
        )
    )
    assert entity.labels == {"en": "Earth", "mul": "Terra"}
    assert entity.aliases == {"en": ("the world",)}
    assert entity.sitelink == "Earth"


def test_the_first_language_that_has_a_label_wins():
    entity = decode(item(labels={"mul": {"value": "Terra"}, "de": {"value": "Erde"}}))
    assert label(entity, ("en", "mul")) == "Terra"
    assert label(entity, ("en",)) is None
    german = decode(item(labels={"de": {"value": "Erde"}}), languages=("de-at", "de"))
    assert label(german, ("de-at", "de")) == "Erde"


def test_a_title_is_read_in_display_form():
    entity = decode(item(sitelinks={"enwiki": {"title": "Sa\u0303o_Paulo"}}))
    assert entity.sitelink == "S\u00e3o Paulo"


@pytest.mark.parametrize("empty", [[], {}, None])
def test_an_empty_map_may_be_a_list(empty):
    entity = decode(
        item(labels=empty, aliases=empty, descriptions=empty, sitelinks=empty, claims=empty)
    )
    assert (entity.id, entity.labels, entity.aliases, entity.sitelink, entity.facts) == (
        "Q23", {}, {}, None, ()
    )  # fmt: skip


def test_references_and_qualifiers_are_no_facts():
    reference = {"snaks": {"P143": [statement("P143", to_item("Q328"))["mainsnak"]]}}
    qualifier = {"P1365": [statement("P1365", to_item("Q11806"))["mainsnak"]]}
    entity = decode(
        item(
            claims=claims(
                statement("P31", to_item("Q5"), references=[reference]),
                statement("P39", to_item("Q11696"), qualifiers=qualifier),
                statement("P39", to_item("Q999"), rank="deprecated"),
                statement(
                    "P569",
                    {"time": "+1732-02-22T00:00:00Z", "precision": 11},
                    kind="time",
                    datatype="time",
                ),
                statement(
                    "P1082",
                    {"amount": "+1234567", "unit": "1"},
                    kind="quantity",
                    datatype="quantity",
                ),
                statement("P108", to_item("Q123456789")),
            )
        )
    )
    assert pairs(entity) == [
        ("P31", "Q5"),
        ("P39", "Q11696"),
        ("P569", "22 February 1732"),
        ("P1082", "1234567"),
        ("P108", "Q123456789"),
    ]


def test_a_preferred_statement_hides_normal_ones_even_when_its_value_is_unknown():
    known = claims(
        statement("P6", to_item("Q1")),
        statement("P6", to_item("Q2"), rank="preferred"),
        statement("P6", to_item("Q3"), rank="preferred"),
    )
    assert pairs(decode(item(claims=known))) == [("P6", "Q2"), ("P6", "Q3")]
    unknown = claims(
        statement("P6", to_item("Q1")),
        {
            "mainsnak": {"snaktype": "somevalue", "property": "P6"},
            "rank": "preferred",
            "id": "Q23$s",
        },
    )
    assert pairs(decode(item(claims=unknown))) == []


def test_somevalue_and_novalue_are_no_objects():
    both = {
        "P40": [
            {"mainsnak": {"snaktype": kind, "property": "P40"}, "rank": "normal", "id": "a"}
            for kind in ("somevalue", "novalue")
        ]
    }
    assert pairs(decode(item(claims=both))) == []


def test_an_object_may_have_a_numeric_id_only():
    entity = decode(
        item(
            claims=claims(
                statement("P31", {"entity-type": "item", "numeric-id": 5}),
                statement("P1647", {"entity-type": "property", "numeric-id": 17}),
            )
        )
    )
    assert [(fact.object, fact.datatype) for fact in entity.facts] == [
        ("Q5", "wikibase-item"),
        ("P17", "wikibase-property"),
    ]


def test_without_a_data_type_it_follows_from_the_value_and_a_string_is_no_fact():
    entity = decode(
        item(
            claims=claims(
                statement("P18", "Hubble ultra deep field.jpg", kind="string"),
                statement("P569", {"time": "+1732-00-00T00:00:00Z", "precision": 9}, kind="time"),
            )
        )
    )
    assert pairs(entity) == [("P569", "1732")]


def test_the_setting_says_which_literals_are_facts():
    literal = claims(
        statement("P856", "https://example.org", kind="string", datatype="url"),
        statement("P213", "0000 0001", kind="string", datatype="external-id"),
        statement("P742", "  Q-Tip\n", kind="string", datatype="string"),
        statement(
            "P1476",
            {"text": "The Wall", "language": "en"},
            kind="monolingualtext",
            datatype="monolingualtext",
        ),
        statement(
            "P625",
            {"latitude": 48.8584, "longitude": -2.2945, "precision": 0.0001},
            kind="globecoordinate",
            datatype="globe-coordinate",
        ),
    )
    assert pairs(decode(item(claims=literal))) == [("P742", "Q-Tip"), ("P1476", "The Wall")]
    assert pairs(decode(item(claims=literal), literals=())) == []
    asked = decode(item(claims=literal), literals=("url", "external-id", "globe-coordinate"))
    assert pairs(asked) == [
        ("P856", "https://example.org"),
        ("P213", "0000 0001"),
        ("P625", "48.8584, -2.2945"),
    ]


def test_a_quantity_keeps_its_unit():
    metres = {"amount": "+828.0", "unit": "http://www.wikidata.org/entity/Q11573"}
    (fact,) = decode(
        item(claims=claims(statement("P2048", metres, kind="quantity", datatype="quantity")))
    ).facts
    assert (fact.object, fact.unit) == ("828.0 Q11573", "Q11573")


def test_qualifiers_say_when_a_fact_holds():
    def at(time, precision):
        value = {"time": time, "precision": precision}
        return {"snaktype": "value", "datavalue": {"type": "time", "value": value}}

    (fact,) = decode(
        item(
            claims=claims(
                statement(
                    "P39",
                    to_item("Q11696"),
                    qualifiers={
                        "P580": [at("+2021-03-00T00:00:00Z", 10), at("+2020-00-00T00:00:00Z", 9)],
                        "P582": [at("+2022-05-04T00:00:00Z", 11)],
                        "P585": [{"snaktype": "somevalue"}],
                        "P1365": [at("+1999-05-04T00:00:00Z", 11)],
                    },
                )
            )
        )
    ).facts
    assert (fact.valid_from, fact.valid_to, fact.point_in_time) == ("2020", "2022-05-04", None)


def test_empty_qualifiers_may_be_a_list():
    assert (
        len(decode(item(claims=claims(statement("P31", to_item("Q5"), qualifiers=[])))).facts) == 1
    )


def test_a_value_of_an_unknown_shape_costs_only_its_statement():
    strange = claims(
        statement("P1", [1, 2], kind="new-kind", datatype="time"),
        statement("P2", 7, kind="number", datatype="quantity"),
        statement("P3", {"id": "L7-F1"}, datatype="wikibase-form"),
        statement("P4", {"time": "yesterday", "precision": 11}, kind="time", datatype="time"),
        statement("P5", {"amount": "many"}, kind="quantity", datatype="quantity"),
        statement("P6", {"time": 7}, kind="time", datatype="time"),
        {**statement("P7", to_item("Q7")), "rank": ["normal"]},
        statement("P8", {"id": {"scheme": "new"}}, kind="new-kind", datatype="new-kind"),
        statement("P31", to_item("Q5")),
    )
    assert pairs(decode(item(claims=strange))) == [("P31", "Q5")]


def test_a_redirect_names_its_target_and_has_no_facts():
    entity = decode('{"entity":"Q10","redirect":"Q77"}')
    assert (entity.id, entity.redirect, entity.facts) == ("Q10", "Q77", ())


def test_an_entity_data_answer_is_opened():
    bare = item(labels={"en": {"value": "Earth"}})
    assert decode('{"entities":{"Q23":' + bare + "}}") == decode(bare)
    merged = decode('{"entities":{"Q10":{"entity":"Q10","redirect":"Q77"}}}')
    assert merged.redirect == "Q77"


def test_the_statements_can_be_left_unread():
    full = item(labels={"en": {"value": "Earth"}}, claims=claims(statement("P31", to_item("Q5"))))
    assert decode(full, claims=False).facts == ()
    assert decode(full, claims=False).labels == {"en": "Earth"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", BadReason.NOT_JSON),
        (b"<html>502</html>", BadReason.NOT_JSON),
        (b'{"id":"Q1","labels":{"en":{"value":"\xff"}}}', BadReason.NOT_JSON),
        (b'{"id":"Q1"', BadReason.NOT_JSON),
        ('{"id":"Q1","x":"\ud800"}', BadReason.NOT_JSON),
        (b'{"id":' + b"[" * 100_000, BadReason.SHAPE),
        (b'{"id":"Q1","x":' + b"[" * 100_000, BadReason.NOT_JSON),
        (b"[]", BadReason.SHAPE),
        (b'{"id":"Q1","claims":{"P31":7}}', BadReason.SHAPE),
        (b"{}", BadReason.NO_ID),
        (b'{"error":{"code":"no-such-entity"}}', BadReason.NO_ID),
        (b'{"redirect":"Q2"}', BadReason.NO_ID),
        (b'{"entities":{"-1":{"site":"dewiki","title":"x","missing":""}}}', BadReason.MISSING),
        (b'{"entities":{}}', BadReason.MISSING),
        (b'{"entities":[]}', BadReason.MISSING),
        (b'{"entities":{"Q1":{"id":"Q1"},"Q2":{"id":"Q2"}}}', BadReason.SEVERAL),
        (b'{"type":"lexeme","id":"L1","lemmas":{},"claims":[]}', BadReason.UNSUPPORTED),
        (b'{"type":"mediainfo","id":"M1","statements":[]}', BadReason.UNSUPPORTED),
        (b'{"entity":["item"],"label":{}}', BadReason.SHAPE),
    ],
)
def test_what_is_no_entity_is_refused_with_its_reason(content, reason):
    with pytest.raises(BadEntity) as refusal:
        decode(content)
    assert refusal.value.reason is reason
    assert len(str(refusal.value)) < 300


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_no_input_raises_anything_else(content):
    with contextlib.suppress(BadEntity):
        decode(content)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["id", "type", "claims", "labels", "en", "entity", "entities", "redirect", "P31",
             "mainsnak", "datavalue", "value", "m", "q", "g", "links", "label", "aliases"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(_JSON)
def test_no_json_raises_anything_else(value):
    with contextlib.suppress(BadEntity):
        decode(json.dumps(value))
