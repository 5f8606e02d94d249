"""The single-machine engine: one write a chunk; kills, cuts and repetition change nothing."""

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from histories import (
    CONFIG,
    DECEMBER,
    NOVEMBER,
    OCTOBER,
    at,
    delete,
    edit,
    entity_edit,
    hide,
    item,
    pairs,
    restore,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from stream.embedded import Embedded, NoContents, chunked, stream_of
from stream.events import Canary, Rejected
from stream.found import Failed, Failure
from stream.kinds import Reason
from stream.metrics import Metrics
from stream.position import Positions
from stream.settings import Settings
from twiki.engine import DeadLetter, Engine
from twiki.records import Change, Revision, SourcePosition
from twiki.state import codec, layout
from twiki.state.kv import MemoryKeyValues
from twiki.state.rocks import RocksKeyValues
from twiki.state.store import Store
from twiki.times import to_ms

SETTINGS = Settings(wiki=CONFIG.wiki, facts=CONFIG.facts)
TOPIC = "eqiad.mediawiki.page_change.v1"


TEXT = "Page {} stands. It has {} rooms.\n\nNothing else is said."


def placed(revisions, topic=TOPIC):
    """Revisions with the positions that a source would give them."""
    out = []
    for offset, revision in enumerate(revisions):
        position = SourcePosition(
            topic=topic,
            partition=0,
            offset=offset,
            timestamp_ms=to_ms(revision.change.arrival_time),
        )
        change = msgspec.structs.replace(
            revision.change, position=position, event_id=f"{topic}-{offset}"
        )
        out.append(msgspec.structs.replace(revision, change=change))
    return out


def month_of_life():
    """Pages and an entity over two months and into a third, with every kind of event."""
    events = []
    for page in range(1, 6):
        told = {"page_id": page, "title": f"Page {page}"}
        for n in range(8):
            moment = OCTOBER + timedelta(days=9 * n, hours=page)
            rev = page * 100 + n
            text = TEXT.format(page, n)
            events.append(edit(moment, rev, text, parent_rev_id=rev - 1 if n else 0, **told))
    gone = {"page_id": 2, "title": "Page 2"}
    events += [
        delete(at(10, 20), **gone),
        restore(
            at(10, 22), 201, TEXT.format(2, 1), rev_dt=OCTOBER + timedelta(days=9, hours=2), **gone
        ),
        hide(at(11, 3), 303, page_id=3, title="Page 3"),
        entity_edit(at(10, 4), 900, "Q1", item("Q1", ("P1", "Q5")), parent_rev_id=0),
        entity_edit(at(11, 4), 901, "Q1", item("Q1", ("P1", "Q6")), parent_rev_id=900),
    ]
    return placed(sorted(events, key=lambda r: (r.change.effective_time, r.change.rev_id or 0)))


LIFE = month_of_life()


class Contents(NoContents):
    """An API that knows all revisions, but for those in ``lost``; remembers what was asked."""

    def __init__(self, revisions, lost=()):
        self.known = {r.change.rev_id: r for r in revisions if r.content is not None}
        self.lost = set(lost)
        self.asked = []

    def fetch(self, changes):
        return [
            self._lost(change.wiki, change.rev_id, change)
            if change.rev_id in self.lost
            else msgspec.structs.replace(self.known[change.rev_id], change=change)
            if change.rev_id in self.known
            else Revision(change=change)
            for change in changes
        ]

    def revisions(self, wiki, rev_ids):
        self.asked += rev_ids
        return [self.known.get(rev) or self._lost(wiki, rev, None) for rev in rev_ids]


def opened(kv, contents=None, **how):
    made = Engine.open(Store(kv), SETTINGS, as_of=OCTOBER)
    return Embedded(made, SETTINGS, contents or NoContents(), Metrics(), **how)


def run(items, size=4, kv=None, contents=None, **how):
    kv = MemoryKeyValues() if kv is None else kv
    opened(kv, contents, **how).run(chunked(items, size))
    return pairs(kv)


WHOLE = run(LIFE)


def snapshot(values):
    kv = MemoryKeyValues()
    kv.write(values.items(), [])
    return kv


# --- chunks, repetition, kills --------------------------------------------------------------


@settings(deadline=None, max_examples=12)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=len(LIFE)))
def test_where_chunks_begin_and_end_does_not_show_in_the_state(sizes):
    kv, source = MemoryKeyValues(), iter(LIFE)
    embedded = opened(kv)
    chunks = [[item for _, item in zip(range(size), source, strict=False)] for size in sizes]
    embedded.run([*chunks, list(source)])
    assert pairs(kv) == WHOLE


def test_events_told_twice_change_nothing_but_a_counter():
    doubled = [event for one in LIFE for event in (one, one)]
    assert run(doubled) == WHOLE
    embedded = opened(snapshot(WHOLE))
    embedded.run(chunked(LIFE, 4))
    assert pairs(embedded.engine.store.kv) == WHOLE


