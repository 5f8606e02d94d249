"""Holding the state against a dump: each class by a small dump, and the counts add up (L18)."""

from datetime import timedelta

import pytest
from histories import (
    DAY,
    DECEMBER,
    NOVEMBER,
    OCTOBER,
    at,
    delete,
    edit,
    engine,
    entity_edit,
    item,
    move,
    restore,
    write_entities,
    write_xml,
    xml_page,
    xml_revision,
)

from twiki.errors import DumpError
from twiki.records import Policy
from twiki.state.asof import Missing
from twiki.times import to_ms
from twiki.windows import calendar
from twiki.windows.reconcile import check, reconcile

WINDOW = calendar.month("2026-10")
END = NOVEMBER
POLICIES = [Policy.BOUNDARY, Policy.DUMP]


@pytest.fixture
def run(tmp_path):
    """Feed events, close October, reconcile with a dump; gives (engine, report)."""

    def go(events, pages=(), *, policy=Policy.BOUNDARY, entities=None):
        made = engine((OCTOBER, NOVEMBER, DECEMBER))
        for event in events:
            made.apply(event)
        made.close(WINDOW)
        made.commit()
        articles = [write_xml(tmp_path / "dump.xml", *pages)] if entities is None else []
        items = [] if entities is None else [write_entities(tmp_path / "e.json", *entities)]
        report = reconcile(made, WINDOW, articles, items, policy=policy)
        tally = report.pages if entities is None else report.entities
        absent = ("deleted", "deleted_after_boundary", "redirect_not_in_dump", "missing_in_dump")
        assert sum(n for k, n in tally.classes.items() if k not in absent) == tally.in_dump
        return made, report

    return go


def classes(report, part="pages"):
    return {name: n for name, n in getattr(report, part).classes.items() if n}


def article(made, page_id=1, moment=END, **how):
    return made.as_of(**how).article(page_id, to_ms(moment)).article


def pinning(policy):
    return WINDOW if policy is Policy.DUMP else None


def titled(page_id, *revisions, title=None, **more):
    return xml_page(page_id, title or f"Page {page_id}", *revisions, **more)


def page(number, moment, rev, text, **fields):
    return edit(moment, rev, text, page_id=number, title=f"Page {number}", **fields)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_revision_that_the_stream_had_is_confirmed(run, policy):
    made, report = run(
        [page(1, at(10, 5), 1, "One.")],
        [titled(1, xml_revision(1, at(10, 5), "One."))],
        policy=policy,
    )
    assert classes(report) == {"confirmed": 1}
    assert report.pages.completeness == 1.0
    assert made.counts["revisions"] == 1  # nothing was applied again
    assert list(made.late_events()) == []


@pytest.mark.parametrize("policy", POLICIES)
def test_a_revision_that_the_stream_missed_is_repaired(run, policy):
    made, report = run(
        [page(1, at(10, 5), 1, "One.")],
        [
            titled(1, xml_revision(2, at(10, 9), "Two.", parent=1)),
            titled(2, xml_revision(7, at(10, 9), "New.")),
        ],
        policy=policy,
    )
    assert classes(report) == {"repaired_from_dump": 2}
    assert report.pages.completeness == 0.0
    assert report.pages.examples["repaired_from_dump"] == ["1", "2"]
    pins = pinning(policy)
    assert article(made, pins=pins).text == "Two."
    assert article(made, 2, pins=pins).text == "New."
    # The window's first version is what it was.
    assert article(made, known=to_ms(OCTOBER)).text == "One."
    assert article(made, 2, known=to_ms(OCTOBER)) is None


def test_a_text_that_could_not_be_fetched_comes_from_the_dump(run):
    made, report = run(
        [page(1, at(10, 5), 1, None)], [titled(1, xml_revision(1, at(10, 5), "One."))]
    )
    assert classes(report) == {"confirmed": 1}
    assert report.pages.completeness == 1.0
    assert article(made).text == "One."
    assert list(made.store.needs()) == []


