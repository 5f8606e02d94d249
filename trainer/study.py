"""Months by methods: which model each run starts from, what it reads, when it is evaluated.

::

    start model ─ Initial on the first corpus ─┬─ diff      2026-10 ─ 2026-11 ─ …
                                               ├─ mixreview 2026-10 ─ 2026-11 ─ …
                                               └─ full      (whole corpora)

A method's run of a window starts from its own run of the window before. Each step asks the
folder of runs first, so a study that was stopped goes on where it was.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trainer import (
    checks,
    dataset,
    device,
    evaluate,
    files,
    methods,
    pos,
    runs,
    threads,
    train,
)
from trainer.config import Preset, TrainSettings
from trainer.runs import Key, Run, Runs
from trainer.sinks import StepReport
from twiki.errors import DatasetError, TrainerError

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
    evaluation: evaluate.EvaluateSettings = field(default_factory=evaluate.EvaluateSettings)
    sinks: tuple[str, ...] = ()
    device: str = "auto"
    observe: Observer | None = None
    tell: Callable[[str], None] | None = None
    """Told what begins."""


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


def train_initial(study: Study, wiki: str) -> Path | str:
    """The initial model, trained if it has not been.

    Raises:
        TrainerError: there is neither a model nor what it would be trained from.
    """
    if study.initial is not None:
        return study.initial
    key = _initial_key(study, wiki)
    if study.corpus is None or study.start is None:
        if found := study.runs.find(key):
            return found.model
        raise TrainerError(
            f"{study.runs.folder(key)}: no initial model; give one, or a corpus and a start model"
        )
    changes = study.method_changes.get("initial", {})
    settings = methods.settings_for("initial", study.preset, changes)
    inputs = train.Inputs(study.start, study.corpus, cache=study.runs.root / "tokens")
    return _train(study, key, settings, inputs).model


def train_window(
    study: Study,
    window: WindowData,
    earlier: Sequence[WindowData] = (),
    initial: Path | str | None = None,
) -> list[Run]:
    """Update with every method of the study; runs that are finished are returned as they are.

    ``earlier`` are the windows before, oldest first: a method starts from its run of the
    last of them that has one, and reviews their diffsets. ``initial`` is the initial model,
    trained here if it is None and has not been.
    """
    folder = dataset.open_folder(window.dataset, verify=False)
    initial = initial or train_initial(study, str(folder.data["wiki"]))
    return [_window(study, name, window, earlier, initial) for name in study.methods]


def evaluate_run(study: Study, model: Path | str, out: Path, datasets: Sequence[Path]) -> None:
    """Evaluate a model on datasets, each once, below ``out``; one process does it for all."""
    for path in datasets if threads.is_first() else ():
        data = dataset.open_folder(path, verify=False).data
        name = f"{data['window']}-v{data['version']}"
        if study.tell:
            study.tell(f"evaluate {out.name} on {name}")
        evaluate.run(
            model,
            path,
            study.evaluation,
            out / "evaluations" / name,
            cache=study.runs.root / "tags",
            on=device.pick(study.device),
        )


def run(
    study: Study,
    windows: Sequence[WindowData],
    *,
    before: Sequence[WindowData] = (),
    measure: bool = True,
) -> list[Run]:
    """A whole study: Initial, then every window in order, every model on every window.

    ``before`` are windows that lie earlier, oldest first: their runs are what the first of
    ``windows`` goes on from, and their text may be reviewed. From the first of them that a
    method began on, finished or not, it is trained on every one that it has not been: a window
    that failed or was left out is made up for, not passed over. ``measure``: False trains
    alone. What can be known to fail fails before any training.

    Raises:
        ConfigError: settings of one of the methods.
        DatasetError: the windows are of several wikis or not in order of time, or a folder
            breaks its contract.
        TrainerError: something a method needs was not given; see :func:`trainer.train.run`.
    """
    _check_order((*before, *windows))
    data = dataset.open_folder(windows[0].dataset, verify=False).data
    wiki, paths = str(data["wiki"]), [w.dataset for w in windows]
    everything = (*before, *windows)
    due = [_owed(study, wiki, before, number) for number in range(len(before))]
    due += [study.methods for _ in windows]
    _check(study, everything, due, paths if measure else ())
    initial = train_initial(study, wiki)
    done: list[Run] = []
    if study.initial is None and (first := study.runs.find(_initial_key(study, wiki))):
        done.append(first)
    for number, (window, names) in enumerate(zip(everything, due, strict=True)):
        plan = replace(study, methods=names)
        done += train_window(plan, window, everything[:number], initial)
    if measure and study.initial is not None:
        aside = study.runs.folder(Key(wiki, runs.INITIAL, 1, runs.GIVEN))
        evaluate_run(study, study.initial, aside, paths)
    for finished in done if measure else ():
        evaluate_run(study, finished.model, finished.folder, paths)
    return done


def earlier(path: Path) -> list[Path]:
    """Datasets of the windows before that of ``path``, oldest first, the current version each.

    ``path`` is ``<root>/<wiki>/<window>/v<version>``, as is what is found; beside a folder that
    lies elsewhere nothing is looked for.
    """
    path = path.resolve()
    data = dataset.open_folder(path, verify=False).data
    if [path.parent.parent.name, path.parent.name] != [data.get("wiki"), data.get("window")]:
        return []
    start = _start(path)
    found = [(_start(current), current) for current in datasets(path.parent.parent)]
    return [other for begins, other in sorted(found) if begins < start]


def datasets(root: Path) -> list[Path]:
    """The current version of every window below ``<root>/<window>/v<version>``, by time."""
    found = []
    for window in root.iterdir():
        versions = [p for p in window.glob("v*") if (p / "manifest.json").exists()]
        index = window / "index.json"
        number = files.read_json(index).get("current") if index.exists() else None
        if number is not None:
            versions = [p for p in versions if p.name == f"v{number}"]
        if versions:
            found.append(max(versions, key=lambda p: int(p.name.removeprefix("v"))))
    return sorted(found, key=_start)


def _start(path: Path) -> str:
    data = dataset.open_folder(path, verify=False).data
    return str(data.get("start") or data.get("window"))


def _window(
    study: Study,
    name: str,
    window: WindowData,
    earlier: Sequence[WindowData],
    initial: Path | str,
) -> Run:
    data = dataset.open_folder(window.dataset, verify=False).data
    label = runs.label(name, study.preset)
    key = Key(str(data["wiki"]), str(data["window"]), int(data["version"]), label)
    settings = _settings(study, name)
    text = _text(name, window)
    review: tuple[Path, ...] = ()
    if settings.review.ratio:
        review = (_reviewed(study, name),)
        if settings.review.source == "all-previous":
            review += tuple(w.dataset for w in earlier)
    start: Path | str = initial
    for before in reversed(earlier):
        past = dataset.open_folder(before.dataset, verify=False).data
        if found := study.runs.newest(key.wiki, str(past["window"]), label):
            start = found.model
            break
    inputs = train.Inputs(
        start,
        text,
        review,
        initial=initial,
        cache=study.runs.root / "tokens",
        windows_before=len(earlier),
    )
    return _train(study, key, settings, inputs)


def _settings(study: Study, name: str) -> TrainSettings:
    changes = {**study.changes, **study.method_changes.get(name, {})}
    return methods.settings_for(name, study.preset, changes)


def _text(name: str, window: WindowData) -> Path:
    """What a method reads of a window."""
    if methods.METHODS[name].text == "dataset":
        return window.dataset
    if window.corpus is None:
        raise TrainerError(
            f"{window.dataset}: {name} trains on a corpus as of the window's end; give one"
        )
    return window.corpus


def _reviewed(study: Study, name: str) -> Path:
    if study.corpus is None:
        raise TrainerError(f"{name} reviews the initial corpus; give it")
    return study.corpus


def _owed(study: Study, wiki: str, before: Sequence[WindowData], number: int) -> tuple[str, ...]:
    """Methods that began on an earlier window up to this one and have no finished run of it."""
    names = [str(dataset.open_folder(w.dataset, verify=False).data["window"]) for w in before]

    def owed(name: str) -> bool:
        label = runs.label(name, study.preset)
        begun = any(study.runs.begun(wiki, window, label) for window in names[: number + 1])
        return begun and study.runs.newest(wiki, names[number], label) is None

    return tuple(name for name in study.methods if owed(name))


def _check(
    study: Study,
    windows: Sequence[WindowData],
    due: Sequence[tuple[str, ...]],
    measured: Sequence[Path],
) -> None:
    """Fail now where a study would fail after hours of training.

    ``due``: the methods that train on each window; ``measured``: the datasets that models are
    evaluated on.

    Raises:
        ConfigError, DatasetError, TrainerError: as :func:`run` has them.
    """
    work = [(name, w) for w, names in zip(windows, due, strict=True) for name in names]
    texts = [_text(name, window) for name, window in work]
    chosen = [_settings(study, name) for name in study.methods]
    texts += [_reviewed(study, s.method) for s in chosen if s.review.ratio]
    if study.initial is None and study.start is not None and study.corpus is not None:
        changes = study.method_changes.get("initial", {})
        chosen.append(methods.settings_for("initial", study.preset, changes))
        texts.append(study.corpus)
    if measured and study.evaluation.tagger and "intrinsic" in study.evaluation.parts:
        pos.spacy_tagger(study.evaluation.tagger)
    if threads.is_first():
        for path in dict.fromkeys([*(w.dataset for _, w in work), *texts]):
            folder = dataset.open_folder(path)
            if path in texts:
                next(folder.texts())
        for path in measured:
            evaluate.check(path, study.evaluation)
    source = study.start if study.initial is None else study.initial
    if source is not None:
        for settings in chosen:
            checks.shapes(settings, source)


def _train(study: Study, key: Key, settings: TrainSettings, inputs: train.Inputs) -> Run:
    if study.tell:
        study.tell(f"train {key}")
    observe = study.observe

    def step(report: StepReport) -> None:
        if observe:
            observe(key, report)

    return study.runs.train(key, settings, inputs, observe=step, sinks=study.sinks, on=study.device)


def _initial_key(study: Study, wiki: str) -> Key:
    return Key(wiki, runs.INITIAL, 1, runs.label("initial", study.preset))


def _check_order(windows: Sequence[WindowData]) -> None:
    if not windows:
        raise DatasetError("a study needs at least one window")
    found = [dataset.open_folder(w.dataset, verify=False).data for w in windows]
    if len({d.get("wiki") for d in found}) != 1:
        raise DatasetError("the windows of a study must be of one wiki")
    starts = [_start(w.dataset) for w in windows]
    if starts != sorted(set(starts)):
        raise DatasetError(f"windows must be in order of time, found {', '.join(starts)}")
