"""What becomes of an account of a change: told twice, nameless, late, failed, or without end."""

from datetime import timedelta
from typing import NamedTuple

import pytest
from histories import CONFIG, NOVEMBER, OCTOBER, at, edit, entity_edit, event, item
from msgspec.structs import replace
from test_embedded import LIFE, Contents, bare, placed, run
from test_embedded import opened as replayed
from test_live import (
    EDITS,
    FIRST,
    SECOND,
    SECOND_EDIT,
    THIRD,
    Api,
    canary,
    come,
    opened,
    restored_unseen,
    sentences,
)
from test_live import Lists as Lost

from stream import metrics as names
from stream.beside import Beside
from stream.embedded import chunked
from stream.found import Failed, Failure
from stream.heal import heal_gaps
from stream.ordering import Ordering
from stream.position import Positions
from stream.settings import StreamConfig
from stream.sides import Reread, SideKind, SideRecord
from twiki.engine import Engine
from twiki.records import Change, ChangeKind, Revision
from twiki.state import codec, layout
from twiki.state.kv import MemoryKeyValues
from twiki.state.store import Store

RECENT = "eqiad.mediawiki.recentchange"


def sides(embedded):
    embedded.engine.commit()
    scan = embedded.engine.store.kv.scan(layout.SIDE)
    return [codec.decode(value, SideRecord) for _, value in scan]


def nameless(revision, offset):
    """The account of recentchange, which names no page."""
    change = revision.change if isinstance(revision, Revision) else revision
    return replace(come(change, offset, RECENT), page_id=None)


# --- twice ----------------------------------------------------------------------------------


class Counting(Contents):
    """Remembers what was asked for with its event."""

    def __init__(self, revisions):
        super().__init__(revisions)
        self.fetched = []

    def fetch(self, changes):
        self.fetched += changes
        return super().fetch(changes)


def test_what_was_told_already_is_not_fetched_again():
    other = placed([r for r in LIFE if r.change.rev_id], topic=RECENT)
    contents = Counting(LIFE)
    run(bare([*LIFE, *other]), contents=contents)
    assert len([change for change in contents.fetched if change.rev_id]) == len(other)


def test_of_two_accounts_in_one_chunk_the_one_that_names_the_page_is_taken():
    contents = Counting(EDITS)
    replayed(MemoryKeyValues(), contents).run([[nameless(FIRST, 0), come(FIRST, 0)]])
    assert [change.page_id for change in contents.fetched] == [1]


def test_every_write_holds_the_position_of_what_is_in_it():
    kv = MemoryKeyValues()
    embedded = replayed(kv)
    for end in range(4, len(LIFE), 4):
        embedded.take(LIFE[end - 4 : end])
        kept = Positions.from_bytes(Engine.open(Store(kv), CONFIG).progress.positions)
        assert [mark.offset for mark in kept.mark()] == [end]


def test_after_a_restart_stragglers_of_a_slow_stream_are_still_waited_for():
    kv = MemoryKeyValues()
    opened(kv, Api(*EDITS)).run([[come(FIRST, 0), canary(at(10, 5), 0, RECENT)]])
    again = opened(kv, Api(*EDITS))
    later = at(10, 5) + timedelta(minutes=5)
    again.take([come(THIRD, 1), canary(later, 2)])
    assert again.positions.in_flight == 1
    again.take([come(SECOND_EDIT, 3), canary(later, 1, RECENT)])
    assert sentences(again) == ["One.", "Two.", "Three."]


# --- nameless -------------------------------------------------------------------------------


class Moved(Api):
    """An API that knows the revisions under another page, as after a history merge."""

    def fetch(self, changes, wanted=lambda _change: True):
        return [
            replace(found, change=replace(found.change, page_id=99, rev_id=found.change.rev_id))
            if change.page_id is None
            else found
            for change, found in zip(changes, super().fetch(changes, wanted), strict=True)
        ]


def test_a_nameless_edit_belongs_to_the_page_that_bore_its_title_then():
    embedded = opened(api=Moved(*EDITS))
    embedded.take([come(FIRST, 0)])
    embedded.take([nameless(SECOND_EDIT, 0)])
    assert embedded.engine.store.held(1).stood == 2
    assert embedded.engine.store.held(99) is None


