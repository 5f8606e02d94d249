"""Over the months: what was forgotten, what carried over, what it cost.

The paper has the hours of training in its Table 3; the rest is this report's own.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

from trainer.collected import Cell, Collected, Table, base
from trainer.runs import INITIAL


def transfer_table(data: Collected) -> Table:
    """Forgetting and transfer of each method with more than one window."""
    rows: list[tuple[Cell, ...]] = []
    for label in data.labels:
        trained = [w for w in data.windows if (label, w, w) in data.evaluations]
        if len(trained) > 1:
            rows.append((label, len(trained), *transfer(data, label, trained)))
    return Table(
        "table-8",
        "Over the months: forgetting and transfer",
        "This report's own, not the paper's. "
        "Mean differences of log perplexity of objects. Forgetting: unchanged facts, last model "
        "against the first of the same method. Backward: changed facts of earlier windows, last "
        "model against the one trained on them (above 0: overwritten). Forward: changed facts "
        "of a window, the model of the window before against the Initial of its preset (below 0: "
        "helped).",
        ("method", "windows", "forgetting", "backward", "forward"),
        tuple(rows),
    )


def transfer(data: Collected, label: str, trained: Sequence[str]) -> tuple[Cell, ...]:
    """Forgetting, backward and forward transfer in log perplexity."""

    def log(name: str, model: str, on: str, category: str) -> float | None:
        value = data.of(name, model, on, "extrinsic", category, "object", "perplexity")
        return math.log(value) if value else None

    first, last = trained[0], trained[-1]
    forgetting = _minus(log(label, last, last, "unchanged"), log(label, first, last, "unchanged"))
    backward = [
        _minus(log(label, last, w, "changed"), log(label, w, w, "changed")) for w in trained[:-1]
    ]
    forward = [
        _minus(log(label, before, w, "changed"), log(base(label), INITIAL, w, "changed"))
        for before, w in pairwise(trained)
    ]
    return forgetting, _mean(backward), _mean(forward)


def cost_table(data: Collected) -> Table:
    """What every run took."""
    rows = tuple(
        (
            run.key.window,
            run.key.label,
            run.record["costs"]["device"],
            run.record["costs"]["steps"],
            run.record["costs"]["tokens"],
            run.record["costs"]["flops"],
            run.record["costs"]["seconds"],
            run.record["costs"]["tokens_per_second"],
            run.record["costs"].get("mfu"),
            run.record["costs"]["memory_bytes"] / 2**20,
            " ".join(f"{k} {v}" for k, v in sorted(run.record["versions"].items())),
        )
        for run in sorted(data.runs, key=lambda run: run.key)
    )
    return Table(
        "table-9",
        "Costs",
        "This report's own; of these the paper has the hours of training. "
        "FLOP by formula, from the weights that pass forward and backward. Seconds of training "
        "alone. MFU: share of the device's peak FLOP/s, where that is known. Memory is the "
        "device's or the process's highest.",
        (
            "window",
            "method",
            "device",
            "steps",
            "tokens",
            "FLOP",
            "seconds",
            "tokens/s",
            "MFU",
            "memory MiB",
            "versions",
        ),
        rows,
    )


def _minus(one: float | None, other: float | None) -> float | None:
    """The difference; None where one is missing, or both are infinite."""
    if one is None or other is None or (math.isinf(one) and math.isinf(other)):
        return None
    return one - other


def _mean(values: Sequence[float | None]) -> float | None:
    found = [v for v in values if v is not None]
    return sum(found) / len(found) if found else None
