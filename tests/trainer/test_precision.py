"""Precision: weights and moments are fp32, whatever was stored."""

import pytest
import torch
from safetensors.torch import load_file
from small_runs import KillError, kill_after, settings, weights

from trainer import model, train
from trainer.optimizer import make_optimizer
from trainer.train import Inputs
from twiki.errors import TrainerError


def test_weights_and_moments_are_fp32_whatever_was_stored(tmp_path, tiny_model, september):
    language = model.load(tiny_model)
    language.module.to(torch.bfloat16)
    model.save(language, tmp_path / "bf16")
    assert model.load(tmp_path / "bf16").module.transformer.wte.weight.dtype == torch.float32
    cut = settings(checkpoint_every=10, precision="bf16")
    given = Inputs(tmp_path / "bf16", september)
    with pytest.raises(KillError):
        train.run(cut, given, tmp_path / "out", observe=kill_after(12))
    folder = tmp_path / "out/checkpoints/step-00000010"
    assert {t.dtype for t in load_file(folder / "model.safetensors").values()} == {torch.float32}
    moments = torch.load(folder / "optimizer.pt", weights_only=True)["state"]
    assert {s["exp_avg"].dtype for s in moments.values()} == {torch.float32}
    train.run(cut, given, tmp_path / "out")
    assert {t.dtype for t in weights(tmp_path / "out").values()} == {torch.float32}


def test_a_model_in_bf16_is_refused_as_master_weights(tiny_model):
    module = model.load(tiny_model).module.to(torch.bfloat16)
    with pytest.raises(TrainerError, match="fp32 master weights"):
        make_optimizer(settings(), module, "cpu")


def test_small_updates_are_not_lost(tmp_path, tiny_model, september):
    given = Inputs(tiny_model, september)
    train.run(settings(lr=1e-6, steps=3), given, tmp_path / "out")
    before = model.weights(tiny_model)
    assert not torch.equal(
        before["transformer.ln_f.weight"], weights(tmp_path / "out")["transformer.ln_f.weight"]
    )


def test_parameter_names_of_a_checkpoint_are_the_models_own(tmp_path, tiny_model, september):
    # Whatever wraps the model (compile, DDP): no "_orig_mod." in what is saved.
    cut = settings(checkpoint_every=10)
    with pytest.raises(KillError):
        train.run(cut, Inputs(tiny_model, september), tmp_path / "o", observe=kill_after(12))
    names = load_file(tmp_path / "o/checkpoints/step-00000010/model.safetensors").keys()
    assert set(names) == set(model.weights(tiny_model))
