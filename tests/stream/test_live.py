"""A live source in the engine: put in order, spared needless fetches, healed."""

from datetime import timedelta

import msgspec
import pytest
from histories import CONFIG, DECEMBER, NOVEMBER, OCTOBER, at, edit, entity_edit, event, item, pairs
from msgspec.structs import replace

from stream import metrics as names
from stream.beside import Beside, known
from stream.decide import Status
from stream.embedded import Embedded, Live
from stream.events import Canary
from stream.found import Failed, Failure
from stream.metrics import Metrics
from stream.position import Positions
from stream.settings import Settings, StreamConfig
from stream.sides import SideKind, SideRecord
from twiki.engine import Engine
from twiki.errors import SourceError
from twiki.live import LiveSentence, Output
from twiki.records import ChangeKind, Revision, SourcePosition
from twiki.state import codec, layout
from twiki.state.kv import MemoryKeyValues
from twiki.state.store import Store
from twiki.times import to_ms

SETTINGS = Settings(wiki=CONFIG.wiki, facts=CONFIG.facts)
SECOND = timedelta(seconds=1)
TOPIC = "eqiad.mediawiki.page_change.v1"


class Api:
    """An API that knows revisions; remembers what was asked for."""

    def __init__(self, *revisions, current=()):
        self.known = {r.change.rev_id: r for r in revisions}
        self.now = {r.change.title: r for r in current}
        self.fetched, self.by_id, self.reread = [], [], []

    def fetch(self, changes, wanted=lambda _change: True):
        out = []
        for change in changes:
            found = self.known.get(change.rev_id)
            if found is None or not wanted(change):
                out.append(Revision(change=change))
                continue
            self.fetched.append(change.rev_id)
            out.append(replace(found, change=change))
        return out

    def revisions(self, wiki, rev_ids):
        self.by_id += rev_ids
        return [
            self.known.get(rev) or Failed(wiki=wiki, reason=Failure.MISSING, rev_id=rev)
            for rev in rev_ids
        ]

    def revision_before(self, wiki, time, *, page_id=None, title=None):
        found = [
            r
            for r in self.known.values()
            if r.change.effective_time < time
            and (r.change.page_id == page_id if page_id else r.change.title == title)
        ]
        lost = Failed(wiki=wiki, reason=Failure.MISSING, title=title)
        return max(found, key=lambda r: r.change.effective_time, default=lost)

    def current(self, wiki, titles):
        self.reread += titles
        missing = [Failed(wiki=wiki, reason=Failure.MISSING, title=title) for title in titles]
        return [self.now.get(title, lost) for title, lost in zip(titles, missing, strict=True)]


class Lists:
    """The API's lists: the changes that were lost, by wiki."""

    def __init__(self, *changes, error=None):
        self.lost = changes
        self.asked = []
        self.error = error

    def changes(self, wiki, start, end, on_time=lambda _time: None):
        self.asked.append((wiki, start, end))
        if self.error is not None:
            raise self.error
        for change in self.lost:
            if change.wiki == wiki and start <= change.effective_time <= end:
                on_time(change.effective_time)
                yield change


def opened(kv=None, api=None, lists=None, **stream):
    kv = MemoryKeyValues() if kv is None else kv
    chosen = replace(SETTINGS, stream=replace(StreamConfig(), **stream))
    made = Engine.open(Store(kv), chosen, as_of=OCTOBER)
    api = api or Api()
    live = Live(api, lists or Lists(), lambda: made.watermark or OCTOBER)
    return Embedded(made, chosen, api, Metrics(), live=live)


def come(revision, offset, topic=TOPIC, after=0.0):
    """A change as the stream tells it: at an offset, ``after`` seconds late, without content."""
    change = revision.change if isinstance(revision, Revision) else revision
    arrival = change.effective_time + timedelta(seconds=after)
    position = SourcePosition(topic=topic, partition=0, offset=offset, timestamp_ms=to_ms(arrival))
    return replace(change, arrival_time=arrival, position=position, event_id=f"{topic}{offset}")


def canary(moment, offset, topic=TOPIC):
    position = SourcePosition(topic=topic, partition=0, offset=offset, timestamp_ms=to_ms(moment))
    return Canary(arrival_time=moment, position=position)


def told(embedded):
    """The live feed, in order."""
    scan = embedded.engine.store.kv.scan(layout.OUTBOX)
    return [codec.decode(value, Output) for _, value in scan]


def sentences(embedded):
    return [one.sentence.text for one in told(embedded) if isinstance(one, LiveSentence)]


def text(*parts):
    return "\n\n".join(parts)


