"""The write side of a state: windows close and are let go, needs are supplied, letters kept."""

from datetime import timedelta

import msgspec
import pytest
from histories import (
    CONFIG,
    DECEMBER,
    JANUARY,
    NOVEMBER,
    OCTOBER,
    at,
    edit,
    engine,
    entity_edit,
    event,
    item,
    pairs,
)

from twiki.config import CoreConfig, WikiConfig
from twiki.engine import DeadLetter, Engine, find_window, reading
from twiki.errors import ConfigError, StateError
from twiki.needs import Needs
from twiki.records import ChangeKind, Revision
from twiki.state import codec, layout
from twiki.state.kv import MemoryKeyValues
from twiki.state.store import Store
from twiki.times import to_ms

HOUR = timedelta(hours=1)
MILLISECOND = timedelta(milliseconds=1)


def names(windows):
    return [window.name for window in windows]


def stream(*, as_of=None, config=CONFIG, kv=None):
    return Engine.open(Store(kv or MemoryKeyValues()), config, as_of=as_of)


class Contents:
    """Revisions by id from a dictionary; remembers what was asked."""

    def __init__(self, known):
        self.known = known
        self.asked = []

    def revisions(self, wiki, rev_ids):
        self.asked.append((wiki, list(rev_ids)))
        return [self.known.get(rev) for rev in rev_ids]


# --- windows --------------------------------------------------------------------------------


def test_a_window_closes_when_the_watermark_passes_its_end_and_the_lateness():
    made = stream(as_of=OCTOBER)
    made.arrived("a", NOVEMBER + HOUR - MILLISECOND)
    assert made.closed_now == []
    made.arrived("a", NOVEMBER + HOUR)
    assert names(made.closed_now) == ["2026-10"]
    assert made.open_window.name == "2026-11"
    assert names(made.windows()) == ["2026-10", "2026-11"]


def test_the_watermark_is_that_of_the_slowest_stream():
    made = stream(as_of=OCTOBER)
    made.arrived("slow", at(10, 5))
    made.arrived("quick", DECEMBER)
    assert made.closed_now == []
    assert made.watermark == at(10, 5)
    made.arrived("slow", NOVEMBER + 2 * HOUR)
    assert names(made.closed_now) == ["2026-10"]


def test_the_watermark_never_steps_back():
    made = stream(as_of=OCTOBER)
    made.arrived("a", at(10, 20))
    made.arrived("a", at(10, 5))
    assert made.watermark == at(10, 20)


def test_several_windows_close_at_once_oldest_first():
    made = stream(as_of=OCTOBER)
    made.arrived("a", JANUARY + HOUR)
    assert names(made.closed_now) == ["2026-10", "2026-11", "2026-12"]


def test_a_state_without_bootstrap_begins_with_the_month_of_its_first_event():
    made = stream()
    assert made.open_window is None
    made.arrived("a", at(11, 17))
    assert made.open_window.name == "2026-11"


def test_fixed_boundaries_are_the_only_ones_and_the_last_window_closes_too():
    middle = at(11, 15, 0)
    made = engine((NOVEMBER, middle, DECEMBER))
    assert made.open_window.name == "20261101-20261115"
    made.arrived("a", DECEMBER + HOUR)
    assert names(made.closed_now) == ["20261101-20261115", "20261115-20261201"]
    assert made.open_window is None
    assert made.context.boundaries == (to_ms(NOVEMBER), to_ms(middle), to_ms(DECEMBER))


