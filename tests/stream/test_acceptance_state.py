"""Acceptance cases that end in the state or a dataset, each by its number."""

from datetime import timedelta

import pytest
from histories import (
    CONFIG,
    DECEMBER,
    NOVEMBER,
    OCTOBER,
    at,
    delete,
    edit,
    engine,
    entity_edit,
    event,
    hide,
    item,
    pairs,
    restore,
)
from msgspec.structs import replace
from test_embedded import LIFE, TOPIC, opened

from stream import metrics as names
from stream.embedded import chunked
from stream.exporter import Exporter
from stream.position import Positions
from twiki.engine import Engine
from twiki.errors import StateLocked
from twiki.records import ChangeKind, Revision, SourcePosition
from twiki.state.asof import Missing
from twiki.state.kv import MemoryKeyValues
from twiki.state.rocks import RocksKeyValues
from twiki.times import to_ms
from twiki.windows import correcting, versions
from twiki.windows.dataset import Dataset, Part
from twiki.windows.publishing import cut_closed
from twiki.windows.view import WindowView

DAY = timedelta(days=1)
OCT, NOV = to_ms(OCTOBER), to_ms(NOVEMBER)


def worked(*revisions):
    made = engine()
    for revision in revisions:
        made.apply(revision)
    made.commit()
    return made


def sentences(made, page=1):
    window = made.windows()[0]
    view = WindowView(made.as_of(), window)
    state = view.state
    found = view.diff(state.article(page, OCT), state.article(page, NOV))
    return None if found is None else [one.text for one in found.sentences]


FIRST = edit(OCTOBER - DAY, 10, "One.")


def test_a7_a_suppressed_page_leaves_no_text_behind():
    gone = event(ChangeKind.DELETE, at(10, 6), 11, visible=False)
    made = worked(FIRST, edit(at(10, 5), 11, "Secret.", parent_rev_id=10), Revision(change=gone))
    assert not [key for key, value in made.store.kv.scan(b"t") if b"Secret" in value]
    assert made.as_of().article(1, NOV).article is None


def test_a8_the_current_text_is_hidden_and_with_it_its_sentences():
    made = worked(FIRST, edit(at(10, 5), 11, "One.\n\nTwo.", parent_rev_id=10), hide(at(10, 6), 11))
    article = made.as_of().article(1, NOV).article
    assert article.rev_id == 11
    assert "".join(article.blocks) == "One."  # the text of the boundary before
    assert sentences(made) == []


def test_a14_the_diff_reaches_over_a_dummy_revision_that_was_never_told():
    twelve = edit(at(10, 5), 12, "One.\n\nTwo.", parent_rev_id=11)
    assert sentences(worked(FIRST, twelve)) == ["Two."]


def test_a15_an_imported_page_is_new_in_the_window_of_its_import():
    old = edit(at(10, 20), 50, "Imported.", page_id=7, rev_dt=OCTOBER - 21 * DAY)
    made = worked(old)
    state = made.as_of()
    assert state.article(7, OCT).article is None
    assert state.article(7, NOV).article.rev_id == 50
    assert sentences(made, 7) == ["Imported."]


def test_a15_an_import_into_a_page_changes_nothing_unless_it_is_the_newest():
    old = edit(at(10, 20), 50, "Ancient.", parent_rev_id=49, rev_dt=OCTOBER - 3000 * DAY)
    assert sentences(worked(FIRST, old)) == []


def test_a17_a_page_edited_on_both_sides_of_the_boundary_has_the_text_before_it():
    before = edit(at(10, 30), 11, "Thirtieth.", parent_rev_id=10)
    after = edit(at(11, 2), 12, "Second.", parent_rev_id=11)
    made = worked(FIRST, before, after)  # cut on the 5th
    assert "".join(made.as_of().article(1, NOV).article.blocks) == "Thirtieth."


class KilledError(BaseException):
    """kill -9: nothing after it is done, nothing before it is undone."""


class Mortal(MemoryKeyValues):
    """A store whose process is killed at its n-th write, before or after it landed."""

    def __init__(self, values, writes, *, landed):
        super().__init__()
        super().write(values.items(), [])
        self._left, self._landed = writes, landed

    def write(self, puts, deletes, *, sync=False):
        self._left -= 1
        if self._left == 0 and not self._landed:
            raise KilledError
        super().write(puts, deletes, sync=sync)
        if self._left == 0:
            raise KilledError


def follow(kv, folder):
    """A worker's life on a store: feed exported, the recording read from where it stands."""
    embedded = opened(kv)
    exporter = Exporter(embedded.engine, folder)
    embedded._on_commit = exporter.run
    marks = {mark.topic: mark.offset for mark in embedded.positions.mark()}
    rest = [r for r in LIFE if r.change.position.offset >= marks.get(TOPIC, 0)]
    embedded.run(chunked(rest, 4))
    exporter.run()


