"""Real dumps: every file reads, or is refused by what is wrong with it."""

import bz2
import gzip
import hashlib
from pathlib import Path

import pytest

from twiki.dumps import entities, sql, xml
from twiki.dumps.files import expand, open_dump, verify
from twiki.dumps.xmlscan import scan
from twiki.dumps.xmlwalk import walk
from twiki.errors import ChecksumError, DumpError

DATA = Path(__file__).parents[3] / "shared" / "data"
WDTK = "wikidata/wdtk-dumps"
ENWIKI = "dumps/gensim/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
AAWIKI = "dumps/aawiki-20260101/aawiki-20260101"

PAGES = {  # pages, revisions, name of the wiki
    f"{AAWIKI}-pages-meta-current.xml.bz2": (507, 507, "aawiki"),
    f"{AAWIKI}-pages-meta-history.xml.xz": (507, 1307, "aawiki"),
    "dumps/gensim/bgwiki-latest-pages-articles-shortened.xml.bz2": (3, 3, "bgwiki"),
    ENWIKI: (206, 206, "enwiki"),
    "dumps/gensim/enwiki-table-markup.xml.bz2": (5, 5, ""),
    "dumps/gensim/testcorpus.xml.bz2": (9, 9, "enwiki"),
    "dumps/mediawiki-core/import/Basic.import-1.xml": (1, 1, "wiki"),
    "dumps/mediawiki-core/import/Dupes.import-1.xml": (1, 1, "wiki"),
    "dumps/mediawiki-core/import/ImportLinkCacheIntegrationTest.xml": (2, 2, ""),
    "dumps/mediawiki-core/import/Interleaved.import-7.xml": (1, 1, "wiki"),
    "dumps/mediawiki-core/import/InterleavedMulti.import-1.xml": (1, 4, "wiki"),
    "dumps/mediawiki-core/import/InterleavedMulti.import-2.xml": (1, 3, "wiki"),
    "dumps/mediawiki-core/import/MissingMainContentModel.import-1.xml": (1, 1, "wiki"),
    "dumps/mediawiki-core/import/MissingMainTextField.xml": (1, 1, "wiki"),
    "dumps/mediawiki-core/import/MissingSlotContentModel.import-1.xml": (1, 1, "wiki"),
    "dumps/mediawiki-core/import/MissingSlotRole.xml": (1, 1, "wiki"),
    "dumps/mediawiki-core/import/MissingSlotTextField.xml": (1, 1, "wiki"),
    "dumps/mediawiki-core/import/Slots.import-1.xml": (1, 1, "wiki"),
    "dumps/mediawiki-core/import/UndefinedContentModel.xml": (1, 1, "wiki"),
    "dumps/mediawiki-core/import/UndefinedSlotRole.xml": (1, 1, "wiki"),
    "dumps/operations-dumps/pages-articles-sample1.xml.bz2": (8, 8, "wikidatawiki"),
    "dumps/operations-dumps/pages-articles-sample2.xml.bz2": (6, 6, "wikidatawiki"),
    "dumps/operations-dumps/pages-articles-sample3.xml.bz2": (5, 5, "wikidatawiki"),
    "dumps/operations-dumps/pages-articles-sample4.xml.bz2": (4, 4, "wikidatawiki"),
    "dumps/operations-dumps/stub-articles-sample.xml.gz": (23, 23, "wikidatawiki"),
    "dumps/operations-dumps/stub-history-sample.xml.gz": (20, 118, "elwikivoyage"),
    "dumps/pywikibot/article-pear-0.10.xml": (1, 1, "enwiki"),
    "dumps/pywikibot/article-pear.xml": (1, 4, ""),
    "dumps/pywikibot/article-pyrus-utf16.xml": (1, 6, ""),
    "dumps/pywikibot/article-pyrus-utf16.xml.bz2": (1, 6, ""),
    "dumps/pywikibot/article-pyrus.xml": (1, 6, ""),
    "dumps/pywikibot/article-pyrus.xml.bz2": (1, 6, ""),
    "dumps/pywikibot/article-pyrus.xml.gz": (1, 6, ""),
    "dumps/pywikibot/article-pyrus.xml.lzma": (1, 6, ""),
    "dumps/pywikibot/article-pyrus.xml.xz": (1, 6, ""),
    "dumps/pywikibot/dummy-reflinks.xml": (2, 2, "enwiki"),
    "dumps/pywikibot/dummy-template.xml": (3, 3, "enwiki"),
    "dumps/pywikibot/pair-0.10.xml": (2, 4, "enwiki"),
    "dumps/refinery/MediawikiDumperOutputTest.Commonswiki.Sample.xml": (1, 59, "commonswiki"),
    "dumps/refinery/MediawikiDumperOutputTest.Simplewiki.Sample.xml": (2, 33, "simplewiki"),
    "revisions/enwiki-20140102.tiny.xml.gz": (2, 106, ""),
    "revisions/wikitrust/wiki_00023.xml": (1, 247, ""),
    "synthetic/export-0.11_page_edge.xml": (4, 4, "enwiki"),
    f"{WDTK}/mock-dump-for-testing.xml": (4, 10, ""),
    f"{WDTK}/mock-dump-with-bugs.xml": (2, 6, ""),
    f"{WDTK}/sample-daily-dump-20140220.xml": (2, 7, ""),
}
REFUSED = {
    "dumps/mediawiki-core/import/BadXML.xml": "tag mismatch.*line 3",
    "dumps/mediawiki-core/import/MissingMediaWikiTag.xml": "HTML page",
    "dumps/mediawiki-core/import/README.md": "found bytes",
    "dumps/mediawiki-core/import/Slots.expected.0.11.xml": "found <test:data>",
    "dumps/mediawiki-core/dumps/AllStubs.0.10.xml": "found <test:data>",
    "dumps/mediawiki-core/dumps/SiteInfo.0.11.xml": "found <test:data>",
    "dumps/operations-dumps/feed.xml": "found <rss>",
    "dumps/operations-dumps/pages-articles-sample4.xml-p4606p5340.bz2": "closing </mediawiki>",
    "dumps/operations-dumps/pages-articles-sample4.xml-p5341p5345.bz2": "closing </mediawiki>",
    "dumps/pywikibot/article-pyrus.xml.7z": "7z archives",
    "dumps/pywikibot/article-pyrus.xml_invalid.7z": "found bytes",
    "dumps/refinery/mediawiki-dump-test.xml": "a revision without <id>",
    f"{WDTK}/empty-dump.xml": "without any",
    f"{WDTK}/mock-dump-header.xml": "closing </mediawiki>",
    f"{WDTK}/mock-dump-incomplete-revision.xml": "closing </mediawiki>",
    f"{WDTK}/other-incr-wikidatawiki-index.html": "HTML page|DOCTYPE html",
    f"{WDTK}/other-wikidata-index.html": "HTML page",
    f"{WDTK}/wikidatawiki-20140210-index.html": "HTML page",
    f"{WDTK}/wikidatawiki-20140210-md5sums.txt": "found bytes",
    f"{WDTK}/wikidatawiki-index-old.html": "DOCTYPE html",
}
ENTITIES = {
    "wikidata/opentapioca/sample_wikidata_items.json.bz2": 100,
    "wikidata/opentapioca/short_stream.json.bz2": 635,
    f"{WDTK}/mock-dump-for-long-testing.json": 101,
    f"{WDTK}/mock-dump-for-testing.json": 4,
    f"{WDTK}/mock-dump-with-bugs.json": 101,
    f"{WDTK}/sample-dump-20150815.json.gz": 101,
}
TABLES = {
    f"{AAWIKI}-categorylinks.sql.gz": ("categorylinks", 156, "cl_from"),
    f"{AAWIKI}-pagelinks.sql.gz": ("pagelinks", 637, "pl_from"),
    f"{WDTK}/wikidatawiki-20140420-sites.sql": ("sites", 880, "site_id"),
}


