"""From a source in a thread to chunks: all of it, in order, bounded, and errors come through."""

import threading

import pytest

from stream.reader import Reader


def drained(reader):
    return [item for chunk in reader.chunks() for item in chunk]


def test_everything_comes_out_once_and_in_order():
    reader = Reader(iter(range(1000)), lambda: None, chunk=7, waiting=2)
    assert drained(reader) == list(range(1000))
    reader.close()


def test_no_chunk_is_larger_than_asked_for():
    reader = Reader(iter(range(100)), lambda: None, chunk=7, waiting=2)
    assert max(map(len, reader.chunks())) <= 7
    reader.close()


def test_what_came_before_an_error_is_handed_out_and_then_the_error():
    def source():
        yield from range(5)
        raise OSError("gone")

    reader = Reader(source(), lambda: None, chunk=2)
    chunks, seen = reader.chunks(), []
    while len(seen) < 5:
        seen += next(chunks)
    assert seen == list(range(5))
    with pytest.raises(OSError, match="gone"):
        next(chunks)
    reader.close()


def test_a_slow_consumer_holds_the_source_back():
    read = []

    def source():
        for number in range(10_000):
            read.append(number)
            yield number

    reader = Reader(source(), lambda: None, chunk=5, waiting=2)
    chunks = reader.chunks()
    next(chunks)
    # At most: what was handed out, what waits, and the one in the thread's hand.
    assert len(read) <= 5 + 10 + 1
    reader.close()
    assert len(read) < 10_000


def test_closing_ends_the_source_and_the_thread():
    stopped = threading.Event()

    def source():
        while not stopped.is_set():
            yield 1

    reader = Reader(source(), stopped.set, chunk=2, waiting=2)
    next(reader.chunks())
    reader.close()
    assert stopped.is_set()
    assert not reader._thread.is_alive()


def test_a_quiet_source_gives_empty_chunks_so_that_the_engine_can_go_on():
    more = threading.Event()

    def source():
        more.wait(timeout=30)
        yield 1

    reader = Reader(source(), more.set)
    chunks = reader.chunks()
    assert next(chunks) == []
    more.set()
    assert [item for chunk in chunks for item in chunk] == [1]
    reader.close()


def test_a_reader_that_was_never_started_can_be_closed():
    Reader(iter([]), lambda: None).close()
