from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twiki import facts
from twiki.records import Entity, Fact, FactClass

NEW_SUBJECT, NEW_RELATION, NEW_OBJECT = facts.CHANGED
UNCHANGED, REMOVED = FactClass.UNCHANGED, FactClass.REMOVED


def fact(relation, obj, **more):
    return Fact(subject="Q1", relation=relation, object=obj, **more)


def entity(*stated, **more):
    return Entity(id="Q1", facts=tuple(fact(*each) for each in stated), **more)


def classes(old, new, **more):
    return {
        (change.fact.relation, change.fact.object): change.fact_class
        for change in facts.compare(old, new, **more)
    }


def test_every_fact_of_an_entity_that_was_not_there_has_a_new_subject():
    assert classes(None, entity(("P31", "Q5"))) == {("P31", "Q5"): NEW_SUBJECT}


def test_a_relation_that_was_not_there_is_new_and_so_is_an_object():
    old = entity(("P31", "Q5"), ("P54", "Q10"))
    new = entity(("P31", "Q5"), ("P54", "Q10"), ("P54", "Q11"), ("P39", "Q12"))
    assert classes(old, new) == {
        ("P31", "Q5"): UNCHANGED,
        ("P39", "Q12"): NEW_RELATION,
        ("P54", "Q10"): UNCHANGED,
        ("P54", "Q11"): NEW_OBJECT,
    }


def test_an_entity_that_was_there_without_facts_is_no_new_subject():
    assert classes(entity(), entity(("P31", "Q5"))) == {("P31", "Q5"): NEW_RELATION}


def test_what_is_gone_is_removed():
    assert classes(entity(("P54", "Q10"), ("P54", "Q11")), entity(("P54", "Q10"))) == {
        ("P54", "Q10"): UNCHANGED,
        ("P54", "Q11"): REMOVED,
    }
    assert classes(entity(("P54", "Q10")), None) == {("P54", "Q10"): REMOVED}


def test_two_replaced_objects_are_two_facts_not_four():
    old, new = entity(("P54", "Q10"), ("P54", "Q11")), entity(("P54", "Q12"), ("P54", "Q13"))
    changes = facts.compare(old, new)
    added = [change for change in changes if change.fact_class is NEW_OBJECT]
    assert [change.fact.object for change in added] == ["Q12", "Q13"]
    assert {change.previous_objects for change in changes} == {("Q10", "Q11")}
    assert {change.all_objects for change in changes} == {("Q12", "Q13")}


def test_an_object_stated_twice_is_one_fact():
    assert len(facts.compare(entity(("P54", "Q10")), entity(("P54", "Q10"), ("P54", "Q10")))) == 1


def test_of_two_statements_the_one_that_still_holds_speaks():
    first = fact("P39", "Q10", statement_id="b", valid_from="2001", valid_to="2005")
    second = fact("P39", "Q10", statement_id="a", valid_from="2017")
    for order in ((first, second), (second, first)):
        (change,) = facts.compare(None, Entity(id="Q1", facts=order))
        assert change.fact is second


def test_an_object_that_was_merged_is_unchanged():
    merged = {"Q10": "Q77"}.get
    redirects = lambda identifier: merged(identifier, identifier)  # noqa: E731
    old = entity(("P54", "Q10"))
    assert classes(old, entity(("P54", "Q10")), redirects=redirects) == {("P54", "Q77"): UNCHANGED}
    assert classes(old, entity(("P54", "Q77")), redirects=redirects) == {("P54", "Q77"): UNCHANGED}


def test_a_literal_that_looks_like_an_id_is_never_redirected():
    literal = Entity(id="Q1", facts=(fact("P742", "Q10", datatype="string"),))
    assert classes(literal, literal, redirects=lambda _: "Q77") == {("P742", "Q10"): UNCHANGED}


def test_a_redirect_is_no_entity():
    full, merged = entity(("P31", "Q5")), Entity(id="Q1", redirect="Q2")
    assert classes(full, merged) == {("P31", "Q5"): REMOVED}
    assert classes(merged, full) == {("P31", "Q5"): NEW_SUBJECT}
    assert facts.compare(merged, merged) == []