FIRST = edit(at(10, 5), 1, text("One."))
SECOND_EDIT = edit(at(10, 5) + SECOND, 2, text("One.", "Two."), parent_rev_id=1)
THIRD = edit(at(10, 5) + 2 * SECOND, 3, text("One.", "Two.", "Three."), parent_rev_id=2)
EDITS = (FIRST, SECOND_EDIT, THIRD)


# --- order ----------------------------------------------------------------------------------


def test_stragglers_of_a_page_reach_the_feed_in_order():
    embedded = opened(api=Api(*EDITS))
    first, second, third = (come(r, n) for n, r in enumerate(EDITS))
    embedded.take([first, third, second, canary(at(10, 5) + timedelta(minutes=5), 9)])
    assert sentences(embedded) == ["One.", "Two.", "Three."]


def test_an_edit_whose_parent_stands_does_not_wait():
    embedded = opened(api=Api(*EDITS))
    for offset, revision in enumerate(EDITS):
        embedded.take([come(revision, offset)])
        assert embedded.positions.in_flight == 0
    assert sentences(embedded) == ["One.", "Two.", "Three."]


def test_after_a_restart_the_state_knows_what_was_out_last():
    kv = MemoryKeyValues()
    opened(kv, Api(*EDITS)).run([[come(FIRST, 0)]])
    again = opened(kv, Api(*EDITS))
    again.take([come(SECOND_EDIT, 1)])
    assert again.positions.in_flight == 0


def test_what_waits_is_not_applied_and_is_taken_again_after_a_kill():
    kv = MemoryKeyValues()
    killed = opened(kv, Api(*EDITS))
    killed.take([come(FIRST, 0), come(THIRD, 2), canary(at(10, 5) + 3 * SECOND, 3)])
    assert killed.positions.in_flight == 1
    kept = Positions.from_bytes(Engine.open(Store(kv), SETTINGS).progress.positions)
    assert [mark.offset for mark in kept.mark()] == [2]
    again = opened(kv, Api(*EDITS))
    again.take([come(THIRD, 2), canary(at(10, 5) + 3 * SECOND, 3), come(SECOND_EDIT, 4)])
    again.drain()
    again.engine.commit()
    assert again.metrics.value(names.REPEATED) == 1  # the canary, which was done
    assert sentences(again) == ["One.", "Two.", "Three."]


def test_a_window_never_closes_over_what_waits():
    closing = DECEMBER + timedelta(hours=1)
    late = edit(DECEMBER - SECOND, 5, text("Last words."), parent_rev_id=4, page_id=2, title="B")
    closed = []
    embedded = opened(api=Api(late))
    embedded._on_closed = closed.append
    embedded.take([canary(NOVEMBER + timedelta(hours=2), 0)])
    # It comes a second before the window closes, so that it still waits for stragglers then.
    embedded.take([come(late, 1, after=3600 - 1), canary(closing, 2)])
    assert [window.name for window in closed] == ["2026-10", "2026-11"]
    assert list(embedded.engine.late_events()) == []
    assert embedded.engine.as_of().article(2, to_ms(DECEMBER)).article.rev_id == 5


# --- what is fetched ------------------------------------------------------------------------


def test_a_burst_is_fetched_once_and_the_window_is_the_same():
    plain = opened(api=Api(*EDITS))
    burst = opened(api=Api(*EDITS), dwell_seconds=600.0)
    end = canary(at(10, 6), 9)
    for embedded in (plain, burst):
        embedded.take([*(come(r, n) for n, r in enumerate(EDITS)), end])
    assert plain._live.api.fetched == [1, 2, 3]
    assert burst._live.api.fetched == [3]
    states = [e.engine.as_of().article(1, to_ms(NOVEMBER)).article for e in (plain, burst)]
    assert states[0] == states[1]


def entity_events():
    return (
        entity_edit(at(10, 5), 10, "Q1", item("Q1", ("P1", "Q5")), parent_rev_id=0),
        entity_edit(
            at(10, 6),
            11,
            "Q1",
            item("Q1", ("P1", "Q6")),
            parent_rev_id=10,
            comment="/* wbsetclaim-update:2||1 */ [[Property:P1]]",
        ),
    )


def test_an_entity_without_an_article_is_fetched_when_its_window_closes():
    made, claim = entity_events()
    embedded = opened(api=Api(made, claim))
    embedded.take([come(made, 0), canary(at(10, 5) + timedelta(minutes=5), 1)])
    embedded.take([come(claim, 2), canary(at(10, 7), 3)])
    embedded.take([])
    assert embedded._live.api.fetched == [10]
    assert embedded._live.api.by_id == []
    assert embedded.metrics.labels(names.SKIPPED) == {"no_article": 1}
    embedded.take([canary(NOVEMBER + timedelta(hours=1), 4)])
    assert embedded._live.api.by_id == [11]
    assert embedded.engine.as_of().entity("Q1", to_ms(NOVEMBER)).rev_id == 11


