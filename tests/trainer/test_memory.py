"""Memory: micro-batches that fit, errors that say what helps, and a run's own peak."""

import gc
import weakref
from types import SimpleNamespace

import pytest
import torch
from small_runs import KillError, kill_after, settings, small_loop

from trainer import device, model, train
from trainer.methods.diff import Diff
from trainer.methods.merge import Merge
from trainer.train import Inputs, Loop, Progress
from twiki.errors import TrainerError

MIB = 2**20


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


# --- no memory left -------------------------------------------------------------------------------


def bears(most):
    """An attempt that has memory for ``most`` rows, and what was tried."""
    tried = []

    def attempt(rows):
        tried.append(rows)
        if rows > most:
            raise torch.OutOfMemoryError

    return attempt, tried


def full():
    raise torch.OutOfMemoryError("CUDA out of memory")


def test_a_micro_batch_that_does_not_fit_names_one_that_does():
    assert device.fitting(bears(6)[0], 64, fixed=False) == 4
    with pytest.raises(TrainerError, match="micro_batch = 64: set micro_batch = 4, which fits"):
        device.fitting(bears(6)[0], 64, fixed=True)
    with pytest.raises(TrainerError, match=r"micro_batch = 1: lower sequence.*lora or kadapter"):
        device.fitting(bears(0)[0], 2, fixed=False)


def test_a_step_without_memory_names_a_micro_batch_that_was_tried_and_fits():
    attempt, tried = bears(2)
    with pytest.raises(TrainerError, match=r"micro_batch = 24: set micro_batch = 1, which fits"):
        device.bearing(full, 24, bears(1)[0])
    with pytest.raises(TrainerError, match=r"= 20: set micro_batch = 2, which fits.*checkpoint"):
        device.bearing(full, 20, attempt)
    assert tried == [10, 5, 2]


def test_one_process_of_several_tries_nothing_and_names_the_half():
    with pytest.raises(TrainerError, match=r"= 24: set micro_batch = 12, and run the same"):
        device.bearing(full, 24, None)


def test_where_no_micro_batch_fits_none_is_named():
    attempt, tried = bears(9)
    with pytest.raises(TrainerError, match=r"micro_batch = 1: lower sequence"):
        device.bearing(full, 1, attempt)
    assert tried == []
    with pytest.raises(TrainerError, match=r"micro_batch = 1: lower sequence"):
        device.bearing(full, 8, bears(0)[0])


def test_what_filled_the_memory_is_gone_when_others_are_tried():
    class Activations:
        """Stands for the tensors of the failed pass."""

    held = []

    def passing():
        activations = Activations()
        held.append(weakref.ref(activations))
        full()
        return activations

    def attempt(_rows):
        gc.collect()
        assert held[0]() is None

    with pytest.raises(TrainerError, match="set micro_batch = 2"):
        device.bearing(passing, 4, attempt)


class Narrow(torch.nn.Module):
    """A model with memory for so many rows a pass, from its third pass on."""

    def __init__(self, module, most):
        super().__init__()
        self.inner, self.most, self.calls = module, most, 0
        self.config = module.config

    def forward(self, **given):
        self.calls += 1
        if self.calls > 2 and len(given["input_ids"]) > self.most:
            raise torch.OutOfMemoryError
        return self.inner(**given)


def test_a_loop_without_memory_tries_the_micro_batch_that_it_names(tmp_path, tiny_model):
    loop = small_loop(tmp_path, tiny_model, {"batch": 7})
    module = Narrow(loop.module, 2)
    parts = (loop.mixture, loop.method, module, loop.optimizer, loop.shape, 8, 56)
    loop = Loop(loop.settings, loop.me, *parts)
    progress = Progress()
    with pytest.raises(TrainerError, match="micro_batch = 7: set micro_batch = 1, which fits"):
        list(loop.train(progress))
    assert progress.step == 2


def test_a_model_that_does_not_fit_the_device_is_said_to_be_too_large(
    tmp_path, tiny_model, september, monkeypatch
):
    language = model.load(tiny_model)
    monkeypatch.setattr(language.module, "to", lambda _device: full())
    monkeypatch.setattr(train.model, "load", lambda _source: language)
    with pytest.raises(
        TrainerError, match=r"for the model's weights.*take a smaller model"
    ) as told:
        train.run(settings(), Inputs(tiny_model, september), tmp_path / "o")
    assert "set micro_batch" not in str(told.value)


