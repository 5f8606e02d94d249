"""Which revision stands at a boundary: the cases that ENGINE 2 names, and those beside them."""

from datetime import timedelta

import pytest
from histories import at, entry

from twiki.state.ledger import FOREVER, EntryKind, hidden_revisions, standing, union
from twiki.times import to_ms

REVISION, MOVE, DELETE = EntryKind.REVISION, EntryKind.MOVE, EntryKind.DELETE
RESTORE, MERGE, VISIBILITY, ABSENT = (
    EntryKind.RESTORE,
    EntryKind.MERGE,
    EntryKind.VISIBILITY,
    EntryKind.ABSENT,
)
BOUNDARY, NEXT = to_ms(at(11, hour=0)), to_ms(at(12, hour=0))
SECOND = timedelta(seconds=1)


def rev_at(entries, moment, **how):
    stood = standing(union((), entries), moment, **how)
    return None if stood is None else stood.rev


def test_the_newest_revision_before_the_boundary_stands_whatever_came_after_it():
    ledger = [
        entry(REVISION, at(10, 3), 1),
        entry(REVISION, at(10, 20), 2, parent=1),
        entry(REVISION, at(11, 20), 3, parent=2),
    ]
    assert rev_at(ledger, BOUNDARY) == 2
    assert rev_at(ledger, FOREVER) == 3


def test_a_revision_at_the_very_boundary_belongs_to_the_next_window():
    boundary = at(11, hour=0)
    ledger = [
        entry(REVISION, boundary - SECOND, 1),
        entry(REVISION, boundary, 2, parent=1),
    ]
    assert rev_at(ledger, BOUNDARY) == 1
    assert rev_at(ledger, BOUNDARY + 1) == 2


def test_a_page_made_a_redirect_and_back_across_a_boundary_is_a_redirect_there():
    ledger = [
        entry(REVISION, at(10, 3), 1),
        entry(REVISION, at(10, 20), 2, parent=1, redirect=True),
        entry(REVISION, at(11, 5), 3, parent=2),
    ]
    stood = standing(union((), ledger), BOUNDARY)
    assert (stood.rev, stood.redirect) == (2, True)
    assert standing(union((), ledger), NEXT).redirect is False


def test_of_two_revisions_in_one_second_the_child_stands_whatever_their_ids():
    ledger = [
        entry(REVISION, at(10, 3), 1),
        entry(REVISION, at(10, 20), 9, parent=1),
        entry(REVISION, at(10, 20), 8, parent=9),
    ]
    assert rev_at(ledger, BOUNDARY) == 8


def test_of_two_revisions_in_one_second_without_parents_the_greater_id_stands():
    ledger = [
        entry(REVISION, at(10, 20), 9, parent=None),
        entry(REVISION, at(10, 20), 8, parent=None),
    ]
    assert rev_at(ledger, BOUNDARY) == 9


def test_a_restore_names_what_is_current_though_a_greater_revision_was_deleted():
    ledger = [
        entry(REVISION, at(10, 3), 10),
        entry(REVISION, at(10, 8), 12, parent=10),
        entry(DELETE, at(10, 12), rev=12),
        entry(RESTORE, at(10, 14), 10, rev_ms=at(10, 3)),
    ]
    assert rev_at(ledger, to_ms(at(10, 10))) == 12
    assert rev_at(ledger, to_ms(at(10, 13))) is None
    assert rev_at(ledger, BOUNDARY) == 10


def test_an_edit_after_a_partial_restore_stands_over_the_restored_one():
    ledger = [
        entry(REVISION, at(10, 3), 10),
        entry(REVISION, at(10, 8), 12, parent=10),
        entry(DELETE, at(10, 12)),
        entry(RESTORE, at(10, 14), 10),
        entry(REVISION, at(10, 16), 13, parent=10),
    ]
    assert rev_at(ledger, BOUNDARY) == 13


def test_an_import_dated_2010_does_not_displace_the_revision_of_this_month():
    ledger = [
        entry(REVISION, at(10, 8), 50),
        entry(REVISION, at(10, 20), 60, parent=0, rev_ms=at(10, 20).replace(year=2010)),
    ]
    assert rev_at(ledger, BOUNDARY) == 50


