"""State as bytes: values of every version decode, others are refused with what to do."""

from pathlib import Path

import msgspec
import pytest
import zstandard
from histories import entry

from twiki.engine import Progress
from twiki.errors import StateCorrupt, StateVersionError
from twiki.records import Entity, Fact
from twiki.state import codec, layout
from twiki.state.codec import Held
from twiki.state.contents import Texts
from twiki.state.ledger import EntryKind

GOLDEN = Path(__file__).parents[2] / "data" / "state"


def golden(name):
    return bytes.fromhex("".join((GOLDEN / name).read_text("ascii").split()))


PAGE = Held(
    entries=(
        entry(EntryKind.REVISION, 1000, 10, parent=0, created=True),
        entry(EntryKind.MOVE, 1500, 11, parent=10, title="B", from_title="A", from_namespace=0),
        entry(EntryKind.VISIBILITY, 2000, revs=(10,), visible=False, epoch=1600),
    ),
    bases=((10, 0), (11, 10)),
    shown=11,
    stood=11,
    stands=((1200, 10), (1600, 11)),
    needs=(12,),
)


def test_a_page_of_version_1_decodes():
    assert codec.decode_held(golden("v1_page.hex")) == PAGE
    assert codec.decode_held(codec.encode(PAGE)) == PAGE


def test_an_entity_of_version_1_decodes_and_what_it_lacks_has_its_default():
    assert codec.decode_entity(golden("v1_entity.hex")) == Entity(
        id="Q1",
        labels={"en": "One!"},
        sitelink="A",
        facts=(Fact(subject="Q1", relation="P1", object="Q5", rank="preferred"),),
    )


def test_the_engines_record_of_version_1_decodes_and_what_it_lacks_has_its_default():
    assert codec.decode(golden("v1_engine.hex"), Progress) == Progress(
        wiki="testwiki",
        repository="testdata",
        first=1000,
        closed=2000,
        watermarks={"a": 3000},
        reconciled={1000: "dump"},
    )


def test_texts_of_version_1_decode_whole_and_as_patches():
    def stored(value):
        return b"\x01" + zstandard.ZstdCompressor(level=19).compress(msgspec.msgpack.encode(value))

    texts = {
        10: stored([0, ["One.\n\n", "Two.\n\n", "Three."]]),
        11: stored([10, [[0, 1], "New.\n\n", [1, 2]]]),
        12: stored([11, [[3, 1], [0, 2]]]),
    }
    assert Texts(texts.get).blocks(12) == ("Three.", "One.\n\n", "New.\n\n")


@pytest.mark.parametrize("head", [b"", b"\x00", b"\x02"])
def test_another_version_is_refused_with_what_to_do(head):
    with pytest.raises(StateVersionError, match="twiki state migrate"):
        codec.decode_held(head + golden("v1_page.hex")[1:] if head else b"")


@pytest.mark.parametrize("data", [b"\x01", b"\x01\xc1", b"\x01\x80", codec.encode(PAGE)[:-1]])
def test_bytes_that_are_no_record_are_corrupt(data):
    with pytest.raises(StateCorrupt):
        codec.decode_held(data)


def test_a_record_with_fields_of_a_later_minor_change_still_decodes():
    raw = msgspec.msgpack.decode(codec.encode(PAGE)[1:])
    longer = b"\x01" + msgspec.msgpack.encode([*raw, "new"])
    assert codec.decode_held(longer) == PAGE


# --- keys -----------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [0, 1, 2**40, "Q1", "P31", "L7"])
def test_keys_say_what_they_are_of(key):
    assert layout.parse(layout.record(key)) == key
    assert layout.parse_need(layout.need(key, 7)) == (key, 7)


def test_keys_sort_as_their_numbers_do():
    numbers = [0, 1, 255, 256, 65_536, 2**40]
    assert sorted(layout.record(n) for n in numbers) == [layout.record(n) for n in numbers]


def test_no_key_of_one_title_is_under_another():
    assert not layout.title("Ab", 1).startswith(layout.title_prefix("A"))
    assert layout.title("A", 1).startswith(layout.title_prefix("A"))


def test_no_key_of_one_entity_is_under_another():
    assert not layout.content("Q12", 1).startswith(layout.content("Q1", 1)[:-8])
