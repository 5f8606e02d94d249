"""Acceptance cases of files and text, each by its number."""

import bz2
import gzip
from pathlib import Path

import pytest

from twiki.config import TextConfig
from twiki.diff import diff_plain
from twiki.dumps import entities, xml
from twiki.errors import CleanError, DumpError
from twiki.text.guard import Guard
from twiki.text.siteinfo import SiteInfo

DATA = Path(__file__).parents[3] / "shared" / "data"
WDTK = "wikidata/wdtk-dumps"


def real(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path


def pages_of(path, **how):
    with xml.open(path, **how) as dump:
        return list(dump.pages())


def test_a18_redirect_hidden_blank_and_extra_slot_come_out_apart():
    redirect, hidden, blank, user = pages_of(real("synthetic/export-0.11_page_edge.xml"))
    assert redirect.redirect == "Computer accessibility"
    assert (hidden.revisions[0].text, hidden.revisions[0].hidden) == (None, True)
    assert (blank.revisions[0].text, blank.revisions[0].hidden) == ("", False)
    assert blank.revisions[0].parent_id is None  # parentid 0 is none
    assert [slot.role for slot in user.revisions[0].slots] == ["mediainfo"]


def test_a19_a_revision_without_text_is_unknown_and_no_page_at_all_is_an_error(tmp_path):
    # The mock ends in the middle of a revision: a cut file, whatever it was meant to show.
    with pytest.raises(DumpError, match="closing </mediawiki>"):
        pages_of(real(f"{WDTK}/mock-dump-incomplete-revision.xml"))
    text = real("synthetic/export-0.11_page_edge.xml").read_text("utf-8")
    start = text.index('<text bytes="0"')
    lacking = tmp_path / "lacking.xml"
    lacking.write_text(text[:start] + text[text.index("/>", start) + 2 :], "utf-8")
    blank = pages_of(lacking)[2].revisions[0]
    assert (blank.text, blank.hidden) == (None, False)
    empty = real(f"{WDTK}/empty-dump.xml")
    with pytest.raises(DumpError):
        pages_of(empty)
    assert pages_of(empty, allow_empty=True) == []


def test_a20_lists_for_maps_are_read_and_broken_lines_are_counted(tmp_path):
    with entities.open(real(f"{WDTK}/mock-dump-with-bugs.json")) as dump:
        whole = {entity.id for entity in dump.entities()}
    assert "Q8" in whole
    text = real(f"{WDTK}/mock-dump-with-bugs.json").read_bytes()
    lines = text.splitlines(keepends=True)
    broken = tmp_path / "all.json"
    broken.write_bytes(b"".join([*lines[:3], b'{"id": "Q99", "labels": {\n', *lines[3:]]))
    with entities.open(broken) as dump:
        assert {entity.id for entity in dump.entities()} == whole
        assert dump.damaged_lines == 1


def test_a21_a_gzip_member_that_lacks_is_seen_by_the_bracket(tmp_path):
    body = b'{"type":"item","id":"Q1","lastrevid":1,"modified":"2026-01-01T00:00:00Z"}'
    members = [gzip.compress(part) for part in (b"[\n", body + b"\n", b"]\n")]
    path = tmp_path / "all.json.gz"
    path.write_bytes(b"".join(members[:2]))
    assert gzip.decompress(path.read_bytes())  # Python reads it
    with pytest.raises(DumpError, match="closing bracket"), entities.open(path) as dump:
        list(dump.entities())
    path.write_bytes(b"".join(members))
    with entities.open(path) as dump:
        assert [entity.id for entity in dump.entities()] == ["Q1"]


def test_a22_a_multistream_cut_between_two_streams_is_seen_by_the_closing_tag(tmp_path):
    text = real("synthetic/export-0.11_page_edge.xml").read_bytes()
    middle = text.index(b"<page><title>Blanked")
    path = tmp_path / "pages.xml.bz2"
    path.write_bytes(bz2.compress(text[:middle]))
    assert bz2.decompress(path.read_bytes())
    with pytest.raises(DumpError, match="closing </mediawiki>"):
        pages_of(path)
    path.write_bytes(bz2.compress(text[:middle]) + bz2.compress(text[middle:]))
    assert len(pages_of(path)) == 4


def test_a23_an_error_page_under_the_name_of_a_dump_is_refused(tmp_path):
    page = b"<!DOCTYPE html><html><head><title>302 Found</title></head><body>"
    path = tmp_path / "enwiki-latest-pages-articles.xml.bz2"
    path.write_bytes(page.ljust(186, b" "))
    with pytest.raises(DumpError, match=r"pages-articles.*HTML page of 186 bytes"):
        pages_of(path)


def test_a26_a_page_that_is_a_trap_costs_only_itself():
    # No time at all: whether the trap takes a second is the machine's affair.
    with Guard(SiteInfo.english(), TextConfig(max_block_seconds=0.0)) as guard:
        with pytest.raises(CleanError):
            guard.article("Before.\n\n" + "{{a|" * 200_000 + "[[" * 200_000)
        assert guard.article("Another page.")


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("One.\nTwo.", "One.\nTwo.\nThree.", ["Three."]),  # a line at the end
        ("One.\nTwo.", "Uno.\nTwo.", ["Uno."]),  # the first line
        ("One.\nTwo.", "One.\nDue.", ["Due."]),  # the last line
        ("One.\nTwo.", "Alpha.\nBeta.", ["Alpha.", "Beta."]),  # all of it
        ("It is 3.5 m.", "It is 35 m.", ["It is 35 m."]),  # punctuation alone
        ("It is 3.5 m.", "It is 3.6 m.", ["It is 3.6 m."]),  # a number with a point
        ("Keep.\nGrade C+ yes.", "Keep.\nNew.", ["New."]),  # a removed line with a plus
        ("A.\nsee also", "A.\nM new.\nsee also", ["M new."]),  # a repeated line
    ],
)
def test_a34_what_the_reference_loses_is_found(old, new, found):
    told = diff_plain(old.split("\n"), new.split("\n"))
    assert [sentence.text for sentence in told.sentences] == found
