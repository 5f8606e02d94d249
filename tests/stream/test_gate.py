from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.gate import SitelinkGate, can_matter, superseded
from twiki.config import WikiConfig
from twiki.records import Change, ChangeKind

TIME = datetime(2026, 11, 5, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "comment",
    [
        "/* wbsetlabel-set:1|en */ Berlin",
        "/* wbsetlabeldescriptionaliases:1|en */ x",
        "/* wbeditentity-update:0| */ x",
        "/* wbeditentity-create:2|en */ x",
        "/* wbmergeitems-from:0||Q1 */",
        "/* wbcreateredirect:0||Q1|Q2 */",
        "/* undo:0||12|Somebody */",
        "/* restore:0||12|Somebody */",
        "/* wblinktitles-connect:2| */ enwiki:X",
        "/* wbsetsitelink-add:1|enwiki */ Berlin",
        "/* wbsetsitelink-add-both:2|enwiki */ Berlin",
        "/* clientsitelink-update:0|enwiki|enwiki:A|enwiki:B */",
        "/* clientsitelink-remove:1||enwiki */",
        "reverted vandalism",
        "",
        None,
        "/* wbfuture-thing:1| */",
    ],
)
def test_what_can_touch_label_redirect_or_sitelink_is_fetched(comment):
    assert can_matter(comment, "enwiki")


@pytest.mark.parametrize(
    "comment",
    [
        "/* wbsetclaim-create:2||1 */ [[Property:P82]]: [[Q231559]]",
        "/* wbsetclaim-update:2||1|1 */",
        "/* wbcreateclaim-create:1| */",
        "/* wbremoveclaims-remove:1| */ [[Property:P1476]]",
        "/* wbsetqualifier-add:1| */ [[Property:P88]]: 2012",
        "/* wbsetreference-set:2| */",
        "/* wbremovereferences-remove:1| */",
        "/* wbsetdescription-add:1|en */ x",
        "/* wbsetaliases-add:2|de */ x",
        "/* wbsetsitelink-add:1|dewiki */ Berlin",
        "/* clientsitelink-update:0|frwiki|frwiki:A|frwiki:B */",
    ],
)
def test_what_cannot_is_not(comment):
    assert not can_matter(comment, "enwiki")


def entity(comment, kind=ChangeKind.EDIT, title="Q7", **fields):
    base = {"wiki": "wikidatawiki", "effective_time": TIME, "arrival_time": TIME}
    return Change(**base | {"kind": kind, "title": title, "rev_id": 5, "comment": comment} | fields)


def test_the_gate_asks_whether_the_entity_has_an_article():
    asked = []

    def has_article(entity_id):
        asked.append(entity_id)
        return entity_id == "Q1"

    gate = SitelinkGate(WikiConfig(), has_article)
    claim = "/* wbsetclaim-create:2||1 */"
    assert gate.wants(entity(claim, title="Q1"))
    assert not gate.wants(entity(claim, title="Q2"))
    assert not gate.wants(entity(claim, title="Property:P5"))
    assert asked == ["Q1", "Q2", "P5"]
    assert gate.wants(entity("/* wbsetlabel-set:1|en */", title="Q2"))
    assert gate.wants(entity(claim, ChangeKind.CREATE))
    assert gate.wants(entity(claim, ChangeKind.RESTORE))
    assert gate.wants(entity(claim, redirect=True))
    assert gate.wants(entity(None, wiki="enwiki"))
    assert len(asked) == 3


# --- coalescing -----------------------------------------------------------------------------


def month(time):
    return (time.year, time.month)


def edit(rev, minute=0, page=1, kind=ChangeKind.EDIT, **fields):
    time = TIME + timedelta(minutes=minute)
    base = {"wiki": "enwiki", "effective_time": time, "arrival_time": time, "rev_dt": time}
    return Change(**base | {"kind": kind, "page_id": page, "rev_id": rev} | fields)


def skipped(*changes):
    return sorted(change.rev_id for change in superseded(changes, month))


def test_of_a_burst_only_the_newest_is_fetched():
    assert skipped(edit(1, 1), edit(2, 2), edit(3, 3), edit(9, 1, page=2)) == [1, 2]
    assert skipped(edit(3, 3), edit(1, 1), edit(2, 2)) == [1, 2]


def test_a_burst_over_a_boundary_keeps_the_newest_of_each_side():
    before = datetime(2026, 11, 30, 23, 59, tzinfo=UTC)
    times = {"effective_time": before, "rev_dt": before}
    after = {
        "effective_time": before + timedelta(minutes=1),
        "rev_dt": before + timedelta(minutes=1),
    }
    assert skipped(edit(1, **times), edit(2, **times), edit(3, **after)) == [1]


def test_what_a_deletion_or_move_stands_behind_is_fetched():
    assert skipped(edit(1, 1), edit(1, 2, kind=ChangeKind.DELETE), edit(3, 3)) == []
    assert skipped(edit(1, 1), edit(2, 2, kind=ChangeKind.MOVE), edit(3, 3)) == []


def test_a_burst_is_one_whichever_account_of_an_edit_came_first():
    named, nameless = {"title": "A"}, {"title": "A", "page_id": None}
    assert skipped(edit(1, 1, **nameless), edit(2, 2, **named), edit(3, 3, **nameless)) == [1, 2]


def test_another_page_under_the_same_title_supersedes_nothing():
    away = edit(1, 2, kind=ChangeKind.MOVE, title="B", from_title="A")
    assert skipped(edit(1, 1, title="A"), edit(9, 3, page=2, title="A")) == []
    assert skipped(edit(1, 1, title="A"), away, edit(9, 3, page_id=None, title="A")) == []


def test_a_burst_ends_with_its_span_of_time():
    changes = [edit(rev, rev) for rev in range(1, 7)]
    found = superseded(changes, month, lambda effective: effective.minute // 3)
    assert sorted(change.rev_id for change in found) == [1, 3, 4]


def test_an_import_of_an_old_revision_supersedes_nothing():
    old = edit(60, 5, rev_dt=datetime(2010, 1, 1, tzinfo=UTC))
    assert skipped(edit(50, 1), old) == []


def test_a_hidden_revision_supersedes_nothing():
    assert skipped(edit(1, 1), edit(2, 2, visible=False)) == []


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 5), st.integers(1, 2)), unique=True))
def test_the_newest_edit_of_every_page_is_always_fetched(rows):
    changes = [edit(rev, minute, page) for rev, minute, page in rows]
    skip = superseded(changes, month)
    for page in (1, 2):
        mine = [change for change in changes if change.page_id == page]
        if mine:
            assert max(mine, key=lambda c: (c.rev_dt, c.rev_id)) not in skip
