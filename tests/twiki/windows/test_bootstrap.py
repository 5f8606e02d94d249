"""Filling a state from the dumps of a boundary."""

from datetime import timedelta

import pytest
from histories import (
    DECEMBER,
    NOVEMBER,
    OCTOBER,
    at,
    edit,
    engine,
    item,
    pairs,
    write_entities,
    write_xml,
    xml_page,
    xml_revision,
)

from twiki.errors import DumpError, StateError
from twiki.state.asof import Missing
from twiki.times import to_ms
from twiki.windows import calendar
from twiki.windows.bootstrap import bootstrap

HOUR = timedelta(hours=1)
WINDOW = calendar.month("2026-11")


@pytest.fixture
def dumps(tmp_path):
    articles = write_xml(
        tmp_path / "articles.xml",
        xml_page(1, "One", xml_revision(10, at(9, 5), "First.")),
        xml_page(2, "Two", xml_revision(20, at(9, 5), "#REDIRECT [[One]]"), redirect="One"),
        xml_page(3, "Talk:One", xml_revision(30, at(9, 5), "Chat."), namespace=1),
        xml_page(4, "Four", xml_revision(41, NOVEMBER + HOUR, "Young.", parent=40)),
        xml_page(5, "Five", xml_revision(50, at(9, 5), None, hidden=True)),
    )
    entities = write_entities(
        tmp_path / "entities.json",
        item("Q1", ("P1", "Q2"), sitelink="One", rev=100, modified=at(9, 7)),
        item("P1", rev=101, modified=at(9, 7)),
        item("L1", rev=102, modified=at(9, 7)).replace('"item"', '"lexeme"'),
    )
    return [articles], [entities]


def test_the_dumps_pages_and_entities_stand_at_the_boundary(dumps):
    made = engine((NOVEMBER, DECEMBER))
    done = bootstrap(made, *dumps)
    assert (done.pages, done.redirects, done.other_namespaces, done.entities) == (4, 1, 1, 2)
    assert done.not_entities == 1
    state = made.as_of()
    one = state.article(1, to_ms(NOVEMBER)).article
    assert (one.title, one.rev_id, one.rev_dt, one.text) == ("One", 10, at(9, 5), "First.")
    assert state.article(2, to_ms(NOVEMBER)).article is None
    assert state.article(3, to_ms(NOVEMBER)).article is None
    assert state.article(5, to_ms(NOVEMBER)).missing is Missing.HIDDEN
    found = state.entity("Q1", to_ms(NOVEMBER))
    assert (found.rev_id, [f.object for f in found.entity.facts]) == (100, ["Q2"])
    assert made.store.held(3) is None


def test_a_revision_younger_than_the_boundary_is_pinned_and_its_parent_needed(dumps):
    made = engine((NOVEMBER, DECEMBER))
    bootstrap(made, *dumps)
    assert list(made.store.needs()) == [(4, 40)]
    assert made.as_of(pins=WINDOW).article(4, to_ms(NOVEMBER)).article.text == "Young."
    assert made.as_of().article(4, to_ms(NOVEMBER)).missing is Missing.NEEDED
    made.supply(4, edit(at(10, 3), 40, "Old.", page_id=4, title="Other name"))
    made.commit()
    old = made.as_of().article(4, to_ms(NOVEMBER)).article
    assert (old.title, old.rev_id, old.text) == ("Four", 40, "Old.")
    assert made.as_of(pins=WINDOW).article(4, to_ms(NOVEMBER)).article.text == "Young."


def test_a_bootstrap_tells_nothing_to_the_live_feed(dumps):
    made = engine((NOVEMBER, DECEMBER))
    bootstrap(made, *dumps)
    assert made.progress.outbox == 0
    assert list(made.store.touched_pages(to_ms(NOVEMBER))) == [4]


def test_a_second_run_skips_what_the_first_put_in(dumps):
    made = engine((NOVEMBER, DECEMBER))
    first = bootstrap(made, *dumps)
    before = pairs(made.store.kv)
    again = bootstrap(made, *dumps)
    assert (again.pages, again.entities) == (first.pages, first.entities)
    assert pairs(made.store.kv) == before


def test_a_run_that_was_killed_half_way_is_completed_to_the_same_state(dumps, tmp_path):
    whole, halved = engine((NOVEMBER, DECEMBER)), engine((NOVEMBER, DECEMBER))
    bootstrap(whole, *dumps)
    cut = tmp_path / "half.xml"
    text = dumps[0][0].read_text("utf-8")
    cut.write_text(text[: text.index("<page><title>Four")], "utf-8")
    with pytest.raises(DumpError):
        bootstrap(halved, [cut])
    halved.commit()
    bootstrap(halved, *dumps)
    left, right = pairs(halved.store.kv), pairs(whole.store.kv)
    assert {k: v for k, v in left.items() if k[:1] != b"m"} == {
        k: v for k, v in right.items() if k[:1] != b"m"
    }


def test_a_state_that_has_closed_a_window_is_not_bootstrapped(dumps):
    made = engine((OCTOBER, NOVEMBER, DECEMBER))
    made.close(made.open_window)
    with pytest.raises(StateError, match="empty folder"):
        bootstrap(made, *dumps)
