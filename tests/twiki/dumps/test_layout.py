"""A folder, a pattern or names: the files that make up a dump, in order."""

import pytest

from twiki.dumps.files import expand
from twiki.errors import DumpError

PARTS = ["1.xml-p1p100", "2.xml-p101p2000", "2.xml-p2001p30000", "10.xml-p30001p40000"]


def classic(folder, names=PARTS, run="20261101", job="pages-articles"):
    for name in names:
        (folder / f"enwiki-{run}-{job}{name}.bz2").touch()
    return [f"enwiki-{run}-{job}{name}.bz2" for name in names]


def names(files):
    return [file.name for file in files]


def test_parts_come_in_the_order_of_their_pages_not_of_their_names(tmp_path):
    wanted = classic(tmp_path)
    (tmp_path / "enwiki-20261101-pages-articles-multistream-index1.txt-p1p100.bz2").touch()
    classic(tmp_path, ["-multistream1.xml-p1p100"])
    (tmp_path / "enwiki-20261101-page_props.sql.gz").touch()
    assert names(expand([tmp_path])) == wanted
    assert names(expand([tmp_path / "enwiki-*-pages-articles[0-9]*.bz2"])) == wanted


def test_a_recombined_file_is_taken_instead_of_its_parts(tmp_path):
    classic(tmp_path)
    (whole,) = classic(tmp_path, [".xml"])
    assert names(expand([tmp_path])) == [whole]


def test_multistream_is_taken_where_there_is_nothing_else(tmp_path):
    wanted = classic(tmp_path, ["-multistream1.xml-p1p100", "-multistream2.xml-p101p200"])
    assert names(expand([tmp_path])) == wanted


def test_a_part_in_two_compressions_counts_once(tmp_path):
    classic(tmp_path, [".xml"])
    (tmp_path / "enwiki-20261101-pages-articles.xml.gz").touch()
    assert names(expand([tmp_path])) == ["enwiki-20261101-pages-articles.xml.bz2"]


def test_other_kinds_of_page_dumps_are_told_apart(tmp_path):
    classic(tmp_path)
    wanted = classic(tmp_path, [".xml"], job="pages-meta-current")
    assert names(expand([tmp_path], "current")) == wanted
    with pytest.raises(DumpError, match="history"):
        expand([tmp_path], "history")


def test_a_missing_part_is_an_error_that_names_its_pages(tmp_path):
    classic(tmp_path, [PARTS[0], *PARTS[2:]])
    with pytest.raises(DumpError, match=r"pages 101 to 2,000 lie between .*p1p100.*p2001p30000"):
        expand([tmp_path])


def test_two_runs_in_a_folder_are_an_error(tmp_path):
    classic(tmp_path)
    classic(tmp_path, run="20261201")
    with pytest.raises(DumpError, match="enwiki 20261101, enwiki 20261201"):
        expand([tmp_path])


@pytest.fixture
def export(tmp_path):
    files = [f"enwiki-2026-11-01-p{a}p{b}.xml.bz2" for a, b in [(1, 99), (100, 999), (1000, 9999)]]
    for name in files:
        (tmp_path / name).touch()
    (tmp_path / "SHA256SUMS").write_text("".join(f"{'0' * 64}  {name}\n" for name in files))
    (tmp_path / "_SUCCESS").touch()
    return tmp_path, files


def test_a_content_export_with_its_marks_is_complete(export):
    folder, files = export
    assert names(expand([folder])) == files


@pytest.mark.parametrize("mark", ["SHA256SUMS", "_SUCCESS", "enwiki-2026-11-01-p100p999.xml.bz2"])
def test_a_content_export_that_lacks_anything_is_incomplete(export, mark):
    folder, _ = export
    (folder / mark).unlink()
    with pytest.raises(DumpError, match=f"missing.*{mark}|{mark} is missing"):
        expand([folder])


def test_what_is_named_one_by_one_is_taken_as_it_is(tmp_path):
    classic(tmp_path)
    chosen = [tmp_path / f"enwiki-20261101-pages-articles{PARTS[n]}.bz2" for n in (3, 1)]
    assert expand([*chosen, chosen[0]]) == chosen


@pytest.mark.parametrize("name", ["nowhere.bz2", "none*.bz2"])
def test_what_is_not_there_is_an_error(tmp_path, name):
    with pytest.raises(DumpError, match=r"no such|no file matches"):
        expand([tmp_path / name])


def test_the_entity_dump_of_a_folder_is_its_gzip_file(tmp_path):
    for name in ("wikidata-20261102-all.json.bz2", "wikidata-20261102-all.json.gz"):
        (tmp_path / name).touch()
    (tmp_path / "wikidata-20261102-lexemes.json.gz").touch()
    assert names(expand([tmp_path], "entities")) == ["wikidata-20261102-all.json.gz"]
    (tmp_path / "wikidata-20261109-all.json.gz").touch()
    with pytest.raises(DumpError, match="20261102, 20261109"):
        expand([tmp_path], "entities")


def test_a_folder_without_a_dump_is_an_error(tmp_path):
    for kind in ("articles", "entities"):
        with pytest.raises(DumpError, match="found none"):
            expand([tmp_path], kind)
