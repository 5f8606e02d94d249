"""What a study has to train, and whether it can: known before the first step of it."""

from collections.abc import Sequence
from pathlib import Path

from trainer import checks, dataset, evaluate, methods, pos, sinks, threads
from trainer.study_plan import Duty, Study, WindowData


def due(
    study: Study, wiki: str, before: Sequence[WindowData], windows: Sequence[WindowData]
) -> list[Duty]:
    """Every method on every one of ``windows``, after what it owes of those ``before``.

    Of a method that reads diffsets these are the windows after the last that it finished, from
    the first that it began on. A window without text owes nothing, and where the method has
    finished one of ``windows`` already it is too late.
    """
    owed = {name: _owed(study, wiki, name, before, windows) for name in study.methods}
    found = [(window, name) for window in before for name in study.methods if window in owed[name]]
    return found + [(window, name) for window in windows for name in study.methods]


def check(study: Study, wiki: str, todo: Sequence[Duty], measured: Sequence[Path]) -> None:
    """Fail now where a study would fail after hours of training.

    ``measured``: the datasets that models are evaluated on.

    Raises:
        ConfigError: settings of a method, or rows that the model cannot read.
        DatasetError: a folder breaks its contract, or lacks what is trained on or measured.
        TrainerError: something a method needs was not given, or the model does not fit it.
    """
    texts = [study.text(name, window) for window, name in todo]
    chosen = [study.settings(name) for name in study.methods]
    texts += [study.reviewed(s.method) for s in chosen if s.review.ratio]
    source = study.start if study.initial is None else study.initial
    if source is None and (found := study.runs.find(study.initial_key(wiki))):
        source = found.model
    if study.initial is None and study.start is not None and study.corpus is not None:
        chosen.append(study.settings("initial"))
        texts.append(study.corpus)
    sinks.check(study.sinks)
    if measured and study.evaluation.tagger and "intrinsic" in study.evaluation.parts:
        pos.spacy_tagger(study.evaluation.tagger)
    if threads.is_first():
        for path in dict.fromkeys([*(window.dataset for window, _ in todo), *texts]):
            folder = dataset.open_folder(path)
            if path in texts:
                next(folder.texts())
        for path in measured:
            evaluate.check(path, study.evaluation)
    if source is not None:
        checks.starts(chosen, source)


def _owed(
    study: Study,
    wiki: str,
    name: str,
    before: Sequence[WindowData],
    windows: Sequence[WindowData],
) -> list[WindowData]:
    if methods.METHODS[name].text != "dataset":
        return []  # a later corpus holds all that an earlier one does
    folders = [dataset.open_folder(w.dataset, verify=False) for w in (*before, *windows)]
    keys = [study.key(name, folder.data) for folder in folders]
    finished = [study.runs.newest(wiki, key.window, key.label) is not None for key in keys]
    if any(finished[len(before) :]):
        return []
    begun = [study.runs.begun(wiki, key.window, key.label) for key in keys[: len(before)]]
    if True not in begun:
        return []
    last = max((n for n, is_finished in enumerate(finished) if is_finished), default=-1)
    numbers = range(max(begun.index(True), last + 1), len(before))
    return [before[n] for n in numbers if folders[n].has_text("diffset")]
