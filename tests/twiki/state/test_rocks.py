"""State on disk: one writer, readers beside it, and errors that say what to do."""

import subprocess
import sys

import pytest

from twiki.errors import StateCorrupt, StateError, StateLocked
from twiki.state.rocks import RocksKeyValues


def test_a_folder_without_state_is_not_opened_and_not_made(tmp_path):
    with pytest.raises(StateError, match="no state here"):
        RocksKeyValues(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_what_was_written_is_there_after_opening_again(tmp_path):
    first = RocksKeyValues(tmp_path / "db", create=True)
    first.write([(b"a", b"1")], [])
    first.close()
    second = RocksKeyValues(tmp_path / "db")
    assert second.get(b"a") == b"1"
    second.close()


def test_a_second_process_is_refused_and_told_why(tmp_path):
    held = RocksKeyValues(tmp_path / "db", create=True)
    script = (
        "import sys, pathlib\n"
        "from twiki.errors import StateLocked\n"
        "from twiki.state.rocks import RocksKeyValues\n"
        "try:\n"
        "    RocksKeyValues(pathlib.Path(sys.argv[1]))\n"
        "except StateLocked as error:\n"
        "    sys.stdout.write(str(error))\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "db")],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "another process has this state open" in told.stdout
    assert str(tmp_path / "db") in told.stdout
    held.close()


def test_a_second_writer_in_one_process_is_refused_too(tmp_path):
    held = RocksKeyValues(tmp_path / "db", create=True)
    with pytest.raises(StateLocked):
        RocksKeyValues(tmp_path / "db")
    held.close()
    RocksKeyValues(tmp_path / "db").close()


def test_a_scan_that_was_left_half_way_does_not_keep_the_lock(tmp_path):
    first = RocksKeyValues(tmp_path / "db", create=True)
    first.write([(b"k%04d" % n, b"") for n in range(3000)], [])
    scan = first.scan(b"k")
    next(scan)
    first.close()
    RocksKeyValues(tmp_path / "db").close()


def test_a_reader_beside_the_writer_sees_what_it_catches_up_with(tmp_path):
    writer = RocksKeyValues(tmp_path / "db", create=True)
    writer.write([(b"a", b"1")], [])
    reader = RocksKeyValues(tmp_path / "db", reader=True)
    assert reader.get(b"a") == b"1"
    writer.write([(b"a", b"2"), (b"b", b"3")], [], sync=True)
    reader.catch_up()
    assert reader.get(b"a") == b"2"
    assert list(reader.scan(b"")) == [(b"a", b"2"), (b"b", b"3")]
    writer.flush()
    writer.write([(b"c", b"4")], [])
    reader.catch_up()
    assert [key for key, _ in reader.scan(b"")] == [b"a", b"b", b"c"]
    reader.close()
    writer.close()


def test_a_reader_leaves_no_folder_behind(tmp_path):
    RocksKeyValues(tmp_path / "db", create=True).close()
    before = {path.name for path in (tmp_path / "db").iterdir()}
    reader = RocksKeyValues(tmp_path / "db", reader=True)
    reader.close()
    assert not [p for p in (tmp_path / "db").iterdir() if p.is_dir()]
    assert before <= {path.name for path in (tmp_path / "db").iterdir()}


def test_damaged_files_are_named_as_damaged(tmp_path):
    made = RocksKeyValues(tmp_path / "db", create=True)
    made.write([(b"a", b"1")], [])
    made.flush()
    made.close()
    for path in (tmp_path / "db").glob("MANIFEST-*"):
        path.write_bytes(b"\xff" * path.stat().st_size)
    with pytest.raises(StateCorrupt, match="restore the last backup"):
        RocksKeyValues(tmp_path / "db")