def real(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"missing: {path}")
    return path


def pages_of(path, skip=None):
    with xml.open(path) as dump:
        return list(dump.pages(skip))


@pytest.mark.parametrize("name", PAGES)
def test_an_export_reads_whole(name):
    with xml.open(real(name)) as dump:
        pages = list(dump.pages())
        assert (len(pages), dump.counts.revisions, dump.siteinfo.dbname) == PAGES[name]
    assert sum(len(page.revisions) for page in pages) == PAGES[name][1]


@pytest.mark.parametrize("name", PAGES)
def test_both_walks_agree_on_it(name):
    path = real(name)
    with open_dump(path) as dump:
        text = dump.read()
    for skip in (None, lambda *_: True, lambda page, rev: (page + rev) % 3 == 0):
        for size in (4096, 1 << 20):
            chunks = [text[at : at + size] for at in range(0, len(text), size)]
            assert list(walk("x", chunks, skip)) == list(scan("x", chunks, skip))


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_whole_export_is_refused(name):
    path = real(name)
    with pytest.raises(DumpError, match=f"(?s){path.name}.*({REFUSED[name]})"):
        pages_of(path)


def test_every_file_of_the_folders_is_read_or_refused():
    root = real("dumps")
    for path in sorted([*root.rglob("*.xml*"), *root.rglob("*.bz2"), *(DATA / WDTK).glob("*.xml")]):
        try:
            pages_of(path)
        except DumpError as error:
            assert path.name in str(error)  # noqa: PT017 (either outcome is right)


