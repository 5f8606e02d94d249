"""What cannot work is refused before any training, and says what to change."""

import pytest
from small_runs import KillError, kill_after, settings
from trainer_world import facts, rows, sentences, write_folder

from trainer import files, methods, train
from trainer.train import Inputs
from twiki.errors import ConfigError, DatasetError, TrainerError


def test_a_dataset_with_a_wrong_checksum_stops_before_training(tmp_path, tiny_model):
    folder = write_folder(tmp_path / "d", {"diffset": rows(sentences(0))})
    with (folder / "diffset.parquet").open("ab") as file:
        file.write(b"x")
    with pytest.raises(DatasetError, match=r"sha256 .* the manifest says"):
        train.run(settings(), Inputs(tiny_model, folder), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_another_schema_no_manifest_or_an_empty_part_stop_before_training(tmp_path, tiny_model):
    other = write_folder(tmp_path / "d", {"diffset": rows(["x"])}, schema_version=99)
    with pytest.raises(DatasetError, match="schema version 99, this program reads 1"):
        train.run(settings(), Inputs(tiny_model, other), tmp_path / "out")
    with pytest.raises(DatasetError, match="not a dataset or corpus folder"):
        train.run(settings(), Inputs(tiny_model, tmp_path), tmp_path / "out")
    empty = write_folder(tmp_path / "e", {"diffset": rows(["  "]), "probes_changed": facts(0)})
    with pytest.raises(DatasetError, match="holds no text"):
        train.run(settings(), Inputs(tiny_model, empty), tmp_path / "out")


def test_a_model_folder_without_tokenizer_or_weights_is_named(tmp_path, tiny_model, september):
    for missing, what in (("tokenizer.json", "tokenizer"), ("model.safetensors", "causal")):
        folder = tmp_path / what
        folder.mkdir()
        for item in tiny_model.iterdir():
            if item.name != missing:
                (folder / item.name).write_bytes(item.read_bytes())
        with pytest.raises(TrainerError, match=f"{folder.name}: no {what}"):
            train.run(settings(), Inputs(folder, september), tmp_path / "out")


def test_more_tokens_than_positions_and_review_without_text_are_refused(
    tmp_path, tiny_model, september
):
    with pytest.raises(ConfigError, match="sequence 65: the model has 64 positions"):
        train.run(settings(sequence=65), Inputs(tiny_model, september), tmp_path / "out")
    with pytest.raises(TrainerError, match="no old text"):
        train.run(settings("mixreview"), Inputs(tiny_model, september), tmp_path / "out")


@pytest.mark.parametrize("method", [n for n in methods.METHODS if n != "kadapter"])
def test_a_start_with_adapters_is_refused_by_all_but_their_own_method(
    tmp_path, tiny_model, september, corpus, method
):
    # What they taught the base would not be in the folder: it holds the adapters alone.
    train.run(settings("kadapter", steps=1), Inputs(tiny_model, september), tmp_path / "a")
    given = Inputs(tmp_path / "a" / "model", september, (corpus,))
    with pytest.raises(TrainerError, match="start model has adapters"):
        train.run(settings(method, **{"lora.rank": 4}), given, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_bad_data_leaves_the_checkpoints_as_they_are(tmp_path, tiny_model):
    folder = write_folder(tmp_path / "d", {"diffset": rows(sentences(0))})
    cut, given, out = settings(checkpoint_every=10), Inputs(tiny_model, folder), tmp_path / "out"
    with pytest.raises(KillError):
        train.run(cut, given, out, observe=kill_after(12))
    kept = {p: files.sha256_of(p) for p in (out / "checkpoints").rglob("*") if p.is_file()}
    with (folder / "diffset.parquet").open("ab") as file:
        file.write(b"x")
    with pytest.raises(DatasetError, match="the manifest says"):
        train.run(cut, given, out)
    assert {p: files.sha256_of(p) for p in kept} == kept


@pytest.mark.parametrize("name", ["cuda:99", "gpu"])
def test_a_device_that_is_not_there_is_named(tmp_path, tiny_model, september, name):
    with pytest.raises(TrainerError, match=f"device '{name}' cannot be used"):
        train.run(settings(), Inputs(tiny_model, september), tmp_path / "out", on=name)
