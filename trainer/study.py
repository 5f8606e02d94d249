"""Months by methods: which model each run starts from, what it reads, when it is evaluated.

::

    start model ─ Initial on the first corpus ─┬─ diff      2026-10 ─ 2026-11 ─ …
                                               ├─ mixreview 2026-10 ─ 2026-11 ─ …
                                               └─ full      (whole corpora)

A method's run of a window starts from its own run of the window before. Each step asks the
folder of runs first, so a study that was stopped goes on where it was.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from trainer import dataset, device, duties, evaluate, runs, threads, timeline, train
from trainer.config import TrainSettings
from trainer.runs import Key, Run
from trainer.sinks import StepReport
from trainer.study_plan import Duty, Study, WindowData
from twiki.errors import TrainerError


def train_initial(study: Study, wiki: str) -> Path | str:
    """The initial model, trained if it has not been.

    Raises:
        TrainerError: there is neither a model nor what it would be trained from.
    """
    if study.initial is not None:
        return study.initial
    key = study.initial_key(wiki)
    if study.corpus is None or study.start is None:
        if found := study.runs.find(key):
            return found.model
        raise TrainerError(
            f"{study.runs.folder(key)}: no initial model; give one, or a corpus and a start model"
        )
    inputs = train.Inputs(study.start, study.corpus, cache=study.runs.root / "tokens")
    return _train(study, key, study.settings("initial"), inputs).model


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


def evaluate_run(study: Study, model: Path | str, out: Path, datasets: Iterable[Path]) -> None:
    """Evaluate a model on datasets, each once, below ``out``; one process does it for all."""
    for path in datasets if threads.is_first() else ():
        data = dataset.open_folder(path, verify=False).data
        name = f"{data['window']}-v{data['version']}"
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
    ``windows`` goes on from, and their text may be reviewed. Those after the last that a method
    finished are made up for, if it began on them or on one before: a window that failed or was
    left out is not passed over. ``measure``: False trains alone. What can be known to fail
    fails before any training; where a method fails in training, the others go on.

    Raises:
        ConfigError: settings of one of the methods.
        DatasetError: the windows are of several wikis or not in order of time, or a folder
            breaks its contract.
        TrainerError: something a method needs was not given, or one failed, at the end of all;
            see :func:`trainer.train.run`.
    """
    timeline.check_order([w.dataset for w in (*before, *windows)])
    data = dataset.open_folder(windows[0].dataset, verify=False).data
    wiki, paths = str(data["wiki"]), [w.dataset for w in windows]
    everything = (*before, *windows)
    due = duties.due(study, wiki, before, windows)
    duties.check(study, wiki, due, paths if measure else ())
    initial = train_initial(study, wiki)
    done, failed = _update(study, everything, due, initial)
    if study.initial is not None and measure:
        aside = study.runs.folder(Key(wiki, runs.INITIAL, 1, runs.GIVEN))
        evaluate_run(study, study.initial, aside, paths)
    elif study.initial is None and (first := study.runs.find(study.initial_key(wiki))):
        done.insert(0, (first, paths[0]))
    for finished, own in done if measure else ():
        evaluate_run(study, finished.model, finished.folder, dict.fromkeys([own, *paths]))
    if failed:
        told = "; ".join(f"{name}: {error}" for name, error in failed.items())
        raise TrainerError(told) from next(iter(failed.values()))
    return [finished for finished, _ in done]


def _update(
    study: Study, everything: Sequence[WindowData], due: Sequence[Duty], initial: Path | str
) -> tuple[list[tuple[Run, Path]], dict[str, TrainerError]]:
    """Finished runs with the dataset of each, and why methods failed, which then rest."""
    done: list[tuple[Run, Path]] = []
    failed: dict[str, TrainerError] = {}
    for window, name in due:
        if name in failed:
            continue
        earlier = everything[: everything.index(window)]
        try:
            done.append((_window(study, name, window, earlier, initial), window.dataset))
        except TrainerError as error:
            if threads.several():  # the other processes may be waiting for this one
                raise
            failed[name] = error
            study.tell(f"{name} failed on {window.dataset}: {error}")
    return done, failed


def _window(
    study: Study,
    name: str,
    window: WindowData,
    earlier: Sequence[WindowData],
    initial: Path | str,
) -> Run:
    key = study.key(name, dataset.open_folder(window.dataset, verify=False).data)
    settings = study.settings(name)
    text = study.text(name, window)
    review: tuple[Path, ...] = ()
    if settings.review.ratio:
        review = (study.reviewed(name),)
        if settings.review.source == "all-previous":
            review += tuple(w.dataset for w in earlier)
    start: Path | str = initial
    for before in reversed(earlier):
        past = dataset.open_folder(before.dataset, verify=False).data
        if found := study.runs.newest(key.wiki, str(past["window"]), key.label):
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


def _train(study: Study, key: Key, settings: TrainSettings, inputs: train.Inputs) -> Run:
    study.tell(f"train {key}")
    observe = study.observe

    def step(report: StepReport) -> None:
        if observe:
            observe(key, report)

    return study.runs.train(key, settings, inputs, observe=step, sinks=study.sinks, on=study.device)
