"""torch.compile computes what the eager model does, packed rows included."""

import sys
from functools import partial

import pytest
import torch
from trainer_world import SHAPE

from trainer import model
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
