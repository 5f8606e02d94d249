"""Public bug reports of other parsers and extractors, each with what is right here.

The inputs are made by hand to the reports' kind; the pages themselves are not at hand.
"""

import re
import resource
import time
import warnings

import pytest

from twiki.config import TextConfig
from twiki.text import clean as cleaning
from twiki.text.clean import Cleaner
from twiki.text.siteinfo import SiteInfo


@pytest.fixture(scope="module")
def cleaner():
    return Cleaner(SiteInfo.english(), TextConfig())


def prose(cleaner, text):
    return [s for p in cleaner.article(text) for s in p.sentences]


def test_report_16_a_page_of_80_kb_needs_no_gigabytes(cleaner):
    page = "Ada was born. " + "'''''{{a|[[b|''" * 5_500 + "\n\nBob was born."
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told = prose(cleaner, page)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert told[:1] == ["Ada was born."]
    assert grown < 512 << 10  # KiB


def test_report_17_a_long_page_of_open_tags_and_links_does_not_hang(cleaner):
    page = "".join(
        f"''Member {n}'' of the [[convention <ref>{{{{cite|<small>{n}\n" for n in range(3_000)
    )
    began = time.process_time()
    prose(cleaner, page)
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "broken",
    [
        "{{{{{{a|}}}}} [[b|{{c]]}}",
        "[[a|{{{b|[[c]]}}|d]] {|\n| e [[f\n|}",
        "<ref name=a>{{b|[[c</ref>}}]]",
        "{|\n! a !! {{b\n|-\n| <nowiki>|} }}",
        "'''''a''b'''c''[[''d]]{{''e}}",
        "[http://x [[y]] {{z|]}}]",
    ],
)
def test_report_23_crossed_markup_raises_nothing_and_keeps_what_follows(cleaner, broken):
    told = prose(cleaner, f"{broken}\n\nAda was born in 1815.")
    assert told[-1] == "Ada was born in 1815."


def test_report_25_every_pattern_compiles_without_a_warning():
    patterns = [value for value in vars(cleaning).values() if isinstance(value, re.Pattern)]
    modules = [m for m in vars(cleaning).values() if getattr(m, "__name__", "").startswith("twiki")]
    patterns += [v for m in modules for v in vars(m).values() if isinstance(v, re.Pattern)]
    assert patterns
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for pattern in patterns:
            re.purge()
            re.compile(pattern.pattern, pattern.flags)
