import json

import pytest

from stream.sandbox.entitydata import EntityDataError, entity_data


def entity(view, name, **parameters):
    body = json.loads(entity_data(view, name, {k: str(v) for k, v in parameters.items()}))
    ((key, value),) = body["entities"].items()
    return key, value


def test_entity_data_answers_for_now_and_for_any_revision(view):
    assert entity(view, "Q1.json")[1]["lastrevid"] == 502
    key, old = entity(view, "Q1.json", revision=501)
    assert (key, old["lastrevid"], old["pageid"]) == ("Q1", 501, 10)
    assert old["modified"] == "2026-10-10T00:00:00Z"
    assert old["aliases"] == [], "odd containers come through as they are"
    assert entity(view, "P31")[0] == "P31"


def test_a_redirect_answers_with_its_target_and_its_revision_with_400(view):
    assert entity(view, "Q2.json")[0] == "Q1"
    assert entity(view, "Q2.json", revision=511)[1]["id"] == "Q2"
    assert (
        entity(view, "Q2.json", revision=512, flavor="dump")[1]
        | {
            "entity": "Q2",
            "redirect": "Q1",
        }
        == entity(view, "Q2.json", revision=512, flavor="dump")[1]
    )
    with pytest.raises(EntityDataError, match="is a redirect") as caught:
        entity(view, "Q2.json", revision=512)
    assert caught.value.status == 400


@pytest.mark.parametrize(
    ("name", "parameters", "status"),
    [
        ("Q99.json", {}, 404),
        ("Q1.json", {"revision": 999}, 404),
        ("Q1.json", {"revision": 511}, 404),
        ("Q1.json", {"revision": "x"}, 400),
        ("Talk.json", {}, 400),
        ("Q0.json", {}, 400),
        ("Q1.ttl", {}, 406),
    ],
)
def test_entity_data_refuses_with_the_status_of_the_real_one(view, name, parameters, status):
    with pytest.raises(EntityDataError) as caught:
        entity(view, name, **parameters)
    assert caught.value.status == status