@pytest.mark.parametrize(("policy", "stands"), [(Policy.BOUNDARY, "Two."), (Policy.DUMP, "One.")])
def test_a_dump_that_was_read_early_finds_the_stream_ahead(run, policy, stands):
    made, report = run(
        [page(1, at(10, 5), 1, "One."), page(1, at(10, 31), 2, "Two.", parent_rev_id=1)],
        [titled(1, xml_revision(1, at(10, 5), "One."))],
        policy=policy,
    )
    assert classes(report) == {"stream_ahead": 1}
    assert article(made, pins=pinning(policy)).rev_id == {"Two.": 2, "One.": 1}[stands]


@pytest.mark.parametrize(("policy", "stands"), [(Policy.BOUNDARY, 1), (Policy.DUMP, 2)])
def test_a_dump_read_after_the_boundary_has_a_later_revision_that_the_stream_knows(
    run, policy, stands
):
    made, report = run(
        [
            page(1, at(10, 5), 1, "One."),
            page(1, NOVEMBER + 8 * timedelta(hours=1), 2, "Two.", parent_rev_id=1),
        ],
        [titled(1, xml_revision(2, NOVEMBER + 8 * timedelta(hours=1), "Two.", parent=1))],
        policy=policy,
    )
    assert classes(report) == {"confirmed": 1}
    assert article(made, pins=pinning(policy)).rev_id == stands


@pytest.mark.parametrize(("policy", "stands"), [(Policy.BOUNDARY, 1), (Policy.DUMP, 2)])
def test_a_later_revision_whose_parent_stands_is_a_repair(run, policy, stands):
    moment = NOVEMBER + DAY
    made, report = run(
        [page(1, at(10, 5), 1, "One.")],
        [titled(1, xml_revision(2, moment, "Two.", parent=1))],
        policy=policy,
    )
    assert classes(report) == {"repaired_from_dump": 1}
    assert article(made, pins=pinning(policy)).rev_id == stands
    assert article(made, moment=DECEMBER).text == "Two."


def test_a_later_revision_whose_parent_is_unknown_is_fetched_by_id_or_reported(run):
    made, report = run(
        [page(1, at(10, 5), 1, "One.")],
        [titled(1, xml_revision(3, NOVEMBER + DAY, "Three.", parent=2))],
    )
    assert classes(report) == {"unknown_at_boundary": 1}
    assert report.fetch == [(1, 2)]
    made.supply(1, page(1, at(10, 20), 2, "Two.", parent_rev_id=1))
    made.commit()
    assert article(made).text == "Two."


def test_a_page_unknown_to_the_stream_and_made_after_the_boundary_was_not_there(run):
    made, report = run([], [titled(1, xml_revision(3, NOVEMBER + DAY, "Three."))])
    assert classes(report) == {"repaired_from_dump": 1}
    assert article(made) is None
    assert article(made, moment=DECEMBER).text == "Three."


@pytest.mark.parametrize("policy", POLICIES)
def test_a_page_deleted_in_the_stream_that_the_dump_has_was_restored(run, policy):
    made, report = run(
        [page(1, at(10, 5), 1, "One."), delete(at(10, 8), page_id=1, title="Page 1")],
        [titled(1, xml_revision(1, at(10, 5), "One."))],
        policy=policy,
    )
    assert classes(report) == {"restored_from_dump": 1}
    assert article(made, pins=pinning(policy)).text == "One."


def test_a_page_restored_before_the_dump_read_it_was_still_deleted_at_the_boundary(run):
    made, report = run(
        [
            page(1, at(10, 5), 1, "One."),
            delete(at(10, 8), page_id=1, title="Page 1"),
            restore(NOVEMBER + DAY, 1, "One.", rev_dt=at(10, 5), page_id=1, title="Page 1"),
        ],
        [titled(1, xml_revision(1, at(10, 5), "One."))],
    )
    assert classes(report) == {"confirmed": 1}
    assert article(made) is None
    assert article(made, moment=DECEMBER).text == "One."


