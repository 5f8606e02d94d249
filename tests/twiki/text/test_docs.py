import re
from pathlib import Path

import pytest

from twiki.config import TextConfig
from twiki.text.clean import Cleaner
from twiki.text.siteinfo import SiteInfo

PAGE = Path(__file__).parents[3] / "docs/text.md"
ROWS = re.findall(r"^\| `(.+?)` \| `(.*?)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_page_has_examples():
    assert len(ROWS) >= 15


@pytest.mark.parametrize(("wikitext", "text"), ROWS)
def test_each_example_of_the_page_is_true(wikitext, text):
    article = Cleaner(SiteInfo.english(), TextConfig()).article(
        wikitext.replace("\\|", "|").replace("¶", "\n")
    )
    assert " · ".join(" ".join(p.sentences) for p in article) == text
