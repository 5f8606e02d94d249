"""What an evaluation needs of its dataset and of the device, and what it says where that lacks."""

import dataclasses
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from trainer_world import facts, rows, sentences, write_dataset, write_folder

from trainer import evaluate, files, model
from trainer.evaluate import PARTS, EvaluateSettings
from twiki.errors import DatasetError, TrainerError

QUICK = EvaluateSettings(parts=PARTS, samples=20, tagger="", rows=20)
FACTS = pa.schema([(n, pa.string()) for n in ("subject", "relation", "object")])


def only(*parts):
    return dataclasses.replace(QUICK, parts=parts)


def emptied(folder, *names):
    """The dataset with these parts left without a row."""
    manifest = json.loads((folder / "manifest.json").read_text())
    for name in names:
        path = folder / f"{name}.parquet"
        schema = FACTS if "_" in name else pa.schema([("text", pa.string())])
        pq.write_table(schema.empty_table(), path)
        manifest["data"]["files"][path.name] = {"sha256": files.sha256_of(path)}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.fixture
def dataset(tmp_path):
    return write_dataset(tmp_path / "d", 1, "2026-09")


# --- the dataset ----------------------------------------------------------------------------------


def test_a_whole_dataset_has_what_every_part_needs(dataset):
    for part in PARTS:
        evaluate.check(dataset, only(part))
    evaluate.check(dataset, QUICK)


@pytest.mark.parametrize(
    ("missing", "parts"),
    [
        ("probes_changed", ("extrinsic",)),
        ("probes_unchanged", ("generation",)),
        ("probes_unchanged", ("lighttuning",)),
        ("lighttuning_changed", ("lighttuning",)),
        ("diffset", ("intrinsic",)),
        ("nondiff", ("extrinsic", "intrinsic")),
    ],
)
def test_a_missing_part_is_named_and_matters_only_where_it_is_needed(dataset, missing, parts):
    (dataset / f"{missing}.parquet").unlink()
    with pytest.raises(DatasetError, match=rf"{missing}\.parquet: missing"):
        evaluate.check(dataset, only(*parts))
    others = {
        "probes_changed": only("intrinsic"),
        "probes_unchanged": only("intrinsic"),
        "lighttuning_changed": only("extrinsic", "intrinsic", "generation"),
    }
    evaluate.check(dataset, others.get(missing, only("extrinsic", "generation", "lighttuning")))


def test_a_part_of_facts_that_is_missing_is_found_before_anything_is_measured(dataset, tiny_model):
    (dataset / "lighttuning_unchanged.parquet").unlink()
    manifest = json.loads((dataset / "manifest.json").read_text())
    del manifest["data"]["files"]["lighttuning_unchanged.parquet"]
    (dataset / "manifest.json").write_text(json.dumps(manifest))
    told = []
    with pytest.raises(DatasetError, match=r"lighttuning_unchanged\.parquet: missing"):
        evaluate.run(tiny_model, dataset, QUICK, progress=told.append)
    assert told == []


def test_a_part_without_probes_is_no_error(dataset, tiny_model):
    emptied(dataset, "probes_changed", "lighttuning_changed")
    evaluate.check(dataset, QUICK)
    found = evaluate.run(tiny_model, dataset, QUICK)
    assert found["extrinsic"]["changed"]["object"]["perplexity"] is None
    emptied(dataset, "probes_unchanged", "lighttuning_unchanged")
    evaluate.check(dataset, QUICK)


def test_probes_with_nothing_to_tune_on_are_found_before_training(dataset):
    emptied(dataset, "lighttuning_changed", "lighttuning_unchanged")
    with pytest.raises(DatasetError, match="nothing to tune on; leave out part lighttuning"):
        evaluate.check(dataset, QUICK)
    evaluate.check(dataset, only("extrinsic", "intrinsic", "generation"))


def test_text_that_holds_nothing_is_found_before_training(dataset, tmp_path):
    emptied(dataset, "nondiff")
    evaluate.check(dataset, QUICK)
    emptied(dataset, "diffset")
    with pytest.raises(DatasetError, match=r"nondiff\.parquet are empty"):
        evaluate.check(dataset, QUICK)
    blank = write_folder(tmp_path / "b", {"diffset": rows(sentences(0)), "nondiff": rows([" "])})
    with pytest.raises(DatasetError, match="'nondiff' holds no text"):
        evaluate.check(blank, only("intrinsic"))


def test_a_folder_that_is_no_dataset_is_said(tmp_path):
    with pytest.raises(DatasetError, match="not a dataset or corpus folder"):
        evaluate.check(tmp_path, QUICK)