def test_a_lost_nameless_edit_is_placed_in_the_same_way():
    lost = replace(SECOND_EDIT.change, page_id=None)
    embedded = opened(api=Moved(*EDITS), lists=Lost(lost))
    embedded.take([come(FIRST, 0), come(THIRD, 2), canary(at(10, 6), 3)])
    assert embedded.positions.gaps() == ()
    assert [entry.rev for entry in embedded.engine.store.held(1).entries] == [1, 2, 3]
    assert embedded.engine.store.held(99) is None


def test_what_cannot_be_placed_is_taken_when_another_stream_names_the_page():
    embedded = opened(api=Api(*EDITS))
    embedded.take([nameless(FIRST, 0)])
    assert embedded.engine.counts["unplaced"] == 1
    embedded.take([come(FIRST, 0)])
    assert embedded.engine.store.held(1).stood == 1


# --- late, failed, without end --------------------------------------------------------------


def test_a_change_for_a_closed_window_is_noted_as_late_once():
    embedded = opened(api=Api(*EDITS))
    embedded.take([come(FIRST, 0), canary(NOVEMBER + timedelta(hours=1), 1)])
    embedded.take([come(SECOND_EDIT, 2, after=40 * 86400), come(SECOND_EDIT, 3, after=40 * 86400)])
    embedded.drain()
    assert [(one.kind, one.rev_id) for one in sides(embedded)] == [(SideKind.LATE, 2)]
    assert embedded.metrics.value(names.LATE) == 1


class Refusing(Api):
    def fetch(self, changes, wanted=lambda _change: True):
        return [
            Failed(
                wiki=c.wiki, reason=Failure.UNAVAILABLE, change=c, rev_id=c.rev_id, title=c.title
            )
            for c in changes
        ]


@pytest.mark.parametrize("named", [True, False])
def test_a_content_that_cannot_be_had_is_noted_and_read_again_where_no_ledger_names_it(named):
    api = Refusing()
    embedded = opened(api=api)
    embedded.take([come(FIRST, 0) if named else nameless(FIRST, 0)])
    side = sides(embedded)[0]
    assert (side.kind, side.reason, side.rev_id) == (SideKind.FAILED, "unavailable", 1)
    assert api.reread == ([] if named else ["A"])
    assert (embedded.engine.store.held(1) is not None) == named


def test_side_records_are_bounded_and_the_newest_stay(monkeypatch):
    monkeypatch.setattr("stream.beside.KEPT", 3)
    embedded = opened()
    for day in range(1, 8):
        embedded.beside.late(event(ChangeKind.DELETE, at(10, day), day))
    assert [one.rev_id for one in sides(embedded)] == [5, 6, 7]


def test_a_page_that_never_answers_leaves_the_queue_after_its_attempts():
    embedded = opened()
    beside = Beside(embedded.engine, embedded.metrics)
    entry = Reread(wiki="testwiki", title="A")
    told = []
    while beside.put_back(entry, attempts=3):
        embedded.engine.commit()
        (entry,) = beside.take(1)
        told.append(entry.attempts)
    assert told == [1, 2]
    assert len(beside) == 0


def test_a_backfill_fetches_only_what_the_ledger_lacks():
    api = Api(*EDITS)
    embedded = opened(api=api, lists=Lost(*(revision.change for revision in EDITS)))
    embedded.take([come(FIRST, 0), come(THIRD, 2), canary(at(10, 6), 3)])
    assert embedded.positions.gaps() == ()
    assert sorted(api.fetched) == [1, 2, 3]


@pytest.mark.parametrize(("minute", "stands"), [(45, 6), (55, 5)])
def test_a_page_read_again_tells_nothing_whose_event_may_still_come(minute, stands):
    gone, back = restored_unseen()
    newest = edit(at(10, 8, 12, minute), 6, "Newest.", parent_rev_id=5)
    embedded = opened(api=Api(FIRST, back, newest, current=[newest]))
    embedded.take([come(FIRST, 0), canary(at(10, 5, 14), 1), come(gone, 2), canary(at(10, 7), 3)])
    embedded.take([come(back, 4), canary(at(10, 8, 13), 5)])
    assert embedded.metrics.value(names.REREAD) == 1
    assert embedded.engine.store.held(1).stood == stands


