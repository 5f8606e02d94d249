"""The benchmark of the pages, on a window that is small."""

from stream import bench_serve, bench_serve_data
from stream.pages.library import Library
from twiki.windows.dataset import Dataset
from twiki.windows.schema import Part


def test_a_generated_window_keeps_the_contract(tmp_path):
    folder = bench_serve_data.write(tmp_path, sentences=25_000, facts=300)
    Dataset.open(folder).verify()
    assert Dataset.open(folder).counts[Part.SENTENCES] == 25_000
    assert list(Library(tmp_path).listing().shelves) == [bench_serve_data.ID]


def test_every_page_is_asked_and_measured():
    found = bench_serve.run(sentences=3_000, facts=200, requests=2, edits=50, rounds=1)
    names = [one.figure for one in found]
    assert len(names) == len(set(names)) == 28
    assert all(one.value > 0 for one in found)
    assert next(one for one in found if one.figure == "memory of the server").met
