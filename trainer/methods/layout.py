"""Where a model keeps its decoder blocks and its last norm, whatever kind of model it is."""

import copy

import torch
from torch import Tensor, nn

from twiki.errors import TrainerError


def trunk(base: nn.Module) -> nn.Module:
    """The module that holds the decoder blocks, what comes before them and their last norm.

    Raises:
        TrainerError: there is none.
    """
    level: list[nn.Module] = [base.base_model]  # type: ignore[list-item] # HF
    while level:
        # The blocks lie above anything else in lists, such as a block's experts.
        if found := [part for part in level if _lists(part)]:
            return max(found, key=lambda part: len(_lists(part)[0]))
        level = [child for part in level for child in part.children()]
    raise TrainerError(f"{type(base).__name__}: no list of decoder blocks found")


def decoder(base: nn.Module) -> nn.ModuleList:
    """The list of decoder blocks: the longest of those that lie highest in the model."""
    return _lists(trunk(base))[0]


def last_norm(base: nn.Module) -> nn.Module | None:
    """The norm after the last block; None: this kind of model has none."""
    found = (part for part in reversed(list(trunk(base).children())) if _is_norm(part))
    return next(found, None)


def zero_at_first(norm: nn.Module, width: int) -> nn.Module:
    """A norm of the same kind whose output is zero until its gain has moved."""
    fresh = copy.deepcopy(norm)
    probe = torch.linspace(-1, 1, width, device="cpu")[None]
    # Tried, since a gain of -1 is zero where a kind multiplies by 1 + weight, as Gemma's does.
    for gain in (0.0, -1.0):
        trial = copy.deepcopy(norm).to_empty(device="cpu")
        for part in (trial, fresh):
            for name, parameter in part.named_parameters():
                nn.init.constant_(parameter, 0.0 if name.endswith("bias") else gain)
        with torch.no_grad():
            if not trial(probe).any():
                return fresh
    return _Gained(norm, width)


class _Gained(nn.Module):
    """A norm that has no gain, times one that starts at zero."""

    def __init__(self, norm: nn.Module, width: int) -> None:
        super().__init__()
        self.norm = copy.deepcopy(norm)
        self.gain = nn.Parameter(torch.zeros(width))

    def forward(self, state: Tensor) -> Tensor:
        normed: Tensor = self.norm(state)
        return self.gain * normed


def _lists(part: nn.Module) -> list[nn.ModuleList]:
    """Lists right below a module, the longest first."""
    lists = [child for child in part.children() if isinstance(child, nn.ModuleList)]
    return sorted(lists, key=len, reverse=True)


def _is_norm(module: nn.Module) -> bool:
    return "norm" in type(module).__name__.lower()
