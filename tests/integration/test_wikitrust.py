"""Real prose over years, month by month: a window is what lies between its ends, nothing more."""

from collections import Counter
from pathlib import Path

import pytest

from stream.embedded import Embedded, NoContents, chunked
from stream.metrics import Metrics
from stream.replay import open_replay
from stream.settings import Settings
from twiki.config import TextConfig, WikiConfig
from twiki.engine import Engine
from twiki.records import ParagraphKind
from twiki.state.kv import MemoryKeyValues
from twiki.state.store import Store
from twiki.text import sentences
from twiki.text.clean import Cleaner
from twiki.text.siteinfo import SiteInfo, redirect_target
from twiki.times import to_ms
from twiki.windows import calendar
from twiki.windows.dataset import Dataset, Part
from twiki.windows.publishing import cut_closed
from twiki.windows.view import WindowView

REVISIONS = Path(__file__).parents[3] / "shared" / "data" / "revisions"
SETTINGS = Settings(wiki=WikiConfig(name="enwiki"))
SITE = SiteInfo.english()
CLEANER = Cleaner(SITE, TextConfig(), "enwiki")


def history(name):
    path = REVISIONS / name
    if not path.exists():
        pytest.skip(f"no real data at {path}")
    return list(open_replay(path, SETTINGS))


def plain_state(revisions, page_id, boundary):
    """The article's text as of a boundary: that of its last revision; None where it is none."""
    before = [
        r for r in revisions if r.change.page_id == page_id and r.change.effective_time < boundary
    ]
    last = max(before, key=lambda r: (r.change.rev_dt, r.change.rev_id), default=None)
    if last is None or redirect_target(last.content, SITE) is not None:
        return None
    return last.content


def plain_sentences(text):
    """All sentences of an article by their keys, headings aside: no blocks, no diff."""
    return Counter(
        sentences.key(sentence)
        for paragraph in CLEANER.article(text or "")
        if paragraph.kind is not ParagraphKind.HEADING
        for sentence in paragraph.sentences
    )


@pytest.mark.parametrize("name", ["wikitrust/wiki_00023.xml", "enwiki-20140102.tiny.xml.gz"])
def test_each_months_sentences_are_those_of_its_first_and_last_revision(name, tmp_path):
    revisions = history(name)
    assert len(revisions) == {"w": 247, "e": 106}[name[0]]
    engine = Engine.open(Store(MemoryKeyValues()), SETTINGS)
    Embedded(engine, SETTINGS, NoContents(), Metrics()).run(chunked(revisions, 50))
    while engine.open_window.start <= engine.watermark:
        engine.close(engine.open_window)
    engine.commit()
    pages = sorted({r.change.page_id for r in revisions})
    windows = [w for w in engine.windows() if any(engine.store.touched_pages(to_ms(w.start)))]
    seen = 0
    for number, window in enumerate(windows):
        found = {page: Counter() for page in pages}
        if number % 5 == 0:
            folder = cut_closed(engine, window, tmp_path).folder
            for row in Dataset.open(folder).rows(Part.SENTENCES):
                found[row.id][sentences.key(row.text)] += 1
        else:
            state = engine.as_of(known=to_ms(window.start))
            view = WindowView(state, window)
            for page in pages:
                readings = (state.article(page, at) for at in (view.start, view.end))
                made = view.diff(*readings)
                told = () if made is None else made.sentences
                found[page] += Counter(sentences.key(sentence.text) for sentence in told)
        for page in pages:
            old = plain_state(revisions, page, window.start)
            new = plain_state(revisions, page, window.end)
            expected = Counter()
            if new is not None:
                expected = plain_sentences(new) - plain_sentences(old)
            assert found[page] == expected, f"{window.name}, page {page}"
            seen += expected.total()
    assert len(windows) > 15
    assert seen > 100


def test_a_month_that_ends_as_it_began_leaves_nothing():
    revisions = history("wikitrust/wiki_00023.xml")
    texts = [r.content for r in revisions]
    reverted = [n for n in range(2, len(texts)) if texts[n] == texts[n - 2] != texts[n - 1]]
    assert len(reverted) > 5
    for n in reverted[::3]:
        start, end = (r.change.effective_time for r in (revisions[n - 1], revisions[n + 1]))
        window = calendar.span(start, end) if start < end else None
        if window is None:
            continue
        engine = Engine.open(Store(MemoryKeyValues()), SETTINGS, fixed=(window.start, window.end))
        for revision in revisions[: n + 1]:
            engine.apply(revision)
        engine.commit()
        state = engine.as_of()
        page_id = revisions[0].change.page_id
        old, new = (state.article(page_id, to_ms(t)).article for t in (start, end))
        assert old.text == new.text == texts[n]
        assert old.rev_id != new.rev_id


def test_every_boundary_reads_the_last_revision_before_it_in_whatever_order_they_came():
    revisions = history("wikitrust/wiki_00023.xml")
    engine = Engine.open(Store(MemoryKeyValues()), SETTINGS)
    for revision in (revisions[0], *reversed(revisions[1:])):
        engine.apply(revision)
    engine.commit()
    state, page_id = engine.as_of(), revisions[0].change.page_id
    for at in engine.context.boundaries[1:]:
        before = [r for r in revisions if to_ms(r.change.effective_time) < at]
        found = state.article(page_id, at).article
        assert (found.rev_id, found.text) == (before[-1].change.rev_id, before[-1].content)
