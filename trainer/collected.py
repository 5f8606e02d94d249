"""Runs and evaluations in order, and the shape of a table: what reports are made from.

Each method is compared with the Initial of its own preset: ``initial``, or ``initial-paper``
for the methods whose label ends with ``-paper``. The preset decides, not the path in a run's
record, since a folder of runs may be moved. An initial model from elsewhere stands for the
Initial of each preset that has methods and none of its own.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trainer import nonfinite
from trainer.runs import INITIAL, Run
from trainer.runs import label as label_of

Cell = str | float | int | None
NOT_UPDATED = "initial"
_OF_PAPER = label_of(NOT_UPDATED, "paper")


@dataclass(frozen=True)
class Table:
    """Rows under named columns, with what they mean."""

    id: str
    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Collected:
    """Runs and evaluations, ordered by time."""

    runs: tuple[Run, ...]
    windows: tuple[str, ...]
    """Names of the evaluated windows, in order of their start."""
    labels: tuple[str, ...]
    """Methods with a run, Initial apart."""
    initials: tuple[str, ...] = ()
    """Initials that were evaluated, one a preset."""
    evaluations: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    """By (label, trained window, evaluated window); Initials are trained on ``initial``."""

    def of(self, label: str, trained: str, on: str, *path: str) -> Any:  # noqa: ANN401 - JSON
        """A figure, or None where it was not measured."""
        found: Any = self.evaluations.get((label, trained, on))
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return nonfinite.from_json(found)

    def at(self, label: str, window: str, *path: str) -> Any:  # noqa: ANN401 - JSON
        """A figure of a method's model of a window on that same window."""
        trained = INITIAL if label in (NOT_UPDATED, _OF_PAPER) else window
        return self.of(label, trained, window, *path)


def collect(runs: Sequence[Run], given: Mapping[str, dict[str, Any]] | None = None) -> Collected:
    """Put runs and their evaluations in order; of several versions the newest counts.

    ``given``: evaluations of an initial model from elsewhere.
    """
    starts: dict[str, str] = {}
    evaluations: dict[tuple[str, str, str], dict[str, Any]] = {}
    newest = sorted(runs, key=lambda run: run.key.version)
    labels = dict.fromkeys(run.key.label for run in runs if run.key.window != INITIAL)
    trained_here = {run.key.label for run in runs if run.key.window == INITIAL}
    measured = [
        (run.key.label, run.key.window, found)
        for run in newest
        for found in run.evaluations().values()
    ]
    for name in sorted({base(label) for label in labels} - trained_here):
        measured += [(name, INITIAL, found) for found in (given or {}).values()]
    for name, trained, found in measured:
        about = found["dataset"]
        window = str(about["window"])
        starts[window] = str(about.get("start") or window)
        evaluations[name, trained, window] = found
    ordered = sorted(starts, key=lambda window: starts[window])
    initials = sorted({name for name, trained, _ in evaluations if trained == INITIAL})
    return Collected(tuple(newest), tuple(ordered), tuple(labels), tuple(initials), evaluations)


def models(data: Collected) -> tuple[str, ...]:
    """Initials, where they were evaluated, then the methods."""
    return data.initials + data.labels


def base(label: str) -> str:
    """The Initial that a model is compared with, its own for an Initial."""
    return _OF_PAPER if label.endswith("-paper") else NOT_UPDATED


def ratio(one: float | None, other: float | None) -> float | None:
    """``one`` over ``other``; None where either is missing or ``other`` is not finite."""
    if one is None or not other or not math.isfinite(other):
        return None
    return one / other
