"""Years of real entities as a stream: each month's facts, and what became of them."""

import itertools
from pathlib import Path

import pytest

from stream.embedded import Embedded, NoContents, chunked
from stream.metrics import Metrics
from stream.replay import open_replay
from stream.settings import Settings
from twiki.config import FactConfig, WikiConfig
from twiki.engine import Engine
from twiki.entities import decode
from twiki.records import FactClass
from twiki.state.kv import MemoryKeyValues
from twiki.state.store import Store
from twiki.times import to_ms
from twiki.windows import candidates
from twiki.windows.view import WindowView

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "wikidata" / "revisions"
SETTINGS = Settings(
    wiki=WikiConfig(name="enwiki", repository="wikidatawiki"),
    facts=FactConfig(unchanged_rate=1.0),
)
SLICE_BYTES = 30 << 20
"""Of the two largest archives, which hold 3 GB each: their first revisions."""


def history(name, limit=None):
    path = FOLDER / f"{name}.tar.xz"
    if not path.exists():
        pytest.skip(f"no real data at {path}")
    size = 0
    for revision in open_replay(path, SETTINGS):
        size += len(revision.content)
        if limit is not None and size > limit:
            return
        yield revision


def triples(content):
    """The facts of a revision as plain triples; none of an entity that is a redirect."""
    if content is None:
        return set()
    entity = decode(
        content, wiki="enwiki", languages=("en", "mul"), literals=SETTINGS.facts.literals
    )
    if entity.redirect is not None:
        return set()
    return {(f.subject, f.relation, f.object) for f in entity.facts}


def of(changes):
    return {(c.fact.subject, c.fact.relation, c.fact.object) for c in changes}


@pytest.mark.parametrize(
    ("name", "limit", "revisions"),
    [
        ("castle", None, 339),
        ("noah_kahan", None, 180),
        ("pyramid", None, 649),
        ("donald_trump", SLICE_BYTES, None),
        ("covid19_pandemic", 3 * SLICE_BYTES, None),
    ],
)
def test_each_months_facts_are_those_of_the_last_revision_before_its_end(name, limit, revisions):
    engine = Engine.open(Store(MemoryKeyValues()), SETTINGS)
    last: dict[int, str] = {}  # by month, the content of its last revision
    count = 0

    def noted():
        nonlocal count
        for revision in history(name, limit):
            count += 1
            moment = revision.change.effective_time
            last[moment.year * 12 + moment.month] = revision.content
            yield revision

    Embedded(engine, SETTINGS, NoContents(), Metrics()).run(chunked(noted(), 50))
    if revisions is not None:
        assert count == revisions
    assert count > 50
    while engine.open_window.start <= engine.watermark:
        engine.close(engine.open_window)
    engine.commit()
    assert list(engine.store.needs()) == []
    assert engine.counts["revisions"] == count
    ((key, _),) = engine.store.entities()
    before, classes, months = None, set(), 0
    for window in engine.windows()[:-1]:
        after = last.get(window.start.year * 12 + window.start.month, before)
        old, new = triples(before), triples(after) if after is not before else None
        new = old if new is None else new
        view = WindowView(engine.as_of(known=to_ms(window.start)), window)
        found = view.entity(key, view.end)
        assert {(f.subject, f.relation, f.object) for f in found.entity.facts} == new
        touched = list(engine.store.touched_entities(view.start))
        assert bool(touched) == (after is not before)
        if touched:
            changed = [c.change for c in candidates.changed(view, touched)]
            assert of(changed) == new - old
            classes |= {c.fact_class for c in changed}
            relations = {relation for _, relation, _ in old}
            assert all(
                c.fact_class
                is (
                    FactClass.NEW_SUBJECT
                    if before is None
                    else FactClass.NEW_OBJECT
                    if c.fact.relation in relations
                    else FactClass.NEW_RELATION
                )
                for c in changed
            )
            stood = [c.change for c in candidates.unchanged(view, touched, 1.0)]
            assert of(stood) == new & old
            rows = list(candidates.removed(view, touched))
            gone = {(r.subject_qid, r.relation_pid, r.object_qid_or_value) for r in rows}
            had_article = before is not None and view.entity(key, view.start).entity.sitelink
            assert gone == (old - new if had_article else set())
            months += 1
        before = after
    assert months > (0 if limit else 20)
    assert classes


def test_the_histories_come_in_the_order_of_time():
    moments = [r.change.effective_time for r in itertools.islice(history("castle"), 339)]
    assert moments == sorted(moments)
