import time

import pytest

from twiki.config import TextConfig
from twiki.errors import CleanError
from twiki.text import guard as module
from twiki.text.clean import Cleaner
from twiki.text.guard import Guard
from twiki.text.siteinfo import SiteInfo

SITE = SiteInfo.english()

HOSTILE = {
    "calls in calls": "{{a|" * 8000,
    "deep calls": "{{nowrap|" * 8000 + "x" + "}}" * 8000,
    "deep links": "[[a|" * 50_000,
    "references": "<ref>" * 50_000,
    "comments": "<!--" * 50_000,
    "tables": "{|\n|" * 50_000,
    "tags": "<b" * 50_000,
    "quotes": "'''a''" * 50_000,
    "external links": "[http://a " * 30_000,
    "brackets": "( {{x}} ," * 30_000,
    "entities": "&" * 200_000 + ";",
    "equals": "=" * 200_000,
    "switches": "{{#switch:" * 20_000,
    "nul": "\0" * 200_000,
    "surrogates": "\ud800" * 100_000,
    "combining": "a" + "\u0301" * 200_000,
    "right to left": "\u202eאבג " * 50_000,
    "one word": "x" * 500_000,
    "one sentence": "word " * 100_000,
    "stops": "A. " * 100_000,
    "everything": "{{a|[[b|<ref>{|\n<!-" * 10_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_block_is_cleaned_in_time_without_any_guard(text):
    start = time.perf_counter()
    Cleaner(SITE, TextConfig()).block(text)
    assert time.perf_counter() - start < 10


def test_unusual_blocks_are_cleaned_apart_with_the_same_result():
    text = "'''A''' is {{convert|5|km|mi}} [[b|long]]. " * 4000
    with Guard(SITE, TextConfig()) as guard:
        assert guard.block(text) == Cleaner(SITE, TextConfig()).block(text)
        assert guard.block("Short.") == Cleaner(SITE, TextConfig()).block("Short.")


def test_a_block_over_time_is_killed_and_the_next_one_goes_on():
    slow = "{{nowrap|" * 30_000 + "x" + "}}" * 30_000
    hasty = Guard(SITE, TextConfig(max_block_seconds=0.05))
    with hasty as guard, pytest.raises(CleanError, match=r"0\.05 s"):
        guard.block(slow)
    with Guard(SITE, TextConfig(max_block_seconds=20)) as guard:
        assert guard.block("word " * 30_000).paragraphs


def test_a_block_over_memory_is_told_and_the_next_one_goes_on(monkeypatch):
    with Guard(SITE, TextConfig(max_block_megabytes=16)) as guard:
        with pytest.raises(CleanError, match="16 MB"):
            guard.block("a" * (20 << 20))
        assert guard.block("word " * 30_000).paragraphs


def test_a_page_over_the_limit_is_refused_before_it_is_read():
    with Guard(SITE, TextConfig(max_page_bytes=10)) as guard:
        with pytest.raises(CleanError, match="max_page_bytes"):
            guard.article("é" * 6)
        assert guard.article("é" * 5)[0].paragraphs[0].sentences == ("é" * 5,)


def test_no_worker_starts_for_ordinary_pages():
    with Guard(SITE, TextConfig()) as guard:
        guard.article("A [[b]].\n\n" * 1000)
        assert guard._process is None
    assert module.UNUSUAL_LENGTH > 10_000