@pytest.mark.parametrize("part", ["prepare", "finish"])
def test_what_a_method_keeps_beside_the_weights_may_not_fit(
    tmp_path, tiny_model, september, monkeypatch, part
):
    monkeypatch.setattr(Merge, part, lambda *_: full())
    with pytest.raises(TrainerError, match=r"for the model's weights.*recadam, merge"):
        train.run(settings("merge", steps=1), Inputs(tiny_model, september), tmp_path / "o")


@pytest.mark.parametrize("where", ["step", "after_step"])
def test_moments_that_do_not_fit_ask_for_fewer_parameters(
    tmp_path, tiny_model, september, monkeypatch, where
):
    kind = torch.optim.AdamW if where == "step" else Diff
    monkeypatch.setattr(kind, where, lambda *_: full())
    with pytest.raises(TrainerError, match=r"for the optimizer.*--methods lora or kad") as told:
        train.run(settings(), Inputs(tiny_model, september), tmp_path / "o")
    assert "set micro_batch" not in str(told.value)


def test_moments_of_a_checkpoint_that_do_not_fit_ask_for_fewer_parameters(
    tmp_path, tiny_model, september, monkeypatch
):
    cut, given = settings(checkpoint_every=2), Inputs(tiny_model, september)
    with pytest.raises(KillError):
        train.run(cut, given, tmp_path / "o", observe=kill_after(4))
    monkeypatch.setattr(torch.optim.AdamW, "load_state_dict", lambda *_: full())
    with pytest.raises(TrainerError, match=r"for the optimizer.*--methods lora or kadapter"):
        train.run(cut, given, tmp_path / "o")


def test_no_micro_batch_is_tried_where_the_moments_do_not_fit(tmp_path, tiny_model, monkeypatch):
    loop = small_loop(tmp_path, tiny_model)
    monkeypatch.setattr(torch, "empty_like", lambda _like: full())
    with pytest.raises(TrainerError, match="for the optimizer"):
        device.fitting(loop._attempt, 4, fixed=False)


# --- the peak -------------------------------------------------------------------------------------


def allocate(mib):
    torch.ones(mib * MIB // 4)


@pytest.mark.skipif(not device._RESET.exists(), reason="the kernel cannot reset a process's peak")
def test_a_runs_peak_is_its_own_and_no_earlier_ones(tmp_path, tiny_model, september):
    given = Inputs(tiny_model, september)
    allocate(500)
    before = device.peak_memory("cpu")
    small = train.run(settings(steps=2), given, tmp_path / "small")["costs"]["memory_bytes"]
    assert small < before - 250 * MIB
    large = train.run(
        settings("lora", steps=2), given, tmp_path / "large", observe=lambda _step: allocate(500)
    )["costs"]["memory_bytes"]
    # What a run takes between two reports counts, although it is free again at the next.
    assert large > small + 250 * MIB
    again = train.run(settings("lora", steps=2), given, tmp_path / "again")
    assert again["costs"]["memory_bytes"] < large - 250 * MIB


def test_a_gpus_peak_begins_with_the_run(monkeypatch):
    reset = []
    monkeypatch.setattr(torch.cuda, "init", lambda: reset.append("init"))
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", reset.append)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda on: {"cuda:1": 77}[on])
    device.begin_peak("cuda:1")
    assert reset == ["init", "cuda:1"]
    assert device.peak_memory("cuda:1") == 77


def test_every_run_begins_its_peak(tmp_path, tiny_model, september, monkeypatch):
    begun = []
    monkeypatch.setattr(train.device, "begin_peak", begun.append)
    for name in ("one", "two"):
        train.run(settings(steps=1), Inputs(tiny_model, september), tmp_path / name, on="cpu")
    assert begun == ["cpu", "cpu"]


@pytest.mark.parametrize(("system", "unit"), [("Linux", 1024), ("Darwin", 1)])
def test_without_proc_the_peak_is_the_processs_in_its_systems_unit(
    tmp_path, monkeypatch, system, unit
):
    monkeypatch.setattr(device, "_STATUS", tmp_path / "status")
    monkeypatch.setattr(device, "_RESET", tmp_path / "none" / "clear_refs")
    monkeypatch.setattr(device.platform, "system", lambda: system)
    monkeypatch.setattr(device.resource, "getrusage", lambda _who: SimpleNamespace(ru_maxrss=4096))
    device.begin_peak("cpu")
    assert device.peak_memory("cpu") == 4096 * unit
    (tmp_path / "status").write_text("VmPeak:\t  9 kB\nVmHWM:\t     12 kB\n")
    assert device.peak_memory("cpu") == 12 * 1024
