"""What a run costs in floating point operations, as a formula.

Per token, with N the weights of the linear layers (the head once, embeddings look up and
cost nothing), L layers, width d and rows of T tokens::

    training, all weights      6 N + 6 L d T      (attention counted causally)
    a frozen weight            4 of the 6: its gradient is not computed
    a frozen model above which nothing below trains: 2, forward alone

For GPT-2 Large at T = 512 this is 4.774 GFLOP a token.
"""

import re
from dataclasses import dataclass

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

PEAKS: dict[str, float | None] = {
    "A100": 312e12,
    "GH200": 989e12,
    "H100": 989e12,
    "H100 NVL": 835e12,
    "H100 PCIe": 756e12,
    "H200": 989e12,
    "H200 NVL": None,  # not that of an H200, and not looked up
    "L4": 121e12,
    "L40": 181e12,
    "L40S": 362e12,
}
"""Dense bf16 FLOP/s from the vendor's data sheets, by words of the device's name; None: not
known."""


@dataclass(frozen=True)
class Shape:
    """What the formula needs: weights in linear layers by role, layers and width."""

    trained: int
    frozen: int
    head: int
    head_trained: bool
    layers: int
    width: int
    adapter_trained: int = 0
    adapter_layers: int = 0


def shape_of(module: nn.Module) -> Shape:
    """Count the linear layers of a module as it is set up for training."""
    config = module.config
    text = config.get_text_config() if hasattr(config, "get_text_config") else config  # type: ignore[operator] # HF
    head = module.get_output_embeddings()  # type: ignore[operator] # HF
    counts = {"trained": 0, "frozen": 0, "adapter": 0}
    for name, part in module.named_modules():
        if part is head or not isinstance(part, nn.Linear | Conv1D):
            continue
        beside = name.startswith("blocks.")
        role = "trained" if part.weight.requires_grad else "frozen"
        counts["adapter" if beside else role] += part.weight.numel()
    return Shape(
        trained=counts["trained"],
        frozen=counts["frozen"],
        head=head.weight.numel(),
        head_trained=bool(head.weight.requires_grad),
        layers=int(text.num_hidden_layers),  # type: ignore[union-attr] # HF
        width=int(text.hidden_size),  # type: ignore[union-attr] # HF
        adapter_trained=counts["adapter"],
        adapter_layers=len(getattr(module, "blocks", ())),
    )


def flops_per_token(shape: Shape, sequence: int) -> float:
    """Training cost of a token, forward and backward."""
    attention = shape.width * sequence
    if shape.adapter_layers and not shape.trained:
        # The base runs forward alone unless its embedding trains; the head passes gradients on.
        base, base_attention = (4, 6) if shape.head_trained else (2, 2)
        attention_cost = base_attention * shape.layers + 6 * shape.adapter_layers
        head = 6 if shape.head_trained else 4
        return (
            base * shape.frozen
            + head * shape.head
            + 6 * shape.adapter_trained
            + attention_cost * attention
        )
    head = 6 if shape.head_trained else 4
    return 6 * shape.trained + 4 * shape.frozen + head * shape.head + 6 * shape.layers * attention


def device_peak(device: str) -> float | None:
    """Peak bf16 FLOP/s of the device, where it is known."""
    if not device.startswith("cuda"):
        return None
    return peak_of(torch.cuda.get_device_name(device))


def peak_of(name: str) -> float | None:
    """Peak bf16 FLOP/s of the device called ``name``; None: unknown, or a slice of a device.

    The longest entry all of whose words stand in the name counts: an L40 is no L4.
    """
    words = set(re.split(r"[\s-]+", name))
    known = [part for part in PEAKS if words.issuperset(part.split())]
    return PEAKS[max(known, key=len)] if known and "MIG" not in words else None
