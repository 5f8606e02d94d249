"""Runs and evaluations in order, and the shape of a table: what reports are made from."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trainer.runs import INITIAL, Run

Cell = str | float | int | None
NOT_UPDATED = "initial"


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
    evaluations: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    """By (label, trained window, evaluated window); Initial is trained on ``initial``."""

    def of(self, label: str, trained: str, on: str, *path: str) -> Any:  # noqa: ANN401 - JSON
        """A figure, or None where it was not measured."""
        found: Any = self.evaluations.get((label, trained, on))
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return _number(found)

    def at(self, label: str, window: str, *path: str) -> Any:  # noqa: ANN401 - JSON
        """A figure of a method's model of a window on that same window."""
        trained = INITIAL if label == NOT_UPDATED else window
        return self.of(label, trained, window, *path)


def collect(runs: Sequence[Run], given: Mapping[str, dict[str, Any]] | None = None) -> Collected:
    """Put runs and their evaluations in order; of several versions the newest counts.

    ``given``: evaluations of an initial model from elsewhere, which stand for Initial's.
    """
    starts: dict[str, str] = {}
    evaluations: dict[tuple[str, str, str], dict[str, Any]] = {}
    newest = sorted(runs, key=lambda run: run.key.version)
    measured = [
        (NOT_UPDATED if run.key.window == INITIAL else run.key.label, run.key.window, found)
        for run in newest
        for found in run.evaluations().values()
    ]
    measured += [(NOT_UPDATED, INITIAL, found) for found in (given or {}).values()]
    for name, trained, found in measured:
        about = found["dataset"]
        window = str(about["window"])
        starts[window] = str(about.get("start") or window)
        evaluations[name, trained, window] = found
    labels = dict.fromkeys(run.key.label for run in runs if run.key.window != INITIAL)
    ordered = sorted(starts, key=lambda window: starts[window])
    return Collected(tuple(newest), tuple(ordered), tuple(labels), evaluations)


def models(data: Collected) -> tuple[str, ...]:
    """Initial, where it was evaluated, then the methods."""
    initial = any(label == NOT_UPDATED for label, _, _ in data.evaluations)
    return ((NOT_UPDATED,) if initial else ()) + data.labels


def _number(value: Any) -> Any:  # noqa: ANN401 - JSON
    return math.inf if value == "inf" else value