def test_a_page_made_by_import_with_last_months_times_was_not_there_last_month():
    ledger = [entry(REVISION, at(11, 8), 60, parent=0, rev_ms=at(10, 20), created=True)]
    assert rev_at(ledger, BOUNDARY) is None
    assert rev_at(ledger, NEXT) == 60


def test_the_parent_of_an_imported_revision_says_nothing_of_what_stood_before():
    ledger = [entry(REVISION, at(11, 8), 60, parent=59, rev_ms=at(10, 20))]
    assert rev_at(ledger, BOUNDARY) is None


def test_a_revision_hidden_after_the_boundary_still_stands_there():
    ledger = union(
        (),
        [
            entry(REVISION, at(10, 3), 1),
            entry(REVISION, at(10, 31), 2, parent=1),
            entry(VISIBILITY, at(11, 2), revs=(2,), visible=False),
        ],
    )
    assert rev_at(ledger, BOUNDARY) == 2
    assert hidden_revisions(ledger) == {2}


def test_a_revision_made_visible_again_is_not_hidden():
    ledger = union(
        (),
        [
            entry(VISIBILITY, at(11, 4), revs=(2,), visible=True),
            entry(VISIBILITY, at(11, 2), revs=(1, 2), visible=False),
        ],
    )
    assert hidden_revisions(ledger) == {1}


def test_a_revision_hidden_and_shown_in_one_moment_stays_hidden():
    both = [
        entry(VISIBILITY, at(11, 2), revs=(2,), visible=True),
        entry(VISIBILITY, at(11, 2), revs=(2,), visible=False),
    ]
    assert hidden_revisions(union((), both)) == {2}
    assert hidden_revisions(union((), both[::-1])) == {2}


def test_a_draft_moved_into_the_article_namespace_is_a_draft_before_and_an_article_after():
    ledger = union(
        (),
        [
            entry(
                MOVE,
                at(11, 5),
                21,
                parent=20,
                title="A",
                namespace=0,
                from_title="Draft:A",
                from_namespace=118,
                redirect=None,
            )
        ],
    )
    after = standing(ledger, NEXT)
    assert (after.rev, after.title, after.namespace) == (21, "A", 0)
    before = standing(ledger, BOUNDARY)
    assert (before.rev, before.title, before.namespace, before.known) == (20, "Draft:A", 118, False)


def test_a_full_history_merge_leaves_nothing_at_the_source():
    ledger = [
        entry(REVISION, at(10, 3), 1),
        entry(REVISION, at(10, 8), 2, parent=1),
        entry(MERGE, at(10, 12), rev_ms=at(10, 8), revs=(2,)),
    ]
    assert rev_at(ledger, to_ms(at(10, 10))) == 2
    assert rev_at(ledger, BOUNDARY) is None


def test_a_merge_up_to_a_point_leaves_what_is_younger_at_the_source():
    ledger = [
        entry(REVISION, at(10, 3), 1),
        entry(REVISION, at(10, 8), 2, parent=1),
        entry(MERGE, at(10, 12), rev_ms=at(10, 3), revs=(1,)),
    ]
    assert rev_at(ledger, BOUNDARY) == 2


def test_a_merge_does_not_bring_back_what_a_deletion_before_it_took():
    ledger = [
        entry(REVISION, at(10, 8), 2),
        entry(DELETE, at(10, 9)),
        entry(MERGE, at(10, 12), rev_ms=at(10, 3), revs=(1,)),
    ]
    assert rev_at(ledger, BOUNDARY) is None


def test_the_redirect_that_a_full_merge_leaves_behind_stands():
    ledger = [
        entry(REVISION, at(10, 3), 1),
        entry(MERGE, at(10, 12), rev_ms=at(10, 3), revs=(1,)),
        entry(REVISION, at(10, 12), 7, parent=0, redirect=True),
        entry(REVISION, at(10, 13), 8, parent=7),
    ]
    assert rev_at(ledger, BOUNDARY) == 8


def test_the_target_of_a_merge_stands_at_the_revision_that_the_merge_names():
    ledger = [
        entry(REVISION, at(10, 8), 5),
        entry(MERGE, at(10, 12), 9, rev_ms=at(10, 10)),
    ]
    assert rev_at(ledger, BOUNDARY) == 9


