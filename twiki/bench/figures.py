"""What a benchmark reports: figures, each beside its budget and a peer measured in the same run.

A benchmark is a module of this package with ``run() -> list[Figure]``; ``twiki bench NAME`` runs
it and prints the figures. Absolute times depend on the machine, ratios hardly: where a budget is a
ratio, ``peer`` is the other side of it.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Literal

from twiki.records import Record


class Figure(Record, frozen=True):
    """One measured figure. ``met`` is None where there is no budget."""

    figure: str
    value: float
    unit: str
    budget: float | None = None
    met: bool | None = None
    peer: float | None = None
    """The same measured for the thing compared with, in the same unit and run."""
    ratio: float | None = None
    """``value / peer``."""


def figure(
    name: str,
    value: float,
    unit: str,
    *,
    budget: float | None = None,
    better: Literal["more", "less"] = "more",
    peer: float | None = None,
    budget_of: Literal["value", "ratio"] = "value",
) -> Figure:
    """A figure held to its budget: at least it where more is better, else at most."""
    ratio = value / peer if peer else None
    measured = ratio if budget_of == "ratio" else value
    met = None
    if budget is not None and measured is not None:
        met = measured >= budget if better == "more" else measured <= budget
    return Figure(
        figure=name,
        value=round(value, 4),
        unit=unit,
        budget=budget,
        met=met,
        peer=None if peer is None else round(peer, 4),
        ratio=None if ratio is None else round(ratio, 4),
    )


def seconds(work: Callable[[], object], *, repeat: int = 1) -> float:
    """The least time that ``work`` took in ``repeat`` runs."""
    times: list[float] = []
    for _ in range(repeat):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)
