"""``[trainer]`` in the settings file: what is trained when a window closes.

::

    [trainer]
    on = "cut"                          # or "reconciled"
    on_close = ["diff", "kadapter"]
    start = "models/gpt2-large"
    corpus = "corpora/2026-08"          # whole articles as of the first boundary
    runs = "runs"
    [trainer.settings]
    "batch" = 32
    "lora.rank" = 16
"""

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from trainer import evaluate
from trainer.config import Preset
from trainer.dataset import open_folder
from trainer.runs import Runs
from trainer.study_plan import Observer, Study, WindowData, wanted
from twiki.config import Section, to_path
from twiki.errors import ConfigError


class TrainerConfig(Section, frozen=True, kw_only=True):
    """The section. Paths are relative to where the command runs."""

    on: Literal["cut", "reconciled"] = "cut"
    """When training starts: when version 1 is cut, or when the window is reconciled."""
    on_close: tuple[str, ...] = ()
    """Methods, ``all`` for the paper's six; empty: nothing is trained."""
    preset: Preset = "recommended"
    start: str | None = None
    """Model folder or hub name that Initial trains on."""
    initial: str | None = None
    """An initial model that exists already."""
    corpus: Path | None = None
    """Whole articles as of the first boundary (``twiki corpus``)."""
    corpora: Path | None = None
    """Folder with a corpus a window, by its name, as of its end: what Full trains on."""
    runs: Path = Path("runs")
    parts: tuple[evaluate.Part, ...] = ("extrinsic", "intrinsic")
    tagger: str | None = None
    evaluation_batch: Annotated[int, msgspec.Meta(ge=1)] = 32
    """Rows a forward pass where models are measured."""
    sinks: tuple[str, ...] = ()
    device: str = "auto"
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    """Settings of every method but Initial, over the preset; dotted names reach into parts."""
    initial_settings: dict[str, Any] = msgspec.field(default_factory=dict)


def read_section(data: dict[str, Any]) -> TrainerConfig:
    """Check the section.

    Raises:
        ConfigError: an unknown name, a value that does not fit, or a method there is not.
    """
    try:
        config = msgspec.convert(data, TrainerConfig, dec_hook=to_path)
    except msgspec.ValidationError as error:
        raise ConfigError(f"[trainer]: {error}") from error
    wanted(config.on_close)
    return config


def make_study(config: TrainerConfig, *, observe: Observer | None = None) -> Study:
    """The study that the section describes."""
    return Study(
        runs=Runs(config.runs),
        corpus=config.corpus,
        start=config.start,
        initial=config.initial,
        methods=wanted(config.on_close),
        preset=config.preset,
        changes=dict(config.settings),
        method_changes={"initial": dict(config.initial_settings)},
        evaluation=evaluate.EvaluateSettings(
            parts=config.parts, tagger=config.tagger, batch=config.evaluation_batch
        ),
        sinks=config.sinks,
        device=config.device,
        observe=observe,
    )


def window_data(dataset: Path, config: TrainerConfig) -> WindowData:
    """A dataset with the corpus as of its end, where ``corpora`` has one."""
    corpus = None
    if config.corpora:
        name = str(open_folder(dataset, verify=False).data["window"])
        corpus = config.corpora / name if (config.corpora / name).exists() else None
    return WindowData(dataset, corpus)
