"""Diffs over real histories: 247 revisions of one article, 445 articles in several versions."""

import tarfile
from collections import Counter
from itertools import groupby, pairwise
from pathlib import Path

import pytest

from twiki.config import TextConfig
from twiki.diff import diff, diff_plain
from twiki.dumps import xml
from twiki.records import Diff, ParagraphKind
from twiki.text.blocks import resplit, split
from twiki.text.clean import Cleaner
from twiki.text.sentences import key, segment
from twiki.text.siteinfo import SiteInfo

DATA = Path("../shared/data/revisions")
CLEANER = Cleaner(SiteInfo.english(), TextConfig())


def need(path):
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return path


@pytest.fixture(scope="module")
def history():
    """(month, wikitext) of every revision of "Rio Grande", oldest first."""
    with xml.open(need(DATA / "wikitrust/wiki_00023.xml")) as dump:
        revisions = [revision for _, revision in dump.revisions()]
    assert len(revisions) == 247
    revisions.sort(key=lambda r: (r.timestamp, r.rev_id))
    return [(f"{r.timestamp:%Y-%m}", r.text or "") for r in revisions]


def sentences(text):
    """Keys of the sentences of a page and how often each stands: by plain recomputation."""
    return Counter(
        key(s)
        for p in CLEANER.article(text)
        if p.kind is not ParagraphKind.HEADING
        for s in p.sentences
    )


def test_splitting_along_a_history_equals_splitting_each_revision(history):
    blocks = split("")
    for _, text in history:
        blocks = resplit(blocks, text)
        assert blocks == split(text)


def test_a_month_is_net_of_its_first_and_last_revision(history):
    months = [(m, [text for _, text in group]) for m, group in groupby(history, lambda r: r[0])]
    assert len(months) > 30
    before = ""
    for month, texts in months:
        found = diff(split(before), split(texts[-1]), CLEANER.block)
        old, new = sentences(before), sentences(texts[-1])
        assert Counter(key(s.text) for s in found.sentences) == new - old, month
        lost = Counter(map(key, found.removed))
        lost.update(key(s.replaced) for s in found.sentences if s.replaced)
        assert lost == old - new, month
        before = texts[-1]


def test_reverts_leave_nothing(history):
    texts = [text for _, text in history]
    reverts = 0
    for index, text in enumerate(texts):
        last = next((i for i in range(index - 1, -1, -1) if texts[i] == text), None)
        if last is not None and index - last > 1:
            reverts += 1
            blocks = split(texts[last])
            for between in texts[last + 1 : index + 1]:
                blocks = resplit(blocks, between)
            assert diff(split(texts[last]), blocks, CLEANER.block) == Diff()
    assert reverts > 20


def test_versions_of_445_articles_keep_the_law_of_multisets():
    with tarfile.open(need(DATA / "versions.tar.xz")) as archive:
        articles: dict[str, dict[int, list[str]]] = {}
        for member in archive:
            content = archive.extractfile(member)
            if content is not None and member.name.count("/") >= 2:
                _, title, version = member.name.rsplit("/", 2)
                lines = content.read().decode("utf-8", "replace").splitlines()
                articles.setdefault(title, {})[int(version.removesuffix(".txt"))] = lines
    assert len(articles) == 445
    for title in sorted(articles)[::6]:
        versions = [articles[title][number] for number in sorted(articles[title])]
        for old, new in pairwise(versions):
            found = diff_plain(old, new)
            before = Counter(key(s) for line in old for s in segment(line))
            after = Counter(key(s) for line in new for s in segment(line))
            assert Counter(key(s.text) for s in found.sentences) == after - before, title
