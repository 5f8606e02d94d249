"""Old state bytes become new ones: every value, in any order, however often it is tried."""

from pathlib import Path

import msgspec
import pytest
from histories import at, edit, engine, pairs

from twiki.errors import StateCorrupt, StateVersionError
from twiki.state import codec, layout, migrations
from twiki.state.codec import Held
from twiki.state.kv import MemoryKeyValues
from twiki.state.ledger import Entry, EntryKind

GOLDEN = Path(__file__).parents[2] / "data" / "state" / "v0_page.hex"
OLD = bytes.fromhex("".join(GOLDEN.read_text("ascii").split()))
PAGE = layout.record(7)


def state_of(*items):
    kv = MemoryKeyValues()
    kv.write(items, [])
    return kv


def test_a_page_of_version_0_becomes_one_of_this_version():
    with pytest.raises(StateVersionError, match="twiki state migrate"):
        codec.decode_held(OLD)
    assert codec.decode_held(migrations.migrated(PAGE, OLD)) == Held(
        entries=(
            Entry(
                kind=EntryKind.REVISION,
                effective=1_790_000_000_000,
                rev=10,
                parent=0,
                rev_ms=1_790_000_000_000,
                title="A",
                namespace=0,
                created=True,
            ),
            Entry(kind=EntryKind.MOVE, effective=1_790_000_060_000, rev=11, parent=10, title="B"),
        ),
        bases=((10, 0), (11, 10)),
        shown=11,
        stood=11,
        stands=((1_790_000_030_000, 10),),
        needs=(12,),
    )


def test_a_whole_state_is_brought_over_and_index_entries_stay():
    text, title = b"\x00" + b"bytes", layout.title("A", 7)
    kv = state_of((PAGE, OLD), (layout.content(7, 10), text), (title, b""))
    assert migrations.migrate(kv) == {0: 2}
    assert pairs(kv)[layout.content(7, 10)] == codec.HEAD + b"bytes"
    assert pairs(kv)[title] == b""
    assert codec.decode_held(pairs(kv)[PAGE]).stood == 11
    assert migrations.migrate(kv) == {codec.VERSION: 2}


def test_a_migration_that_was_interrupted_is_gone_on_with():
    keys = [layout.record(n) for n in range(5)]
    whole = state_of(*((key, OLD) for key in keys))
    half = state_of(*((key, OLD) for key in keys))
    half.write([(key, migrations.migrated(key, OLD)) for key in keys[:2]], [])
    migrations.migrate(whole)
    assert migrations.migrate(half) == {0: 3, codec.VERSION: 2}
    assert pairs(half) == pairs(whole)


def test_a_state_of_this_version_is_left_alone():
    made = engine()
    made.apply(edit(at(10, 5), 1, "Text."))
    made.commit()
    before = pairs(made.store.kv)
    migrations.migrate(made.store.kv)
    assert pairs(made.store.kv) == before


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (b"\x09" + b"from a newer program", StateVersionError),
        (b"\x00" + msgspec.msgpack.encode([1, 2]), StateCorrupt),
    ],
)
def test_what_cannot_be_brought_over_stops_it_before_anything_is_written(value, error):
    kv = state_of((layout.record(1), OLD), (layout.record(2), value))
    before = pairs(kv)
    with pytest.raises(error):
        migrations.migrate(kv)
    assert pairs(kv) == before
