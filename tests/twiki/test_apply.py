"""One revision into the state: what is held depends on what happened, not on when it was heard."""

from datetime import timedelta

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
    logical,
    move,
    pairs,
    restore,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from twiki.apply import apply
from twiki.live import LiveFact, LiveSentence
from twiki.records import FactClass, SentenceKind
from twiki.state.asof import AsOf, Missing
from twiki.state.codec import Held
from twiki.state.contents import Texts
from twiki.state.kv import MemoryKeyValues
from twiki.state.store import Batch, Store
from twiki.state.subject import Subject
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


# --- order and repetition -------------------------------------------------------------------


@st.composite
def histories(draw, hides=True):
    """A page's events with their contents, in the order of time, and the texts of all revisions."""
    moments = sorted(draw(st.sets(st.integers(1, 75 * 4), min_size=2, max_size=9)))
    events, revs, last, gone, rev, title = [], [], 0, False, 0, "A"
    for number in moments:
        moment = OCTOBER + timedelta(hours=6 * number)
        kind = draw(st.sampled_from("eeeedrmh" if hides else "eeeedrm"))
        if kind == "e" and not gone:
            rev += 1
            redirect = draw(st.integers(0, 5)) == 0
            text = "#REDIRECT [[B]]" if redirect else text_of(rev)
            events.append(edit(moment, rev, text, parent_rev_id=last, title=title))
            revs.append((rev, moment, text))
            last = rev
        elif kind == "d" and last and not gone:
            events.append(delete(moment, title=title))
            gone = True
        elif kind == "r" and gone:
            last, rev_dt, text = draw(st.sampled_from(revs))
            events.append(restore(moment, last, text, rev_dt=rev_dt, title=title))
            gone = False
        elif kind == "m" and last and not gone:
            rev += 1
            draft = draw(st.booleans())
            new = "Draft:A" if draft else f"A{rev}"
            text = next(t for r, _, t in revs if r == last)
            events.append(
                move(
                    moment,
                    rev,
                    text,
                    new,
                    title,
                    parent_rev_id=last,
                    namespace=118 if draft else 0,
                )
            )
            title, last = new, rev
            revs.append((rev, moment, text))
        elif kind == "h" and revs:
            shown = draw(st.booleans())
            events.append(hide(moment, draw(st.sampled_from(revs))[0], visible=shown))
    # A revision that is hidden in the end is hidden in whatever is fetched later.
    return events, {r: (moment, text) for r, moment, text in revs}


def supplied(store, revs, ctx=CONTEXT):
    """Fetch by id what is needed, as the engine does."""
    batch = Batch(store)
    while needed := list(store.needs()):
        for key, rev in needed:
            moment, text = revs[rev]
            fetched = edit(moment, rev, text, parent_rev_id=None, title=None, namespace=None)
            fetched = msgspec.structs.replace(
                fetched, change=msgspec.structs.replace(fetched.change, kind="edit")
            )
            subject = batch.subject(key)
            batch.update(key, subject.held, apply(subject, fetched, ctx))
            batch.commit()
    return store


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(histories(), st.randoms(use_true_random=False))
def test_any_order_and_any_repetition_gives_the_same_state(history, chance):
    events, revs = history
    shuffled = [*events, *events[: len(events) // 2]]
    chance.shuffle(shuffled)
    first = logical(supplied(applied(events), revs))
    second = logical(supplied(applied(shuffled), revs))
    assert _without_supply(first) == _without_supply(second)


def _without_supply(state):
    """Entries without what only a fetch by id added: the revisions that a title never named."""
    entries, *rest = state
    return [e for e in entries if e.title is not None or not e.rev], *rest


@settings(deadline=None, max_examples=60)
@given(histories(hides=False), st.randoms(use_true_random=False))
def test_without_hiding_the_state_is_the_same_key_by_key_when_told_again(history, chance):
    events, _ = history
    store = applied(events)
    again = events[:]
    chance.shuffle(again)
    batch = Batch(store)
    before = pairs(store.kv)
    for event in again:
        subject = batch.subject(1)
        batch.update(1, subject.held, apply(subject, event, CONTEXT))
    batch.commit()
    assert pairs(store.kv) == before


@settings(deadline=None, max_examples=60)
@given(histories())
def test_every_stored_text_decodes_to_the_text_of_its_revision(history):
    events, revs = history
    store = applied(events)
    held = store.held(1) or Held()
    texts = Texts(lambda rev: store.content(1, rev))
    for rev in held.revs:
        assert "".join(texts.blocks(rev)) == revs[rev][1]


@settings(deadline=None, max_examples=60)
@given(histories(), st.booleans())
def test_what_is_remembered_in_order_is_what_the_whole_ledger_says(history, supply):
    events, revs = history
    store = Store(MemoryKeyValues())
    batch = Batch(store)
    for event in events:
        subject = batch.subject(1)
        result = apply(subject, event, CONTEXT)
        forgetful = msgspec.structs.replace(subject.held, stood=0, stands=())
        full = apply(Subject(subject.key, forgetful, subject.load), event, CONTEXT)
        if result.changed:
            assert full.held == result.held
            assert full.puts == result.puts
            assert full.drops == result.drops
        batch.update(1, subject.held, result)
        batch.commit()
        if supply:
            supplied(store, revs)


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
