from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from stream.reorder import Reorder, order
from twiki.records import Change, ChangeKind

START = datetime(2026, 11, 5, 12, tzinfo=UTC)
SPAN = timedelta(seconds=60)


def second(number):
    return START + timedelta(seconds=number)


def edit(rev, parent=None, at=None, page=1, kind=ChangeKind.EDIT, arrived=None):
    at = rev if at is None else at
    return Change(
        wiki="enwiki",
        kind=kind,
        page_id=page,
        rev_id=rev,
        parent_rev_id=rev - 1 if parent is None else parent,
        effective_time=second(at),
        arrival_time=second(at if arrived is None else arrived),
    )


def revs(changes):
    return [change.rev_id for change in changes]


def test_edits_in_order_never_wait():
    buffer = Reorder(SPAN)
    assert revs(buffer.push(edit(1, parent=0))) == [1]
    assert revs(buffer.push(edit(2))) == [2]
    assert revs(buffer.push(edit(3))) == [3]
    assert len(buffer) == 0


def test_a_straggler_goes_out_before_what_came_first():
    buffer = Reorder(SPAN)
    list(buffer.push(edit(1, parent=0)))
    assert revs(buffer.push(edit(3))) == []
    assert revs(buffer.push(edit(2))) == []
    assert revs(buffer.advance(second(3 + 59))) == [2]
    assert revs(buffer.advance(second(3 + 60))) == [3]


def test_what_is_ordered_before_something_due_goes_with_it():
    buffer = Reorder(SPAN)
    list(buffer.push(edit(9, at=9)))
    list(buffer.push(edit(5, at=5, arrived=50)))
    assert revs(buffer.advance(second(69))) == [5, 9]


def test_a_revision_behind_the_last_one_out_goes_at_once():
    buffer = Reorder(SPAN)
    list(buffer.push(edit(5, parent=0)))
    assert revs(buffer.push(edit(4))) == [4]
    assert revs(buffer.push(edit(5))) == [5]


def test_pages_do_not_wait_for_each_other():
    buffer = Reorder(SPAN)
    list(buffer.push(edit(3, page=1)))
    assert revs(buffer.push(edit(7, parent=0, page=2))) == [7]


def test_a_deletion_waits_and_stands_behind_an_edit_of_its_second():
    buffer = Reorder(SPAN)
    deletion = edit(4, at=4, kind=ChangeKind.DELETE)
    assert list(buffer.push(deletion)) == []
    assert list(buffer.push(edit(4, at=4))) == []
    assert [c.kind for c in buffer.flush()] == [ChangeKind.EDIT, ChangeKind.DELETE]
    assert len(buffer) == 0


def test_the_buffer_is_bounded_and_counts_what_it_let_go_early():
    buffer = Reorder(SPAN, limit=3)
    out = [gone for page in range(5) for gone in buffer.push(edit(10 + page, page=page))]
    assert revs(out) == [10, 11]
    assert (len(buffer), buffer.forced) == (3, 2)


def test_what_is_remembered_of_pages_is_bounded():
    buffer = Reorder(SPAN, pages=10)
    for page in range(100):
        list(buffer.push(edit(1, parent=0, page=page)))
    assert len(buffer._last) == 10


@given(st.permutations(range(1, 9)), st.integers(1, 4))
def test_nothing_is_lost_or_doubled_and_each_page_comes_in_order(arrival, pages):
    buffer = Reorder(SPAN)
    changes = [edit(rev, parent=100, at=rev, page=rev % pages) for rev in arrival]
    out = [gone for change in changes for gone in buffer.push(change)]
    out += buffer.advance(second(100))
    assert sorted(revs(out)) == sorted(arrival)
    for page in range(pages):
        mine = [change for change in out if change.page_id == page]
        assert mine == sorted(mine, key=order)
