"""``twiki bench clean``: how fast pages are cleaned and what that loses, beside WikiExtractor.

WikiExtractor (PyPI ``wikiextractor`` 3.1) runs on the same file in a process of its own with
one extractor. What is lost is judged by plain means that belong to neither: numbers that the
prose of a page shows and the output lacks, markup left in the output, and titles of cited
works that stand in references alone and in the output all the same.
"""

import json
import re
import subprocess
import sys
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from twiki.bench.figures import Figure, figure, seconds
from twiki.config import TextConfig
from twiki.dumps import xml
from twiki.text.clean import Cleaner
from twiki.text.siteinfo import SiteInfo, redirect_target

DUMP = Path(
    "../shared/data/dumps/gensim/"
    "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
)

_REFERENCE = re.compile(r"<ref[^<>]*/>|<ref[^<>]*>(.*?)</ref>", re.DOTALL | re.IGNORECASE)
_BESIDE = (
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"<(gallery|timeline|math|source|pre|imagemap)\b.*?</\1>", re.DOTALL | re.I),  # noqa: FURB167
    re.compile(r"^[ :]*\{\|.*?^\|\}", re.DOTALL | re.MULTILINE),
    re.compile(r"\[\[(?:File|Image|Category):(?:[^\[\]]|\[\[[^\[\]]*\]\])*\]\]"),
    re.compile(r"https?://[^\s|}\]]+|<[^<>]*>|&#?\w+;"),
)
"""What is no prose: comments, tables, galleries, images, addresses, tags, entities."""
_SHOWING = re.compile(
    r"\{\{\s*(?:convert|cvt|nowrap|nts|circa|c\.|small|frac|val)\s*\|([^{}|]*)[^{}]*\}\}"
    r"|\{\{\s*lang\s*\|[^{}|]*\|([^{}|]*)\}\}|\{\{formatnum:([^{}|]*)\}\}",
    re.IGNORECASE,
)
_CALL = re.compile(r"\{\{[^{}]*\}\}")
_TARGET = re.compile(r"\[\[[^\[\]|\n]*\|")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_MARKUP = re.compile(
    r"\{\{|\}\}|\[\[|\]\]|''|\{\||\|\}|\|\||</?[a-z]+[^<>]*>|\bthumb\||__[A-Z]+__|&[a-z]+;"
)
_TITLE = re.compile(r"\btitle\s*=\s*([^|{}\[\]\n]{20,})")

Judge = Callable[[str, str], int]
"""What an output (second) lost or leaked of a page (first), as a count."""


def run(dump: Path = DUMP) -> list[Figure]:
    """Speed in million characters of wikitext a second, and the three kinds of loss."""
    pages = _pages(dump)
    ours: dict[str, str] = {}
    theirs: dict[str, str] = {}
    speed = seconds(lambda: ours.update(_clean(pages)), repeat=3)
    with tempfile.TemporaryDirectory() as folder:
        peer = seconds(lambda: theirs.update(_wikiextractor(dump, Path(folder))))
    millions = sum(map(len, pages.values())) / 1e6
    losses = (("numbers missing", missing), ("markup left", leaked), ("references leaked", cited))
    return [
        figure("cleaning", millions / speed, "Mchar/s", peer=millions / peer),
        *(_loss(name, judge, pages, ours, theirs) for name, judge in losses),
    ]


def _loss(
    name: str,
    judge: Judge,
    pages: Mapping[str, str],
    ours: Mapping[str, str],
    theirs: Mapping[str, str],
) -> Figure:
    """One kind of loss over the pages that both have; the budget is the peer's count."""
    both = [title for title in pages if title in theirs]
    mine = sum(judge(pages[title], ours[title]) for title in both)
    other = sum(judge(pages[title], theirs[title]) for title in both)
    return figure(name, mine, "count", better="less", budget=other, peer=other)


def missing(page: str, output: str) -> int:
    """Numbers of the page's prose that the output lacks, each as often as it lacks it."""
    text = _REFERENCE.sub("", page)
    for pattern in _BESIDE:
        text = pattern.sub(" ", text)
    text = _SHOWING.sub(lambda m: (m[1] or m[2] or m[3] or "").removeprefix("1="), text)
    before = ""
    while before != text:
        before, text = text, _CALL.sub("", text)
    lines = [line for line in text.split("\n") if line[:1] not in ("|", "!", "{", "=")]
    expected = Counter(_NUMBER.findall(_TARGET.sub(" ", "\n".join(lines)).replace(",", "")))
    output = unicodedata.normalize("NFKC", output).replace(",", "")
    expected.subtract(_NUMBER.findall(output))
    return sum(count for count in expected.values() if count > 0)


def leaked(_: str, output: str) -> int:
    """Pieces of markup in the output."""
    return len(_MARKUP.findall(output))


def cited(page: str, output: str) -> int:
    """Titles of cited works that stand in references alone, and in the output."""
    prose = _TARGET.sub("", _REFERENCE.sub("", page)).replace("[[", "").replace("]]", "")
    prose = " ".join(prose.replace("''", "").split())
    titles = {
        title.strip()
        for reference in _REFERENCE.finditer(page)
        for title in _TITLE.findall(reference[1] or "")
    }
    return sum(title in output and title not in prose for title in titles)


def _pages(dump: Path) -> dict[str, str]:
    english = SiteInfo.english()
    with xml.open(dump) as opened:
        texts = {page.title: page.revisions[0].text or "" for page in opened.pages()}
    return {t: text for t, text in texts.items() if text and not redirect_target(text, english)}


def _clean(pages: Mapping[str, str]) -> dict[str, str]:
    # WikiExtractor drops formulas: like for like
    cleaner = Cleaner(SiteInfo.english(), TextConfig(math="drop"))
    return {
        title: "\n".join(" ".join(p.sentences) for p in cleaner.article(text))
        for title, text in pages.items()
    }


def _wikiextractor(dump: Path, folder: Path) -> dict[str, str]:
    """Output of WikiExtractor by title; empty where it is not installed."""
    command = [
        *(sys.executable, "-m", "wikiextractor.WikiExtractor", str(dump)),
        *("--json", "--quiet", "--processes", "1", "--output", str(folder)),
    ]
    subprocess.run(command, check=False, capture_output=True)  # noqa: S603 - fixed arguments
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("wiki_*")):
        for line in path.read_text(encoding="utf-8").splitlines():
            article = json.loads(line)
            found[article["title"]] = article["text"]
    return found
