"""Which tokens of a fact are scored."""

import json
from pathlib import Path

import pretrained_files
import pytest

from trainer import model, probes, tokenizer
from trainer.dataset import ProbeRow
from trainer.model import LanguageModel


def objects(language, row):
    encoded = probes.encode(language, [row])[0]
    ids = [t for t, keep in zip(encoded.ids[1:], encoded.object, strict=True) if keep]
    return language.tokenizer.decode(ids)


@pytest.mark.parametrize(
    "row",
    [
        ProbeRow("Ada Bern", "residence", "Aldorp"),
        ProbeRow("Ada", "moved to", "São Paulo"),
        ProbeRow("Ada", "motto", "don’t 😀"),
        ProbeRow("Ada", "residence", "Washington, D.C."),
        ProbeRow("Ada", "year", "2021"),
    ],
)
def test_the_object_is_scored_whole_and_alone(tiny_model, row):
    assert objects(model.load(tiny_model), row).strip() == row.object


def test_object_and_whole_are_different_figures(tiny_model):
    language = model.load(tiny_model)
    found = probes.score(language, [ProbeRow("Ada Bern", "residence", "Aldorp")])
    assert 0 < found.object.tokens[0] < found.whole.tokens[0]
    assert found.object.nll[0] < found.whole.nll[0]
    assert found.object.bytes.tolist() == [6.0]


def test_a_token_that_joins_relation_and_object_counts_as_object():
    words = tokenizer.train_bpe(["abcab" * 50], 300)
    words._tokenizer.pre_tokenizer = None
    fact = ProbeRow("a", "b", "c")
    ids, spans = tokenizer.encode_offsets(words, [fact.text])[0]
    encoded = probes.encode(LanguageModel(None, words, ""), [fact])[0]
    assert encoded.object == tuple(end > 4 for _, end in spans)
    assert len(encoded.ids) == len(ids) + 1


@pytest.fixture(scope="module")
def gpt2_vocabulary(request, tmp_path_factory) -> Path:
    """GPT-2's own vocabulary as a tokenizer's folder."""
    folder = tmp_path_factory.mktemp("gpt2")
    source = pretrained_files.gpt2_vocabulary(request.config.cache)
    (folder / "vocab.json").write_bytes((source / "encoder.json").read_bytes())
    (folder / "merges.txt").write_bytes((source / "vocab.bpe").read_bytes())
    config = {
        "tokenizer_class": "GPT2Tokenizer",
        "bos_token": "<|endoftext|>",
        "eos_token": "<|endoftext|>",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def test_gpt2s_vocabulary_loads_whole_and_scores_the_object(gpt2_vocabulary):
    words = tokenizer.load(gpt2_vocabulary)
    assert len(words) == 50257
    assert tokenizer.encode(words, ["Hello world"]) == [[15496, 995]]
    assert tokenizer.encode(words, ["<|endoftext|>"]) != [[50256]]
    language = LanguageModel(None, words, "")
    assert objects(language, ProbeRow("Apple Inc.", "CEO", "Tim Cook")) == " Tim Cook"