def test_only_the_gaps_that_were_asked_about_are_healed():
    positions = Positions()
    for offset in (0, 2, 4):
        positions.begin(come(FIRST, offset, after=offset).position)
    first, second = positions.gaps()
    found = heal_gaps(positions, Lost(), wikis=("testwiki",), now=OCTOBER, gaps=[first])
    assert list(found) == []
    assert positions.gaps() == (second,)


def in_chunks(events, size, api, **stream):
    embedded = opened(api=api, **stream)
    for chunk in chunked(events, size):
        embedded.take(chunk)
    return embedded


SIZES = (1, 2, 3, 100)


def test_where_chunks_begin_does_not_show_in_the_order_of_the_feed():
    shuffled = [come(FIRST, 0), come(THIRD, 1), come(SECOND_EDIT, 2)]
    events = [*shuffled, canary(at(10, 5) + 300 * SECOND, 9)]
    feeds = [sentences(in_chunks(events, size, Api(*EDITS))) for size in SIZES]
    assert feeds == [["One.", "Two.", "Three."]] * len(SIZES)


def test_where_chunks_begin_does_not_show_in_what_is_fetched_of_a_burst():
    texts = [edit(at(10, 5) + 100 * n * SECOND, n + 1, f"{n}.", parent_rev_id=n) for n in range(20)]
    events = [*(come(one, n) for n, one in enumerate(texts)), canary(at(10, 6), 99)]
    fetched = []
    for size in SIZES:
        api = Api(*texts)
        in_chunks(events, size, api, dwell_seconds=600.0)
        fetched.append(api.fetched)
    # The newest of each span of ten minutes: edits come every 100 seconds.
    assert fetched == [[6, 12, 18, 20]] * len(SIZES)


def test_a_burst_on_an_entity_is_fetched_once_behind_the_gate_too():
    made = [
        entity_edit(at(10, 5) + n * SECOND, n + 1, "Q1", item("Q1", sitelink="A"), parent_rev_id=n)
        for n in range(4)
    ]
    events = [*(come(one, n) for n, one in enumerate(made)), canary(at(10, 6), 99)]
    api = Api(*made)
    in_chunks(events, 100, api, dwell_seconds=600.0)
    assert api.fetched == [4]


def test_of_two_edits_of_an_entity_in_one_chunk_the_gate_knows_the_first_when_it_sees_the_second():
    linked = entity_edit(at(10, 5), 1, "Q1", item("Q1", sitelink="A"), parent_rev_id=0)
    claim = entity_edit(
        at(10, 5) + SECOND,
        2,
        "Q1",
        item("Q1", ("P1", "Q5"), sitelink="A"),
        parent_rev_id=1,
        comment="/* wbsetclaim-create:2||1 */",
    )
    bare_item = entity_edit(at(10, 4), 9, "Q1", item("Q1"), parent_rev_id=0)
    api = Api(bare_item, linked, claim)
    embedded = opened(api=api)
    embedded.take([come(bare_item, 0), canary(at(10, 4, 13), 1)])
    embedded.take([come(linked, 2), come(claim, 3), canary(at(10, 6), 4)])
    assert api.fetched == [9, 1, 2]


def test_what_rests_is_bounded():
    ordering = Ordering(
        replace(StreamConfig(), reorder_seconds=0.0, dwell_seconds=3600.0),
        {},
        lambda _change: 0,
        limit=3,
    )
    out = []
    for n in range(10):
        step = Rest(come(event(ChangeKind.EDIT, at(10, 5), n + 1, page_id=n + 1), n))
        out += ordering.push(step, None)
    assert (len(out), len(ordering)) == (7, 3)


class Rest(NamedTuple):
    """A step on its way."""

    change: Change

    @property
    def arrival(self):
        return ("stream", self.change.arrival_time)
