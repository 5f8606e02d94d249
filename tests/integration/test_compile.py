"""torch.compile computes what the eager model does, packed rows included."""

import sys
from functools import partial

import pytest
import torch
from safetensors.torch import load_file
from small_runs import KillError, kill_after, settings, weights
from trainer_world import SHAPE, rows, sentences, write_folder

from trainer import model, train
from trainer.data import Batch
from trainer.train import row_losses


@pytest.mark.skipif(sys.platform == "win32", reason="needs a C++ compiler")
@pytest.mark.timeout(300)
def test_a_packed_row_loses_the_same_compiled(tmp_path):
    torch.set_num_threads(1)
    texts = ["Ada lives in Aldorp. Bo moved to Brenhold."]
    folder = model.small_model(texts, tmp_path / "m", shape=SHAPE)
    module = model.load(folder).module
    torch.manual_seed(0)
    ids = torch.randint(0, 200, (2, 16))
    segments = (torch.arange(16) // 7)[None].expand(2, 16)
    positions = (torch.arange(16) % 7)[None].expand(2, 16)
    batch = Batch(ids, ids, positions, segments, torch.zeros(2))
    losses = partial(row_losses, module, mask="document")
    compiled = torch.compile(losses)
    assert torch.allclose(losses(batch), compiled(batch), rtol=1e-5)
    gradients = []
    for compute in (losses, compiled):
        module.zero_grad()
        torch.autograd.backward(compute(batch).sum())
        gradients.append([p.grad.clone() for p in module.parameters()])
    for one, other in zip(*gradients, strict=True):
        assert torch.allclose(one, other, rtol=1e-3, atol=1e-4)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a C++ compiler")
@pytest.mark.timeout(300)
def test_a_compiled_run_saves_the_models_own_names_and_goes_on(tmp_path):
    torch.set_num_threads(1)
    folder = model.small_model(sentences(0), tmp_path / "m", shape=SHAPE)
    given = train.Inputs(folder, write_folder(tmp_path / "d", {"diffset": rows(sentences(1))}))
    eager = {"steps": 4, "checkpoint_every": 2}
    train.run(settings(**eager), given, tmp_path / "eager")
    compiled = settings(**eager, compile=True)
    with pytest.raises(KillError):
        train.run(compiled, given, tmp_path / "compiled", observe=kill_after(3))
    names = load_file(tmp_path / "compiled/checkpoints/step-00000002/model.safetensors").keys()
    assert set(names) == set(model.weights(folder))
    train.run(compiled, given, tmp_path / "compiled")
    one, other = weights(tmp_path / "eager"), weights(tmp_path / "compiled")
    assert all(torch.allclose(one[n], other[n], atol=1e-4) for n in one)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a C++ compiler")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("method", ["kadapter", "lora"])
def test_a_compiled_run_of_a_method_with_a_frozen_base_ends_where_the_eager_does(tmp_path, method):
    torch.set_num_threads(1)
    folder = model.small_model(sentences(0), tmp_path / "m", shape=SHAPE)
    given = train.Inputs(folder, write_folder(tmp_path / "d", {"diffset": rows(sentences(1))}))
    rank = {"lora.rank": 4} if method == "lora" else {}
    for name, compiled in (("eager", False), ("compiled", True)):
        chosen = settings(method, steps=4, compile=compiled, **rank)
        train.run(chosen, given, tmp_path / name)
    one, other = weights(tmp_path / "eager"), weights(tmp_path / "compiled")
    assert one.keys() == other.keys()
    assert all(torch.allclose(one[n], other[n], atol=1e-4) for n in one)
    start = model.weights(folder) | {"norm.weight": torch.zeros(SHAPE.width)}
    assert any(not torch.equal(one[n], start[n]) for n in one if n in start)