def feed(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*.jsonl")}


def test_a27_killed_at_every_write_the_state_and_the_feed_are_the_same_bytes(tmp_path):
    whole = MemoryKeyValues()
    follow(whole, tmp_path / "whole")
    kills, before = 0, -1
    writes = 0
    while kills != before:  # until the history has no further write
        before, writes = kills, writes + 1
        for landed in (True, False):
            folder = tmp_path / f"{writes}{landed}"
            kv = Mortal({}, writes, landed=landed)
            try:
                follow(kv, folder)
            except KilledError:
                kills += 1
            again = Mortal(pairs(kv), -1, landed=True)
            follow(again, folder)
            assert pairs(again) == pairs(whole)
            assert feed(folder) == feed(tmp_path / "whole")
    assert kills > 30  # before and after each write of this history


def test_a28_a_second_worker_on_one_state_is_told_so(tmp_path):
    first = RocksKeyValues(tmp_path / "db", create=True)
    with pytest.raises(StateLocked, match="another process has this state open"):
        RocksKeyValues(tmp_path / "db")
    first.close()
    RocksKeyValues(tmp_path / "db").close()


def test_a29_a_topic_that_was_created_anew_is_read_from_its_beginning():
    kv = MemoryKeyValues()
    opened(kv).run(chunked(LIFE, 4))
    again = opened(kv)
    moment = at(12, 20)
    fresh = edit(moment, 900, "After.", page_id=9, title="Page 9")
    position = SourcePosition(topic=TOPIC, partition=0, offset=0, timestamp_ms=to_ms(moment))
    again.run([[replace(fresh, change=replace(fresh.change, position=position))]])
    assert [str(notice.kind) for notice in again.positions.notices()] == ["topic_restarted", "gap"]
    kept = Positions.from_bytes(Engine.open(again.engine.store, CONFIG).progress.positions)
    assert [mark.offset for mark in kept.mark()] == [1]
    # What may have been lost between the two lives of the topic is to be backfilled.
    (gap,) = kept.gaps()
    assert gap.before_ms == to_ms(moment)
    assert again.engine.store.held(9) is not None
    assert again.metrics.value(names.REPEATED) == 0


def test_a32_a_revision_of_a_published_window_that_is_hidden_leaves_a_tombstone(tmp_path):
    made = worked(FIRST, edit(at(10, 5), 11, "One.\n\nSecret.", parent_rev_id=10))
    made.close(made.open_window)
    made.commit()
    cut_closed(made, made.windows()[0], tmp_path)
    made.apply(hide(at(12, 24), 11))
    made.commit()
    correcting.withhold_published(made, tmp_path)
    folder = versions.window_folder(tmp_path, CONFIG.wiki.name, "2026-10")
    dataset = Dataset.open(folder)
    assert [stone.rev_id for stone in dataset.rows(Part.TOMBSTONES)] == [11]
    assert list(dataset.rows(Part.SENTENCES)) == []


def test_a33_facts_close_with_a_merge_and_open_with_the_restore():
    facts = item("Q2", ("P1", "Q5"))
    born = entity_edit(OCTOBER - DAY, 20, "Q2", facts, parent_rev_id=0)
    merged = entity_edit(
        at(10, 5), 21, "Q2", '{"entity": "Q2", "redirect": "Q1"}', parent_rev_id=20, redirect=True
    )
    back = entity_edit(at(11, 5), 22, "Q2", facts, parent_rev_id=21)
    state = worked(born, merged, back).as_of()
    assert state.entity("Q2", OCT).entity.facts
    assert state.entity("Q2", NOV).entity.redirect == "Q1"
    assert state.entity("Q2", NOV).entity.facts == ()
    assert state.entity("Q2", to_ms(DECEMBER)).entity.facts == state.entity("Q2", OCT).entity.facts


def test_a33_a_deleted_entity_that_is_restored_has_its_facts_again():
    facts = item("Q2", ("P1", "Q5"))
    place = {"wiki": CONFIG.wiki.repository, "page_id": None, "title": "Q2"}
    born = entity_edit(OCTOBER - DAY, 20, "Q2", facts, parent_rev_id=0)
    back = restore(at(11, 5), 20, facts, rev_dt=OCTOBER - DAY, **place)
    state = worked(born, delete(at(10, 5), 20, **place), back).as_of()
    assert state.entity("Q2", NOV) is None
    found = state.entity("Q2", to_ms(DECEMBER))
    assert found is not Missing.NEEDED
    assert found.entity.facts