def test_every_text_has_the_hash_that_its_dump_gives():
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    checked = 0
    for name in (f"{AAWIKI}-pages-meta-history.xml.xz", f"{AAWIKI}-pages-meta-current.xml.bz2"):
        for page in pages_of(real(name)):
            for revision in page.revisions:
                if revision.text is None or not revision.sha1:
                    continue
                number = int(hashlib.sha1(revision.text.encode()).hexdigest(), 16)  # noqa: S324
                base36 = ""
                while number:
                    number, digit = divmod(number, 36)
                    base36 = digits[digit] + base36
                assert revision.sha1 == base36.rjust(31, "0"), (page.title, revision.rev_id)
                checked += 1
    assert checked > 1_500


def test_the_current_pages_are_the_last_revisions_of_the_history():
    current = {p.page_id: p for p in pages_of(real(f"{AAWIKI}-pages-meta-current.xml.bz2"))}
    with xml.open(real(f"{AAWIKI}-pages-meta-history.xml.xz")) as dump:
        last = {page.page_id: (page.title, revision) for page, revision in dump.revisions()}
    assert len(last) == 507
    for number, (title, revision) in last.items():
        assert current[number].title == title
        assert current[number].revisions[0].rev_id == revision.rev_id
        assert current[number].revisions[0].text == revision.text
    assert sum(page.redirect is not None for page in current.values()) == 19


def test_the_edge_cases_of_a_page_come_out_apart():
    redirect, hidden, blank, user = pages_of(real("synthetic/export-0.11_page_edge.xml"))
    assert redirect.redirect == "Computer accessibility"
    assert (hidden.revisions[0].text, hidden.revisions[0].hidden) == (None, True)
    assert (blank.revisions[0].text, blank.revisions[0].parent_id) == ("", None)
    assert (user.namespace, user.revisions[0].model) == (2, "json")
    assert [slot.role for slot in user.revisions[0].slots] == ["mediainfo"]


def test_hidden_texts_and_stubs_have_no_text():
    simple = pages_of(real("dumps/refinery/MediawikiDumperOutputTest.Simplewiki.Sample.xml"))
    assert sum(r.hidden for page in simple for r in page.revisions) == 4
    stubs = pages_of(real("dumps/operations-dumps/stub-history-sample.xml.gz"))
    assert not any(r.text or r.hidden for page in stubs for r in page.revisions)
    (one,) = pages_of(real("dumps/mediawiki-core/import/MissingMainTextField.xml"))
    assert one.revisions[0].text is None


def test_parts_together_are_the_whole():
    folder = real("dumps/operations-dumps")
    parts = expand([folder / "pages-articles-sample1.xml-p*.bz2"])
    assert [part.name.rpartition("-")[2] for part in parts] == [
        "p1p1500.bz2", "p1501p4000.bz2", "p4001p4321.bz2", "p4322p4330.bz2",
    ]  # fmt: skip
    together = [page for part in parts for page in pages_of(part)]
    assert together == pages_of(folder / "pages-articles-sample1.xml.bz2")


def test_every_compression_of_an_export_says_the_same():
    folder = real("dumps/pywikibot")
    plain = pages_of(folder / "article-pyrus.xml")
    for path in sorted(folder.glob("article-pyrus*")):
        if "7z" not in path.name:
            assert pages_of(path) == plain, path.name


