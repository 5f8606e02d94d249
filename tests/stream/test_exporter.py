"""The live feed as files: full segments, what is left at closing, the same bytes after a kill."""

from datetime import timedelta

import msgspec
import pytest
from histories import CONFIG, DECEMBER, NOVEMBER, OCTOBER, at, edit, engine, hide

from stream import exporter as feed
from stream.exporter import Exporter
from twiki.engine import Engine
from twiki.state import layout
from twiki.state.kv import MemoryKeyValues
from twiki.state.store import Store


@pytest.fixture(autouse=True)
def short_segments(monkeypatch):
    monkeypatch.setattr(feed, "SEGMENT", 3)


def made_of(kv=None, bounds=(OCTOBER, NOVEMBER, DECEMBER)):
    return engine(bounds, kv=kv)


def tell(made, *days, month=10, first=1):
    """One sentence a day, each of a page of its own."""
    for day in days:
        page_id = first * 100 + day
        made.apply(
            edit(
                at(month, day),
                page_id * 10,
                f"Page {page_id} stands.",
                page_id=page_id,
                title=f"P{page_id}",
            )
        )
    made.commit()


def files(folder):
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*.jsonl"))
    }


def texts(data):
    return [msgspec.json.decode(line)["sentence"]["text"] for line in data.splitlines()]


def test_full_segments_are_written_and_the_rest_waits(tmp_path):
    made = made_of()
    exporter = Exporter(made, tmp_path)
    tell(made, 1, 2)
    exporter.run()
    assert files(tmp_path) == {}
    told = []
    tell(made, 3, 4, 5, 6, 7)
    exporter.run(told=told.append)
    assert told == [3, 3]
    written = files(tmp_path)
    assert list(written) == ["2026-10/00000000.jsonl", "2026-10/00000003.jsonl"]
    assert texts(written["2026-10/00000003.jsonl"]) == [
        f"Page {100 + n} stands." for n in (4, 5, 6)
    ]


def test_what_is_left_of_a_window_is_written_when_it_has_closed_and_nothing_else_came(tmp_path):
    made = made_of()
    exporter = Exporter(made, tmp_path)
    tell(made, 1, 2)
    exporter.run()
    made.close(made.open_window)
    made.commit()
    exporter.run()
    assert [texts(data) for data in files(tmp_path).values()] == [
        ["Page 101 stands.", "Page 102 stands."]
    ]


def test_each_window_has_a_folder_by_its_own_name(tmp_path):
    middle = at(10, 15, 0)
    made = made_of(bounds=(OCTOBER, middle, NOVEMBER))
    exporter = Exporter(made, tmp_path)
    tell(made, 1, 2, 3, 20, 21, 22)
    made.close(made.open_window)
    made.commit()
    exporter.run()
    assert list(files(tmp_path)) == [
        "20261001-20261015/00000000.jsonl",
        "20261015-20261101/00000000.jsonl",
    ]


def test_a_restarted_exporter_goes_on_where_it_stood(tmp_path):
    kv = MemoryKeyValues()
    made = made_of(kv)
    tell(made, 1, 2, 3)
    Exporter(made, tmp_path).run()
    tell(made, 4, 5, 6)
    told = []
    Exporter(Engine.open(Store(kv), CONFIG), tmp_path).run(told=told.append)
    assert told == [3]
    assert list(files(tmp_path)) == ["2026-10/00000000.jsonl", "2026-10/00000003.jsonl"]


@pytest.mark.parametrize("lost", ["all", "the last"])
def test_segments_are_written_again_with_the_same_bytes_when_the_cursor_was_lost(tmp_path, lost):
    kv = MemoryKeyValues()
    made = made_of(kv)
    tell(made, 1, 2, 3)
    Exporter(made, tmp_path).run()
    early = kv.get(layout.META + b"exporter")
    tell(made, *range(4, 12))
    made.close(made.open_window)
    made.commit()
    Exporter(made, tmp_path).run()
    before = files(tmp_path)
    assert len(before) == 4
    if lost == "all":
        kv.write([], [layout.META + b"exporter"])
        for path in tmp_path.rglob("*.jsonl"):
            path.unlink()
    else:
        kv.write([(layout.META + b"exporter", early)], [])
    Exporter(Engine.open(Store(kv), CONFIG), tmp_path).run()
    assert files(tmp_path) == before


def test_how_often_the_exporter_ran_does_not_show_in_its_files(tmp_path):
    often, once = made_of(), made_of()
    exporter = Exporter(often, tmp_path / "often")
    for day in range(1, 9):
        tell(often, day)
        exporter.run()
    tell(once, *range(1, 9))
    for made in (often, once):
        made.close(made.open_window)
        made.commit()
    exporter.run()
    Exporter(once, tmp_path / "once").run()
    assert files(tmp_path / "often") == files(tmp_path / "once")


def test_what_late_events_tell_waits_for_the_next_closing_however_often_the_exporter_ran(tmp_path):
    often, once = made_of(), made_of()
    exporter = Exporter(often, tmp_path / "often")
    for made in (often, once):
        for step in ("tell", "close", "late", "later", "close"):
            if step == "close":
                made.close(made.open_window)
                made.commit()
            else:
                tell(made, *{"tell": (1, 2), "late": (3,), "later": (4, 5)}[step])
            if made is often:
                exporter.run()
                exporter.run()
    Exporter(once, tmp_path / "once").run()
    written = files(tmp_path / "often")
    assert [len(texts(data)) for data in written.values()] == [2, 3]
    assert written == files(tmp_path / "once")


def test_nothing_is_left_half_written(tmp_path):
    made = made_of()
    tell(made, 1, 2, 3)
    Exporter(made, tmp_path).run()
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["00000000.jsonl"]


def test_a_sentence_whose_revision_was_hidden_before_it_was_exported_does_not_come_out(tmp_path):
    made = made_of()
    made.apply(edit(at(10, 5), 1, "The secret is 4711."))
    made.apply(hide(at(10, 5) + timedelta(hours=1), 1))
    made.close(made.open_window)
    made.commit()
    Exporter(made, tmp_path).run()
    assert b"4711" not in b"".join(files(tmp_path).values())
