"""Merge: Diff, then the weights are set between the start's and the result's.

All parameters train; afterwards ``theta = start + share * (theta - start)``. Free at training
time. Beyond the paper; both presets take half.
"""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from trainer.config import Preset
from trainer.methods.protocol import PAPER, RECOMMENDED, EveryParameter, Plan


class Merge(EveryParameter):
    """See the module's text."""

    name: ClassVar[str] = "merge"
    presets: ClassVar[dict[Preset, dict[str, Any]]] = {
        "paper": {**PAPER, "merge": 0.5},
        "recommended": {**RECOMMENDED, "merge": 0.5},
    }

    _start: dict[str, Tensor]
    _share: float

    def prepare(self, module: nn.Module, plan: Plan) -> nn.Module:
        """Let every parameter train and keep a copy of the start."""
        self._share = plan.settings.merge
        self._start = {n: p.detach().clone() for n, p in module.named_parameters()}
        return super().prepare(module, plan)

    @torch.no_grad()
    def finish(self, module: nn.Module) -> nn.Module:
        """Interpolate in place."""
        for name, parameter in module.named_parameters():
            parameter.copy_(torch.lerp(self._start[name], parameter, self._share))
        return module