@pytest.fixture(scope="module")
def streams():
    """An export as multistream bzip2: header, pages, footer."""
    text = bz2.decompress(real("dumps/gensim/enwiki-table-markup.xml.bz2").read_bytes())
    pieces, start = [], 0
    while (end := text.find(b"</page>", start)) >= 0:
        pieces.append(text[start : end + 7])
        start = end + 7
    return [bz2.compress(piece) for piece in [*pieces, text[start:]]]


def test_multistream_reads_whole_and_is_refused_when_cut_at_any_stream(streams, tmp_path):
    path = tmp_path / "multistream.bz2"
    path.write_bytes(b"".join(streams))
    assert len(pages_of(path)) == 5
    for end in range(1, len(streams)):
        path.write_bytes(b"".join(streams[:end]))
        with pytest.raises(DumpError, match=r"multistream\.bz2.*closing </mediawiki>"):
            pages_of(path)
        path.write_bytes(b"".join(streams[:end]) + streams[end][:-5])
        with pytest.raises(DumpError, match=r"multistream\.bz2.*(damage|closing)"):
            pages_of(path)


def test_an_error_page_named_as_a_dump_is_refused(tmp_path):
    path = tmp_path / "enwiki-latest-pages-articles.xml.bz2"
    path.write_bytes(real(f"{WDTK}/wikidatawiki-index.html").read_bytes()[:186])
    with pytest.raises(DumpError, match="HTML page of 186 bytes"):
        pages_of(path)


@pytest.mark.parametrize("name", ENTITIES)
def test_an_entity_dump_reads_whole(name):
    with entities.open(real(name)) as dump:
        found = list(dump.entities())
        assert (len(found), dump.damaged_lines) == (ENTITIES[name], 0)
    assert len({entity.id for entity in found}) > ENTITIES[name] * 0.6


def test_entities_with_empty_lists_for_maps_are_there():
    with entities.open(real(f"{WDTK}/mock-dump-with-bugs.json")) as dump:
        by_id = {entity.id: entity for entity in dump.entities()}
    assert b'"labels":[]' in by_id["Q8"].raw


def test_entities_are_skipped_by_their_revision():
    with entities.open(real("wikidata/opentapioca/short_stream.json.bz2")) as dump:
        newest = {entity.id: entity.rev_id for entity in dump.entities()}
    with entities.open(real("wikidata/opentapioca/short_stream.json.bz2")) as dump:
        rest = list(dump.entities(lambda entity, rev: newest[entity] == rev))
        assert dump.skipped + len(rest) == 635
    assert all(newest[entity.id] != entity.rev_id for entity in rest)


def test_an_entity_dump_that_lacks_its_bracket_is_refused(tmp_path):
    with (
        pytest.raises(DumpError, match=r"entities\.json\.xz.*closing bracket"),
        entities.open(
            real("wikidata/wikibase-dump-filter/entities.json.xz"),
        ) as dump,
    ):
        list(dump.entities())
    lines = gzip.decompress(real(f"{WDTK}/sample-dump-20150815.json.gz").read_bytes()).splitlines()
    members = [b"[\n", b"\n".join(lines[1:50]), b"\n" + b"\n".join(lines[50:-1]), b"\n]\n"]
    path = tmp_path / "all.json.gz"
    for end in (2, 3, 4):
        path.write_bytes(b"".join(map(gzip.compress, members[:end])))
        with entities.open(path) as dump:
            if end == len(members):
                assert len(list(dump.entities())) == 101
            else:
                with pytest.raises(DumpError, match="closing bracket"):
                    list(dump.entities())


@pytest.mark.parametrize("name", TABLES)
def test_a_table_dump_reads_whole(name):
    table, count, key = TABLES[name]
    rows = list(sql.rows(real(name), table))
    assert len(rows) == count
    assert all(isinstance(row[key], int) for row in rows)


def test_checksums_in_wikimedias_list_are_found(tmp_path):
    listing = real(f"{WDTK}/wikidatawiki-20140210-md5sums.txt")
    name = listing.read_text().splitlines()[0].split()[1]
    (tmp_path / listing.name).write_bytes(listing.read_bytes())
    (tmp_path / name).write_bytes(b"something else")
    with pytest.raises(ChecksumError, match=f"{name}: expected md5"):
        verify(tmp_path / name)
