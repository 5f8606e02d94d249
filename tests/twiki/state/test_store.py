"""The store as programs use it: batches land whole, indexes walk in order, reads are as of."""

from histories import (
    DECEMBER,
    NOVEMBER,
    OCTOBER,
    applied,
    at,
    context,
    delete,
    edit,
    engine,
    entity_edit,
    item,
    move,
    pairs,
)

from twiki.state import layout
from twiki.state.asof import AsOf, Missing
from twiki.state.kv import MemoryKeyValues
from twiki.state.store import Batch, Store
from twiki.times import to_ms


def test_a_batch_reads_what_it_holds_and_the_store_does_not():
    store = Store(MemoryKeyValues())
    store.kv.write([(b"a", b"1"), (b"b", b"2")], [])
    batch = Batch(store)
    batch.put(b"a", b"9")
    batch.delete(b"b")
    batch.put(b"c", b"3")
    assert [batch.get(key) for key in (b"a", b"b", b"c")] == [b"9", None, b"3"]
    assert store.kv.get(b"a") == b"1"
    assert len(batch) == 3
    batch.commit()
    assert pairs(store.kv) == {b"a": b"9", b"c": b"3"}
    assert len(batch) == 0


def test_the_last_word_on_a_key_holds():
    store = Store(MemoryKeyValues())
    batch = Batch(store)
    batch.put(b"a", b"1")
    batch.delete(b"a")
    batch.delete(b"b")
    batch.put(b"b", b"2")
    batch.commit()
    assert pairs(store.kv) == {b"b": b"2"}


def test_pages_and_entities_are_walked_in_the_order_of_their_ids():
    made = engine()
    for page in (300, 2, 70_000, 1):
        made.apply(edit(at(10, 5), page, "x", page_id=page, title=f"P{page}"))
    for number, ident in enumerate(("Q2", "P1", "Q10"), 1):
        made.apply(entity_edit(at(10, 5), number, ident, item(ident), parent_rev_id=0))
    made.commit()
    store = made.store
    assert [page for page, _ in store.pages()] == [1, 2, 300, 70_000]
    assert [page for page, _ in store.pages(after=2)] == [300, 70_000]
    assert [ident for ident, _ in store.entities()] == ["P1", "Q10", "Q2"]
    assert list(store.touched_pages(to_ms(OCTOBER))) == [1, 2, 300, 70_000]
    assert list(store.touched_entities(to_ms(OCTOBER))) == ["P1", "Q10", "Q2"]
    order = [int.from_bytes(layout.page_hash(page), "big") for page in store.pages_by_hash()]
    assert order == sorted(order)
    assert len(order) == 4


def test_a_title_leads_to_the_page_that_bore_it_then():
    made = engine()
    made.apply(edit(at(10, 5), 1, "One.", page_id=1, title="Hall"))
    made.apply(move(at(10, 20), 2, "One.", "Old hall", "Hall", page_id=1, parent_rev_id=1))
    made.apply(edit(at(10, 21), 3, "Two.", page_id=2, title="Hall"))
    made.apply(
        edit(at(11, 5), 4, "#REDIRECT [[Old hall]]", page_id=2, title="Hall", parent_rev_id=3)
    )
    made.commit()
    state = made.as_of()
    assert state.titled("Hall", to_ms(at(10, 15))) == 1
    assert state.titled("Hall", to_ms(NOVEMBER)) == 2
    assert state.titled("Old hall", to_ms(NOVEMBER)) == 1
    assert state.titled("Hall", to_ms(DECEMBER)) is None
    assert state.titled("Nobody", to_ms(NOVEMBER)) is None


def test_a_need_is_marked_once_and_gone_when_it_is_met():
    store = applied([edit(at(10, 5), 1, None)])
    assert list(store.needs()) == [(1, 1)]
    store = applied([edit(at(10, 5), 1, None), edit(at(10, 5), 1, "One.")])
    assert list(store.needs()) == []
    store = applied([edit(at(10, 5), 1, None), edit(at(10, 6), 2, "Two.", parent_rev_id=1)])
    assert list(store.needs()) == []
    store = applied([edit(at(10, 5), 1, None), delete(at(10, 6))])
    assert list(store.needs()) == []


def test_reading_says_what_is_missing_and_why():
    state = AsOf(applied([edit(at(10, 5), 1, None)]), context())
    reading = state.article(1, to_ms(NOVEMBER))
    assert (reading.article.rev_id, reading.article.text) == (1, None)
    assert reading.missing is Missing.NEEDED
    assert state.article(2, to_ms(NOVEMBER)).article is None
    lost = AsOf(applied([entity_edit(at(10, 5), 1, "Q1", None, parent_rev_id=0)], "Q1"), context())
    assert lost.entity("Q1", to_ms(NOVEMBER)) is Missing.NEEDED
    assert lost.entity("Q2", to_ms(NOVEMBER)) is None
