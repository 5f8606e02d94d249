"""Steps that are not taken: not finite, or a spike of the gradient."""

import itertools
import json
import math
from types import SimpleNamespace

import pytest
import torch
from small_runs import settings, small_loop

from trainer import methods, train
from trainer.methods.diff import Diff
from trainer.train import Inputs, Loop, Progress
from twiki.errors import TrainerError


class Poisoned(torch.nn.Module):
    """A model whose loss is not a number at chosen calls."""

    def __init__(self, module, bad):
        super().__init__()
        self.inner, self.bad, self.calls = module, bad, 0
        self.config = module.config

    def forward(self, **given):
        out = self.inner(**given)
        if self.calls in self.bad:
            out.logits = out.logits * math.nan
        self.calls += 1
        return out


def poisoned(tmp_path, folder, bad, **changes):
    loop = small_loop(tmp_path, folder, changes)
    module = Poisoned(loop.module, bad)
    return Loop(
        loop.settings, loop.me, loop.mixture, loop.method, module, loop.optimizer, loop.shape, 8, 24
    )


def test_a_step_that_is_not_finite_is_skipped_and_training_goes_on(tmp_path, tiny_model):
    loop = poisoned(tmp_path, tiny_model, {2})
    progress = Progress()
    reports = list(loop.train(progress))
    assert [r.skipped for r in reports] == [False, False, True, *[False] * 5]
    assert progress.skipped == 1
    assert all(torch.isfinite(p).all() for p in loop.module.parameters())


def test_too_many_bad_steps_in_a_row_stop_the_run(tmp_path, tiny_model):
    loop = poisoned(tmp_path, tiny_model, set(range(3, 99)), max_bad_steps=3)
    progress = Progress()
    with pytest.raises(TrainerError, match=r"3 bad steps in a row.*not finite.*lower lr"):
        list(loop.train(progress))
    assert progress.step == 5


def test_a_spike_of_the_gradient_is_skipped_when_asked(tmp_path, tiny_model):
    chosen = settings(spike=3.0)
    progress = Progress()
    assert not train._is_bad(1.0, 1.0, progress, chosen)
    assert train._is_bad(3.1, 1.0, progress, chosen)
    assert progress.norm_mean == 1.0
    assert not train._is_bad(2.9, 1.0, progress, chosen)
    assert not train._is_bad(99.0, 1.0, Progress(norm_mean=1.0), settings())


def test_a_run_skips_exactly_the_step_that_spikes_and_goes_on(
    tmp_path, tiny_model, september, monkeypatch
):
    class Spiky(Diff):
        """Its seventh batch has a gradient of many times the others'."""

        def prepare(self, module, plan):
            calls, kept.module = iter(range(99)), module

            def scaled(_module, _args, out):
                out.logits = out.logits * (1000.0 if next(calls) == 6 else 1.0)
                return out

            module.register_forward_hook(scaled)
            return super().prepare(module, plan)

    def observe(_report):
        kept.weights.append([p.detach().clone() for p in kept.module.parameters()])

    kept = SimpleNamespace(module=None, weights=[])
    monkeypatch.setitem(methods.METHODS, "diff", Spiky)
    chosen = settings(spike=10.0, steps=12)
    done = train.run(chosen, Inputs(tiny_model, september), tmp_path / "o", observe=observe)
    log = [json.loads(line) for line in (tmp_path / "o" / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in log if line["skipped"]] == [6]
    assert len(log) == 12
    usual = max(line["grad_norm"] for line in log if not line["skipped"])
    assert log[6]["grad_norm"] > 10 * usual
    same = [
        all(torch.equal(p, q) for p, q in zip(before, after, strict=True))
        for before, after in itertools.pairwise(kept.weights)
    ]
    assert same == [step == 6 for step in range(1, 12)]
    assert done["costs"]["skipped_steps"] == 1
    assert done["costs"]["final_loss"] == log[-1]["loss"]


def test_without_a_limit_a_spike_is_a_step_like_any_other(tmp_path, tiny_model):
    loop = small_loop(tmp_path, tiny_model, {"steps": 8})
    calls = iter(range(99))

    def scaled(_module, _args, out):
        out.logits = out.logits * (1000.0 if next(calls) == 3 else 1.0)
        return out

    loop.module.register_forward_hook(scaled)
    reports = list(itertools.islice(loop.train(Progress()), 6))
    assert reports[3].grad_norm > 100 * reports[2].grad_norm
    assert not any(report.skipped for report in reports)