def test_changes_come_sorted_by_relation_and_object():
    new = entity(("P9", "Q2"), ("P10", "Q1"), ("P9", "Q10"))
    keys = [(change.fact.relation, change.fact.object) for change in facts.compare(None, new)]
    assert keys == [("P10", "Q1"), ("P9", "Q10"), ("P9", "Q2")]


def test_the_hash_of_a_fact_is_the_one_that_is_written_down():
    # printf 'Q42|P31|Q5' | b2sum -l 64
    assert facts.fact_hash(Fact(subject="Q42", relation="P31", object="Q5")) == 0x7C5D4D5205A6D826
    salted = facts.fact_hash(Fact(subject="Q42", relation="P31", object="Q5"), "2026-11")
    assert salted == facts.text_hash("Q42", "P31", "Q5", "2026-11")


def test_a_sample_has_about_its_rate_and_grows_with_it():
    many = [fact("P31", f"Q{number}") for number in range(20_000)]
    tenth = facts.sample(many, 0.1)
    assert len(tenth) == pytest.approx(2_000, rel=0.1)
    assert set(map(str, facts.sample(many, 0.01))) <= set(map(str, tenth))
    assert facts.sample(many, 1.0) == many
    assert facts.sample(many, 0.0) == []


def test_a_fact_whose_end_time_is_past_is_not_current():
    end = datetime(2022, 1, 1, tzinfo=UTC)
    assert facts.current(fact("P39", "Q10"), end)
    assert not facts.current(fact("P39", "Q10", valid_to="2021-06"), end)


_FACTS = st.lists(
    st.builds(
        Fact,
        subject=st.just("Q1"),
        relation=st.sampled_from(["P1", "P2", "P3"]),
        object=st.sampled_from(["Q1", "Q2", "Q3", "Q4"]),
        statement_id=st.sampled_from(["a", "b"]),
        valid_to=st.sampled_from([None, "2020", "2021-03"]),
    ),
    max_size=12,
)
_ENTITIES = st.none() | st.builds(
    lambda stated, redirect: Entity(
        id="Q1", facts=() if redirect else tuple(stated), redirect=redirect
    ),
    _FACTS,
    st.sampled_from([None, None, None, "Q2"]),
)


def keys(each):
    return set() if each is None else {(f.relation, f.object) for f in each.facts}


@given(_ENTITIES)
def test_nothing_changes_between_an_entity_and_itself(each):
    assert {change.fact_class for change in facts.compare(each, each)} <= {UNCHANGED}


@given(_ENTITIES, _ENTITIES)
def test_the_classes_part_the_union_of_both_sides(old, new):
    found = classes(old, new)
    assert len(found) == len(facts.compare(old, new))
    assert found.keys() == keys(old) | keys(new)
    by_class = {kind: {key for key, each in found.items() if each is kind} for kind in FactClass}
    assert by_class[UNCHANGED] == keys(old) & keys(new)
    assert by_class[REMOVED] == keys(old) - keys(new)
    added = by_class[NEW_SUBJECT] | by_class[NEW_RELATION] | by_class[NEW_OBJECT]
    assert added == keys(new) - keys(old)


@given(_ENTITIES, _ENTITIES)
def test_unchanged_facts_can_be_left_untold(old, new):
    def wanted(each):
        return each.object == "Q1"

    told = facts.compare(old, new, unchanged=wanted)
    assert told == [
        change
        for change in facts.compare(old, new)
        if change.fact_class is not UNCHANGED or wanted(change.fact)
    ]


@given(_FACTS, _FACTS, st.randoms(use_true_random=False))
def test_the_order_of_statements_has_no_effect(old, new, chance):
    before = facts.compare(Entity(id="Q1", facts=tuple(old)), Entity(id="Q1", facts=tuple(new)))
    chance.shuffle(old)
    chance.shuffle(new)
    after = facts.compare(Entity(id="Q1", facts=tuple(old)), Entity(id="Q1", facts=tuple(new)))
    assert before == after
    assert Counter(map(str, before)) == Counter(map(str, after))
