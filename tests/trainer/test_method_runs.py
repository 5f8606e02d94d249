"""What a method makes of a whole run: that the loop calls it, and what lies in the folder."""

import itertools

import pytest
import torch
from small_runs import settings, weights
from trainer_world import SHAPE, sentences

from trainer import model, train
from trainer.train import Inputs

CONSTANT = {"steps": 4, "lr": 1e-3, "schedule": "constant"}


@pytest.fixture(scope="module")
def other_model(tmp_path_factory, tiny_model):
    """Another draw of weights, with the same tokenizer."""
    texts = [t for shift in range(3) for t in sentences(shift)]
    folder = tmp_path_factory.mktemp("other") / "m"
    return model.small_model(texts, folder, shape=SHAPE, seed=1)


def same(found, expected):
    return all(torch.equal(found[n], expected[n]) for n in found)


@pytest.mark.parametrize("anchor", ["previous", "initial"])
def test_recadam_is_pulled_to_its_anchor_at_every_step(
    tmp_path, tiny_model, other_model, september, anchor
):
    # lr * gamma = 1: whatever Adam did, the pull takes the weights all the way (A1).
    changes = {**CONSTANT, "recadam.gamma": 1000.0, "recadam.anchor": anchor}
    given = Inputs(tiny_model, september, initial=other_model)
    train.run(settings("recadam", **changes), given, tmp_path / "o")
    assert same(
        weights(tmp_path / "o"), model.weights(other_model if anchor == "initial" else tiny_model)
    )
    train.run(settings("diff", **CONSTANT), given, tmp_path / "diff")
    assert not same(weights(tmp_path / "diff"), model.weights(tiny_model))


def test_recadams_sigmoid_weighs_the_new_loss(tmp_path, tiny_model, september):
    given = Inputs(tiny_model, september)
    changes = {**CONSTANT, "recadam.anneal": "sigmoid", "recadam.gamma": 0.0, "recadam.k": 1.0}
    train.run(settings("recadam", **changes, **{"recadam.t0": 1e6}), given, tmp_path / "held")
    assert same(weights(tmp_path / "held"), model.weights(tiny_model))
    # Long after t0 the anchor has let go, however strong the pull was.
    changes |= {"recadam.gamma": 500.0, "recadam.t0": -1e6}
    train.run(settings("recadam", **changes), given, tmp_path / "free")
    train.run(settings("diff", **CONSTANT), given, tmp_path / "diff")
    assert same(weights(tmp_path / "free"), weights(tmp_path / "diff"))


def test_merge_is_diff_gone_part_of_the_way(tmp_path, tiny_model, september):
    given = Inputs(tiny_model, september)
    train.run(settings("diff", **CONSTANT), given, tmp_path / "diff")
    train.run(settings("merge", merge=0.25, **CONSTANT), given, tmp_path / "merge")
    start, end = model.weights(tiny_model), weights(tmp_path / "diff")
    for name, found in weights(tmp_path / "merge").items():
        assert torch.allclose(found, torch.lerp(start[name], end[name], 0.25), atol=1e-7), name


@pytest.mark.parametrize("folder", ["tiny_model", "llama_model"])
@pytest.mark.parametrize("method", ["lora", "dora", "pissa"])
def test_a_low_rank_run_leaves_a_plain_model_of_the_same_size(
    tmp_path, september, method, folder, request
):
    start = request.getfixturevalue(folder)
    chosen = settings(method, **CONSTANT, **{"lora.rank": 4})
    record = train.run(chosen, Inputs(start, september), tmp_path / "o")
    base, found = model.load(start).module, model.load(tmp_path / "o" / "model").module
    assert type(found) is type(base)
    assert model.parameter_count(found) == model.parameter_count(base) == record["parameters"]
    assert record["trainable_parameters"] < record["parameters"] / 2
    assert found.config.tie_word_embeddings == base.config.tie_word_embeddings
    kept, after = dict(base.named_parameters()), dict(found.named_parameters())
    assert kept.keys() == after.keys()
    embedding = base.get_input_embeddings().weight
    assert torch.equal(embedding, found.get_input_embeddings().weight)
    assert not same(after, kept)


def test_an_adapter_is_added_once_and_its_base_stays(tmp_path, tiny_model, september, october):
    before = model.weights_digest(tiny_model)
    first = train.run(settings("kadapter"), Inputs(tiny_model, september), tmp_path / "1")
    start = tmp_path / "1" / "model"
    second = train.run(settings("kadapter"), Inputs(start, october), tmp_path / "2")
    assert second["parameters"] == first["parameters"]
    one, two = (model.load(tmp_path / n / "model").module for n in "12")
    assert one.source == two.source
    assert model.weights_digest(tiny_model) == before
    assert weights(tmp_path / "1").keys() == weights(tmp_path / "2").keys()
    assert not same(weights(tmp_path / "1"), weights(tmp_path / "2"))


@pytest.mark.parametrize("folder", ["tiny_model", "llama_model"])
def test_an_embedding_that_ever_trained_stays_with_its_adapter(
    tmp_path, september, october, folder, request
):
    # It trains in the first and the last of four months; each goes on from what was there.
    before = start = request.getfixturevalue(folder)
    embeddings, names = [model.load(start).module.get_input_embeddings().weight], []
    for month, trains in enumerate([True, False, False, True]):
        chosen = settings("kadapter", **CONSTANT, **{"kadapter.train_embeddings": trains})
        text = (september, october)[month % 2]
        train.run(chosen, Inputs(start, text), tmp_path / str(month))
        start = tmp_path / str(month) / "model"
        module = model.load(start).module
        embeddings.append(module.get_input_embeddings().weight)
        names.append(weights(tmp_path / str(month)).keys())
    moved = [not torch.equal(*pair) for pair in itertools.pairwise(embeddings)]
    assert moved == [True, False, False, True]
    base = model.load(before).module
    tied = base.get_input_embeddings().weight is base.get_output_embeddings().weight
    saved = {n for n in names[0] if n.startswith("base.")}
    assert len(saved) == (1 if tied else 2)
    assert all(other == names[0] for other in names)


def test_an_embedding_that_never_trained_is_the_bases(tmp_path, tiny_model, september):
    train.run(settings("kadapter", steps=2), Inputs(tiny_model, september), tmp_path / "o")
    assert not [n for n in weights(tmp_path / "o") if n.startswith("base.")]


def test_replay_reads_a_little_old_text_under_a_rate_that_is_warmed_anew(
    tmp_path, tiny_model, september, corpus
):
    chosen = settings("replay", steps=0, batch=2)
    assert chosen.schedule == "rewarm"
    given = Inputs(tiny_model, september, (corpus,))
    text = train.run(chosen, given, tmp_path / "o")["text"]
    assert text["reviewed_rows"] == round(0.25 * text["rows"])
