"""One behaviour for both key-value stores: in memory and on disk."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from twiki.state.kv import MemoryKeyValues
from twiki.state.rocks import RocksKeyValues


@pytest.fixture(params=["memory", "rocks"])
def kv(request, tmp_path):
    made = (
        MemoryKeyValues()
        if request.param == "memory"
        else RocksKeyValues(tmp_path / "db", create=True)
    )
    yield made
    made.close()


def test_a_key_that_was_never_written_has_no_value(kv):
    assert kv.get(b"x") is None
    assert list(kv.scan(b"")) == []


def test_what_was_written_is_read_and_what_was_deleted_is_not(kv):
    kv.write([(b"a", b"1"), (b"b", b"")], [])
    kv.write([(b"a", b"2")], [b"b"], sync=True)
    assert kv.get(b"a") == b"2"
    assert kv.get(b"b") is None


def test_an_empty_value_is_a_value(kv):
    kv.write([(b"a", b"")], [])
    assert kv.get(b"a") == b""
    assert list(kv.scan(b"a")) == [(b"a", b"")]


def test_one_write_deletes_first_and_puts_then(kv):
    kv.write([(b"a", b"old")], [])
    kv.write([(b"a", b"new")], [b"a"])
    assert kv.get(b"a") == b"new"


def test_deleting_what_is_not_there_is_nothing(kv):
    kv.write([], [b"nobody"])
    assert list(kv.scan(b"")) == []


def test_a_scan_gives_a_prefix_in_the_order_of_bytes(kv):
    keys = [b"p\x00\xff", b"p\x01", b"p", b"p\xff\xff", b"o\xff", b"q"]
    kv.write([(key, key[::-1]) for key in keys], [])
    assert [key for key, _ in kv.scan(b"p")] == [b"p", b"p\x00\xff", b"p\x01", b"p\xff\xff"]
    assert dict(kv.scan(b"p"))[b"p\x01"] == b"\x01p"


def test_a_scan_goes_on_behind_a_key_whether_that_is_there_or_not(kv):
    kv.write([(b"p%d" % n, b"") for n in range(5)], [])
    assert [key for key, _ in kv.scan(b"p", b"p2")] == [b"p3", b"p4"]
    assert [key for key, _ in kv.scan(b"p", b"p22")] == [b"p3", b"p4"]
    assert [key for key, _ in kv.scan(b"p", b"a")] == [b"p0", b"p1", b"p2", b"p3", b"p4"]
    assert list(kv.scan(b"p", b"p4")) == []


def test_a_scan_reads_far_more_than_one_chunk(kv):
    kv.write([(b"k%05d" % n, b"") for n in range(3000)], [])
    assert [key for key, _ in kv.scan(b"k")] == [b"k%05d" % n for n in range(3000)]


def test_writing_during_a_scan_does_no_harm(kv):
    kv.write([(b"k%05d" % n, b"") for n in range(2000)], [])
    seen = []
    for key, _ in kv.scan(b"k"):
        seen.append(key)
        kv.write([(b"a" + key, b"")], [key])
    assert seen == [b"k%05d" % n for n in range(2000)]
    assert list(kv.scan(b"k")) == []


KEYS = st.binary(min_size=1, max_size=3)
WRITES = st.lists(
    st.tuples(st.dictionaries(KEYS, st.binary(max_size=3), max_size=4), st.sets(KEYS, max_size=3)),
    max_size=6,
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(WRITES, KEYS)
def test_both_stores_hold_the_same_after_the_same_writes(tmp_path_factory, writes, prefix):
    memory = MemoryKeyValues()
    rocks = RocksKeyValues(tmp_path_factory.mktemp("kv") / "db", create=True)
    try:
        for puts, deletes in writes:
            memory.write(puts.items(), deletes)
            rocks.write(puts.items(), deletes)
        for begin in (b"", prefix, prefix[:1]):
            assert list(memory.scan(begin)) == list(rocks.scan(begin))
            assert list(memory.scan(begin, prefix)) == list(rocks.scan(begin, prefix))
    finally:
        rocks.close()
