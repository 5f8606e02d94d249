"""XML dumps: what the reader makes of every construction an export may hold."""

import bz2
import gzip
import lzma
import resource
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard

from twiki.dumps import xml
from twiki.dumps.pages import DumpNamespace
from twiki.dumps.xmlscan import scan
from twiki.dumps.xmlwalk import walk
from twiki.errors import DumpError

SITE = (
    "<siteinfo><sitename>Wikipedia</sitename><dbname>testwiki</dbname>"
    '<case>first-letter</case><namespaces><namespace key="0" case="first-letter" />'
    '<namespace key="1" case="first-letter">Talk</namespace>'
    '<namespace key="4" case="case-sensitive">Projet é</namespace></namespaces></siteinfo>'
)


def revision(rev: int, inner: str = "<text>x</text>", extra: str = "") -> str:
    stamp = "<timestamp>2026-11-01T00:00:00Z</timestamp>"
    return f"<revision><id>{rev}</id>{extra}{stamp}{inner}</revision>"


def page(number: int, *revisions: str, title: str = "", between: str = "<ns>0</ns>") -> str:
    title = title or f"Page {number}"
    return f"<page><title>{title}</title>{between}<id>{number}</id>{''.join(revisions)}</page>\n"


def export(*content: str, site: str = SITE, version: str = "0.11") -> str:
    return (
        f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-{version}/" version="{version}" '
        f'xml:lang="en">\n{site}\n{"".join(content)}</mediawiki>\n'
    )


def read(tmp_path: Path, text: str | bytes, **options) -> list[xml.DumpPage]:
    path = tmp_path / "dump.xml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with xml.open(path, **options) as dump:
        return list(dump.pages())


def only(tmp_path: Path, inner: str, extra: str = "") -> xml.DumpRevision:
    (one,) = read(tmp_path, export(page(1, revision(7, inner, extra))))
    return one.revisions[0]


def test_a_page_and_its_revision_come_out_with_every_field(tmp_path):
    path = tmp_path / "dump.xml"
    text = '<text bytes="11" sha1="abc" xml:space="preserve">Tom &amp; &lt;b&gt;é</text>'
    inner = f"<comment>why</comment><model>wikitext</model>{text}<sha1>abc</sha1>"
    path.write_text(export(page(1, revision(7, inner, "<parentid>6</parentid>"))), "utf-8")
    with xml.open(path) as dump:
        assert dump.siteinfo.dbname == "testwiki"
        assert dump.siteinfo.sitename == "Wikipedia"
        assert dump.siteinfo.namespaces[4] == DumpNamespace(name="Projet é", case="case-sensitive")
        (one,) = dump.pages()
        assert dump.file.position == dump.file.total == path.stat().st_size
    assert (one.page_id, one.title, one.namespace, one.redirect) == (1, "Page 1", 0, None)
    (rev,) = one.revisions
    assert rev == xml.DumpRevision(
        rev_id=7,
        parent_id=6,
        timestamp=datetime(2026, 11, 1, tzinfo=UTC),
        text="Tom & <b>é",
        sha1="abc",
        size=11,
        comment="why",
    )


def test_hidden_blank_and_unknown_texts_are_three_things(tmp_path):
    hidden = only(tmp_path, '<text bytes="5" deleted="deleted" />')
    assert (hidden.text, hidden.hidden, hidden.size) == (None, True, 5)
    for blank in ('<text bytes="0" />', '<text xml:space="preserve"></text>', "<text />"):
        rev = only(tmp_path, blank)
        assert (rev.text, rev.hidden) == ("", False), blank
    for unknown in ('<text bytes="9" />', '<text id="3" />', '<text location="tt:3" />', ""):
        rev = only(tmp_path, unknown)
        assert (rev.text, rev.hidden) == (None, False), unknown


def test_parent_zero_means_no_parent(tmp_path):
    assert only(tmp_path, "<text>x</text>", "<parentid>0</parentid>").parent_id is None
    assert only(tmp_path, "<text>x</text>").parent_id is None


def test_a_hidden_comment_is_none(tmp_path):
    assert only(tmp_path, '<comment deleted="deleted" /><text>x</text>').comment is None


def test_other_slots_stand_beside_the_main_text(tmp_path):
    slot = (
        "<content><role>mediainfo</role><origin>4</origin><model>wikibase-mediainfo</model>"
        '<format>application/json</format><text bytes="2" sha1="x">{}</text></content>'
    )
    rev = only(tmp_path, f"<origin>4</origin><text>main</text>{slot}")
    assert rev.text == "main"
    assert [(s.role, s.model, s.text) for s in rev.slots] == [
        ("mediainfo", "wikibase-mediainfo", "{}"),
    ]
    assert only(tmp_path, slot).text is None


def test_the_namespace_comes_from_the_title_where_none_is_given(tmp_path):
    titles = {"Plain": 0, "Talk:Plain": 1, "Projet é:X": 4, "projet E\u0301:X": 4, "No:Such": 0}
    pages = [page(i, title=t, between="") for i, t in enumerate(titles, 1)]
    got = read(tmp_path, export(*pages, version="0.3"))
    assert [p.namespace for p in got] == list(titles.values())


def test_titles_are_display_titles_in_nfc(tmp_path):
    (one,) = read(
        tmp_path,
        export(page(1, title="Cafe\u0301_x", between='<ns>0</ns><redirect title="A_b"/>')),
    )
    assert (one.title, one.redirect) == ("Café x", "A b")


def test_a_page_without_revisions_still_comes_out(tmp_path):
    got = read(tmp_path, export(page(1), page(2, revision(3))))
    assert [(p.page_id, len(p.revisions)) for p in got] == [(1, 0), (2, 1)]


