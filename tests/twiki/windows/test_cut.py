"""From state to dataset: net differences of a window, and one result from every path (L19)."""

from datetime import timedelta

import msgspec
import pytest
from histories import (
    CONFIG,
    DAY,
    DECEMBER,
    NOVEMBER,
    OCTOBER,
    at,
    delete,
    edit,
    engine,
    entity_edit,
    hide,
    item,
    merge,
    move,
    restore,
    write_entities,
    write_xml,
    xml_page,
    xml_revision,
)

from twiki.records import Policy, SentenceKind
from twiki.windows import calendar
from twiki.windows.bootstrap import bootstrap
from twiki.windows.cut import cut
from twiki.windows.dataset import Dataset, Part, Run, data_bytes
from twiki.windows.publishing import cut_closed, reconcile_and_cut
from twiki.windows.schema import ArticleKind

HOUR = timedelta(hours=1)
WINDOW = calendar.month("2026-11")
BOUNDS = (NOVEMBER, DECEMBER, DECEMBER + 31 * DAY)


def page(number, moment, rev, text, **fields):
    return edit(moment, rev, text, page_id=number, **{"title": f"Page {number}", **fields})


def made_of(*events, close=True):
    made = engine((OCTOBER, *BOUNDS))
    for event in events:
        made.apply(event)
    made.commit()
    if close:
        made.close(calendar.month("2026-10"))
        made.close(WINDOW)
        made.commit()
    return made


def sentences(folder):
    rows = Dataset.open(folder).rows(Part.SENTENCES)
    return [(row.id, row.kind, row.text, row.replaced) for row in rows]


def articles(folder):
    return {
        row.id: (row.kind, row.old_rev, row.new_rev)
        for row in Dataset.open(folder).rows(Part.DIFFSET)
    }


ADDED, UPDATED, NEW = SentenceKind.ADDED, SentenceKind.UPDATED, SentenceKind.NEW_ARTICLE


# --- net differences ------------------------------------------------------------------------


def test_a_windows_diff_is_net_of_edits_and_reverts(tmp_path):
    made = made_of(
        page(1, at(10, 5), 1, "The hall opened in 1901. It is red."),
        page(1, at(11, 5), 2, "VANDAL!", parent_rev_id=1),
        page(1, at(11, 6), 3, "The hall opened in 1901. It is red.", parent_rev_id=2),
        page(2, at(10, 5), 5, "The mill opened in 1901. It is old."),
        page(2, at(11, 5), 6, "The mill opened in 1902. It is old.", parent_rev_id=5),
        page(2, at(11, 6), 7, "The mill opened in 1902. It is old. It burned.", parent_rev_id=6),
    )
    report = cut_closed(made, WINDOW, tmp_path)
    assert sentences(report.folder) == [
        (2, UPDATED, "The mill opened in 1902.", "The mill opened in 1901."),
        (2, ADDED, "It burned.", None),
    ]
    assert articles(report.folder) == {2: (ArticleKind.UPDATED, 5, 7)}
    assert report.pages_touched == 2
    assert report.unread == {}
    Dataset.open(report.folder).verify()


def test_what_became_an_article_in_the_window_is_new_whatever_it_was_before(tmp_path):
    made = made_of(
        page(1, at(10, 5), 1, "#REDIRECT [[B]]"),
        page(1, at(11, 5), 2, "No longer a redirect.", parent_rev_id=1),
        page(2, at(10, 5), 3, "Gone and back."),
        delete(at(10, 9), page_id=2, title="Page 2"),
        restore(at(11, 5), 3, "Gone and back.", rev_dt=at(10, 5), page_id=2, title="Page 2"),
        page(3, at(10, 5), 5, "A draft.", title="Draft:C", namespace=118),
        move(at(11, 5), 6, "A draft.", "C", "Draft:C", page_id=3, parent_rev_id=5),
        page(4, at(11, 5), 8, "Imported.", rev_dt=at(10, 20), parent_rev_id=0),
        page(5, at(11, 5), 9, "Made and gone."),
        delete(at(11, 9), page_id=5, title="Page 5"),
        page(6, at(10, 5), 10, "To be a redirect."),
        page(6, at(11, 5), 11, "#REDIRECT [[B]]", parent_rev_id=10),
        page(7, at(10, 5), 12, "To be merged away."),
        merge(at(11, 5), page_id=7, title="Page 7", rev_dt=at(10, 5), rev_ids=(12,)),
    )
    report = cut_closed(made, WINDOW, tmp_path)
    assert {row[0]: row[1:] for row in sentences(report.folder)} == {
        1: (NEW, "No longer a redirect.", None),
        2: (NEW, "Gone and back.", None),
        3: (NEW, "A draft.", None),
        4: (NEW, "Imported.", None),
    }
    assert articles(report.folder)[1] == (ArticleKind.NEW_ARTICLE, None, 2)


