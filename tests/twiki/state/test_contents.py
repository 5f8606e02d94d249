"""Texts as patches: decoded they are exactly what was put in, however long the chain."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twiki.errors import StateCorrupt, StateVersionError
from twiki.state import contents
from twiki.state.contents import Texts
from twiki.text.blocks import split

BLOCKS = st.lists(
    st.sampled_from(["", "a", "b\n\n", "== h ==\n", "c" * 90, "d" * 300, "é\u2028\n"]), max_size=9
)


def read(stored: dict[int, bytes], rev: int) -> tuple[str, ...]:
    return Texts(stored.get).blocks(rev)


@settings(deadline=None)
@given(st.lists(BLOCKS, min_size=1, max_size=7))
def test_a_chain_of_patches_decodes_to_the_very_blocks(versions):
    stored: dict[int, bytes] = {}
    for rev, blocks in enumerate(versions, 1):
        if rev == 1:
            stored[rev] = contents.whole(blocks)
        else:
            stored[rev], base = contents.patch(blocks, rev - 1, versions[rev - 2])
            assert base in (0, rev - 1)
    for rev, blocks in enumerate(versions, 1):
        assert read(stored, rev) == tuple(blocks)


@given(st.text(alphabet="a\n=*{}", max_size=30))
def test_a_text_kept_unsplit_reads_as_its_blocks_and_can_be_referred_to(text):
    texts = Texts({}.get)
    texts.put_unsplit(1, text)
    stored = {1: texts.whole(1)}
    assert read(stored, 1) == texts.blocks(1) == tuple(split(text))
    new = ["New.\n\n", *texts.blocks(1)]
    stored[2], _ = contents.patch(new, 1, texts.blocks(1))
    assert read(stored, 2) == tuple(new)


@given(st.permutations(range(24)), st.lists(st.integers(0, 40), max_size=30))
def test_blocks_that_moved_much_and_came_twice_decode_to_the_very_blocks(moved, more):
    old = [f"{n}\n" for n in range(24)] * 2
    new = [f"{n}\n" for n in [*moved, *more]]
    stored = {1: contents.whole(old), 2: contents.patch(new, 1, old)[0]}
    assert read(stored, 2) == tuple(new)


@given(BLOCKS, BLOCKS)
def test_a_text_known_without_being_stored_can_be_referred_to(old, new):
    texts = Texts({2: contents.patch(new, 1, old)[0]}.get)
    texts.put(1, old)
    assert texts.blocks(2) == tuple(new)


def test_an_edit_of_one_block_writes_that_block_and_little_more():
    old = [f"Sentence number {n} says {n * n}.\n\n" for n in range(2000)]
    new = [*old[:1000], "Another.\n\n", *old[1001:]]
    data, base = contents.patch(new, 1, old)
    assert base == 1
    assert len(data) < 100 < len(contents.whole(new))


def test_a_text_that_shares_little_is_stored_whole():
    data, base = contents.patch(["x" * 100, "same"], 1, ["y" * 100, "same"])
    assert base == 0
    assert read({2: data}, 2) == ("x" * 100, "same")


def test_a_moved_block_is_referred_to_not_written_again():
    old = [f"{n}" * 50 + "\n\n" for n in range(9)]
    data, base = contents.patch(old[5:] + old[:5], 1, old)
    assert base == 1
    assert read({1: contents.whole(old), 2: data}, 2) == tuple(old[5:] + old[:5])


def test_a_patch_whose_base_is_gone_is_named_with_both_revisions():
    stored = {2: contents.patch(["a" * 50, "b"], 1, ["a" * 50])[0]}
    with pytest.raises(StateCorrupt, match="revision 1 is not held, 2 refers to it"):
        read(stored, 2)


def test_patches_that_refer_in_a_circle_are_an_error_not_a_hang():
    stored = {
        1: contents.patch(["a" * 50, "b"], 2, ["a" * 50])[0],
        2: contents.patch(["a" * 50, "b"], 1, ["a" * 50])[0],
    }
    with pytest.raises(StateCorrupt, match="circle"):
        read(stored, 1)


@pytest.mark.parametrize("data", [b"\x01", b"\x01garbage", contents.whole(["a"])[:-3]])
def test_damaged_bytes_are_an_error_that_says_so(data):
    with pytest.raises(StateCorrupt):
        read({1: data}, 1)


def test_another_version_of_the_bytes_is_refused():
    with pytest.raises(StateVersionError, match="migrate"):
        read({1: b"\x63" + contents.whole(["a"])[1:]}, 1)
