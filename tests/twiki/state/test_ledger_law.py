"""Laws of the ledger: a set, read alike whatever came first; folding forgets only what is over."""

import pytest
from histories import entry
from hypothesis import given
from hypothesis import strategies as st

from twiki.state import codec
from twiki.state import ledger as ledgers
from twiki.state.ledger import (
    FOREVER,
    EntryKind,
    fold,
    follows,
    hidden_revisions,
    is_folded,
    standing,
    union,
)

TIMES = st.integers(1, 12).map(lambda n: n * 10)
REVS = st.integers(1, 6)
TITLES = st.sampled_from([("A", 0), ("B", 0), ("Draft:A", 118), (None, None)])
BOUNDARIES = (30, 60, 90, 120)


@st.composite
def entries(draw):
    """Any entry at all, contradictions with other reports of the same event included."""
    kind = draw(st.sampled_from(list(EntryKind)))
    title, namespace = draw(TITLES)
    epoch = draw(st.sampled_from([0, 0, 30, 60]))
    if kind is EntryKind.VISIBILITY:
        revs = tuple(sorted(draw(st.sets(REVS, min_size=1, max_size=2))))
        return entry(kind, draw(TIMES), revs=revs, visible=draw(st.booleans()), epoch=epoch)
    content = kind in (EntryKind.REVISION, EntryKind.MOVE)
    pinned = kind is EntryKind.ABSENT or (content and draw(st.integers(0, 4)) == 0)
    return entry(
        kind,
        draw(TIMES),
        0 if kind is EntryKind.ABSENT else draw(REVS if content else st.integers(0, 6)),
        parent=draw(st.none() | st.integers(0, 6)),
        rev_ms=draw(st.none() | TIMES),
        title=title,
        namespace=namespace,
        redirect=draw(st.none() | st.booleans()),
        boundary=draw(st.sampled_from(BOUNDARIES)) if pinned else None,
        created=content and draw(st.booleans()),
        epoch=epoch,
    )


LEDGERS = st.lists(entries(), max_size=8)
REVISIONS = st.builds(
    entry,
    st.just(EntryKind.REVISION),
    TIMES,
    REVS,
    parent=st.none() | st.integers(0, 6),
    rev_ms=st.none() | TIMES,
    title=st.sampled_from(["A", "B"]),
    namespace=st.just(0),
    boundary=st.sampled_from([None, None, 60]),
    epoch=st.sampled_from([0, 0, 30, 60]),
)
"""What the ledgers of most pages and entities are made of."""


def readings(ledger):
    moments = (*BOUNDARIES, FOREVER)
    return [
        standing(ledger, moment, known=known, pins=pins)
        for moment in moments
        for known in (None, 0, 30, 60)
        for pins in (False, True)
    ]


@given(LEDGERS, LEDGERS)
def test_union_is_commutative(a, b):
    assert union(union((), a), b) == union(union((), b), a)


@given(LEDGERS, LEDGERS, LEDGERS)
def test_union_is_associative(a, b, c):
    assert union(union(union((), a), b), c) == union(union((), a), union(union((), b), c))


@given(LEDGERS)
def test_union_is_idempotent(a):
    once = union((), a)
    assert union(once, a) == once
    assert union(once, once) == once


@given(st.lists(entries(), max_size=8) | st.lists(REVISIONS, min_size=1, max_size=4))
def test_the_short_way_for_plain_ledgers_says_what_all_the_rules_say(told):
    ledger = union((), told)
    short = readings(ledger)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledgers, "_plainly", lambda _usable, _at: None)
        assert readings(ledger) == short


@given(LEDGERS, entries())
def test_what_follows_a_ledger_is_joined_to_it(a, more):
    ledger = union((), a)
    if follows(ledger, [more]):
        assert union(ledger, [more]) == (*ledger, more)


@given(LEDGERS, st.sampled_from(BOUNDARIES))
def test_what_is_folded_is_left_as_it_is(a, before):
    ledger = union((), a)
    if is_folded(ledger, before):
        assert fold(ledger, before) == ledger


def test_a_bare_revision_before_the_boundary_is_folded_and_a_full_one_not():
    bare = entry(EntryKind.REVISION, 10, 1)
    assert is_folded((bare, entry(EntryKind.REVISION, 40, 2, parent=1)), 30)
    assert not is_folded((entry(EntryKind.REVISION, 10, 1, parent=7),), 30)