def test_a_window_is_released_when_it_is_reconciled_and_two_further_windows_have_closed():
    made = stream(as_of=OCTOBER)
    made.apply(edit(at(10, 5), 1, "October."))
    made.apply(edit(at(11, 5), 2, "November.", parent_rev_id=1))
    made.arrived("a", NOVEMBER + HOUR)
    made.progress.reconciled[to_ms(OCTOBER)] = "boundary"
    made.arrived("a", DECEMBER + HOUR)
    assert made.progress.first == to_ms(OCTOBER)
    made.commit()
    made.arrived("a", JANUARY + HOUR)
    made.commit()
    assert made.progress.first == to_ms(NOVEMBER)
    assert names(made.windows()) == ["2026-11", "2026-12", "2027-01"]
    assert list(made.store.touched_pages(to_ms(OCTOBER))) == []
    assert list(made.store.touched_pages(to_ms(NOVEMBER))) == [1]
    assert made.as_of().article(1, to_ms(NOVEMBER)).article.text == "October."
    assert made.as_of().article(1, to_ms(DECEMBER)).article.text == "November."


def test_a_window_that_was_never_reconciled_is_kept():
    made = stream(as_of=OCTOBER)
    made.arrived("a", at(12, 31).replace(year=2027))
    assert made.progress.first == to_ms(OCTOBER)


def test_a_released_window_takes_its_pages_texts_with_it_when_they_are_next_touched():
    made = stream(as_of=OCTOBER)
    text = "Kept. " * 50
    made.apply(edit(at(10, 5), 1, text + "One."))
    made.apply(edit(at(11, 5), 2, text + "Two.", parent_rev_id=1))
    made.progress.reconciled[to_ms(OCTOBER)] = "boundary"
    made.arrived("a", JANUARY + HOUR)
    made.apply(edit(JANUARY + 2 * HOUR, 3, text + "Three.", parent_rev_id=2))
    made.commit()
    held = made.store.held(1)
    assert held.revs == (1, 2, 3)  # November still starts with revision 1
    made.progress.reconciled[to_ms(NOVEMBER)] = "boundary"
    made.arrived("a", JANUARY + timedelta(days=32))
    made.apply(edit(JANUARY + timedelta(days=32), 4, text + "Four.", parent_rev_id=3))
    made.commit()
    assert made.progress.first == to_ms(DECEMBER)
    assert made.store.held(1).revs == (2, 3, 4)
    assert made.as_of().article(1, to_ms(DECEMBER)).article.text == text + "Two."


def test_a_window_is_found_by_its_name_and_the_message_lists_those_there_are():
    made = stream(as_of=OCTOBER)
    made.arrived("a", NOVEMBER + HOUR)
    assert find_window(made, "2026-10").start == OCTOBER
    with pytest.raises(ConfigError, match="2026-10, 2026-11"):
        find_window(made, "2025-01")


# --- what a state says of itself ------------------------------------------------------------


def test_a_state_of_another_wiki_is_refused():
    kv = MemoryKeyValues()
    engine(kv=kv).commit()
    with pytest.raises(StateError, match="state is of testwiki, the settings name frwiki"):
        Engine.open(Store(kv), CoreConfig(wiki=WikiConfig(name="frwiki")))


def test_an_empty_state_cannot_be_opened_for_reading():
    with pytest.raises(StateError, match="empty"):
        reading(Store(MemoryKeyValues()), CONFIG)


def test_a_state_opened_again_goes_on_where_it_stood():
    kv = MemoryKeyValues()
    first = stream(as_of=OCTOBER, kv=kv)
    first.arrived("a", NOVEMBER + HOUR)
    first.apply(edit(at(11, 5), 1, "A."))
    first.count("canaries", 2)
    first.commit(positions=b"here")
    second = stream(kv=kv)
    assert second.progress == first.progress
    assert second.counts == {"canaries": 2, "revisions": 1}
    assert second.progress.positions == b"here"
    assert names(second.windows()) == ["2026-10", "2026-11"]


def test_nothing_is_written_before_the_commit_and_all_of_it_by_it():
    kv = MemoryKeyValues()
    made = stream(as_of=OCTOBER, kv=kv)
    made.apply(edit(at(10, 5), 1, "A sentence stands here."))
    made.dead_letter(DeadLetter(reason="bad"))
    assert pairs(kv) == {}
    made.commit(positions=b"p")
    families = {key[:1] for key in pairs(kv)}
    assert {layout.PAGE, layout.TEXT, layout.OUTBOX, layout.DEAD, layout.META} <= families