def test_a_change_told_by_two_streams_is_applied_once():
    other = placed([r for r in LIFE if r.change.rev_id], topic="eqiad.mediawiki.recentchange")
    both = sorted([*LIFE, *other], key=lambda r: r.change.effective_time)
    state = run(both)
    assert meaning(state) == meaning(WHOLE)
    outputs = [
        {v for k, v in values.items() if k[:1] == layout.OUTBOX} for values in (state, WHOLE)
    ]
    assert outputs[0] == outputs[1]


def test_after_a_kill_behind_any_commit_the_rerun_gives_the_same_state_key_by_key():
    kv, taken = MemoryKeyValues(), []
    opened(kv, on_commit=lambda: taken.append(pairs(kv))).run(chunked(LIFE, 4))
    assert len(taken) > 10
    for values in taken:
        again = snapshot(values)
        embedded = opened(again)
        mark = {m.topic: m.offset for m in embedded.positions.mark()}.get(TOPIC, 0)
        rest = [r for r in LIFE if r.change.position.offset >= mark]
        embedded.run(chunked(rest, 4))
        assert pairs(again) == WHOLE


def test_a_rerun_that_begins_before_the_position_gives_the_same_state():
    kv, taken = MemoryKeyValues(), []
    opened(kv, on_commit=lambda: taken.append(pairs(kv))).run(chunked(LIFE, 7))
    for values in taken[1::2]:
        again = snapshot(values)
        opened(again).run(chunked(LIFE, 5))
        assert pairs(again) == WHOLE


_VICTIM = """
import os, signal, sys, pathlib
sys.path[:0] = [{tests!r}, {twiki!r}]
import test_embedded as t
kv = t.RocksKeyValues(pathlib.Path(sys.argv[1]), create=True)
left = int(sys.argv[2])
def killed():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
embedded = t.opened(kv, on_commit=killed)
mark = {{m.topic: m.offset for m in embedded.positions.mark()}}.get(t.TOPIC, 0)
rest = [r for r in t.LIFE if r.change.position.offset >= mark]
embedded.run(t.chunked(rest, 4))
kv.close()
"""


def test_sigkill_at_several_moments_leaves_the_state_of_an_undisturbed_run(tmp_path):
    tests = Path(__file__).parent
    script = _VICTIM.format(tests=str(tests), twiki=str(tests.parent / "twiki"))
    ends = []
    for commits in (3, 4, 99):
        done = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "db"), str(commits)],
            check=False,
            timeout=100,
            env={**os.environ, "PYTHONHASHSEED": str(commits)},
        )
        ends.append(done.returncode)
    assert ends == [-signal.SIGKILL] * 2 + [0]
    kv = RocksKeyValues(tmp_path / "db")
    assert pairs(kv) == WHOLE
    kv.close()


# --- fetching -------------------------------------------------------------------------------


def bare(revisions):
    return [r.change for r in revisions]


def meaning(values):
    """The state without counters, letters and what each text is stored against."""
    store = Store(snapshot(values))
    state = Engine.open(store, SETTINGS).as_of()
    months = [to_ms(moment) for moment in (OCTOBER, NOVEMBER, DECEMBER)]
    return [
        [state.article(page, moment) for page, _ in store.pages() for moment in months],
        [state.entity(key, moment) for key, _ in store.entities() for moment in months],
    ]


def test_events_whose_contents_are_fetched_give_the_state_of_those_that_carry_them():
    assert run(bare(LIFE), contents=Contents(LIFE)) == WHOLE


@pytest.mark.parametrize("size", [1, 5, 100])
def test_a_fetch_that_failed_is_kept_as_a_letter_and_asked_for_again_by_id(size):
    contents = Contents(LIFE, lost=[103, 303, 901])
    state = run(bare(LIFE), size, contents=contents)
    assert 103 in contents.asked
    assert meaning(state) == meaning(WHOLE)
    letters = [codec.decode(v, DeadLetter) for k, v in state.items() if k[:1] == layout.DEAD]
    assert [letter.reason for letter in letters] == ["fetch_missing"] * 3
    engine = Engine.open(Store(snapshot(state)), SETTINGS)
    assert engine.counts["failed:missing"] == 3


@pytest.mark.parametrize("size", [1, 2, 7, 200])
def test_an_edit_told_first_without_its_page_id_is_applied_once_wherever_chunks_end(size):
    class Api(Contents):
        def fetch(self, changes):
            found = super().fetch(changes)
            named = {r.change.rev_id: r.change.page_id for r in LIFE}
            return [
                msgspec.structs.replace(
                    r, change=msgspec.structs.replace(r.change, page_id=named[r.change.rev_id])
                )
                if isinstance(r, Revision) and r.change.page_id is None and r.change.rev_id
                else r
                for r in found
            ]

    edits = [r for r in LIFE if r.change.kind in ("create", "edit")]
    nameless = [
        msgspec.structs.replace(r.change, page_id=None)
        for r in placed(edits, topic="eqiad.mediawiki.recentchange")
    ]
    both = sorted(
        [*nameless, *bare(LIFE)],
        key=lambda c: (c.effective_time, c.rev_id or 0, c.page_id is not None),
    )
    state = run(both, size, contents=Api(LIFE))
    assert meaning(state) == meaning(WHOLE)


