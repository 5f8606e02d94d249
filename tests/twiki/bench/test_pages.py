"""Generated pages: the same from the same seed, of the lengths asked for, edited as named."""

import statistics

import pytest

from twiki.bench import pages
from twiki.bench.pages import Kind
from twiki.config import TextConfig
from twiki.text.blocks import split
from twiki.text.clean import Cleaner
from twiki.text.siteinfo import SiteInfo

PROSE = {Kind.WORD, Kind.SENTENCE, Kind.PARAGRAPH, Kind.REWRITE}


def prose(page):
    return Cleaner(SiteInfo.english(), TextConfig()).article(page.text)


def test_a_seed_gives_the_same_page_every_time():
    assert pages.page(5_000, 7).text == pages.page(5_000, 7).text
    assert pages.page(5_000, 7).text != pages.page(5_000, 8).text


@pytest.mark.parametrize("length", [400, 5_000, 60_000])
def test_a_page_is_about_as_long_as_asked_for(length):
    assert length <= len(pages.page(length, 1).text) <= length + 2_000


def test_lengths_are_those_of_the_sample():
    found = pages.lengths(2_000, 1)
    assert min(found) >= pages.SHORTEST
    assert max(found) == pages.LONGEST
    assert statistics.median(found) == pytest.approx(pages.MEDIAN, rel=0.1)


def test_blocks_are_about_as_long_as_real_ones():
    text = pages.page(60_000, 1).text
    assert 300 < len(text) / len(split(text)) < 700


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.REVERT])
def test_edits_change_the_page_and_only_those_of_prose_what_a_reader_sees(kind):
    old = pages.page(8_000, 3)
    for seed in range(12):
        new = pages.edited(old, kind, seed)
        assert new.text != old.text
        assert (prose(new) != prose(old)) is (kind in PROSE)


def test_a_revert_brings_back_what_was_before():
    old = pages.page(3_000, 3)
    new = pages.edited(old, Kind.SENTENCE, 1)
    assert pages.edited(new, Kind.REVERT, 2, old) == old
    assert pages.edited(old, Kind.REVERT, 2) == old
