"""What a method is: which parameters train, what else happens at a step, what is saved.

The loop in :mod:`trainer.train` knows no method. It asks one to prepare the model, calls it
around each step, and saves what it finishes with::

    method.check(module, settings)               # long before: do these go together?
    module = method.prepare(module, plan)        # step 0 equals the base
    for each step:  … optimizer.step() …  method.after_step(step, lr)
    method.finish(module)                        # the model that is saved

What text a method reads follows from its settings (``review``), so that all methods share
one data path.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

from torch import Tensor, nn

from trainer.config import Preset, TrainSettings

Text = Literal["corpus", "dataset"]
"""Whether a method trains on whole articles as of a boundary or on a window's diffset."""

Weights = Mapping[str, Tensor]


@dataclass(frozen=True)
class Plan:
    """What a method may know of the run before it starts."""

    settings: TrainSettings
    steps: int
    initial: Callable[[], Weights] | None = None
    """Parameters by name of the study's initial model; None: the run has none."""


class Method(Protocol):
    """One of the methods; see the module's text."""

    name: ClassVar[str]
    text: ClassVar[Text]
    presets: ClassVar[dict[Preset, dict[str, Any]]]
    """What each preset changes against TrainSettings' defaults."""

    def check(self, module: nn.Module, settings: TrainSettings) -> None:
        """Raise if the settings do not fit a model of this shape; its weights may be absent."""
        ...

    def prepare(self, module: nn.Module, plan: Plan) -> nn.Module:
        """Give the module to train; parameters that must not change have no gradient."""
        ...

    def lr_scale(self, step: int) -> float:
        """Factor on the learning rate of a step, counted from 0."""
        ...

    def after_step(self, step: int, lr: float) -> None:
        """Act on the weights after the optimizer did; ``lr`` is the schedule's."""
        ...

    def finish(self, module: nn.Module) -> nn.Module:
        """Give the model to save."""
        ...


class EveryParameter:
    """Plain continued pretraining: every parameter trains, nothing is added or kept."""

    name: ClassVar[str]
    text: ClassVar[Text] = "dataset"
    presets: ClassVar[dict[Preset, dict[str, Any]]]

    def check(self, module: nn.Module, settings: TrainSettings) -> None:
        """Any model will do."""

    def prepare(self, module: nn.Module, plan: Plan) -> nn.Module:  # noqa: ARG002 - protocol
        """Let every parameter train."""
        for parameter in module.parameters():
            parameter.requires_grad_(True)  # noqa: FBT003 - torch's own signature
        return module

    def lr_scale(self, step: int) -> float:  # noqa: ARG002 - protocol
        """The schedule as it is."""
        return 1.0

    def after_step(self, step: int, lr: float) -> None:
        """Nothing."""

    def finish(self, module: nn.Module) -> nn.Module:
        """The trained module itself."""
        return module


PAPER: dict[str, Any] = {
    # Appendix D: 64 rows of 512 tokens, one epoch, one-cycle to 1e-4, gradient norm 0.1.
    "preset": "paper",
    "sequence": 512,
    "batch": 64,
    "epochs": 1.0,
    "lr": 1e-4,
    "schedule": "one-cycle",
    "clip": 0.1,
    "mask": "none",
}
"""What the paper says of every method."""

RECOMMENDED: dict[str, Any] = {
    # The learning rate is warmed anew and decayed to a tenth, as continual pretraining at scale
    # found best; a clip of 0.1 would scale down nearly every step; documents do not see each
    # other, as they will not when the model is used.
    "preset": "recommended",
    "schedule": "rewarm",
    "warmup": 0.02,
    "betas": (0.9, 0.95),
    "clip": 1.0,
    "mask": "document",
}
"""What works for every method, with the reason."""
