"""Entities without an article are kept as outlines, and read in full when they get one."""

import pytest
from histories import (
    CONFIG,
    DAY,
    DECEMBER,
    NOVEMBER,
    at,
    engine,
    entity_edit,
    item,
    write_entities,
    write_xml,
    xml_page,
    xml_revision,
)

from twiki.records import Policy
from twiki.times import to_ms
from twiki.windows import calendar
from twiki.windows.bootstrap import bootstrap
from twiki.windows.dataset import Dataset, Part, data_bytes
from twiki.windows.publishing import reconcile_and_cut

WINDOW = calendar.month("2026-11")
BOUNDS = (NOVEMBER, DECEMBER, DECEMBER + 31 * DAY)
NAMES = [
    item(ident, label=label, rev=500 + n, modified=at(9, 1))
    for n, (ident, label) in enumerate(
        [
            ("P36", "capital"),
            ("P17", "country"),
            ("Q8", "Bruges"),
            ("Q9", "Ghent"),
            ("Q7", "Belgium"),
        ]
    )
]
OLD = item("Q1", ("P36", "Q8"), ("P17", "Q7"), label="Flanders", rev=100, modified=at(10, 5))
NEW = item(
    "Q1", ("P36", "Q9"), ("P17", "Q7"), label="Flanders", sitelink="Page 1", rev=101,
    modified=at(11, 6),
)  # fmt: skip
EDIT = entity_edit(at(11, 6), 101, "Q1", NEW, parent_rev_id=100)
TEXT = "Its capital is Ghent, in Belgium."


@pytest.fixture
def pair(tmp_path):
    pages = (
        write_xml(tmp_path / "old.xml", xml_page(2, "Page 2", xml_revision(20, at(9, 5), "Two."))),
        write_xml(
            tmp_path / "new.xml",
            xml_page(1, "Page 1", xml_revision(10, at(11, 5), TEXT)),
            xml_page(2, "Page 2", xml_revision(20, at(9, 5), "Two.")),
        ),
    )
    items = (
        write_entities(tmp_path / "old.json", *NAMES, OLD),
        write_entities(tmp_path / "new.json", *NAMES, NEW),
    )
    return pages, items


def started(pair):
    made = engine(BOUNDS)
    done = bootstrap(made, [pair[0][0]], [pair[1][0]])
    assert done.outlines == done.entities == 6
    return made


def finished(made, pair, root, **more):
    made.close(WINDOW)
    made.commit()
    return reconcile_and_cut(
        made, WINDOW, [pair[0][1]], [pair[1][1]], root, policy=Policy.DUMP, **more
    )[1]


def classes(report):
    dataset = Dataset.open(report.folder)
    parts = (Part.PROBES_CHANGED, Part.PROBES_UNCHANGED)
    return {
        (row.relation, row.object, str(row.fact_class)) for p in parts for row in dataset.rows(p)
    }


class ById:
    """The API: revisions by id alone."""

    def __init__(self, *revisions):
        self.revisions_by_id = {r.change.rev_id: r for r in revisions}
        self.asked = []

    def revisions(self, wiki, rev_ids):
        self.asked += [(wiki, rev) for rev in rev_ids]
        return [self.revisions_by_id.get(rev) for rev in rev_ids]


TRUE = {("capital", "Ghent", "new_object"), ("country", "Belgium", "unchanged")}


def test_of_an_entity_without_an_article_only_the_labels_are_kept(pair):
    made = started(pair)
    kept = made.as_of().entity("Q1", to_ms(NOVEMBER)).entity
    assert (kept.labels, kept.facts, kept.outline) == ({"en": "Flanders"}, (), True)
    assert not list(made.store.sampled_entities())


def test_what_it_said_before_is_read_again_from_the_older_dump(pair, tmp_path):
    report = finished(started(pair), pair, tmp_path / "pair", older=[pair[1][0]])
    assert classes(report) == TRUE
    assert report.unread_entities == {}


def test_in_a_stream_it_is_needed_by_its_revision_id_and_the_files_are_the_same(pair, tmp_path):
    oracle = finished(started(pair), pair, tmp_path / "pair", older=[pair[1][0]])
    made = started(pair)
    applied = made.apply(EDIT)
    made.commit()
    assert applied.outputs == ()  # nobody knows yet what is new
    assert list(made.store.needs()) == [("Q1", 100)]
    contents = ById(entity_edit(at(10, 5), 100, "Q1", OLD))
    report = finished(made, pair, tmp_path / "stream", contents=contents)
    assert contents.asked == [(CONFIG.wiki.repository, 100)]
    assert data_bytes(report.folder) == data_bytes(oracle.folder)


def test_where_it_cannot_be_had_nothing_is_guessed(pair, tmp_path):
    report = finished(started(pair), pair, tmp_path / "pair")
    assert classes(report) == set()
    assert report.unread_entities == {"needed": 1}


def test_an_entity_that_loses_its_article_keeps_its_facts(tmp_path, pair):
    pages, _ = pair
    linked = item("Q1", ("P36", "Q8"), sitelink="Page 2", rev=100, modified=at(10, 5))
    bare = item("Q1", ("P36", "Q8"), rev=101, modified=at(11, 6))
    items = (
        write_entities(tmp_path / "a.json", *NAMES, linked),
        write_entities(tmp_path / "b.json", *NAMES, bare),
    )
    made = engine(BOUNDS)
    bootstrap(made, [pages[0]], [items[0]])
    report = finished(made, (pages, items), tmp_path / "out")
    assert report.counts["facts_removed"] == 0
    assert made.as_of().entity("Q1", to_ms(DECEMBER)).entity.outline is False


# --- page_props -----------------------------------------------------------------------------


def props(path, *rows):
    values = ",".join(f"({page},'wikibase_item','{ident}',NULL)" for page, ident in rows)
    columns = "(`pp_page`,`pp_propname`,`pp_value`,`pp_sortkey`)"
    path.write_text(
        f"-- MySQL dump\nCREATE TABLE `page_props` (\n  `pp_page` int\n);\n"
        f"INSERT INTO `page_props` {columns} VALUES {values};\n-- Dump completed\n"
    )
    return path


def test_page_props_name_the_article_of_an_entity_without_a_link(tmp_path):
    page_two = xml_page(2, "Page 2", xml_revision(20, at(9, 5), "Its capital is Bruges."))
    after = xml_page(2, "Page 2", xml_revision(21, at(11, 5), "Its capital is Ghent.", 20))
    pages = [
        write_xml(tmp_path / "old.xml", page_two),
        write_xml(tmp_path / "new.xml", after),
    ]
    old = item("Q1", ("P36", "Q8"), label="Flanders", rev=100, modified=at(10, 5))
    new = item("Q1", ("P36", "Q9"), label="Flanders", rev=101, modified=at(11, 6))
    items = [
        write_entities(tmp_path / "old.json", *NAMES, old),
        write_entities(tmp_path / "new.json", *NAMES, new),
    ]
    told = props(tmp_path / "page_props.sql", (2, "Q1"), (9, "not an item"))
    made = engine(BOUNDS)
    assert bootstrap(made, [pages[0]], [items[0]], page_props=[told]).outlines == 5
    report = finished(made, (pages, items), tmp_path / "out", page_props=[told])
    (probe,) = Dataset.open(report.folder).rows(Part.PROBES_CHANGED)
    assert (probe.subject, probe.object, probe.page_title) == ("Flanders", "Ghent", "Page 2")
    (gone,) = Dataset.open(report.folder).rows(Part.PROBES_REMOVED)
    assert (gone.object, gone.page_id) == ("Bruges", 2)
