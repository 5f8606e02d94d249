"""What a study trains and measures, and by which settings: values alone, nothing is done here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trainer import methods, runs
from trainer.config import Preset, TrainSettings
from trainer.evaluate import EvaluateSettings
from trainer.runs import Key, Runs
from trainer.sinks import StepReport
from twiki.errors import TrainerError

Observer = Callable[[Key, StepReport], None]

SMALL_INITIAL: dict[str, Any] = {
    # A model of a few million random weights learns a small corpus by heart in this way.
    "sequence": 128,
    "batch": 8,
    "epochs": 20.0,
    "lr": 2e-3,
    "schedule": "one-cycle",
    "betas": (0.9, 0.98),
    "checkpoint_every": 200,
}
"""Changes for Initial with a small model."""

SMALL_UPDATE: dict[str, Any] = {
    **SMALL_INITIAL,
    # Diffsets of a small world hold few rows: smaller steps, or there would be hardly any.
    "batch": 4,
    "epochs": 8.0,
    "lr": 1e-3,
}
"""Changes for every other method with a small model."""


@dataclass(frozen=True)
class WindowData:
    """A window as a study reads it."""

    dataset: Path
    corpus: Path | None = None
    """Whole articles as of the window's end, for Full."""


Duty = tuple[WindowData, str]
"""A window and a method that is to be trained on it."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """What is trained and measured, apart from the windows."""

    runs: Runs
    corpus: Path | None = None
    """Whole articles as of the first boundary: for Initial, and for reviewing."""
    start: Path | str | None = None
    """The model before Initial. None: Initial must have been trained, or ``initial`` given."""
    initial: Path | str | None = None
    """An initial model from elsewhere, in place of training Initial."""
    methods: tuple[str, ...] = ("diff",)
    preset: Preset = "recommended"
    changes: dict[str, Any] = field(default_factory=dict)
    """Settings of every method but Initial, on top of the preset."""
    method_changes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Settings of single methods, on top of these."""
    evaluation: EvaluateSettings = field(default_factory=EvaluateSettings)
    sinks: tuple[str, ...] = ()
    device: str = "auto"
    observe: Observer | None = None
    tell: Callable[[str], None] = lambda _text: None
    """Told what begins."""

    def settings(self, name: str) -> TrainSettings:
        """Settings of a method, Initial's among them.

        Raises:
            ConfigError: they cannot be used.
        """
        changes = {} if name == "initial" else self.changes
        changes = {**changes, **self.method_changes.get(name, {})}
        return methods.settings_for(name, self.preset, changes)

    def text(self, name: str, window: WindowData) -> Path:
        """What a method reads of a window.

        Raises:
            TrainerError: it reads corpora, and the window has none.
        """
        if methods.METHODS[name].text == "dataset":
            return window.dataset
        if window.corpus is None:
            raise TrainerError(
                f"{window.dataset}: {name} trains on a corpus as of the window's end; give one"
            )
        return window.corpus

    def reviewed(self, name: str) -> Path:
        """The initial corpus, of which a method reads again.

        Raises:
            TrainerError: there is none.
        """
        if self.corpus is None:
            raise TrainerError(f"{name} reviews the initial corpus; give it")
        return self.corpus

    def key(self, name: str, data: Mapping[str, Any]) -> Key:
        """A method's run of the window that a manifest's ``data`` names."""
        label = runs.label(name, self.preset)
        return Key(str(data["wiki"]), str(data["window"]), int(data["version"]), label)

    def initial_key(self, wiki: str) -> Key:
        """The run of Initial."""
        return Key(wiki, runs.INITIAL, 1, runs.label("initial", self.preset))


def wanted(names: Sequence[str]) -> tuple[str, ...]:
    """Method names, ``all`` standing for the paper's six beside Initial.

    Raises:
        ConfigError: there is no such method.
    """
    found: list[str] = []
    for name in names:
        found += methods.PAPER_METHODS[1:] if name == "all" else [name]
    for name in found:
        methods.method(name)
    return tuple(dict.fromkeys(found))