def test_edits_just_before_and_at_the_boundary_fall_on_their_own_sides(tmp_path):
    last = NOVEMBER - timedelta(seconds=1)
    made = made_of(
        page(1, at(10, 5), 1, "One."),
        page(1, last, 2, "One. Two.", parent_rev_id=1),
        page(1, NOVEMBER, 3, "One. Two. Three.", parent_rev_id=2),
        page(1, DECEMBER, 4, "One. Two. Three. Four.", parent_rev_id=3),
    )
    report = cut_closed(made, WINDOW, tmp_path)
    assert [row[2] for row in sentences(report.folder)] == ["Three."]


def test_articles_whose_text_is_hidden_or_not_held_are_counted_and_not_guessed(tmp_path):
    made = made_of(
        page(1, at(11, 5), 1, "Hidden at once."),
        hide(at(11, 6), 1, page_id=1, title="Page 1"),
        page(2, at(10, 5), 2, "Two."),
        page(2, at(11, 5), 3, None, parent_rev_id=2),
        page(3, at(10, 5), 5, "Three."),
        page(3, at(11, 29), 6, "Three. Secret.", parent_rev_id=5),
        hide(at(12, 2), 6, page_id=3, title="Page 3"),
    )
    report = cut_closed(made, WINDOW, tmp_path)
    assert report.unread == {"hidden": 1, "needed": 1}
    assert sentences(report.folder) == []


def test_a_late_event_makes_version_two_and_leaves_version_one_as_it_was(tmp_path):
    base = page(1, at(10, 5), 1, "One.")
    own = page(1, at(11, 5), 2, "One. Two.", parent_rev_id=1)
    late = page(1, at(11, 20), 3, "One. Two. Three.", parent_rev_id=2)
    made = made_of(base, own)
    first = cut_closed(made, WINDOW, tmp_path / "a")
    made.apply(late)
    made.apply(page(1, at(12, 5), 4, "One. Two. Three. Four.", parent_rev_id=3))
    made.commit()
    again = cut_closed(made, WINDOW, tmp_path / "b")
    assert data_bytes(again.folder) == data_bytes(first.folder)
    second = cut(
        made.as_of(), WINDOW, CONFIG, tmp_path / "a", run=Run(engine="test"), corrects="late"
    )
    assert second.version == 2
    assert [row[2] for row in sentences(second.folder)] == ["Two.", "Three."]
    made.close(made.open_window)
    made.commit()
    december = cut_closed(made, calendar.month("2026-12"), tmp_path / "a")
    assert [row[2] for row in sentences(december.folder)] == ["Four."]


def test_the_same_state_is_cut_to_the_same_bytes_whatever_came_first(tmp_path):
    events = [
        page(n, at(10, 5 + n), n * 10, f"Page {n} stands. It has {n} rooms.") for n in range(1, 9)
    ] + [
        page(
            n,
            at(11, 5 + n),
            n * 10 + 1,
            f"Page {n} stands. It has {n + 1} rooms.",
            parent_rev_id=n * 10,
        )
        for n in range(1, 9)
    ]
    one = cut_closed(made_of(*events), WINDOW, tmp_path / "a")
    two = cut_closed(made_of(*events[::-1]), WINDOW, tmp_path / "b")
    assert data_bytes(one.folder) == data_bytes(two.folder)
    assert one.counts["sentences"] == 8


def test_probes_facts_and_passages_come_from_the_same_state(tmp_path):
    def town(rev, capital, moment, parent):
        facts = ("P36", capital)
        content = item("Q1", facts, label="Flanders", sitelink="Page 1")
        return entity_edit(moment, rev, "Q1", content, parent_rev_id=parent)

    named = [
        entity_edit(at(10, 2), 90 + n, ident, item(ident, label=label), parent_rev_id=0)
        for n, (ident, label) in enumerate([("P36", "capital"), ("Q8", "Bruges"), ("Q9", "Ghent")])
    ]
    made = made_of(
        page(1, at(10, 5), 1, "Its capital is Bruges.\n\nIt lies by the sea."),
        page(1, at(11, 5), 2, "Its capital is Ghent.\n\nIt lies by the sea.", parent_rev_id=1),
        *named,
        town(101, "Q8", at(10, 6), 0),
        town(102, "Q9", at(11, 6), 101),
    )
    report = cut_closed(made, WINDOW, tmp_path)
    dataset = Dataset.open(report.folder)
    (probe,) = dataset.rows(Part.PROBES_CHANGED)
    assert (probe.subject, probe.relation, probe.object) == ("Flanders", "capital", "Ghent")
    assert (probe.old_rev, probe.new_rev, probe.evidence_rev) == (101, 102, 2)
    assert probe.evidence == "Its capital is Ghent."
    (gone,) = dataset.rows(Part.FACTS_REMOVED)
    assert (gone.subject_qid, gone.object) == ("Q1", "Bruges")
    (passage,) = dataset.rows(Part.NONDIFF)
    assert passage.text == "It lies by the sea."