@pytest.mark.parametrize(
    ("comment", "sitelink"),
    [
        ("/* wbsetlabel-set:1|en */ One", None),
        ("/* wbsetsitelink-add:1|testwiki */ A", None),
        ("a comment that nobody knows", None),
        ("/* wbsetclaim-update:2||1 */ x", "A"),
    ],
)
def test_what_can_matter_passes_the_gate(comment, sitelink):
    made = entity_edit(at(10, 5), 10, "Q1", item("Q1", sitelink=sitelink), parent_rev_id=0)
    then = entity_edit(at(10, 6), 11, "Q1", item("Q1"), parent_rev_id=10, comment=comment)
    embedded = opened(api=Api(made, then))
    embedded.take([come(made, 0), canary(at(10, 5) + timedelta(minutes=5), 1)])
    embedded.take([come(then, 2), canary(at(10, 7), 3)])
    assert embedded._live.api.fetched == [10, 11]


# --- healing --------------------------------------------------------------------------------


def test_a_gap_is_backfilled_when_its_stragglers_have_had_their_time():
    lists = Lists(SECOND_EDIT.change)
    embedded = opened(api=Api(*EDITS), lists=lists)
    embedded.take([come(FIRST, 0), come(THIRD, 2)])
    embedded.take([canary(at(10, 5) + timedelta(minutes=9), 3)])
    assert lists.asked == []
    embedded.take([canary(at(10, 5) + timedelta(minutes=11), 4)])
    assert embedded.positions.gaps() == ()
    assert embedded.metrics.value(names.BACKFILLED) == 1
    entries = embedded.engine.store.held(1).entries
    assert [entry.rev for entry in entries] == [1, 2, 3]
    # What a list tells moves no clock: its stream is none of those that the watermark waits for.
    assert set(embedded.engine.progress.watermarks) == {"mediawiki.page_change.v1"}


def test_a_lost_move_is_that_of_its_time_not_what_is_current_today():
    moved = edit(at(10, 6), 2, text("One."), parent_rev_id=1, title="B")
    later = edit(at(10, 6, 20), 3, text("One.", "Later."), parent_rev_id=2, title="B")
    logged = event(ChangeKind.MOVE, at(10, 6), title="B", from_title="A")
    embedded = opened(api=Api(FIRST, moved, later), lists=Lists(logged))
    embedded.take([come(FIRST, 0), come(later, 2), canary(at(10, 7), 3)])
    entries = {entry.rev: entry.effective for entry in embedded.engine.store.held(1).entries}
    assert entries == {1: to_ms(at(10, 5)), 2: to_ms(at(10, 6)), 3: to_ms(at(10, 6, 20))}


def test_every_gap_is_healed_before_the_window_that_it_lies_in_is_cut():
    end = NOVEMBER - SECOND
    before = edit(end - SECOND, 7, text("Seen."))
    lost = edit(end, 8, text("Lost."), parent_rev_id=7)
    closed = []
    embedded = opened(api=Api(before, lost), lists=Lists(lost.change))
    embedded._on_closed = lambda _window: closed.append(
        embedded.engine.as_of().article(1, to_ms(NOVEMBER)).article.rev_id
    )
    embedded.take([come(before, 0), canary(NOVEMBER + timedelta(hours=1), 2)])
    assert closed == [8]


def test_a_backfill_that_the_api_refuses_is_tried_again_later():
    lists = Lists(SECOND_EDIT.change, error=SourceError("not now"))
    embedded = opened(api=Api(*EDITS), lists=lists)
    embedded.take([come(FIRST, 0), come(THIRD, 2), canary(at(10, 5, 13), 3)])
    assert len(embedded.positions.gaps()) == 1
    lists.error = None
    embedded.take([canary(at(10, 5, 13, 2), 4)])
    assert len(embedded.positions.gaps()) == 1  # the API was asked a moment ago
    embedded.take([canary(at(10, 5, 13, 6), 5)])
    assert embedded.positions.gaps() == ()