# --- dead letters ---------------------------------------------------------------------------


def letters(made):
    found = made.store.kv.scan(layout.DEAD)
    return [codec.decode(value, DeadLetter) for _, value in found]


def test_what_could_not_be_used_is_kept_and_counted_by_reason():
    made = stream(as_of=OCTOBER)
    lost = event(ChangeKind.DELETE, at(10, 5), page_id=None, title="Nobody")
    assert made.apply(Revision(change=lost)) is None
    ahead = edit(at(10, 9), 5, "x", arrival_time=at(10, 5))
    assert made.apply(ahead) is None
    made.apply(entity_edit(at(10, 5), 7, "Q1", "no JSON", parent_rev_id=0))
    made.commit()
    assert [letter.reason for letter in letters(made)] == [
        "no_page",
        "from_the_future",
        "bad_content",
    ]
    assert made.counts["dead:no_page"] == made.counts["dead:from_the_future"] == 1
    assert made.store.held(1) is None


def test_letters_go_on_counting_after_a_restart():
    kv = MemoryKeyValues()
    for _ in range(2):
        made = stream(as_of=OCTOBER, kv=kv)
        made.dead_letter(DeadLetter(reason="bad"))
        made.commit()
    assert len(letters(made)) == made.counts["dead:bad"] == 2


def test_an_event_that_names_no_page_id_finds_the_page_that_bears_its_title_now():
    made = stream(as_of=OCTOBER)
    made.apply(edit(at(10, 5), 1, "A."))
    made.commit()
    gone = event(ChangeKind.DELETE, at(10, 6), page_id=None, title="A")
    made.apply(Revision(change=gone))
    made.commit()
    assert made.as_of().article(1, to_ms(NOVEMBER)).article is None


# --- late events and needs ------------------------------------------------------------------


def test_what_comes_for_a_closed_window_is_listed_as_late_once():
    made = stream(as_of=OCTOBER)
    made.apply(edit(at(10, 5), 1, "One."))
    made.arrived("a", NOVEMBER + HOUR)
    late = edit(at(10, 20), 2, "Two.", parent_rev_id=1)
    made.apply(late)
    made.apply(late)
    made.commit()
    (listed,) = made.late_events()
    assert (listed.window_start, listed.key, listed.rev_id) == (to_ms(OCTOBER), 1, 2)
    assert made.as_of(known=to_ms(OCTOBER)).article(1, to_ms(NOVEMBER)).article.text == "One."
    assert made.as_of().article(1, to_ms(NOVEMBER)).article.text == "Two."


def test_an_old_edit_restored_this_month_is_not_late():
    made = stream(as_of=OCTOBER)
    made.arrived("a", NOVEMBER + HOUR)
    back = event(ChangeKind.RESTORE, at(11, 5), 1, rev_dt=at(9, 5))
    made.apply(Revision(change=back, content="Back."))
    made.commit()
    assert list(made.late_events()) == []


def test_a_revision_that_the_ledger_names_is_fetched_and_never_late():
    made = stream(as_of=OCTOBER)
    made.arrived("a", NOVEMBER + HOUR)
    made.apply(edit(at(11, 5), 3, "Three.", parent_rev_id=2))
    made.commit()
    assert list(made.store.needs()) == [(1, 2)]
    today = edit(at(10, 20), 2, "Two.", parent_rev_id=1, title="Name of today", namespace=5)
    contents = Contents({2: today})
    Needs(made, contents).supply()
    assert contents.asked[0] == ("testwiki", [2])
    assert list(made.late_events()) == []
    state = made.as_of(known=to_ms(NOVEMBER))
    found = state.article(1, to_ms(NOVEMBER)).article
    assert (found.text, found.title) == ("Two.", "A")
    assert state.article(1, to_ms(DECEMBER)).article.text == "Three."


