"""A set of ledger records in bits: it answers as a set does."""

from hypothesis import given
from hypothesis import strategies as st

from twiki.state import layout
from twiki.windows.seen import Seen

PAGES = st.integers(0, 1 << 20) | st.integers(1 << 30, (1 << 30) + 2) | st.just(1 << 40)
NUMBERS = PAGES.map(str) | st.sampled_from(["", "0", "007", "1_0", " 1", "٣", "1a"])
ENTITIES = st.builds("{}{}".format, st.sampled_from(["Q", "P", "L"]), NUMBERS)


@given(st.lists(PAGES), st.lists(PAGES))
def test_pages_are_in_it_as_in_a_set(added, asked):
    assert_as_a_set(Seen(layout.PAGE), added, asked)


@given(st.lists(ENTITIES), st.lists(ENTITIES))
def test_entities_are_in_it_as_in_a_set(added, asked):
    assert_as_a_set(Seen(layout.ENTITY), added, asked)


def assert_as_a_set(seen, added, asked):
    for key in added:
        seen.add(layout.record(key))
    for key in [*added, *asked]:
        assert (layout.record(key) in seen) == (key in set(added))