@pytest.mark.parametrize("late_first", [True, False])
def test_a_create_that_arrives_after_the_deletion_does_not_revive_the_page(late_first):
    made = entry(REVISION, at(10, 3), 1, parent=0, created=True)
    gone = entry(DELETE, at(10, 12), 1)
    ledger = union(union((), [made if late_first else gone]), [gone if late_first else made])
    assert standing(ledger, BOUNDARY) is None
    assert standing(ledger, to_ms(at(10, 5))).rev == 1


def test_in_one_second_a_deletion_comes_after_the_edit_and_before_the_restore():
    moment = at(10, 12)
    assert rev_at([entry(REVISION, moment, 1), entry(DELETE, moment)], BOUNDARY) is None
    both = [entry(RESTORE, moment, 1), entry(DELETE, moment), entry(REVISION, at(10, 3), 1)]
    assert rev_at(both, BOUNDARY) == 1


def test_a_page_that_began_with_a_restore_was_deleted_before_it():
    ledger = [
        entry(RESTORE, at(11, 5), 10, rev_ms=at(9, 3)),
        entry(REVISION, at(11, 8), 13, parent=10),
    ]
    assert rev_at(ledger, BOUNDARY) is None
    assert rev_at(ledger, NEXT) == 13


def test_the_parent_of_the_first_revision_known_stood_before_it():
    ledger = [
        entry(REVISION, at(11, 8), 13, parent=12),
        entry(REVISION, at(11, 5), 12, parent=11),
    ]
    stood = standing(union((), ledger), BOUNDARY)
    assert (stood.rev, stood.known) == (11, False)


def test_a_page_created_in_the_window_was_not_there_before():
    ledger = [
        entry(REVISION, at(11, 8), 13, parent=12),
        entry(REVISION, at(11, 5), 12, parent=0, created=True),
    ]
    assert rev_at(ledger, BOUNDARY) is None


def test_a_late_event_counts_only_for_those_who_knew_it():
    late = entry(REVISION, at(10, 20), 2, parent=1, epoch=BOUNDARY)
    ledger = [entry(REVISION, at(10, 3), 1), late]
    assert rev_at(ledger, BOUNDARY, known=to_ms(at(10, hour=0))) == 1
    assert rev_at(ledger, BOUNDARY, known=BOUNDARY) == 2
    assert rev_at(ledger, BOUNDARY) == 2


def test_a_pin_stands_for_its_boundary_under_policy_dump_alone():
    ledger = [
        entry(REVISION, at(10, 20), 1),
        entry(REVISION, at(11, 1, 15), 2, parent=1, boundary=BOUNDARY),
    ]
    assert rev_at(ledger, BOUNDARY, pins=True) == 2
    assert rev_at(ledger, BOUNDARY) == 1
    assert rev_at(ledger, NEXT, pins=True) == 2


def test_a_page_that_the_dump_lacks_is_absent_under_policy_dump_alone():
    ledger = [
        entry(REVISION, at(10, 20), 1),
        entry(ABSENT, at(11, hour=0), boundary=BOUNDARY),
    ]
    assert rev_at(ledger, BOUNDARY, pins=True) is None
    assert rev_at(ledger, BOUNDARY) == 1
    assert rev_at(ledger, NEXT, pins=True) == 1


def test_the_time_that_an_event_told_wins_over_the_age_that_a_dump_tells():
    imported = entry(REVISION, at(11, 8), 60, parent=0, rev_ms=at(10, 20), created=True)
    dumped = entry(REVISION, at(10, 20), 60, parent=0)
    for ledger in (union([imported], [dumped]), union([dumped], [imported])):
        assert standing(ledger, BOUNDARY) is None
        assert standing(ledger, NEXT).rev == 60


def test_the_title_is_the_last_one_told_before_the_boundary():
    ledger = union(
        (),
        [
            entry(REVISION, at(10, 3), 1, title="Old"),
            entry(MOVE, at(11, 5), 2, parent=1, title="New", from_title="Old", from_namespace=0),
        ],
    )
    assert standing(ledger, BOUNDARY).title == "Old"
    assert standing(ledger, NEXT).title == "New"
