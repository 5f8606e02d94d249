import itertools

import msgspec
from cluster_records import FIRST, at, record

from stream.cluster import state
from stream.cluster.state import PROGRESS
from stream.cluster.steps import Steps
from stream.topics import CloseRecord, ReconciledRecord, Topic, decode_window
from twiki.times import to_ms

KEY = b"enwiki:7"
END = to_ms(at(30).replace(month=12, day=1))


def number(offset, generation=0):
    return state.number(generation, offset)


def put(steps, states, offset, told, key=KEY):
    step = steps.take(number(offset), key, told, states.get)
    states.update(step.puts)
    return step


def test_a_revision_makes_a_numbered_value_and_tells_its_sentences(settings):
    states = {}
    step = put(Steps(settings), states, 4, record())
    assert state.number_of(states[KEY]) == number(4)
    assert [message.topic for message in step.told] == [Topic.SENTENCES]
    kept = state.decode_kept(states[KEY])
    assert kept.held.revs == (1,)
    assert set(kept.contents) == {1}


def test_what_was_applied_is_given_again_as_it_is_and_told_to_nobody(settings):
    steps, states = Steps(settings), {}
    put(steps, states, 4, record())
    before = states[KEY]
    step = put(steps, states, 4, record())
    assert step.repeated
    assert step.told == ()
    assert step.puts == {KEY: before}


def test_a_later_generation_counts_from_zero_again(settings):
    steps, states = Steps(settings), {}
    put(steps, states, 900, record())
    step = steps.take(number(0, 1), KEY, record(2, "Ada died in 1852.", parent=1), states.get)
    assert not step.repeated
    assert state.number_of(step.puts[KEY]) > number(900)


def test_the_same_event_in_another_record_changes_and_tells_nothing(settings):
    steps, states = Steps(settings), {}
    put(steps, states, 4, record())
    before = state.decode_kept(states[KEY])
    step = put(steps, states, 5, record())
    assert step.told == ()
    assert state.decode_kept(states[KEY]) == before


def test_a_revision_that_the_state_lacks_is_asked_for(settings):
    step = put(Steps(settings), {}, 4, record(9, None, parent=8, day=5))
    asked = [msgspec.json.decode(m.value)["rev_id"] for m in step.told if m.topic is Topic.NEEDS]
    assert asked == [8, 9]


def test_a_supplied_revision_is_never_late(settings):
    steps, states = Steps(settings), {}
    put(steps, states, 4, record(9, None, parent=8, day=5, closed=END))
    put(steps, states, 5, record(8, "Before.", parent=0, day=3, supplied=True))
    entries = state.decode_kept(states[KEY]).held.entries
    assert {e.rev: e.epoch for e in entries} == {8: 0, 9: END}
    assert next(e for e in entries if e.rev == 8).title is None


def test_an_event_from_the_future_is_a_dead_letter(settings):
    step = put(Steps(settings), {}, 4, record(day=20, arrival=at(2)))
    assert step.puts == {}
    assert [message.topic for message in step.told] == [Topic.DEAD]


def test_a_value_over_the_limit_is_a_dead_letter_and_the_state_stays(settings):
    steps, states = Steps(settings), {}
    put(steps, states, 4, record())
    before = states[KEY]
    noise = " ".join(str(hash((n, n))) for n in range(6000))
    step = put(steps, states, 5, record(2, noise, parent=1, day=3))
    assert states[KEY] == before
    assert b"too_large" in step.told[0].value


def test_a_window_closes_when_its_close_has_come_through_every_partition(settings):
    steps, states = Steps(settings), {}
    for offset, source in enumerate((0, 2, 2, 1)):
        close = CloseRecord(start=FIRST, end=END, first=FIRST, source=source)
        step = put(steps, states, offset, close, b"!close")
        closed = state.decode_progress(states[PROGRESS]).closed
        assert closed == (END if source == 1 else 0)
    assert decode_window(step.told[0].value).window == "2026-11"


def test_a_window_is_let_go_when_it_is_reconciled_and_two_more_have_closed(settings):
    steps, states = Steps(settings), {}
    ends = [FIRST, END, *(to_ms(at(1).replace(year=2027, month=m)) for m in (1, 2))]
    reconciled = ReconciledRecord(
        start=FIRST, end=END, run="r", count=0, policy="dump", first=FIRST
    )
    put(steps, states, 0, reconciled, b"!reconciled")
    offset = 1
    for start, end in itertools.pairwise(ends):
        for source in range(3):
            close = CloseRecord(start=start, end=end, first=FIRST, source=source)
            put(steps, states, offset, close, b"!close")
            offset += 1
    progress = state.decode_progress(states[PROGRESS])
    assert progress.closed == ends[-1]
    assert progress.first == END
    assert progress.reconciled == {}