def test_what_was_not_tuned_is_not_reported_as_tuned(dataset, tiny_model):
    emptied(dataset, "lighttuning_changed")
    found = evaluate.run(tiny_model, dataset, only("generation", "lighttuning"))
    assert found["lighttuning"]["changed"] == {
        "exact_match": None,
        "f1": None,
        "facts": 7,
        "tuned_on": 0,
        "note": "nothing to tune on",
    }
    assert found["lighttuning"]["unchanged"]["tuned_on"] == len(facts(0))
    assert found["lighttuning"]["unchanged"]["f1"] is not None
    assert found["lighttuning"]["average_f1"] is None
    assert found["generation"]["changed"]["f1"] is not None


# --- the device -----------------------------------------------------------------------------------


class Full(torch.nn.Module):
    """Stands for a model on a GPU that holds ``most`` rows, and counts those it is given."""

    def __init__(self, inner, most):
        super().__init__()
        self.inner, self.most, self.seen = inner, most, []

    @property
    def config(self):
        return self.inner.config

    def forward(self, input_ids, **more):
        self.seen.append(len(input_ids))
        if len(input_ids) > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return self.inner(input_ids=input_ids, **more)


@pytest.fixture
def device(monkeypatch):
    """Make loaded models fit ``most`` rows; returns them."""
    real, loaded = model.load, []

    def hold(most):
        def load(source, **more):
            language = real(source, **more)
            loaded.append(Full(language.module, most))
            return dataclasses.replace(language, module=loaded[-1])

        monkeypatch.setattr(model, "load", load)
        return loaded

    return hold


@pytest.mark.parametrize(
    ("part", "batch", "said"),
    [
        ("extrinsic", 7, "extrinsic with 7 rows .* --batch 3,.*--evaluation-batch 3"),
        ("intrinsic", 32, "intrinsic with 16 rows .* --batch 8,.*--evaluation-batch 8"),
        ("generation", 6, "generation with 6 rows .* --batch 3,"),
        ("lighttuning", 4, "lighttuning with 4 rows .* --batch 2,"),
        ("extrinsic", 1, "extrinsic with --batch 1: lower --sequence, or take another --device"),
    ],
)
def test_out_of_memory_names_a_batch_of_half_the_size(
    tiny_model, september, device, part, batch, said
):
    device(most=0)
    settings = dataclasses.replace(only(part), batch=batch, sequence=4)
    with pytest.raises(TrainerError, match=f"out of GPU memory for {said}") as found:
        evaluate.run(tiny_model, september, settings)
    assert isinstance(found.value.__cause__, torch.OutOfMemoryError)


def test_the_batch_that_is_named_is_what_every_part_keeps_to(tiny_model, september, device):
    loaded = device(most=2)
    whole = evaluate.run(tiny_model, september, dataclasses.replace(QUICK, batch=2))
    assert max(loaded[0].seen) == 2
    reference = whole["extrinsic"]["changed"]["reference_batch_mean"]
    device(most=64)
    other = evaluate.run(tiny_model, september, QUICK)
    assert reference == pytest.approx(
        other["extrinsic"]["changed"]["reference_batch_mean"], rel=1e-5
    )


def test_a_model_that_does_not_fit_at_all_is_said(tiny_model, september, monkeypatch):
    def load(_source, **_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(model, "load", load)
    with pytest.raises(TrainerError, match="for the model alone: take another --device"):
        evaluate.run(tiny_model, september, QUICK)


def test_nothing_but_the_batch_is_lost_after_an_error(tmp_path, tiny_model, september, device):
    out = tmp_path / "e"
    device(most=2)
    with pytest.raises(TrainerError, match="--batch 3"):
        evaluate.run(tiny_model, september, dataclasses.replace(QUICK, batch=7), out)
    assert not out.exists()
    evaluate.run(tiny_model, september, dataclasses.replace(QUICK, batch=2), out)
    assert (out / "evaluation.json").exists()


def test_another_batch_finds_what_was_measured(tmp_path, tiny_model, september, monkeypatch):
    first = evaluate.run(tiny_model, september, QUICK, tmp_path)
    monkeypatch.setattr(model, "load", None)  # nothing is measured again
    other = dataclasses.replace(QUICK, batch=QUICK.batch // 2)
    assert evaluate.run(tiny_model, september, other, tmp_path) == first


def test_what_was_measured_in_an_older_way_is_measured_anew(
    tmp_path, tiny_model, september, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr(evaluate, "SCHEMA", evaluate.SCHEMA - 1)
        evaluate.run(tiny_model, september, QUICK, tmp_path)
    assert evaluate.run(tiny_model, september, QUICK, tmp_path)["schema"] == evaluate.SCHEMA


def test_the_references_figure_can_be_left_out(tiny_model, september):
    bare = evaluate.run(tiny_model, september, dataclasses.replace(QUICK, reference=False))
    assert bare["extrinsic"]["changed"]["reference_batch_mean"] is None
    whole = evaluate.run(tiny_model, september, QUICK)
    assert whole["extrinsic"]["changed"]["reference_batch_mean"] > 1
    assert bare["extrinsic"]["changed"]["object"] == whole["extrinsic"]["changed"]["object"]
