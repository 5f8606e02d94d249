"""Dumps that do not fit a state are refused before anything is changed."""

import pytest
from histories import (
    DECEMBER,
    NOVEMBER,
    at,
    engine,
    item,
    pairs,
    write_entities,
    write_xml,
    xml_page,
    xml_revision,
)

from twiki.errors import DumpError
from twiki.records import Policy
from twiki.windows import calendar
from twiki.windows.bootstrap import ARTICLE_BYTES, ENTITY_BYTES, bootstrap
from twiki.windows.fitting import day_of
from twiki.windows.reconcile import reconcile

WINDOW = calendar.month("2026-11")


def articles(path, wiki="testwiki"):
    made = write_xml(path, xml_page(1, "One", xml_revision(10, at(9, 5), "First.")))
    made.write_text(made.read_text("utf-8").replace("testwiki", wiki), "utf-8")
    return made


def entities(path, **fields):
    return write_entities(path, item("Q1", **(fields or {"rev": 100, "modified": at(9, 7)})))


def test_a_dump_of_another_wiki_is_refused_and_nothing_is_written(tmp_path):
    made = engine((NOVEMBER, DECEMBER))
    good, bad = articles(tmp_path / "a.xml"), articles(tmp_path / "b.xml", "dewiki")
    with pytest.raises(DumpError, match="expected a dump of testwiki, found one of dewiki"):
        bootstrap(made, [good, bad])
    made.commit()
    assert all(key[:1] == b"m" for key in pairs(made.store.kv))


def test_entities_without_page_metadata_are_refused_before_the_articles_are_read(tmp_path):
    made = engine((NOVEMBER, DECEMBER))
    bare = entities(tmp_path / "e.json", label="bare")
    with pytest.raises(DumpError, match="Q1 at byte 2 has no lastrevid"):
        bootstrap(made, [articles(tmp_path / "a.xml")], [bare])
    made.commit()
    assert all(key[:1] == b"m" for key in pairs(made.store.kv))


@pytest.mark.parametrize("late", ["articles", "entities"])
def test_a_dump_of_a_day_before_the_boundary_is_older_than_the_state(tmp_path, late):
    made = engine((NOVEMBER, DECEMBER))
    made.close(WINDOW)
    days = {"articles": "20261201", "entities": "20261207", late: "20261130"}
    pages = articles(tmp_path / f"testwiki-{days['articles']}-pages-articles.xml")
    items = entities(tmp_path / f"testdata-{days['entities']}-all.json")
    with pytest.raises(DumpError, match="found one of 2026-11-30: it is older than the state"):
        reconcile(made, WINDOW, [pages], [items], policy=Policy.DUMP)
    made.commit()
    assert all(key[:1] == b"m" for key in pairs(made.store.kv))


def test_the_day_of_a_dump_stands_in_its_name_or_its_folders(tmp_path):
    assert day_of(tmp_path / "enwiki-20261201-pages-articles.xml.bz2") == DECEMBER
    assert day_of(tmp_path / "20261201" / "all.json.gz") == DECEMBER
    assert day_of(tmp_path / "from-20261201" / "all.json.gz") is None
    assert day_of(tmp_path / "wiki-20261399-all.json.gz") is None
    assert day_of(tmp_path / "p1p41242.xml") is None


def test_progress_tells_the_bytes_of_the_files_to_their_end(tmp_path):
    pages, items = articles(tmp_path / "a.xml"), entities(tmp_path / "e.json")
    told = {ARTICLE_BYTES: 0, ENTITY_BYTES: 0}

    def progress(stage, more):
        if stage in told:
            told[stage] += more

    made = engine((NOVEMBER, DECEMBER))
    bootstrap(made, [pages], [items], progress=progress)
    assert told == {ARTICLE_BYTES: pages.stat().st_size, ENTITY_BYTES: items.stat().st_size}
    told = dict.fromkeys(told, 0)
    made.close(WINDOW)
    reconcile(made, WINDOW, [pages], [items], progress=progress)
    assert told == {ARTICLE_BYTES: pages.stat().st_size, ENTITY_BYTES: items.stat().st_size}