def test_gaps_that_a_run_left_are_healed_when_the_next_one_starts():
    kv = MemoryKeyValues()
    opened(kv, Api(*EDITS)).run([[come(FIRST, 0), come(THIRD, 2)]])
    again = opened(kv, Api(*EDITS), Lists(SECOND_EDIT.change))
    heard = []
    assert again.mender.start(heard.append) == 1
    assert heard == [SECOND_EDIT.change.effective_time]
    assert again.mender.start() == 0


def restored_unseen():
    """A page that is deleted, and edited after a restore that the stream never told."""
    gone = event(ChangeKind.DELETE, at(10, 6), 1)
    back = edit(at(10, 8), 5, text("Back."), parent_rev_id=1)
    return gone, back


def test_a_missed_restore_is_noted_and_the_page_is_read_again():
    gone, back = restored_unseen()
    newest = edit(at(10, 8, 12, 30), 6, text("Newest."), parent_rev_id=5)
    api = Api(FIRST, back, newest, current=[newest])
    embedded = opened(api=api)
    embedded.take([come(FIRST, 0), canary(at(10, 5, 14), 1), come(gone, 2), canary(at(10, 7), 3)])
    embedded.take([come(back, 4), canary(at(10, 8, 13), 5)])
    sides = [codec.decode(v, SideRecord) for _, v in embedded.engine.store.kv.scan(layout.SIDE)]
    assert [(one.kind, one.reason) for one in sides] == [(SideKind.INCONSISTENT, "missed_undelete")]
    embedded.take([canary(at(10, 10), 6)])
    assert api.reread == ["A"]
    assert len(embedded.beside) == 0
    assert embedded.engine.store.held(1).stood == 6


def test_a_page_that_the_api_does_not_know_is_noted_and_not_deleted():
    gone, back = restored_unseen()
    embedded = opened(api=Api(FIRST, back))
    embedded.take([come(FIRST, 0), canary(at(10, 5, 14), 1), come(gone, 2), canary(at(10, 7), 3)])
    embedded.take([come(back, 4), canary(at(10, 10), 5)])
    embedded.take([canary(at(10, 11), 6)])
    reasons = [
        codec.decode(v, SideRecord).reason for _, v in embedded.engine.store.kv.scan(layout.SIDE)
    ]
    assert reasons == ["missed_undelete", "reread_missing"]
    assert embedded.engine.store.held(1).stood == 5


def test_an_event_told_twice_notes_nothing_twice():
    gone, back = restored_unseen()
    embedded = opened(api=Api(FIRST, back))
    for _ in range(2):
        for revision in (FIRST, Revision(change=gone), back):
            embedded._take_in(revision)
    embedded.engine.commit()
    assert len(list(embedded.engine.store.kv.scan(layout.SIDE))) == 1


def test_the_queue_and_the_side_records_survive_a_restart():
    gone, back = restored_unseen()
    kv = MemoryKeyValues()
    first = opened(kv, Api(FIRST, back))
    for revision in (FIRST, Revision(change=gone), back):
        first._take_in(revision)
    first.engine.commit()
    again = Beside(Engine.open(Store(kv), SETTINGS), Metrics())
    assert len(again) == 1
    (entry,) = again.take(10)
    assert (entry.title, entry.rev_id, entry.reasons) == ("A", 5, ("missed_undelete",))
    assert again.put_back(entry, attempts=2)
    (entry,) = again.take(10)
    assert not again.put_back(entry, attempts=2)


def test_what_the_ledger_knows_in_the_words_of_the_decision_table():
    embedded = opened(api=Api(FIRST))
    assert known(codec.Held()).status is Status.UNKNOWN
    embedded._take_in(FIRST)
    held = embedded.engine.batch.subject(1).held
    assert known(held) == (Status.CREATED, 1, at(10, 5))
    embedded._take_in(Revision(change=event(ChangeKind.DELETE, at(10, 6), 1)))
    held = embedded.engine.batch.subject(1).held
    assert known(held) == (Status.DELETED, 1, at(10, 6))


def test_the_state_is_that_of_a_source_in_perfect_order():
    calm, rough = opened(api=Api(*EDITS)), opened(api=Api(*EDITS))
    calm.run([[*(come(r, n) for n, r in enumerate(EDITS)), canary(at(10, 6), 3)]])
    third, first, again, second = (
        come(r, n) for n, r in enumerate((THIRD, FIRST, FIRST, SECOND_EDIT))
    )
    rough.run([[third], [first, again, second], [canary(at(10, 6), 4)]])

    def state(embedded):
        values = pairs(embedded.engine.store.kv)
        return {k: v for k, v in values.items() if k[:1] in b"ptechwiun"}

    assert state(calm) == state(rough)
    assert msgspec.to_builtins(told(calm)) == msgspec.to_builtins(told(rough))
