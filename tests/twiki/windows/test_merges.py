"""Items that were merged between two dumps: told by the repository's tables (L8)."""

import itertools

import pytest
from histories import (
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

from twiki.errors import DumpError
from twiki.records import Policy
from twiki.state import layout
from twiki.times import to_ms
from twiki.windows import calendar
from twiki.windows.bootstrap import bootstrap
from twiki.windows.dataset import Dataset, Part, data_bytes
from twiki.windows.publishing import reconcile_and_cut

WINDOW = calendar.month("2026-11")
BOUNDS = (NOVEMBER, *(DECEMBER + 31 * n * DAY for n in range(5)))
TEXT, LATER = "Its capital is Ghent.", "Now its capital is Ghent."


def dumped(*told):
    return [item(ident, label=label, rev=rev, modified=at(9, 1)) for ident, label, rev in told]


def town(capital, rev, moment):
    return item("Q1", ("P36", capital), sitelink="Page 1", rev=rev, modified=moment)


OLD = [*dumped(("P36", "capital", 1), ("Q8", "Ghent", 2), ("Q9", "Ghent", 3))]
NEW = [*dumped(("P36", "capital", 1), ("Q9", "Ghent", 3))]
"""Q8 has been merged into Q9: an entity dump says nothing of it any more."""


@pytest.fixture
def pair(tmp_path):
    pages = [
        write_xml(tmp_path / f"{n}.xml", xml_page(1, "Page 1", xml_revision(*told)))
        for n, told in enumerate([(10, at(9, 5), TEXT), (11, at(11, 5), LATER, 10)])
    ]
    items = [
        write_entities(tmp_path / "0.json", *OLD, town("Q8", 100, at(10, 5))),
        write_entities(tmp_path / "1.json", *NEW, town("Q9", 101, at(11, 6))),
    ]
    return pages, items


def table(path, name, columns, *rows):
    listed = ",".join(f"`{one}`" for one in columns)
    values = ",".join(str(row).replace(", ", ",") for row in rows)
    path.write_text(
        f"-- MySQL dump\nCREATE TABLE `{name}` (\n  `x` int\n);\n"
        f"INSERT INTO `{name}` ({listed}) VALUES {values};\n-- Dump completed\n"
    )
    return path


@pytest.fixture
def tables(tmp_path):
    page = ("page_id", "page_namespace", "page_title", "page_is_redirect", "page_latest")
    redirect = ("rd_from", "rd_namespace", "rd_title", "rd_interwiki", "rd_fragment")
    return [
        table(
            tmp_path / "testdata-20261201-redirect.sql",
            "redirect",
            redirect,
            (708, 0, "Q9", "", ""),
            (709, 0, "Q9", "", ""),
            (730, 0, "Help", "", ""),
        ),
        table(
            tmp_path / "testdata-20261201-page.sql",
            "page",
            page,
            (708, 0, "Q8", 1, 301),
            (709, 0, "Q9", 0, 3),
            (710, 0, "Q70", 1, 302),
            (711, 120, "P36", 1, 1),
        ),
    ]


def made(pair, root, *events, redirects=(), policy=Policy.DUMP):
    (old, new), (older, newer) = pair
    state = engine(BOUNDS)
    bootstrap(state, [old], [older])
    for event in events:
        state.apply(event)
    state.close(WINDOW)
    state.commit()
    _, report = reconcile_and_cut(
        state, WINDOW, [new], [newer], root, policy=policy, redirects=redirects
    )
    return Dataset.open(report.folder), state


def classes(dataset):
    parts = (Part.PROBES_CHANGED, Part.PROBES_UNCHANGED, Part.FACTS_REMOVED)
    return [
        (row.object_qid_or_value, str(row.fact_class)) for p in parts for row in dataset.rows(p)
    ]


def test_a_pair_of_dumps_alone_takes_a_merged_object_for_another(pair, tmp_path):
    dataset, _ = made(pair, tmp_path / "out")
    assert classes(dataset) == [("Q9", "new_object"), ("Q8", "removed")]


def test_with_the_tables_of_redirects_it_is_unchanged(pair, tables, tmp_path):
    dataset, state = made(pair, tmp_path / "out", redirects=tables)
    assert classes(dataset) == [("Q9", "unchanged")]
    # Of what the state does not hold, and of pages that are no redirects, nothing is noted.
    assert [key[9:] for key, _ in state.store.kv.scan(layout.MERGED)] == [b"Q8"]


def test_the_stream_knows_a_merge_and_gives_the_same_files(pair, tables, tmp_path):
    merge = entity_edit(at(11, 6), 301, "Q8", '{"entity":"Q8","redirect":"Q9"}', parent_rev_id=2)
    known, _ = made(pair, tmp_path / "known", merge, policy=Policy.BOUNDARY)
    assert classes(known) == [("Q9", "unchanged")]
    streamed, _ = made(pair, tmp_path / "stream", merge, redirects=tables)
    alone, _ = made(pair, tmp_path / "pair", redirects=tables)
    assert data_bytes(streamed.folder) == data_bytes(alone.folder)


def test_a_released_window_forgets_its_notes(pair, tables, tmp_path):
    _, state = made(pair, tmp_path / "out", redirects=tables)
    assert list(state.store.kv.scan(layout.MERGED))
    for start, end in itertools.pairwise(BOUNDS[1:]):
        state.close(calendar.span(start, end))
        state.progress.reconciled[to_ms(start)] = "dump"
        state.release()
        state.commit()
    assert not list(state.store.kv.scan(layout.MERGED))


def test_both_tables_are_wanted_before_anything_is_changed(pair, tables, tmp_path):
    with pytest.raises(DumpError, match=r"expected the table 'page' \(page\.sql\.gz\)"):
        made(pair, tmp_path / "out", redirects=tables[:1])
    whole = tables[0].read_text()
    tables[0].write_text(whole.replace("-- Dump completed", ""))
    with pytest.raises(DumpError, match="It is cut"):
        made(pair, tmp_path / "out", redirects=tables)
    assert not (tmp_path / "out").exists()