# --- every path gives the same files (L19) --------------------------------------------------

OLD, NEW_READ = NOVEMBER + 5 * HOUR, DECEMBER + 9 * HOUR
"""When the dumps were read: hours after their boundaries."""


def plain(rev, moment, text, parent=None):
    return xml_revision(rev, moment, text, parent)


OLD_PAGES = (
    xml_page(1, "Page 1", plain(10, at(10, 5), "The hall opened in 1901. It is red.")),
    xml_page(2, "Page 2", plain(20, at(10, 5), "To be deleted.")),
    xml_page(3, "Page 3", plain(30, at(10, 5), "#REDIRECT [[Page 1]]"), redirect="Page 1"),
    xml_page(4, "Page 4", plain(41, NOVEMBER + HOUR, "Young at the start.", 40)),
    xml_page(5, "Page 5", plain(50, at(10, 5), "Stays as it is.\n\nQuite so.")),
    xml_page(6, "Page 6", plain(60, at(10, 5), "Missed by the stream.")),
    xml_page(7, "Page 7", plain(70, at(10, 5), "Reverted.")),
    xml_page(8, "Page 8", plain(80, at(10, 5), "To be merged.")),
    xml_page(13, "Page 13", plain(130, at(10, 5), "Left out by the dump for no reason.")),
)
NEW_PAGES = (
    xml_page(
        1, "Page 1", plain(12, DECEMBER + 2 * HOUR, "The hall opened in 1903. It is red.", 11)
    ),
    xml_page(3, "Page 3", plain(31, at(11, 5), "No longer a redirect.", 30)),
    xml_page(4, "Page 4", plain(42, at(11, 5), "Young at the start. Older now.", 41)),
    xml_page(5, "Page 5", plain(50, at(10, 5), "Stays as it is.\n\nQuite so.")),
    xml_page(6, "Page 6", plain(62, at(11, 8), "Missed by the stream twice.", 61)),
    xml_page(7, "Page 7", plain(72, at(11, 7), "Reverted.", 71)),
    xml_page(9, "Page 9", plain(90, at(11, 9), "A new page.")),
    xml_page(10, "Page 10", plain(101, at(11, 9), "Was a draft.", 100)),
    xml_page(11, "Page 11", plain(110, DECEMBER + HOUR, "Made after the boundary.")),
    xml_page(12, "Page 12", plain(120, at(10, 20), "Imported this month.")),
    xml_page(14, "Page 14", plain(140, at(9, 20), "Restored this month.")),
)
STREAM = (
    page(4, NOVEMBER + HOUR, 41, "Young at the start.", parent_rev_id=40),
    page(1, at(11, 5), 11, "The hall opened in 1902. It is red.", parent_rev_id=10),
    page(3, at(11, 5), 31, "No longer a redirect.", parent_rev_id=30),
    page(4, at(11, 5), 42, "Young at the start. Older now.", parent_rev_id=41),
    delete(at(11, 6), 20, page_id=2, title="Page 2"),
    page(7, at(11, 6), 71, "VANDAL", parent_rev_id=70),
    page(7, at(11, 7), 72, "Reverted.", parent_rev_id=71),
    merge(at(11, 8), page_id=8, title="Page 8", rev_dt=at(10, 5), rev_ids=(80,)),
    page(9, at(11, 9), 90, "A new page."),
    move(at(11, 9), 101, "Was a draft.", "Page 10", "Draft:Ten", page_id=10, parent_rev_id=100),
    page(12, at(11, 12), 120, "Imported this month.", rev_dt=at(10, 20)),
    restore(at(11, 14), 140, "Restored this month.", rev_dt=at(9, 20), page_id=14, title="Page 14"),
    page(1, DECEMBER + 2 * HOUR, 12, "The hall opened in 1903. It is red.", parent_rev_id=11),
    page(11, DECEMBER + HOUR, 110, "Made after the boundary."),
)


def entity(ident, rev, moment, *facts, **more):
    return item(ident, *facts, rev=rev, modified=moment, **more)


