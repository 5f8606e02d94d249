"""Learning rates by step."""

import pytest
import torch

from trainer.config import TrainSettings
from trainer.schedule import learning_rate


def rates(steps, **changes):
    settings = TrainSettings(lr=1e-3, **changes)
    return [learning_rate(settings, step, steps) for step in range(steps)]


def test_one_cycle_is_torchs_own():
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    peer = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-3, total_steps=50)
    expected = []
    for _ in range(50):
        expected.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        peer.step()
    assert rates(50, schedule="one-cycle") == pytest.approx(expected)


def test_one_cycle_really_decays():
    # The published code's warm-up lasted 80 % of the run and its decay ended at 0.97 (A7).
    found = rates(1000, schedule="one-cycle")
    assert found.index(max(found)) == 299
    assert found[-1] < 1e-3 * 1e-4


def test_rewarming_begins_low_and_ends_at_a_tenth():
    found = rates(1000, schedule="rewarm", warmup=0.02)
    assert found[0] == pytest.approx(1e-3 / 20)
    assert max(found) == pytest.approx(1e-3)
    assert found[-1] == pytest.approx(1e-4, rel=1e-3)


@pytest.mark.parametrize("schedule", ["one-cycle", "rewarm", "constant"])
@pytest.mark.parametrize("steps", [1, 2, 3, 10])
def test_short_runs_have_positive_rates(schedule, steps):
    assert all(0 < rate <= 1e-3 for rate in rates(steps, schedule=schedule))