def test_what_cannot_be_had_at_all_stays_needed_and_the_stream_goes_on():
    state = run(bare(LIFE))  # NoContents
    store = Store(snapshot(state))
    assert {key for key, _ in store.needs()} == {1, 2, 3, 4, 5, "Q1"}
    assert len(Engine.open(store, SETTINGS).windows()) == 3


def test_a_stop_in_the_middle_of_a_fetch_leaves_the_position_before_what_was_not_applied():
    class Stopping(Contents):
        def fetch(self, changes):
            found = super().fetch(changes)
            stop = Failed(wiki="testwiki", reason=Failure.STOPPED, change=changes[-1])
            return [*found[:-2], stop, stop]

    kv = MemoryKeyValues()
    embedded = opened(kv, Stopping(LIFE))
    embedded.run(chunked(bare(LIFE), 6))
    kept = Positions.from_bytes(Engine.open(Store(kv), SETTINGS).progress.positions)
    assert [m.offset for m in kept.mark()] == [4]
    opened(kv, Contents(LIFE)).run(chunked(bare(LIFE[4:]), 4))
    assert pairs(kv) == WHOLE


# --- windows, canaries, letters -------------------------------------------------------------


def test_a_window_that_closed_is_announced_after_the_write_that_closed_it():
    kv, seen = MemoryKeyValues(), []

    def on_closed(window):
        seen.append((window.name, Engine.open(Store(kv), SETTINGS).progress.closed))

    opened(kv, on_closed=on_closed).run(chunked(LIFE, 4))
    assert seen == [("2026-10", to_ms(NOVEMBER)), ("2026-11", to_ms(DECEMBER))]


def canary(moment, topic=TOPIC, offset=0):
    position = SourcePosition(topic=topic, partition=0, offset=offset, timestamp_ms=to_ms(moment))
    return Canary(arrival_time=moment, position=position)


def test_canaries_move_the_watermark_of_a_quiet_wiki():
    kv, closed = MemoryKeyValues(), []
    embedded = opened(kv, on_closed=lambda window: closed.append(window.name))
    embedded.run([[canary(NOVEMBER)], [canary(NOVEMBER + timedelta(hours=1), offset=1)]])
    assert closed == ["2026-10"]
    assert Engine.open(Store(kv), SETTINGS).counts["canaries"] == 2


def test_both_data_centres_of_a_stream_are_one_clock():
    assert {
        stream_of(SourcePosition(topic=t, partition=0, offset=0, timestamp_ms=0))
        for t in (TOPIC, TOPIC.replace("eqiad", "codfw"))
    } == {"mediawiki.page_change.v1"}
    closed = []
    embedded = opened(MemoryKeyValues(), on_closed=lambda window: closed.append(window.name))
    late = NOVEMBER + timedelta(hours=1)
    codfw = TOPIC.replace("eqiad", "codfw")
    embedded.run([[canary(at(10, 5)), canary(late, codfw)]])
    assert closed == ["2026-10"]


def test_a_window_waits_for_the_slowest_stream():
    closed = []
    embedded = opened(MemoryKeyValues(), on_closed=lambda window: closed.append(window.name))
    slow, late = "eqiad.mediawiki.recentchange", NOVEMBER + timedelta(hours=1)
    embedded.run([[canary(at(10, 5), slow), canary(late)]])
    assert closed == []


def test_a_bad_event_is_a_letter_with_its_raw_bytes_and_position_and_moves_the_position():
    position = SourcePosition(topic=TOPIC, partition=0, offset=7, timestamp_ms=1)
    bad = Rejected(
        reason=Reason.MALFORMED,
        detail="no JSON",
        raw=b"{",
        position=position,
        arrival_time=at(10, 5),
    )
    dull = Rejected(
        reason=Reason.NO_EFFECT,
        position=msgspec.structs.replace(position, offset=8),
        arrival_time=at(10, 5),
    )
    kv = MemoryKeyValues()
    embedded = opened(kv)
    embedded.run([[bad, dull]])
    letters = [codec.decode(v, DeadLetter) for k, v in pairs(kv).items() if k[:1] == layout.DEAD]
    (letter,) = letters
    assert (letter.reason, letter.detail, letter.raw) == ("malformed", "no JSON", b"{")
    assert '"offset":7' in letter.position
    assert embedded.engine.counts["rejected:no_effect"] == 1
    assert [m.offset for m in embedded.positions.mark()] == [9]


def test_chunks_go_by_count():
    assert list(chunked(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(chunked([], 2)) == []


@pytest.mark.parametrize("fetched", [True, False])
def test_a_stop_ends_after_the_chunk_at_hand(fetched):
    kv = MemoryKeyValues()
    items = bare(LIFE) if fetched else LIFE
    embedded = opened(kv, Contents(LIFE))
    embedded.stop()
    embedded.run(chunked(items, 4))
    assert [m.offset for m in embedded.positions.mark()] == [4]
    assert isinstance(items[0], Change if fetched else Revision)
