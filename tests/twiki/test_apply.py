"""One revision into the state: cases of ENGINE 2 with their texts, and what is told of them."""

import msgspec
from histories import (
    DAY,
    DECEMBER,
    JANUARY,
    NOVEMBER,
    OCTOBER,
    applied,
    at,
    claim,
    context,
    delete,
    edit,
    entity_edit,
    hide,
    item,
    move,
    restore,
    supplied,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from twiki.apply import apply
from twiki.live import LiveFact, LiveSentence
from twiki.records import FactClass, SentenceKind
from twiki.state.asof import AsOf, Missing
from twiki.state.contents import Texts
from twiki.state.kv import MemoryKeyValues
from twiki.state.store import Batch, Store
from twiki.times import to_ms

CONTEXT = context()
LONG = "".join(f"Line {n} of the page stays as it is.\n\n" for n in range(40))


def text_of(rev: int) -> str:
    return f"{LONG}Revision {rev} says this.\n"


def read(store, moment, key=1, **how):
    return AsOf(store, CONTEXT, **how).article(key, to_ms(moment))


def told(revisions, key=1, ctx=CONTEXT):
    """The outputs of each revision, one after another."""
    store = Store(MemoryKeyValues())
    batch, outputs = Batch(store), []
    for revision in revisions:
        subject = batch.subject(key)
        result = apply(subject, revision, ctx)
        batch.update(key, subject.held, result)
        outputs.append(result.outputs)
    return outputs


def test_a_page_shown_again_after_it_was_hidden_is_fetched_again():
    events = [
        edit(at(10, 5), 1, text_of(1)),
        edit(at(11, 5), 2, text_of(2), parent_rev_id=1),
        hide(at(12, 5), 1),
        hide(at(12, 6), 1, visible=True),
    ]
    store = applied(events)
    assert list(store.needs()) == [(1, 1)]
    assert read(store, NOVEMBER).missing is Missing.NEEDED


# --- the cases of ENGINE 2, with their texts ------------------------------------------------


def test_each_boundary_reads_its_own_text_through_a_chain_of_patches():
    events = [
        edit(at(10, 5), 1, text_of(1)),
        edit(at(11, 5), 2, text_of(2), parent_rev_id=1),
        edit(at(11, 6), 3, text_of(3), parent_rev_id=2),
        edit(at(12, 5), 4, text_of(4), parent_rev_id=3),
    ]
    store = applied(events)
    assert read(store, NOVEMBER).article.text == text_of(1)
    assert read(store, DECEMBER).article.text == text_of(3)
    assert read(store, JANUARY).article.text == text_of(4)
    held = store.held(1)
    assert dict(held.bases) == {1: 0, 3: 1, 4: 3}
    sizes = {rev: len(store.content(1, rev)) for rev in held.revs}
    assert max(sizes[3], sizes[4]) < 100 < len(text_of(1))


def test_a_text_between_two_boundaries_is_not_kept():
    events = [edit(at(10, 5 + n), n, text_of(n), parent_rev_id=n - 1) for n in range(1, 9)]
    assert applied(events).held(1).revs == (8,)


def test_a_redirect_at_the_boundary_is_no_article_though_there_was_a_text_before():
    events = [
        edit(at(10, 5), 1, text_of(1)),
        edit(at(10, 9), 2, "#REDIRECT [[B]]", parent_rev_id=1),
        edit(at(11, 5), 3, text_of(3), parent_rev_id=2),
    ]
    store = applied(events)
    assert read(store, NOVEMBER).article is None
    assert read(store, DECEMBER).article.text == text_of(3)


def test_the_last_revision_of_a_month_hidden_two_days_later_reads_as_the_month_before():
    events = [
        edit(at(10, 5), 1, text_of(1)),
        edit(at(11, 30), 2, text_of(2), parent_rev_id=1),
        hide(at(12, 2), 2),
    ]
    for order in (events, events[::-1]):
        store = applied(order)
        found = read(store, DECEMBER)
        assert (found.article.rev_id, found.article.text) == (2, text_of(1))
        assert found.missing is None


def test_a_text_hidden_at_the_boundary_before_too_leaves_an_article_without_text():
    events = [
        edit(at(10, 5), 1, text_of(1)),
        edit(at(11, 30), 2, text_of(2), parent_rev_id=1),
        hide(at(12, 2), 1, 2),
    ]
    found = read(applied(events), DECEMBER)
    assert found.article.blocks is None
    assert found.missing is Missing.HIDDEN


def test_a_draft_moved_into_the_article_namespace_needs_the_text_that_was_never_fetched():
    moved = move(at(11, 5), 21, None, "A", "Draft:A", parent_rev_id=20)
    store = applied([moved])
    assert read(store, NOVEMBER).article is None
    assert read(store, DECEMBER).missing is Missing.NEEDED
    assert list(store.needs()) == [(1, 21)]
    supplied(store, {21: (at(11, 5), text_of(21))})
    assert read(store, DECEMBER).article.text == text_of(21)
    assert list(store.needs()) == []


def test_a_restore_of_an_earlier_revision_reads_its_text_again():
    events = [
        edit(at(10, 3), 10, text_of(10)),
        edit(at(10, 8), 12, text_of(12), parent_rev_id=10),
        delete(at(11, 12)),
        restore(at(11, 14), 10, text_of(10), rev_dt=at(10, 3)),
    ]
    store = applied(events)
    assert read(store, NOVEMBER).article.rev_id == 12
    assert read(store, DECEMBER).article.text == text_of(10)


def test_a_deleted_page_keeps_the_texts_of_the_boundaries_before_and_no_other():
    events = [edit(at(10, 5), 1, text_of(1)), delete(at(11, 12))]
    store = applied(events)
    assert read(store, NOVEMBER).article.text == text_of(1)
    assert read(store, DECEMBER).article is None


def test_pages_outside_the_article_namespaces_keep_no_text():
    events = [edit(at(10, 5), 1, text_of(1), title="Talk:A", namespace=1)]
    store = applied(events)
    assert store.held(1).revs == ()
    assert list(store.needs()) == []
    assert store.held(1).entries[0].title == "Talk:A"


# --- hidden text ----------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(st.permutations(range(4)))
def test_hidden_text_is_in_no_stored_text_of_the_page_whatever_came_first(order):
    secret = LONG + "The secret number is 4711.\n\n"
    events = [
        edit(at(10, 5), 1, LONG),
        edit(at(10, 30), 2, secret, parent_rev_id=1),
        edit(at(11, 5), 3, secret + "More.\n\n", parent_rev_id=2),
        hide(at(11, 20), 2, 3),
    ]
    store = applied([events[n] for n in order])
    held = store.held(1)
    assert not {2, 3} & set(held.revs)
    assert not {2, 3} & set(held.needs)
    texts = Texts(lambda rev: store.content(1, rev))
    assert not any("4711" in "".join(texts.blocks(rev)) for rev in held.revs)
    for rev in (2, 3):
        assert store.content(1, rev) is None


def test_a_text_stored_against_a_hidden_one_is_stored_anew():
    events = [
        edit(at(10, 5), 1, text_of(1)),
        edit(at(11, 5), 2, text_of(2), parent_rev_id=1),
        edit(at(12, 5), 3, text_of(3), parent_rev_id=2),
        hide(at(12, 20), 2),
    ]
    store = applied(events)
    assert read(store, JANUARY).article.text == text_of(3)
    assert dict(store.held(1).bases) == {1: 0, 3: 1}


# --- late events ----------------------------------------------------------------------------


def test_a_late_event_is_in_the_correction_and_not_in_the_first_version():
    store = applied([edit(at(10, 5), 1, text_of(1))])
    closed = context(closed=NOVEMBER)
    batch = Batch(store)
    for event in (
        edit(at(10, 20), 2, text_of(2), parent_rev_id=1),
        edit(at(11, 20), 3, text_of(3), parent_rev_id=2),
    ):
        subject = batch.subject(1)
        result = apply(subject, event, closed)
        batch.update(1, subject.held, result)
        assert result.late is (event.change.rev_id == 2)
    batch.commit()
    first = {"known": to_ms(OCTOBER)}
    assert read(store, NOVEMBER, **first).article.text == text_of(1)
    assert read(store, NOVEMBER).article.text == text_of(2)
    # The next window's first version starts where the correction of this one ends.
    assert read(store, NOVEMBER, known=to_ms(NOVEMBER)).article.text == text_of(2)
    assert read(store, DECEMBER, known=to_ms(NOVEMBER)).article.text == text_of(3)


def test_a_late_revision_fetched_later_is_still_late():
    store = applied([edit(at(10, 5), 1, text_of(1))])
    batch, closed = Batch(store), context(closed=NOVEMBER)
    subject = batch.subject(1)
    late = edit(at(10, 20), 2, None, parent_rev_id=1)
    batch.update(1, subject.held, apply(subject, late, closed))
    batch.commit()
    assert list(store.needs()) == [(1, 2)]
    supplied(store, {2: (at(10, 20), text_of(2))}, closed)
    assert read(store, NOVEMBER, known=to_ms(OCTOBER)).article.text == text_of(1)
    assert read(store, NOVEMBER).article.text == text_of(2)


# --- the live feed --------------------------------------------------------------------------


def test_a_new_page_and_its_edit_are_told_as_they_happen():
    first, second = told(
        [
            edit(at(10, 5), 1, "The hall opened in 1901. It is red."),
            edit(at(10, 6), 2, "The hall opened in 1902. It is red.", parent_rev_id=1),
        ]
    )
    assert [(o.sentence.kind, o.sentence.text) for o in first] == [
        (SentenceKind.NEW_ARTICLE, "The hall opened in 1901."),
        (SentenceKind.NEW_ARTICLE, "It is red."),
    ]
    assert [(o.sentence.text, o.sentence.replaced) for o in second] == [
        ("The hall opened in 1902.", "The hall opened in 1901.")
    ]
    assert all(isinstance(o, LiveSentence) and o.page_id == 1 for o in (*first, *second))
    assert len({o.id for o in (*first, *second)}) == 3


def test_nothing_is_told_twice_and_nothing_of_a_page_not_known_before():
    events = [edit(at(10, 6), 2, "It is red.", parent_rev_id=1)]
    assert told([*events, *events]) == [(), ()]


def test_ids_of_what_is_told_do_not_depend_on_other_pages_or_times_of_arrival():
    (one,) = told([edit(at(10, 5), 1, "It is red.")])
    (other,) = told([edit(at(10, 5), 1, "It is red.", arrival_time=at(11, 5))])
    assert [o.id for o in one] == [o.id for o in other]


# --- entities -------------------------------------------------------------------------------


def test_an_entity_reads_as_of_each_boundary_and_tells_its_facts():
    events = [
        entity_edit(at(10, 5), 1, "Q1", item("Q1", ("P1", "Q5")), parent_rev_id=0),
        entity_edit(at(11, 5), 2, "Q1", item("Q1", ("P1", "Q6")), parent_rev_id=1),
    ]
    store = applied(events, "Q1")
    state = AsOf(store, CONTEXT)
    assert [f.object for f in state.entity("Q1", to_ms(NOVEMBER)).entity.facts] == ["Q5"]
    assert [f.object for f in state.entity("Q1", to_ms(DECEMBER)).entity.facts] == ["Q6"]
    assert state.entity("Q1", to_ms(OCTOBER)) is None
    _, second = told(events, "Q1")
    assert {(o.change.fact_class, o.change.fact.object) for o in second} == {
        (FactClass.NEW_OBJECT, "Q6"),
        (FactClass.REMOVED, "Q5"),
    }
    assert all(isinstance(o, LiveFact) for o in second)


def test_what_is_no_entity_is_a_problem_and_is_needed_still():
    subject = Batch(Store(MemoryKeyValues())).subject("Q1")
    result = apply(subject, entity_edit(at(10, 5), 1, "Q1", "{", parent_rev_id=0), CONTEXT)
    assert result.problem
    assert result.held.needs == (1,)
    assert result.puts == {}


def test_a_page_over_the_size_limit_is_a_problem_and_not_kept():
    small = msgspec.structs.replace(CONTEXT, max_page_bytes=100)
    subject = Batch(Store(MemoryKeyValues())).subject(1)
    result = apply(subject, edit(at(10, 5), 1, LONG), small)
    assert "at most 100" in result.problem
    assert result.held.revs == ()


def test_both_windows_are_touched_by_a_pin_at_their_boundary():
    pinned = msgspec.structs.replace(
        edit(DECEMBER + DAY, 5, text_of(5), parent_rev_id=4), pinned=True, boundary=DECEMBER
    )
    subject = Batch(Store(MemoryKeyValues())).subject(1)
    result = apply(subject, pinned, CONTEXT)
    assert result.touched == (to_ms(NOVEMBER), to_ms(DECEMBER))
    assert result.outputs == ()


def test_the_indexes_lead_to_what_was_touched_titled_and_sampled():
    store = applied([edit(at(10, 5), 1, text_of(1)), move(at(11, 5), 2, text_of(1), "C", "A")])
    assert list(store.touched_pages(to_ms(OCTOBER))) == [1]
    assert list(store.touched_pages(to_ms(NOVEMBER))) == [1]
    assert list(store.touched_pages(to_ms(DECEMBER))) == []
    assert store.pages_titled("A") == store.pages_titled("C") == [1]
    state = AsOf(store, CONTEXT)
    assert state.titled("A", to_ms(NOVEMBER)) == 1
    assert state.titled("A", to_ms(DECEMBER)) is None
    assert state.titled("C", to_ms(DECEMBER)) == 1
    assert list(store.pages_by_hash()) == [1]
    entity = applied(
        [entity_edit(at(10, 5), 1, "Q1", item("Q1", ("P1", "Q5")), parent_rev_id=0)], "Q1"
    )
    assert list(entity.sampled_entities()) == ["Q1"]
    assert list(entity.touched_entities(to_ms(OCTOBER))) == ["Q1"]
    assert claim("P1", "Q5")["mainsnak"]["property"] == "P1"
