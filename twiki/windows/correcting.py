"""Further versions of a window that is published: late events, and text hidden since.

::

    cut_again(engine, window, root, corrects="late events")        # from the state
    correct(engine, window, root, scratch)                         # only if anything differs
    withhold_published(engine, root)                               # L21, every window

The state answers as of a window's boundaries until it is released; then only what is published
is left, and a withdrawal copies it (:mod:`twiki.windows.withdraw`).
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from twiki import suppression
from twiki.engine import Engine
from twiki.errors import DatasetError
from twiki.records import Policy, Window
from twiki.suppression import Hidden
from twiki.times import to_ms
from twiki.windows import compare, manifest, versions, withdraw
from twiki.windows.cut import NOTHING, Beside, CutReport, Progress, cut
from twiki.windows.dataset import Dataset, Part, Run
from twiki.windows.schema import Tombstone
from twiki.windows.writer import RECONCILE

LATE = "late events"


def _silent(_stage: str, _more: int) -> None:
    """No display."""


def cut_again(
    engine: Engine,
    window: Window,
    root: Path,
    *,
    before: Dataset | None = None,
    corrects: str = "",
    withdraws: str = "",
    tombstones: Sequence[Tombstone] = (),
    report: object = None,
    beside: Beside = NOTHING,
    progress: Progress = _silent,
) -> CutReport:
    """Cut the next version with all that is known now, under the policy of the last one.

    ``before``: the version whose reconciliation still stands; its report is taken over.
    Without one, ``report`` says what is known of it.
    """
    told = engine.progress.reconciled.get(to_ms(window.start))
    policy = Policy(told) if told else Policy(engine.config.windows.policy)
    run = Run(engine="stream", policy=policy)
    if before is not None:
        run = msgspec.structs.replace(run, sources=before.manifest.run.sources)
        report = msgspec.json.decode((before.folder / RECONCILE).read_bytes())
    return cut(
        engine.as_of(pins=window if told and policy is Policy.DUMP else None),
        window,
        engine.config,
        root,
        run=run,
        reconcile=report,
        corrects=corrects,
        withdraws=withdraws,
        tombstones=tombstones,
        beside=beside,
        progress=progress,
    )


def correct(
    engine: Engine,
    window: Window,
    root: Path,
    scratch: Path,
    *,
    beside: Beside = NOTHING,
    progress: Progress = _silent,
) -> CutReport | None:
    """Cut a version with the late events if they change anything; None: they do not.

    What differs is written beside the new version, as ``v3.changes.json``. ``scratch`` is a
    folder for the trial, cleared before and after.
    """
    folder = versions.window_folder(root, engine.config.wiki.name, window.name)
    now = Dataset.open(versions.current(folder))
    kept = list(now.rows(Part.TOMBSTONES))
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        trial = cut_again(
            engine,
            window,
            scratch,
            before=now,
            tombstones=kept,
            beside=beside,
            progress=progress,
        )
        differs = compare.compare(now, Dataset.open(trial.folder))
        if differs.equal:
            return None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    made = cut_again(
        engine,
        window,
        root,
        before=now,
        corrects=LATE,
        tombstones=kept,
        beside=beside,
        progress=progress,
    )
    content = msgspec.structs.replace(differs, b=Dataset.open(made.folder).id)
    path = folder / f"{made.folder.name}.changes.json"
    versions.write_aside(path, manifest.json_bytes(content))
    return made


def withhold_published(
    engine: Engine, root: Path, *, beside: Beside = NOTHING, progress: Progress = _silent
) -> list[tuple[Path, tuple[Hidden, ...]]]:
    """Give every window with hidden text a version without it; which, and of what.

    The marks are taken away when all are done, so that a kill on the way leaves them.

    Raises:
        DatasetError: a dataset cannot be read; the marks stay.
    """
    marks = list(suppression.hidden(engine))
    wiki = engine.config.wiki
    held: dict[Path, set[Hidden]] = {}
    for folder, _, found in withdraw.carriers(root, wiki.name, wiki.repository, marks):
        held.setdefault(folder, set()).update(found)
    made = []
    for folder, revs in sorted(held.items()):
        ordered = tuple(sorted(revs))
        made.append((_without(engine, folder, root, ordered, beside, progress), ordered))
    suppression.forget(engine, marks)
    engine.commit(sync=True)
    return made


def _without(
    engine: Engine,
    folder: Path,
    root: Path,
    hidden: Sequence[Hidden],
    beside: Beside,
    progress: Progress,
) -> Path:
    kept = {window.name: window for window in engine.windows()}
    window = kept.get(folder.name)
    if window is None or window == engine.open_window:
        return withdraw.redact(folder, engine.config, hidden)
    before = _current(folder)
    version = versions.next_version(folder)
    return cut_again(
        engine,
        window,
        root,
        before=before,
        withdraws=withdraw.REASON,
        tombstones=withdraw.tombstones(before, hidden, version),
        beside=beside,
        progress=progress,
    ).folder


def _current(folder: Path) -> Dataset | None:
    try:
        return Dataset.open(versions.current(folder))
    except DatasetError:
        return None


def is_reconciled(folder: Path) -> bool:
    """Whether the current version of a window was made with a dump.

    Raises:
        DatasetError: there is no current version, or it cannot be read.
    """
    path = versions.current(folder) / RECONCILE
    try:
        return msgspec.json.decode(path.read_bytes()) is not None
    except (OSError, msgspec.DecodeError) as error:
        raise DatasetError(f"{path}: expected JSON, found {error}") from error


def late_counts(engine: Engine) -> dict[int, int]:
    """How many late events there are for each window, by its start."""
    counts: dict[int, int] = {}
    for event in engine.late_events():
        counts[event.window_start] = counts.get(event.window_start, 0) + 1
    return counts


__all__ = [
    "LATE",
    "correct",
    "cut_again",
    "is_reconciled",
    "late_counts",
    "withhold_published",
]