@pytest.mark.parametrize("policy", POLICIES)
def test_absence_is_not_deletion(run, policy):
    made, report = (
        run([page(1, at(10, 5), 1, "One.")], [], policy=policy)
        if False
        else run(
            [page(1, at(10, 5), 1, "One."), page(2, at(10, 5), 5, "Two.")],
            [titled(2, xml_revision(5, at(10, 5), "Two."))],
            policy=policy,
        )
    )
    assert classes(report) == {"confirmed": 1, "missing_in_dump": 1}
    assert report.pages.examples["missing_in_dump"] == ["1"]
    assert article(made).text == "One."
    # Under policy dump the dump's word holds at its boundary, and there alone.
    if policy is Policy.DUMP:
        assert article(made, pins=WINDOW) is None
        assert article(made, moment=DECEMBER, pins=WINDOW).text == "One."


def test_a_page_deleted_before_the_boundary_and_not_in_the_dump_is_deleted(run):
    _, report = run(
        [
            page(1, at(10, 5), 1, "One."),
            delete(at(10, 8), rev=1, page_id=1, title="Page 1"),
            page(2, at(10, 5), 5, "Two."),
        ],
        [titled(2, xml_revision(5, at(10, 5), "Two."))],
    )
    assert classes(report) == {"confirmed": 1, "deleted": 1}


@pytest.mark.parametrize("rev", [None, 1])
def test_a_page_deleted_between_the_boundary_and_the_dump_is_told_apart(run, rev):
    made, report = run(
        [
            page(1, at(10, 5), 1, "One."),
            delete(NOVEMBER + DAY, rev=rev, page_id=1, title="Page 1"),
            page(2, at(10, 5), 5, "Two."),
        ],
        [titled(2, xml_revision(5, at(10, 5), "Two."))],
    )
    assert classes(report) == {"confirmed": 1, "deleted_after_boundary": 1}
    assert article(made).text == "One."


def test_redirects_of_the_dump_are_counted_as_such(run):
    made, report = run(
        [page(1, at(10, 5), 1, "#REDIRECT [[B]]")],
        [
            titled(1, xml_revision(1, at(10, 5), "#REDIRECT [[B]]"), redirect="B"),
            titled(2, xml_revision(2, at(10, 5), "#REDIRECT [[C]]"), redirect="C"),
        ],
    )
    assert classes(report) == {"confirmed": 1, "repaired_from_dump": 1}
    assert report.pages.redirects == 2
    assert article(made) is None
    assert article(made, 2) is None


def test_pages_of_other_namespaces_are_counted_apart(run):
    made, report = run(
        [], [titled(1, xml_revision(1, at(10, 5), "x"), title="Talk:A", namespace=1)]
    )
    assert report.pages.other_namespaces == 1
    assert report.pages.in_dump == 0
    assert report.pages.completeness is None
    assert made.store.held(1) is None


def test_a_page_that_the_dump_has_in_another_namespace_was_moved_there(run):
    draft = titled(1, xml_revision(3, at(10, 9), "x", parent=1), title="Draft:A", namespace=118)
    made, report = run([page(1, at(10, 5), 1, "One.")], [draft])
    assert classes(report) == {"repaired_from_dump": 1}
    assert article(made) is None


def test_a_page_of_a_draft_namespace_in_the_stream_is_not_expected_in_the_dump(run):
    away = move(at(10, 8), 2, "One.", "Draft:A", "Page 1", parent_rev_id=1, namespace=118)
    _, report = run(
        [page(1, at(10, 5), 1, "One."), away], [titled(2, xml_revision(5, at(10, 5), "x"))]
    )
    assert classes(report) == {"repaired_from_dump": 1}


def test_a_revision_that_the_dump_has_without_its_text_is_unreadable(run):
    body = xml_revision(1, at(10, 5), None).replace("<text bytes", "<text id='1' bytes")
    missing = body.replace('bytes="1"></text>', 'bytes="1" />')
    made, report = run([], [titled(1, missing)])
    assert classes(report) == {"unreadable": 1}
    assert made.as_of().article(1, to_ms(END)).missing is Missing.NEEDED


def test_a_text_hidden_in_the_dump_is_hidden_in_the_state(run):
    made, report = run(
        [page(1, at(9, 5), 1, "One.")],
        [titled(1, xml_revision(2, at(10, 20), None, parent=1, hidden=True))],
    )
    assert classes(report) == {"repaired_from_dump": 1}
    assert (article(made).rev_id, article(made).text) == (2, "One.")
    assert list(made.store.needs()) == []