@given(LEDGERS.flatmap(lambda ledger: st.tuples(st.just(ledger), st.permutations(ledger))))
def test_what_stands_and_what_is_hidden_depend_on_no_order_and_no_repetition(both):
    first, other = both
    second = union((), ())
    for one in [*other, *first]:  # one by one, each told twice
        second = union(second, [one])
    ledger = union((), first)
    assert readings(ledger) == readings(second)
    assert hidden_revisions(ledger) == hidden_revisions(second)


@st.composite
def lives(draw):
    """A page as a wiki makes it: revisions in order, deletions, restores of what there was."""
    ledger, revs, rev, gone, last = [], [], 0, False, 0
    for moment in range(10, 10 * draw(st.integers(2, 12)), 10):
        kind = draw(st.sampled_from("eeeedrhmp"))
        if kind == "e" and not gone:
            rev += 1
            imported = bool(revs) and draw(st.integers(0, 5)) == 0
            parent = 0 if imported else last
            ledger.append(
                entry(
                    EntryKind.REVISION,
                    moment,
                    rev,
                    parent=parent,
                    rev_ms=1 if imported else moment,
                    redirect=draw(st.booleans()),
                    created=not revs,
                )
            )
            revs.append((rev, ledger[-1].rev_ms))
            last = last if imported else rev
        elif kind == "d" and not gone:
            ledger.append(entry(EntryKind.DELETE, moment, last))
            gone = True
        elif kind == "r" and gone and revs:
            back, rev_ms = draw(st.sampled_from(revs))
            told = next(e.redirect for e in ledger if e.rev == back and e.redirect is not None)
            ledger.append(
                entry(
                    EntryKind.RESTORE,
                    moment,
                    back,
                    rev_ms=rev_ms,
                    title="A",
                    namespace=0,
                    redirect=told,
                )
            )
            gone, last = False, back
        elif kind == "h" and revs:
            hidden = (draw(st.sampled_from(revs))[0],)
            ledger.append(
                entry(EntryKind.VISIBILITY, moment, revs=hidden, visible=draw(st.booleans()))
            )
        elif kind == "m" and not gone and revs:
            rev += 1
            title = draw(st.sampled_from(["A", "B"]))
            ledger.append(
                entry(EntryKind.MOVE, moment, rev, parent=last, title=title, redirect=False)
            )
            revs.append((rev, moment))
            last = rev
        elif kind == "p" and not gone and revs and moment >= BOUNDARIES[0]:
            # A dump for a boundary, read after it, has what is current now; or lacks the page.
            passed = [b for b in BOUNDARIES if b <= moment]
            boundary, made = draw(st.sampled_from(passed)), dict(revs)[last]
            ledger.append(
                entry(EntryKind.REVISION, made, last, parent=None, boundary=boundary)
                if draw(st.booleans())
                else entry(EntryKind.ABSENT, boundary, boundary=boundary)
            )
    return union((), ledger)


@given(lives(), st.sampled_from(BOUNDARIES))
def test_folding_keeps_what_stands_at_every_boundary_from_there_on(ledger, before):
    folded = fold(ledger, before)
    for boundary in (*(b for b in BOUNDARIES if b >= before), FOREVER):
        for pins in (False, True):
            assert standing(folded, boundary, pins=pins) == standing(ledger, boundary, pins=pins)


@given(lives(), st.sampled_from(BOUNDARIES))
def test_folding_keeps_what_is_hidden_of_what_may_yet_be_read(ledger, before):
    stood = {
        reading.rev
        for boundary in (*(b for b in BOUNDARIES if b >= before), FOREVER)
        if (reading := standing(ledger, boundary)) is not None
    }
    assert hidden_revisions(fold(ledger, before)) & stood == hidden_revisions(ledger) & stood


@given(lives(), st.sampled_from(BOUNDARIES))
def test_folding_twice_changes_nothing_more(ledger, before):
    folded = fold(ledger, before)
    assert fold(folded, before) == folded


@given(lives())
def test_folding_in_steps_stands_as_folding_at_once(ledger):
    stepwise = ledger
    for before in BOUNDARIES[:3]:
        stepwise = fold(stepwise, before)
    for boundary in (*BOUNDARIES[2:], FOREVER):
        assert standing(stepwise, boundary) == standing(ledger, boundary)


@given(LEDGERS)
def test_a_ledger_survives_its_bytes(ledger):
    held = codec.Held(entries=union((), ledger))
    assert codec.decode_held(codec.encode(held)) == held
