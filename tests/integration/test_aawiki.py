"""A whole small wiki: its history as a stream, held against its current dump."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from stream.embedded import Embedded, NoContents, chunked
from stream.metrics import Metrics
from stream.replay import open_replay
from stream.settings import Settings
from twiki.config import WikiConfig
from twiki.engine import Engine
from twiki.records import Policy
from twiki.state.kv import MemoryKeyValues
from twiki.state.store import Store
from twiki.windows import calendar
from twiki.windows.dataset import Dataset
from twiki.windows.publishing import cut_closed, reconcile_and_cut
from twiki.windows.reconcile import reconcile

DATA = Path(__file__).parents[3] / "shared" / "data" / "dumps" / "aawiki-20260101"
SETTINGS = Settings(
    wiki=WikiConfig(name="aawiki", url="https://aa.wikipedia.org", namespaces="all")
)
BOUNDARY = datetime(2026, 1, 1, tzinfo=UTC)


def real(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"no real data at {path}")
    return path


@pytest.fixture(scope="module")
def current():
    return real("aawiki-20260101-pages-meta-current.xml.bz2")


@pytest.fixture(scope="module")
def history():
    return list(open_replay(real("aawiki-20260101-pages-meta-history.xml.xz"), SETTINGS))


def streamed(items, on_closed=lambda _window: None):
    """The engine after the items, its window of December 2025 closed."""
    engine = Engine.open(Store(MemoryKeyValues()), SETTINGS)
    Embedded(engine, SETTINGS, NoContents(), Metrics(), on_closed=on_closed).run(
        chunked(items, 100)
    )
    while engine.open_window is not None and engine.open_window.end <= BOUNDARY:
        engine.close(engine.open_window)
    engine.commit()
    return engine


LAST = calendar.month("2025-12")


@pytest.fixture(scope="module")
def whole(history):
    return streamed(history).as_of()


def classes(report):
    return {name: n for name, n in report.pages.classes.items() if n}


def test_every_page_of_the_dump_is_confirmed_and_the_stream_was_complete(
    history, current, tmp_path
):
    assert len(history) == 1307
    closed = []
    engine = streamed(history, closed.append)
    report, made = reconcile_and_cut(engine, LAST, [current], [], tmp_path / "datasets")
    assert classes(report) == {"confirmed": 507}
    assert report.pages.completeness == 1.0
    assert report.pages.redirects == 19
    assert engine.counts["revisions"] == 1307
    assert list(engine.store.needs()) == []
    Dataset.open(made.folder).verify()
    # Monthly windows, as they closed: every tenth of those in which something happened.
    touched = [
        w for w in closed if any(engine.store.touched_pages(int(w.start.timestamp() * 1000)))
    ]
    assert len(touched) > 50
    for window in touched[::10]:
        report = cut_closed(engine, window, tmp_path / "datasets")
        assert report.pages_touched > 0
        assert report.unread == {}
        Dataset.open(report.folder).verify()


@pytest.mark.parametrize("policy", [Policy.BOUNDARY, Policy.DUMP])
def test_with_every_tenth_event_dropped_exactly_the_pages_that_lost_their_newest_are_repaired(
    history, whole, current, policy
):
    order = sorted(history, key=lambda r: (r.change.effective_time, r.change.rev_id))
    dropped, kept = order[9::10], [r for n, r in enumerate(order, 1) if n % 10]
    assert (len(dropped), len(kept)) == (130, 1177)
    newest = {}
    for revision in order:
        newest[revision.change.page_id] = revision.change.rev_id
    lost = {r.change.page_id for r in dropped if newest[r.change.page_id] == r.change.rev_id}
    engine = streamed(kept)
    report = reconcile(engine, LAST, [current], policy=policy)
    assert classes(report) == {"confirmed": 458, "repaired_from_dump": 49}
    assert len(lost) == 49
    assert report.pages.completeness == 458 / 507
    # What was repaired is what the whole history gives.
    pins = LAST if policy is Policy.DUMP else None
    repaired, at = engine.as_of(pins=pins), int(BOUNDARY.timestamp() * 1000)
    for page_id in newest:
        assert repaired.article(page_id, at) == whole.article(page_id, at)
    again = reconcile(engine, LAST, [current], policy=policy)
    assert classes(again) == {"confirmed": 507}
