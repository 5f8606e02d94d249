"""Proper nouns from the tagger to the figure: evaluation with a spaCy model that is installed."""

import dataclasses
import math

import pytest
import torch
from trainer_world import facts, rows, write_folder

from trainer import evaluate, files, model, pos, tokenizer
from trainer.evaluate import EvaluateSettings

TEXT = "Tim Cook leads Apple.\nIt rained, and he didn’t stop in São Paulo."
PROPER = ("Tim", "Cook", "Apple", "São", "Paulo")
OTHER = "Nothing of note happened. It rained."
SETTINGS = EvaluateSettings(parts=("intrinsic",), samples=20, sequence=64, rows=50)


@pytest.fixture(scope="module")
def tagger():
    found = pos.spacy_tagger()
    if found is None:
        pytest.skip("no spaCy model for English is installed")
    return found


@pytest.fixture
def dataset(tmp_path):
    asked = {f"{k}_{c}": facts(0) for k in ("probes", "lighttuning") for c in evaluate.CATEGORIES}
    texts = {"diffset": rows([TEXT, OTHER]), "nondiff": rows([OTHER])}
    return write_folder(tmp_path / "dataset", {**texts, **asked})


@pytest.fixture
def asked(tagger, monkeypatch):
    """The texts that the tagger is given."""
    given = []

    def tag(texts):
        given.append(list(texts))
        return tagger.tag(texts)

    monkeypatch.setattr(pos, "spacy_tagger", lambda _=None: pos.Tagger(tagger.name, tag))
    return given


def by_hand(language, text, proper):
    """Losses of the tokens that hold part of one of the words, token by token."""
    ids, offsets = tokenizer.encode_offsets(language.tokenizer, [text])[0]
    assert len(ids) <= SETTINGS.sequence
    with torch.no_grad():
        read = torch.tensor([[language.prefix, *ids]])
        logits = language.module(input_ids=read).logits[0].log_softmax(-1)
    inside = {
        place for word in proper for place in range(text.index(word), text.index(word) + len(word))
    }
    return [
        -float(logits[i, token])
        for i, (token, (start, end)) in enumerate(zip(ids, offsets, strict=True))
        if inside & set(range(start, end))
    ]


def test_proper_noun_perplexity_is_the_one_computed_by_hand(tmp_path, tiny_model, dataset, tagger):
    found = evaluate.run(tiny_model, dataset, SETTINGS, tmp_path / "e", cache=tmp_path / "tags")
    assert found["intrinsic"]["tagger"] == tagger.name
    nll = by_hand(model.load(tiny_model), TEXT, PROPER)
    shown = found["intrinsic"]["diffset"]["proper_nouns"]
    assert shown["tokens"] == len(nll)
    assert shown["nll"] == pytest.approx(sum(nll), rel=1e-5)
    assert shown["perplexity"] == pytest.approx(math.exp(sum(nll) / len(nll)), rel=1e-5)
    assert shown["bits_per_byte"] == pytest.approx(
        sum(nll) / math.log(2) / byte_count(tiny_model), rel=1e-5
    )
    assert shown["instances"] == 1
    everything = found["intrinsic"]["diffset"]["all"]
    assert everything["instances"] == 2
    assert everything["tokens"] > shown["tokens"]
    none = found["intrinsic"]["nondiff"]["proper_nouns"]
    assert (none["tokens"], none["perplexity"]) == (0, None)


def byte_count(folder):
    """Bytes of the characters that the flagged tokens cover, spaces before words included."""
    words = tokenizer.load(folder)
    _, offsets = tokenizer.encode_offsets(words, [TEXT])[0]
    spans = [(TEXT.index(w), TEXT.index(w) + len(w)) for w in PROPER]
    covered = {
        place
        for start, end in offsets
        if any(a < end and start < b for a, b in spans)
        for place in range(start, end)
    }
    return sum(len(TEXT[place].encode()) for place in covered)


def test_a_second_evaluation_reads_the_tags_and_asks_no_tagger(
    tmp_path, tiny_model, llama_model, dataset, asked
):
    cache = tmp_path / "tags"
    one = evaluate.run(tiny_model, dataset, SETTINGS, cache=cache)
    assert sorted(map(sorted, asked)) == sorted([sorted([TEXT, OTHER]), [OTHER]])
    assert len(list(cache.iterdir())) == 2
    assert evaluate.run(tiny_model, dataset, SETTINGS, cache=cache) == one
    # Tags belong to the window: another model needs none of its own.
    other = evaluate.run(llama_model, dataset, SETTINGS, cache=cache)
    assert len(asked) == 2
    tokens = [f["intrinsic"]["diffset"]["proper_nouns"]["tokens"] for f in (one, other)]
    assert tokens[0] == tokens[1] > 0
    without = evaluate.run(tiny_model, dataset, SETTINGS)
    assert without["intrinsic"] == one["intrinsic"]
    assert len(asked) == 4


def test_a_tagger_installed_later_is_asked(tmp_path, tiny_model, dataset, tagger, monkeypatch):
    out = tmp_path / "e"
    with monkeypatch.context() as bare:
        bare.setattr(pos, "MODELS", ())
        without = evaluate.run(tiny_model, dataset, SETTINGS, out)
        assert without["intrinsic"]["tagger"] is None
        assert evaluate.run(tiny_model, dataset, SETTINGS, out) == without
    found = evaluate.run(tiny_model, dataset, SETTINGS, out)
    assert found["intrinsic"]["tagger"] == found["fingerprint"]["tagger"] == tagger.name
    assert found["intrinsic"]["diffset"]["proper_nouns"]["tokens"] > 0


def test_an_upgraded_tagger_is_asked_again_and_a_kept_one_is_not_loaded(
    tmp_path, tiny_model, dataset, asked, monkeypatch
):
    out = tmp_path / "e"
    one = evaluate.run(tiny_model, dataset, SETTINGS, out)
    count = len(asked)
    assert evaluate.run(tiny_model, dataset, SETTINGS, out) == one
    assert len(asked) == count
    monkeypatch.setattr(pos, "tagger_name", lambda _=None: "spacy-9 en-9")
    again = evaluate.run(tiny_model, dataset, SETTINGS, out)
    assert again["fingerprint"]["tagger"] == "spacy-9 en-9"
    assert len(asked) == 2 * count
    monkeypatch.undo()
    assert "tagger" not in _fingerprint(tiny_model, dataset, tagger="")
    assert "tagger" not in _fingerprint(tiny_model, dataset, parts=("generation",))


def _fingerprint(folder, dataset, **changes):
    settings = dataclasses.replace(SETTINGS, **changes)
    return evaluate.run(folder, dataset, settings)["fingerprint"]


def test_the_cache_names_the_tagger_and_the_window(tmp_path, tiny_model, dataset, asked, tagger):
    cache = tmp_path / "tags"
    evaluate.run(tiny_model, dataset, SETTINGS, cache=cache)
    kept = [files.read_json(path) for path in cache.iterdir()]
    assert {k["tagger"] for k in kept} == {tagger.name}
    assert sorted(k["digest"].split()[1] for k in kept) == ["diffset", "nondiff"]
