"""The optimizer that every method shares: AdamW over what trains."""

from typing import Any

import torch
from torch import nn

from trainer.config import TrainSettings
from twiki.errors import TrainerError


def make_optimizer(settings: TrainSettings, module: nn.Module, on: str) -> torch.optim.Optimizer:
    """AdamW over what trains, weight decay on matrices alone.

    Raises:
        TrainerError: nothing trains, or a weight is not fp32.
    """
    trained = [(n, p) for n, p in module.named_parameters() if p.requires_grad]
    if not trained:
        raise TrainerError(f"{settings.method}: no parameter to train")
    if wrong := [n for n, p in trained if p.dtype != torch.float32]:
        raise TrainerError(f"{wrong[0]}: expected fp32 master weights")
    groups: list[dict[str, Any]] = [
        # By shape, not by name: names differ between model families.
        {"params": [p for _, p in trained if p.ndim > 1]},
        {"params": [p for _, p in trained if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=settings.lr,
        betas=settings.betas,
        eps=settings.eps,
        weight_decay=settings.weight_decay,
        fused=on.startswith("cuda"),
    )
