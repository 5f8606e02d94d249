"""The benches of text and state in a tiny form: figures, peers, nothing left behind."""

import tempfile

import pytest

from twiki.bench import corpus, cut, diff_dumps, edits, reconcile, reference
from twiki.cli.benches import BENCHES

needs_peer = pytest.mark.skipif(not reference.installed(), reason="wikiextractor is not installed")


@pytest.fixture(autouse=True)
def scratch(tmp_path, monkeypatch):
    """Temporary folders in a folder of the test, which must be empty afterwards."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert list(folder.iterdir()) == []


def by_beginning(figures, text):
    return next(figure for figure in figures if figure.figure.startswith(text))


def test_edits_tells_a_rate_beside_the_naive_way_and_the_cost_by_size(monkeypatch):
    monkeypatch.setattr(edits, "_SIZES", (3_000, 6_000, 9_000))
    monkeypatch.setattr(edits, "_SMALL", 3_000)
    monkeypatch.setattr(edits, "_LARGE", 9_000)
    figures = edits.run(held=4, edits=30, rounds=1, sampled=4, naive=3)
    rate = by_beginning(figures, "article edits a second")
    assert rate.value > rate.peer > 0
    assert rate.budget == 1_000
    assert by_beginning(figures, "one sentence at 200 KB over").ratio > 0
    assert by_beginning(figures, "peak memory").unit == "MiB"


def test_cut_compares_states_of_two_sizes():
    figures = cut.run(few=40, many=80, touched=20, rounds=1)
    assert figures[0].peer > 0
    assert by_beginning(figures, "diff sentences").value >= 20


def test_reconcile_repairs_what_changed_and_is_held_to_the_decompression():
    figures = reconcile.run(count=60, length=2_000, changed=0.2, rounds=1)
    assert figures[0].budget == 1.25
    assert figures[0].peer > 0
    assert 0 < by_beginning(figures, "pages repaired").value < 30


@needs_peer
def test_a_dump_pair_gives_every_edit_of_prose_and_no_other():
    figures = diff_dumps.run(count=60, length=3_000, changed=0.3)
    found = by_beginning(figures, "edited articles found")
    assert found.value == found.budget > found.peer
    assert by_beginning(figures, "articles found without").value == 0
    assert figures[0].peer > 0


@needs_peer
def test_corpus_tells_articles_a_second_beside_wikiextractor():
    figures = corpus.run(count=12, rounds=1)
    assert figures[0].peer > 0
    assert figures[0].value > 0


@pytest.mark.parametrize("name", ["edits", "cut", "reconcile", "diff-dumps", "corpus"])
def test_each_is_registered(name):
    assert BENCHES[name].module.startswith("twiki.bench.")