def test_a_late_edit_whose_text_is_fetched_afterwards_stays_out_of_the_first_version():
    made = stream(as_of=OCTOBER)
    made.apply(edit(at(10, 5), 1, "One."))
    made.arrived("a", NOVEMBER + HOUR)
    made.apply(edit(at(10, 20), 2, None, parent_rev_id=1))
    made.commit()
    Needs(made, Contents({2: edit(at(10, 20), 2, "Two.", parent_rev_id=1)})).supply()
    assert made.as_of(known=to_ms(OCTOBER)).article(1, to_ms(NOVEMBER)).article.text == "One."
    assert made.as_of().article(1, to_ms(NOVEMBER)).article.text == "Two."


def test_what_cannot_be_had_is_asked_for_three_times_and_left_to_the_report():
    made = stream(as_of=OCTOBER)
    made.apply(edit(at(10, 5), 3, None, parent_rev_id=0))
    made.commit()
    contents = Contents({})
    needs = Needs(made, contents)
    needs.supply()
    needs.supply()
    needs.some()
    assert [rev_ids for _, rev_ids in contents.asked] == [[3]] * 3
    assert list(made.store.needs()) == [(1, 3)]


def test_needs_of_pages_and_of_entities_are_asked_of_their_own_wikis():
    made = stream(as_of=OCTOBER)
    made.apply(edit(at(10, 5), 3, None, parent_rev_id=0))
    made.apply(entity_edit(at(10, 5), 4, "Q1", None, parent_rev_id=0))
    made.commit()
    contents = Contents(
        {3: edit(at(10, 5), 3, "A."), 4: entity_edit(at(10, 5), 4, "Q1", item("Q1"))}
    )
    Needs(made, contents).supply()
    assert contents.asked == [("testwiki", [3]), ("testdata", [4])]
    assert list(made.store.needs()) == []


def test_the_live_feed_waits_in_the_outbox_of_its_window():
    made = stream(as_of=OCTOBER)
    made.apply(edit(at(10, 5), 1, "One stands here."))
    made.apply(edit(at(11, 5), 2, "Two stands here.", parent_rev_id=1))
    made.commit()
    starts = [int.from_bytes(key[1:9], "big") for key, _ in made.store.kv.scan(layout.OUTBOX)]
    assert starts == [to_ms(OCTOBER), to_ms(NOVEMBER)]


@pytest.mark.parametrize("lateness", [0, 7200])
def test_the_lateness_is_a_setting(lateness):
    windows = msgspec.structs.replace(CONFIG.windows, lateness_seconds=lateness)
    made = stream(as_of=OCTOBER, config=msgspec.structs.replace(CONFIG, windows=windows))
    made.arrived("a", NOVEMBER + timedelta(seconds=lateness) - MILLISECOND)
    assert made.closed_now == []
    made.arrived("a", NOVEMBER + timedelta(seconds=lateness))
    assert names(made.closed_now) == ["2026-10"]


# --- a state that lives no longer than a run --------------------------------------------------


def test_a_passing_state_reads_as_a_lasting_one_whatever_was_split_when():
    text = "Lead.\n\n* one\n* two\n\n== H ==\nLast {{t|\n\n}} words."
    later = text.replace("two", "three") + "\n\nNew."
    read = []
    for passing in (False, True):
        made = Engine.open(
            Store(MemoryKeyValues()), CONFIG, fixed=(OCTOBER, NOVEMBER), passing=passing
        )
        first = edit(at(9, 3), 1, text)
        made.apply(msgspec.structs.replace(first, boundary=OCTOBER), 1)
        made.apply(msgspec.structs.replace(first, boundary=OCTOBER), 2)
        made.commit()
        second = edit(at(10, 3), 2, later, parent_rev_id=1)
        made.apply(msgspec.structs.replace(second, boundary=NOVEMBER), 1)
        made.commit()
        state = made.as_of()
        moments = (to_ms(OCTOBER), to_ms(NOVEMBER))
        read.append([state.article(page, moment) for page in (1, 2) for moment in moments])
    assert read[0] == read[1]
    assert read[0][1].article.blocks is not None