def test_the_report_gives_the_share_of_the_dumps_revisions_that_the_stream_had(run):
    _, report = run(
        [page(n, at(10, 5), n, "x") for n in range(1, 4)],
        [titled(n, xml_revision(n, at(10, 5), "x")) for n in range(1, 5)],
    )
    told = report.report()
    assert told["pages"]["completeness"] == 0.75
    assert (told["pages"]["in_dump"], told["pages"]["had"]) == (4, 3)
    assert told["policy"] == "boundary"
    assert sum(told["pages"]["classes"].values()) == 4


def test_a_second_run_completes_the_first_and_finds_all_confirmed(run, tmp_path):
    made, _ = run(
        [], [titled(n, xml_revision(n, at(10, 5), "x")) for n in range(1, 5)], policy=Policy.DUMP
    )
    again = reconcile(made, WINDOW, [tmp_path / "dump.xml"], policy=Policy.DUMP)
    assert classes(again) == {"confirmed": 4}
    assert made.progress.reconciled == {to_ms(OCTOBER): "dump"}


def test_a_page_that_policy_dump_pinned_is_confirmed_by_a_second_run(run, tmp_path):
    made, _ = run(
        [page(1, at(10, 5), 1, "One.")],
        [titled(1, xml_revision(3, NOVEMBER + DAY, "Three.", parent=2))],
        policy=Policy.DUMP,
    )
    before = made.as_of(pins=WINDOW).article(1, to_ms(END))
    again = reconcile(made, WINDOW, [tmp_path / "dump.xml"], policy=Policy.DUMP)
    assert classes(again) == {"confirmed": 1}
    assert made.as_of(pins=WINDOW).article(1, to_ms(END)) == before


def test_the_start_of_the_next_window_under_policy_dump_is_the_end_of_this_one(run):
    made, _ = run(
        [
            page(1, at(10, 5), 1, "One."),
            page(1, NOVEMBER + DAY, 2, "Two.", parent_rev_id=1),
            page(1, at(11, 20), 3, "Three.", parent_rev_id=2),
        ],
        [titled(1, xml_revision(2, NOVEMBER + DAY, "Two.", parent=1))],
        policy=Policy.DUMP,
    )
    assert article(made, pins=WINDOW).text == "Two."
    assert article(made).text == "One."
    assert article(made, moment=DECEMBER, pins=WINDOW).text == "Three."


# --- entities -------------------------------------------------------------------------------


def entity(ident, moment, rev, *facts):
    return item(ident, *facts, rev=rev, modified=moment)


def test_entities_are_confirmed_repaired_and_missed_as_pages_are(run):
    made, report = run(
        [
            entity_edit(at(10, 5), 1, "Q1", item("Q1", ("P1", "Q5")), parent_rev_id=0),
            entity_edit(at(10, 5), 2, "Q2", item("Q2"), parent_rev_id=0),
            entity_edit(at(10, 5), 3, "Q3", '{"entity":"Q3","redirect":"Q1"}', parent_rev_id=0),
            entity_edit(at(10, 5), 4, "Q4", item("Q4"), parent_rev_id=0),
        ],
        entities=[
            entity("Q1", at(10, 5), 1, ("P1", "Q5")),
            entity("Q2", at(10, 9), 9, ("P1", "Q6")),
        ],
    )
    assert classes(report, "entities") == {
        "confirmed": 1,
        "repaired_from_dump": 1,
        "redirect_not_in_dump": 1,
        "missing_in_dump": 1,
    }
    found = made.as_of().entity("Q2", to_ms(END))
    assert (found.rev_id, [fact.object for fact in found.entity.facts]) == (9, ["Q6"])
    assert made.as_of().entity("Q4", to_ms(END)).rev_id == 4


# --- damaged dumps --------------------------------------------------------------------------


def test_a_dump_that_is_cut_is_found_before_anything_is_written(tmp_path):
    path = write_xml(tmp_path / "cut.xml", titled(1, xml_revision(1, at(10, 5), "One.")))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DumpError):
        check([path])
    listed = write_entities(tmp_path / "e.json", entity("Q1", at(10, 5), 1))
    listed.write_bytes(listed.read_bytes().rstrip()[:-1])
    with pytest.raises(DumpError):
        check([], [listed])
