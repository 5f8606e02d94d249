"""The folder of runs: each (wiki, window, version, label) is trained exactly once.

::

    runs/<wiki>/<window>/v<version>/<label>/run.json      the done marker: written last
                                            lock          held while training
                                            model/  log.jsonl  checkpoints/
                                            evaluations/<window>-v<version>/evaluation.json
    runs/<wiki>/initial/v1/given/evaluations/           of an initial model from elsewhere

The label is the method's name, with ``-paper`` in that preset. A killed training leaves its
checkpoints and no marker: the next call goes on. Dataset folders are only read.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer import files, threads
from trainer.config import Preset, TrainSettings

if TYPE_CHECKING:
    from trainer.sinks import StepReport
    from trainer.train import Inputs

INITIAL = "initial"
"""Stands for the window in the key of the initial model."""

GIVEN = "given"
"""Stands for the method where the initial model was not trained here: it has evaluations alone."""


@dataclass(frozen=True, order=True)
class Key:
    """What is trained once."""

    wiki: str
    window: str
    version: int
    label: str

    def __str__(self) -> str:
        return f"{self.wiki} {self.window} v{self.version} {self.label}"


@dataclass(frozen=True)
class Run:
    """A finished run."""

    key: Key
    folder: Path
    record: dict[str, Any]

    @property
    def model(self) -> Path:
        """The trained model."""
        return self.folder / "model"

    def evaluations(self) -> dict[str, dict[str, Any]]:
        """What was measured, by dataset as ``<window>-v<version>``, in order of both."""
        return _evaluations(self.folder)


def label(method: str, preset: Preset) -> str:
    """The name of a method in a preset among the runs."""
    return f"{method}-paper" if preset == "paper" else method


@dataclass(frozen=True)
class Runs:
    """A folder of runs."""

    root: Path

    def folder(self, key: Key) -> Path:
        """Where a run lies or would lie."""
        return self.root / key.wiki / key.window / f"v{key.version}" / key.label

    def find(self, key: Key) -> Run | None:
        """A finished run; None: not finished."""
        folder = self.folder(key)
        marker = folder / "run.json"
        return Run(key, folder, files.read_json(marker)) if marker.exists() else None

    def begun(self, wiki: str, window: str, name: str) -> bool:
        """Whether a run of the window was begun, finished or not."""
        return any((self.root / wiki / window).glob(f"v*/{name}"))

    def newest(self, wiki: str, window: str, name: str) -> Run | None:
        """The finished run of the window's highest version."""
        found = [r for r in self.all(wiki) if (r.key.window, r.key.label) == (window, name)]
        return max(found, key=lambda r: r.key.version, default=None)

    def all(self, wiki: str | None = None) -> list[Run]:
        """Every finished run, by key."""
        return sorted(self._all(wiki), key=lambda run: run.key)

    def given(self, wiki: str) -> dict[str, dict[str, Any]]:
        """Evaluations of an initial model from elsewhere, by dataset."""
        return _evaluations(self.folder(Key(wiki, INITIAL, 1, GIVEN)))

    def train(
        self,
        key: Key,
        settings: TrainSettings,
        inputs: "Inputs",
        *,
        observe: "Callable[[StepReport], None] | None" = None,
        sinks: tuple[str, ...] = (),
        on: str = "auto",
    ) -> Run:
        """Train what the key stands for, unless it has been; return the finished run.

        Raises:
            TrainerError: another process is at it, it was trained with other settings, or
                training failed; see :func:`trainer.train.run`.
        """
        from trainer import train  # noqa: PLC0415 - torch, which a report can do without

        folder = self.folder(key)
        # Under torchrun all processes work on one run; the first one holds it for all.
        lock = files.locked(folder / "lock") if threads.is_first() else nullcontext()
        with lock:
            record = train.run(settings, inputs, folder, observe=observe, sinks=sinks, on=on)
        return Run(key, folder, record)

    def _all(self, wiki: str | None) -> Iterator[Run]:
        for marker in self.root.glob(f"{wiki or '*'}/*/v*/*/run.json"):
            name, window, version, method = marker.relative_to(self.root).parts[:4]
            key = Key(name, window, int(version.removeprefix("v")), method)
            yield Run(key, marker.parent, files.read_json(marker))


def _evaluations(folder: Path) -> dict[str, dict[str, Any]]:
    found = sorted((folder / "evaluations").glob("*/evaluation.json"), key=_measured)
    return {path.parent.name: files.read_json(path) for path in found}


def _measured(path: Path) -> tuple[str, int]:
    window, _, version = path.parent.name.rpartition("-v")
    return window, int(version)
