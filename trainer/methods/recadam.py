"""RecAdam (Chen et al., 2020): a pull towards an anchor, outside Adam's moments.

All parameters train. After each optimizer step, ``theta -= lr * (1 - l) * gamma * (theta -
anchor)``; with the sigmoid, the step itself is weighted by ``l`` (step).

``paper`` has the original's values (sigmoid, k 0.5, t0 250, gamma 5000, anchor the initial
model): the weights hardly move for 250 steps and are free after. ``recommended`` keeps a
constant pull of gamma * lr = 0.1 towards the previous window's model, which protects
throughout. A fused AdamW does the step; the anchor is paired by name and lies outside the
optimizer's state, so checkpoints do not carry it.
"""

import math
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from trainer.config import Preset, TrainSettings
from trainer.methods.protocol import PAPER, RECOMMENDED, EveryParameter, Plan
from twiki.errors import TrainerError

PULL = 0.1
"""gamma * lr where gamma is not given."""


class RecAdam(EveryParameter):
    """See the module's text."""

    name: ClassVar[str] = "recadam"
    presets: ClassVar[dict[Preset, dict[str, Any]]] = {
        "paper": {
            **PAPER,
            "recadam.gamma": 5000.0,
            "recadam.anneal": "sigmoid",
            "recadam.k": 0.5,
            "recadam.t0": 250.0,
            "recadam.anchor": "initial",
        },
        "recommended": RECOMMENDED,
    }

    _settings: TrainSettings
    _parameters: list[Tensor]
    _anchor: list[Tensor]

    def prepare(self, module: nn.Module, plan: Plan) -> nn.Module:
        """Let every parameter train, and copy the anchor.

        Raises:
            TrainerError: the anchor is the initial model and there is none, or it has other
                parameters.
        """
        module = super().prepare(module, plan)
        self._settings = plan.settings
        own = dict(module.named_parameters())
        anchor = own
        if plan.settings.recadam.anchor == "initial":
            if plan.initial is None:
                raise TrainerError("recadam.anchor = initial: no initial model was given")
            anchor = dict(plan.initial())  # type: ignore[arg-type] # values are only read
        different = [n for n, p in own.items() if n not in anchor or anchor[n].shape != p.shape]
        if different:
            raise TrainerError(f"the anchor model has no parameter like {different[0]}")
        self._parameters = list(own.values())
        self._anchor = [anchor[n].detach().clone().to(p.device) for n, p in own.items()]
        return module

    def lr_scale(self, step: int) -> float:
        """The weight of the new loss: 1 with a constant pull."""
        return 1.0 if self._settings.recadam.anneal == "constant" else self._weight(step)

    @torch.no_grad()
    def after_step(self, step: int, lr: float) -> None:
        """Pull each parameter towards its anchor."""
        gamma = self._settings.recadam.gamma
        strength = (PULL / self._settings.lr if gamma is None else gamma) * lr
        if self._settings.recadam.anneal == "sigmoid":
            strength *= 1.0 - self._weight(step)
        torch._foreach_lerp_(self._parameters, self._anchor, strength)

    def _weight(self, step: int) -> float:
        x = self._settings.recadam.k * (step - self._settings.recadam.t0)
        # Written so that no power overflows, however far the step is from t0.
        return 1.0 / (1.0 + math.exp(-x)) if x > 0 else math.exp(x) / (1.0 + math.exp(x))
