"""Precision and memory: fp32 weights whatever was stored, micro-batches that fit."""

import pytest
import torch
from safetensors.torch import load_file
from small_runs import KillError, kill_after, settings, small_loop, weights

from trainer import device, model, train
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


def test_a_micro_batch_that_does_not_fit_names_one_that_does():
    def attempt(rows):
        if rows > 6:
            raise torch.OutOfMemoryError

    assert device.fitting(attempt, 64, fixed=False) == 4
    with pytest.raises(TrainerError, match="micro_batch = 64: set micro_batch = 4, which fits"):
        device.fitting(attempt, 64, fixed=True)

    def nothing_fits(_rows):
        raise torch.OutOfMemoryError

    with pytest.raises(TrainerError, match="lower sequence"):
        device.fitting(nothing_fits, 2, fixed=False)
    message = "set micro_batch = 4 and run the same"
    with pytest.raises(TrainerError, match=message), device.memory_errors(8):
        raise torch.OutOfMemoryError


def test_parameter_names_of_a_checkpoint_are_the_models_own(tmp_path, tiny_model, september):
    # Whatever wraps the model (compile, DDP): no "_orig_mod." in what is saved.
    cut = settings(checkpoint_every=10)
    with pytest.raises(KillError):
        train.run(cut, Inputs(tiny_model, september), tmp_path / "o", observe=kill_after(12))
    names = load_file(tmp_path / "o/checkpoints/step-00000010/model.safetensors").keys()
    assert set(names) == set(model.weights(tiny_model))


def test_on_a_cpu_the_logits_of_a_micro_batch_are_bounded(tmp_path, tiny_model, monkeypatch):
    words = model.load(tiny_model).module.config.vocab_size
    monkeypatch.setattr(train, "CPU_LOGITS", 2 * 16 * words * 4)
    assert small_loop(tmp_path, tiny_model, {"batch": 7}).micro_batch == 2
    assert small_loop(tmp_path, tiny_model, {"batch": 7, "micro_batch": 5}).micro_batch == 5
    monkeypatch.setattr(train, "CPU_LOGITS", 1)
    assert small_loop(tmp_path, tiny_model, {"batch": 7}).micro_batch == 1


@pytest.mark.parametrize("stepped", [False, True])
def test_trying_a_micro_batch_holds_room_for_the_moments_and_changes_nothing(
    tmp_path, tiny_model, september, monkeypatch, stepped
):
    loop = small_loop(tmp_path, tiny_model)
    if stepped:
        list(loop.train(train.Progress(step=29)))
    held, parameters = [], [p.detach().clone() for p in loop.module.parameters()]
    real = torch.empty_like
    monkeypatch.setattr(torch, "empty_like", lambda t: held.append(t.numel()) or real(t))
    loop._attempt(2)
    # Once there are moments, their memory is taken already.
    assert sum(held) == (0 if stepped else 2 * sum(p.numel() for p in parameters))
    now = list(loop.module.parameters())
    assert all(torch.equal(p, q) for p, q in zip(parameters, now, strict=True))
    assert not any(p.grad.any() for p in now)