NAMES = [
    entity(ident, 500 + n, at(10, 2), label=label)
    for n, (ident, label) in enumerate(
        [("P1", "height"), ("P2", "owner"), ("Q8", "red"), ("Q9", "A new page"), ("Q7", "hall")]
    )
]
OLD_ENTITIES = (
    *NAMES,
    entity("Q1", 600, at(10, 3), ("P1", "Q8"), ("P2", "Q7"), sitelink="Page 1", label="Opera"),
    entity("Q2", 610, at(10, 3), ("P1", "Q8"), sitelink="Page 5", label="Mill"),
    entity("Q3", 620, at(10, 3), ("P2", "Q8"), sitelink="Page 7", label="Merged away"),
)
NEW_ENTITIES = (
    *NAMES,
    entity("Q1", 601, at(11, 9), ("P1", "Q8"), ("P2", "Q9"), sitelink="Page 1", label="Opera"),
    entity("Q2", 612, DECEMBER + 3 * HOUR, ("P1", "Q7"), sitelink="Page 5", label="Mill"),
    entity("Q4", 630, at(11, 4), ("P1", "Q8"), sitelink="Page 9", label="New thing"),
)
ENTITY_STREAM = (
    entity_edit(at(11, 9), 601, "Q1", NEW_ENTITIES[-3], parent_rev_id=600),
    entity_edit(DECEMBER + 3 * HOUR, 612, "Q2", NEW_ENTITIES[-2], parent_rev_id=610),
    entity_edit(at(11, 9), 621, "Q3", '{"entity":"Q3","redirect":"Q1"}', parent_rev_id=620),
    entity_edit(at(11, 4), 630, "Q4", NEW_ENTITIES[-1], parent_rev_id=0),
)


@pytest.fixture
def pair(tmp_path):
    return (
        (
            [write_xml(tmp_path / "old.xml", *OLD_PAGES)],
            [write_entities(tmp_path / "old.json", *OLD_ENTITIES)],
        ),
        (
            [write_xml(tmp_path / "new.xml", *NEW_PAGES)],
            [write_entities(tmp_path / "new.json", *NEW_ENTITIES)],
        ),
    )


def dumped(pair, root, *events):
    old, new = pair
    made = engine(BOUNDS)
    bootstrap(made, *old)
    for event in events:
        made.apply(event)
    made.commit()
    made.close(WINDOW)
    made.commit()
    return reconcile_and_cut(made, WINDOW, *new, root, policy=Policy.DUMP)


@pytest.fixture
def oracle(pair, tmp_path):
    return dumped(pair, tmp_path / "pair")[1].folder


def same(left, right):
    left, right = data_bytes(left), data_bytes(right)
    assert {name for name in left if left[name] != right.get(name)} == set()
    assert left.keys() == right.keys()


def test_the_pair_of_dumps_gives_what_changed_between_them(oracle):
    Dataset.open(oracle).verify()
    assert sentences(oracle) == [
        (1, UPDATED, "The hall opened in 1903.", "The hall opened in 1901."),
        (3, NEW, "No longer a redirect.", None),
        (4, ADDED, "Older now.", None),
        (6, UPDATED, "Missed by the stream twice.", "Missed by the stream."),
        (9, NEW, "A new page.", None),
        (10, NEW, "Was a draft.", None),
        (11, NEW, "Made after the boundary.", None),
        (12, NEW, "Imported this month.", None),
        (14, NEW, "Restored this month.", None),
    ]
    assert Dataset.open(oracle).counts[Part.FACTS_REMOVED] == 3


def test_the_whole_stream_and_the_dump_give_the_files_of_the_pair(pair, oracle, tmp_path):
    report, made = dumped(pair, tmp_path / "s", *STREAM, *ENTITY_STREAM)
    same(made.folder, oracle)
    assert report.pages.classes["missing_in_dump"] == 1
    assert report.pages.had == report.pages.in_dump - 1


@pytest.mark.parametrize("missed", range(len(STREAM) + len(ENTITY_STREAM)))
def test_whatever_the_stream_missed_the_files_are_those_of_the_pair(pair, oracle, tmp_path, missed):
    events = [*STREAM, *ENTITY_STREAM]
    del events[missed]
    same(dumped(pair, tmp_path / "s", *events)[1].folder, oracle)


def test_events_told_twice_and_backwards_give_the_files_of_the_pair(pair, oracle, tmp_path):
    events = [*STREAM, *ENTITY_STREAM]
    same(dumped(pair, tmp_path / "s", *events[::-1], *events)[1].folder, oracle)


def test_a_stream_without_bootstrap_differs_only_where_its_start_is_unknown(pair, tmp_path):
    _, new = pair
    made = engine(BOUNDS)
    for event in STREAM:
        made.apply(event)
    made.close(WINDOW)
    made.commit()
    report, done = reconcile_and_cut(made, WINDOW, *new, tmp_path / "s", policy=Policy.DUMP)
    assert report.pages.in_dump == len(NEW_PAGES)
    assert msgspec.to_builtins(report.pages.classes)["missing_in_dump"] == 0
    assert 9 in articles(done.folder)
