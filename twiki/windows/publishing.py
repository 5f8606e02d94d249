"""From a closed window to the next version of its dataset: with the dump, or without."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from twiki.engine import Engine
from twiki.needs import BATCH, Needs, RevisionsById
from twiki.records import Policy, Window
from twiki.times import to_ms
from twiki.windows.cut import NOTHING, Beside, CutReport, cut
from twiki.windows.dataset import Run
from twiki.windows.gate import PageProps, supply
from twiki.windows.merges import take_redirects
from twiki.windows.reconcile import Progress, Reconciled, reconcile

RECONCILED = "reconciled with the dump"
"""Why there is a version after the first one."""


def _silent(_stage: str, _more: int) -> None:
    """No display."""


def cut_closed(
    engine: Engine,
    window: Window,
    root: Path,
    *,
    beside: Beside = NOTHING,
    progress: Progress = _silent,
    source: str = "stream",
) -> CutReport:
    """Cut a window as it was known when it closed: its first version."""
    return cut(
        engine.as_of(known=to_ms(window.start)),
        window,
        engine.config,
        root,
        run=Run(engine=source, details=_positions(engine)),
        beside=beside,
        progress=progress,
    )


def reconcile_and_cut(
    engine: Engine,
    window: Window,
    articles: Sequence[Path],
    entities: Sequence[Path],
    root: Path,
    *,
    policy: Policy = Policy.BOUNDARY,
    sources: tuple[dict[str, Any], ...] = (),
    contents: RevisionsById | None = None,
    beside: Beside = NOTHING,
    older: Sequence[Path] = (),
    page_props: Sequence[PageProps] = (),
    redirects: Sequence[Path] = (),
    progress: Progress = _silent,
    source: str = "stream",
) -> tuple[Reconciled, CutReport]:
    """Reconcile with the dump of the window's end, fetch what both lack, cut the next version.

    Args:
        contents: fetches revisions by id; None: what lacks is counted in the cut's report.
        sources: the dumps, for the manifest.
        beside: what the cut may use beside the state.
        page_props: SQL dumps of the window's end, or the API: articles of entities without link.
        redirects: the repository's tables of the window's end: see :mod:`twiki.windows.merges`.
        older: entity dumps of the window's start: what an entity that got an article said before.

    Raises:
        DumpError: a dump is damaged.
    """
    take_redirects(engine, redirects, to_ms(window.end))
    report = reconcile(
        engine, window, articles, entities, policy=policy, page_props=page_props, progress=progress
    )
    supply(engine, older)
    if contents is not None:
        needs = Needs(engine, contents, beat=partial(progress, "contents", BATCH))
        if policy is Policy.BOUNDARY:
            needs.supply(report.fetch)
        else:
            needs.entities()
    made = cut(
        engine.as_of(pins=window if policy is Policy.DUMP else None),
        window,
        engine.config,
        root,
        run=Run(engine=source, policy=policy, sources=sources, details=_positions(engine)),
        reconcile=report.report(),
        corrects=RECONCILED,
        beside=beside,
        progress=progress,
    )
    return report, made


def _positions(engine: Engine) -> dict[str, Any]:
    """How far each stream had been read, for the manifest."""
    return {"watermarks": dict(sorted(engine.progress.watermarks.items()))}
