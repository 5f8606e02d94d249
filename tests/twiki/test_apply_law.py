"""Laws of apply: what is held depends on what happened, not on when or how often it was heard."""

from datetime import timedelta

import msgspec
from histories import (
    OCTOBER,
    applied,
    context,
    delete,
    edit,
    hide,
    logical,
    move,
    pairs,
    restore,
    supplied,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from twiki.apply import apply
from twiki.state.codec import Held
from twiki.state.contents import Texts
from twiki.state.kv import MemoryKeyValues
from twiki.state.store import Batch, Store
from twiki.state.subject import Subject

CONTEXT = context()
LONG = "".join(f"Line {n} of the page stays as it is.\n\n" for n in range(40))


def text_of(rev: int) -> str:
    return f"{LONG}Revision {rev} says this.\n"


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
