"""A copy of a state is the state, with nobody at it and beside a live worker."""

import pytest
from histories import CONFIG, OCTOBER, at, edit, entity_edit, item, pairs

from twiki.engine import Engine
from twiki.errors import OutputExists, StateCorrupt, StateError
from twiki.state import backup as core
from twiki.state.rocks import RocksKeyValues
from twiki.state.sizes import sizes
from twiki.state.store import Store


@pytest.fixture
def worker(tmp_path):
    """An engine at work on a state, as a live worker is."""
    kv = RocksKeyValues(tmp_path / "state" / "db", create=True)
    made = Engine.open(Store(kv), CONFIG, as_of=OCTOBER)
    for page in range(1, 40):
        made.apply(edit(at(10, 2), page, f"Page {page}. " * 50, page_id=page, title=f"P{page}"))
    made.apply(entity_edit(at(10, 4), 900, "Q1", item("Q1", ("P1", "Q5")), parent_rev_id=0))
    made.arrived("stream", at(10, 5))
    made.commit()
    yield made
    kv.close()


def state_in(folder):
    kv = RocksKeyValues(folder / "db")
    found = pairs(kv)
    kv.close()
    return found


def test_a_copy_beside_a_live_worker_is_the_state_at_that_moment(worker, tmp_path):
    before = pairs(worker.store.kv)
    note = core.backup(tmp_path / "state", tmp_path / "copy")
    worker.apply(edit(at(10, 6), 999, "Later.", page_id=1, title="P1"))
    worker.commit()
    assert (note.way, note.wiki) == ("copy", CONFIG.wiki.name)
    assert state_in(tmp_path / "copy") == before


def test_a_copy_without_a_worker_is_a_checkpoint(tmp_path):
    kv = RocksKeyValues(tmp_path / "state" / "db", create=True)
    made = Engine.open(Store(kv), CONFIG, as_of=OCTOBER)
    made.apply(edit(at(10, 2), 1, "Text.", page_id=1, title="P1"))
    made.commit()
    before = pairs(kv)
    kv.close()
    note = core.backup(tmp_path / "state", tmp_path / "copy")
    assert note.way == "checkpoint"
    assert state_in(tmp_path / "copy") == before


def test_a_restored_state_goes_on_where_the_backup_stood(worker, tmp_path):
    core.backup(tmp_path / "state", tmp_path / "copy")
    core.restore(tmp_path / "copy", tmp_path / "again")
    kv = RocksKeyValues(tmp_path / "again" / "db")
    again = Engine.open(Store(kv), CONFIG)
    assert again.watermark == at(10, 5)
    for made in (worker, again):
        made.apply(edit(at(10, 6), 999, "Later.", page_id=1, title="P1", parent_rev_id=1))
        made.commit()
    assert pairs(kv) == pairs(worker.store.kv)
    kv.close()


def test_nothing_is_overwritten(worker, tmp_path):
    core.backup(tmp_path / "state", tmp_path / "copy")
    with pytest.raises(OutputExists):
        core.backup(tmp_path / "state", tmp_path / "copy")
    with pytest.raises(OutputExists, match="move it aside"):
        core.restore(tmp_path / "copy", tmp_path / "state")


def test_what_is_no_backup_or_a_broken_one_puts_nothing_in_place(worker, tmp_path):
    with pytest.raises(StateError, match=r"backup\.json"):
        core.restore(tmp_path / "state", tmp_path / "again")
    core.backup(tmp_path / "state", tmp_path / "copy")
    (tmp_path / "copy" / "db" / "CURRENT").write_bytes(b"MANIFEST-999999\n")
    with pytest.raises(StateCorrupt, match="restore the last backup"):
        core.restore(tmp_path / "copy", tmp_path / "again")
    assert not (tmp_path / "again" / "db").exists()


def test_an_empty_state_is_not_backed_up(tmp_path):
    RocksKeyValues(tmp_path / "state" / "db", create=True).close()
    with pytest.raises(StateError, match="empty"):
        core.backup(tmp_path / "state", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_sizes_count_every_record_by_kind(worker):
    found = sizes(worker.store)
    assert (found["pages"].records, found["entities"].records) == (39, 1)
    assert found["texts"].records == 39
    assert sum(size.records for size in found.values()) == len(pairs(worker.store.kv))
    assert found["texts"].bytes > 39 * 20
