"""The whole corpus as of a boundary: every live article once, resumable, the same bytes."""

import msgspec
import pyarrow.parquet as pq
import pytest
from histories import CONFIG, DECEMBER, NOVEMBER, OCTOBER, at, delete, edit, engine, hide

from twiki.errors import DatasetError, OutputExists
from twiki.windows import corpus


@pytest.fixture
def state(monkeypatch):
    monkeypatch.setattr(corpus, "SHARD_ARTICLES", 4)
    made = engine((OCTOBER, NOVEMBER, DECEMBER))
    for n in range(1, 11):
        text = f"== History ==\nPage {n} stands. It is old.\n\n* First\n{{{{Infobox|x=1}}}}"
        made.apply(edit(at(10, 5), n * 10, text, page_id=n, title=f"Page {n}"))
    made.apply(edit(at(10, 6), 200, "#REDIRECT [[Page 1]]", page_id=20, title="R"))
    made.apply(edit(at(10, 6), 210, "Gone.", page_id=21, title="G"))
    made.apply(delete(at(10, 7), page_id=21, title="G"))
    made.apply(edit(at(10, 6), 220, "Secret.", page_id=22, title="H"))
    made.apply(hide(at(10, 8), 220, page_id=22, title="H"))
    made.apply(edit(at(11, 6), 230, "Later.", page_id=23, title="L"))
    made.apply(edit(at(11, 6), 11, "Page 1 fell.", page_id=1, title="Page 1", parent_rev_id=10))
    made.commit()
    return made.as_of()


def rows(folder):
    return [
        row for path in sorted(folder.glob("*.parquet")) for row in pq.read_table(path).to_pylist()
    ]


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_every_live_article_is_there_once_as_of_the_boundary(state, tmp_path):
    made = corpus.write(state, NOVEMBER, tmp_path / "c", CONFIG, workers=1)
    found = rows(tmp_path / "c")
    assert [row["id"] for row in found] == list(range(1, 11))
    assert found[0] == {
        "id": 1,
        "url": "https://wiki.example/wiki?curid=1",
        "title": "Page 1",
        "sentences": 3,
        "text": "History\nPage 1 stands. It is old.\nFirst",
    }
    assert made.counts == {
        "articles": 10,
        "sentences": sum(row["sentences"] for row in found),
        "words": sum(len(row["text"].split()) for row in found),
        "bytes": sum(len(row["text"].encode()) for row in found),
        "unreadable": 1,
    }
    assert set(made.files) == {f"corpus-0000{n}.parquet" for n in range(3)}
    assert set(files(tmp_path / "c")) == {*made.files, "manifest.json"}


def test_a_killed_run_goes_on_and_gives_the_same_bytes(state, tmp_path):
    corpus.write(state, NOVEMBER, tmp_path / "whole", CONFIG, workers=1)

    class KilledError(Exception):
        pass

    def stop(_stage, _more):
        raise KilledError

    with pytest.raises(KilledError):
        corpus.write(state, NOVEMBER, tmp_path / "c", CONFIG, workers=1, progress=stop)
    assert not (tmp_path / "c" / "manifest.json").exists()
    (tmp_path / "c" / ".corpus-00001.parquet.partial").write_bytes(b"half")
    with pytest.raises(DatasetError, match="other settings"):
        corpus.write(state, DECEMBER, tmp_path / "c", CONFIG, workers=1)
    corpus.write(state, NOVEMBER, tmp_path / "c", CONFIG, workers=1)
    assert files(tmp_path / "c") == files(tmp_path / "whole")


def test_a_finished_corpus_is_not_written_over(state, tmp_path):
    corpus.write(state, NOVEMBER, tmp_path / "c", CONFIG, workers=1)
    before = files(tmp_path / "c")
    with pytest.raises(OutputExists, match="another folder"):
        corpus.write(state, NOVEMBER, tmp_path / "c", CONFIG, workers=1)
    assert files(tmp_path / "c") == before


def test_a_sample_is_a_part_of_every_larger_sample(state, tmp_path):
    chosen = []
    for size in (3, 6):
        out = tmp_path / f"s{size}"
        made = corpus.write(state, NOVEMBER, out, CONFIG, sample=size, workers=1)
        assert made.sample == size
        chosen.append({row["id"] for row in rows(out)})
    assert chosen[0] < chosen[1]
    assert len(chosen[1]) in (5, 6)  # the hidden one may be among those chosen


def test_more_workers_give_the_same_bytes(state, tmp_path):
    one = corpus.write(state, NOVEMBER, tmp_path / "one", CONFIG, workers=1)
    two = corpus.write(state, NOVEMBER, tmp_path / "two", CONFIG, workers=2)
    assert msgspec.json.encode(one) == msgspec.json.encode(two)
    assert files(tmp_path / "one") == files(tmp_path / "two")