def test_talk_threads_uploads_and_log_items_are_passed_over(tmp_path):
    thread = "<DiscussionThreading><ThreadSubject>s</ThreadSubject></DiscussionThreading>"
    upload = "<upload><timestamp>2026-11-01T00:00:00Z</timestamp><filename>a</filename></upload>"
    logitem = "<logitem><id>1</id></logitem>"
    text = export(
        page(1, thread, revision(3), upload),
        logitem,
        page(2, upload, revision(4), thread),
    )
    assert [[r.rev_id for r in p.revisions] for p in read(tmp_path, text)] == [[3], [4]]


def test_a_revision_that_stands_twice_is_passed_once(tmp_path):
    path = tmp_path / "dump.xml"
    path.write_text(export(page(1, revision(3), revision(4), revision(3)), page(1, revision(4))))
    with xml.open(path) as dump:
        assert [rev.rev_id for _, rev in dump.revisions()] == [3, 4]
        assert dump.counts.duplicates == 2


def test_a_skipped_revision_does_not_come_out_and_is_asked_for_once(tmp_path):
    path = tmp_path / "dump.xml"
    path.write_text(
        export(
            page(1, revision(3)), page(2, revision(4), revision(5)), page(9), page(3, revision(6))
        ),
    )
    asked = []

    def skip(page_id: int, rev_id: int) -> bool:
        asked.append((page_id, rev_id))
        return rev_id in (3, 4)

    with xml.open(path) as dump:
        got = [(p.page_id, [r.rev_id for r in p.revisions]) for p in dump.pages(skip)]
        assert (dump.counts.pages, dump.counts.revisions, dump.counts.skipped) == (4, 4, 2)
    assert got == [(2, [5]), (9, []), (3, [6])]
    assert asked == [(1, 3), (2, 4), (2, 5), (3, 6)]


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-le", "utf-16-be", "iso-8859-1", "utf-8-sig"]
)
def test_any_encoding_that_xml_may_have_is_read(tmp_path, encoding):
    name = "UTF-16" if encoding.startswith("utf-16-") else encoding.removesuffix("-sig")
    text = f'<?xml version="1.0" encoding="{name}"?>\n' + export(
        page(1, revision(3, "<text>naïve</text>")),
    )
    (one,) = read(tmp_path, text.encode(encoding))
    assert one.revisions[0].text == "naïve"


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        (".bz2", bz2.compress),
        (".gz", gzip.compress),
        (".xz", lzma.compress),
        (".zst", zstandard.ZstdCompressor().compress),
        ("", bytes),
    ],
)
def test_any_compression_is_read_by_its_magic_bytes_not_its_name(tmp_path, suffix, compress):
    text = export(page(1, revision(3))).encode()
    for name in (f"dump.xml{suffix}", "named-otherwise.bz2"):
        path = tmp_path / name
        path.write_bytes(compress(text))
        with xml.open(path) as dump:
            assert [p.page_id for p in dump.pages()] == [1]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-20],
        lambda text: text[: text.index("</page>")],
        lambda text: text[: text.index("<id>")],
        lambda text: text.replace("</title>", ""),
        lambda text: text.replace("<text>x</text>", "<text>x</txt>"),
        lambda text: text.replace("<text>x", "<text>&nbsp;x"),
        lambda text: text.replace("<text>x", "<text>\x01"),
        lambda text: text + "<page/>",
        lambda text: text + text,
        lambda text: text.replace("<id>1</id>", ""),
        lambda text: text.replace("<id>1</id>", "<id>one</id>"),
        lambda text: text.replace("<id>3</id>", ""),
        lambda text: text.replace("<title>Page 1</title>", ""),
        lambda text: text.replace("2026-11-01T00:00:00Z", "yesterday"),
        lambda text: text.replace("<timestamp>2026-11-01T00:00:00Z</timestamp>", ""),
        lambda text: text.replace("mediawiki", "feed"),
        lambda text: f"<!DOCTYPE html>{text}",
        lambda text: '<!DOCTYPE x [<!ENTITY a "b">]>' + text.replace("<text>x", "<text>&a;"),
    ],
)
def test_a_damaged_dump_is_an_error_that_names_the_file(tmp_path, damage):
    text = export(page(1, revision(3)))
    assert damage(text) != text
    with pytest.raises(DumpError, match=r"dump\.xml.*(expected|near byte)"):
        read(tmp_path, damage(text))


def test_a_dump_without_pages_is_an_error_unless_it_is_allowed(tmp_path):
    with pytest.raises(DumpError, match="without any"):
        read(tmp_path, export())
    assert read(tmp_path, export(), allow_empty=True) == []


@pytest.mark.parametrize("reader", [walk, scan])
def test_an_endless_element_is_refused_before_it_fills_the_memory(reader):
    def chunks():
        yield (export(site="")[: -len("</mediawiki>\n")] + page(1, "<revision>")[:-8]).encode()
        for _ in range(200):
            yield b"x" * (1 << 20)

    with pytest.raises(DumpError, match="one element of more than"):
        list(reader("endless", chunks()))


@pytest.mark.parametrize("reader", [walk, scan])
def test_memory_holds_one_revision_of_a_page_with_very_many(reader):
    text = f"<text>{'words ' * 2000}</text>"

    def chunks():
        yield export(site="")[: -len("</mediawiki>\n")].encode()
        yield b"<page><title>Long</title><ns>0</ns><id>1</id>"
        for number in range(1, 10_001):
            yield revision(number, text).encode()
        yield b"</page></mediawiki>"

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert sum(1 for _ in reader("long", chunks())) == 10_002
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 60_000  # kilobytes; the page has 120 MB
