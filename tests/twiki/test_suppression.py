"""Hidden text leaves the outbox with the event that hid it, marked for the datasets (L21)."""

from datetime import timedelta

from histories import CONFIG, DECEMBER, at, edit, engine, entity_edit, hide, item

from twiki import suppression
from twiki.live import LiveFact, LiveSentence, LiveTombstone, Output
from twiki.state import codec, layout
from twiki.suppression import Hidden

SECRET = edit(at(10, 5), 2, "Seen.\n\nThe secret is 4711.", parent_rev_id=1)


def outbox(made):
    made.commit()
    return [codec.decode(value, Output) for key, value in made.store.kv.scan(layout.OUTBOX)]


def told():
    made = engine()
    made.apply(edit(at(10, 4), 1, "Seen."))
    made.apply(SECRET)
    made.apply(edit(at(10, 5, 13), 3, "Seen.\n\nThe secret is gone.", parent_rev_id=2))
    return made


def test_what_a_hidden_revision_told_is_taken_back_and_a_tombstone_told():
    made = told()
    made.apply(hide(at(10, 6), 2))
    records = outbox(made)
    texts = [one.sentence.text for one in records if isinstance(one, LiveSentence)]
    assert texts == ["Seen.", "The secret is gone."]
    (stone,) = [one for one in records if isinstance(one, LiveTombstone)]
    assert (stone.wiki, stone.key, stone.rev_id) == (CONFIG.wiki.name, "1", 2)
    assert made.counts["withheld"] == 1


def test_a_sentence_that_replaced_a_hidden_one_stays_without_it():
    made = told()
    replaced = {one.sentence.text: one.sentence.replaced for one in outbox(made)}
    assert replaced["The secret is gone."] == "The secret is 4711."
    made.apply(hide(at(10, 6), 2))
    left = {
        one.sentence.text: one.sentence.replaced
        for one in outbox(made)
        if isinstance(one, LiveSentence)
    }
    assert left["The secret is gone."] is None


def test_nothing_of_the_text_is_left_in_the_state():
    made = told()
    made.apply(hide(at(10, 6), 2))
    made.commit()
    assert not [k for k, v in made.store.kv.scan(b"") if b"4711" in v]


def test_facts_of_a_hidden_entity_revision_go_too():
    made = engine()
    made.apply(entity_edit(at(10, 4), 10, "Q1", item("Q1", ("P1", "Q5")), parent_rev_id=0))
    made.apply(entity_edit(at(10, 5), 11, "Q1", item("Q1", ("P1", "Q6")), parent_rev_id=10))
    hides = {"wiki": CONFIG.wiki.repository, "page_id": None, "title": "Q1"}
    made.apply(hide(at(10, 6), 11, **hides))
    revs = {one.rev_id for one in outbox(made) if isinstance(one, LiveFact)}
    assert revs == {10}


def test_a_revision_is_marked_until_the_datasets_are_without_it():
    made = told()
    made.apply(hide(at(10, 6), 2))
    made.commit()
    (mark,) = suppression.hidden(made)
    assert mark == Hidden(CONFIG.wiki.name, 2, 1)
    suppression.forget(made, [mark])
    made.commit()
    assert list(suppression.hidden(made)) == []


def test_a_revision_that_is_shown_again_is_not_marked():
    made = told()
    made.apply(hide(at(10, 6), 2))
    made.apply(hide(at(10, 7), 2, visible=True))
    made.commit()
    assert list(suppression.hidden(made)) == []


def test_hidden_twice_tells_one_tombstone():
    made = told()
    for _ in range(2):
        made.apply(hide(at(10, 6), 2))
    stones = [one for one in outbox(made) if isinstance(one, LiveTombstone)]
    assert len(stones) == 1


def test_a_text_that_was_hidden_from_the_start_tells_nothing():
    made = engine()
    made.apply(edit(at(10, 4), 1, "Seen."))
    made.apply(edit(at(10, 5), 2, None, parent_rev_id=1, visible=False))
    assert [type(one) for one in outbox(made)] == [LiveSentence]
    assert list(suppression.hidden(made)) == []


def test_a_hiding_in_a_later_month_reaches_back():
    made = told()
    made.close(made.open_window)
    made.apply(hide(DECEMBER - timedelta(days=1), 2))
    assert [one.rev_id for one in outbox(made) if isinstance(one, LiveSentence)] == [1, 3]
