"""Cutting a window: from the state as of its two boundaries to a dataset on disk.

::

    touched pages     ──article(start), article(end)──▶ diff ──▶ diffset, sentences
    touched entities  ──entity(start), entity(end)────▶ Algorithm 2 ──▶ probes_changed, removed
    sampled entities  ──the same──────────────────────▶ probes_unchanged
    pages by hash     ──both──────────────────────────▶ nondiff

It costs what the window touched and what it samples, never what the state holds. What it
could not read it counts: see :class:`CutReport`.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from twiki.config import CoreConfig
from twiki.records import Category, Diff, Policy, Window
from twiki.state.asof import AsOf, Missing
from twiki.windows import candidates, lighttuning, nondiff, probes
from twiki.windows.convert import probe_row
from twiki.windows.dataset import Dataset, DatasetWriter, Part, Run
from twiki.windows.probes import ProbeSet
from twiki.windows.stats import QualitySteps
from twiki.windows.view import WindowView

Progress = Callable[[str, int], None]
"""Told (stage, how many more are done); for people only."""


class CutReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a cut wrote, and what it could not read."""

    window: str
    version: int
    folder: Path
    counts: dict[str, int]
    pages_touched: int = 0
    unread: dict[str, int] = {}
    """Touched articles that count as unchanged because a text is hidden or not held."""


def cut(
    state: AsOf,
    window: Window,
    config: CoreConfig,
    root: Path,
    *,
    run: Run,
    reconcile: object = None,
    corrects: str = "",
    version: int | None = None,
    progress: Progress = lambda _stage, _more: None,
) -> CutReport:
    """Write the next version of the window's dataset under ``root``.

    Args:
        state: the store read under the policy and knowledge that the version stands for.
        run: how the content came, for the manifest.
        reconcile: the report for ``reconcile.json``; None: not reconciled.
        corrects: why there is a newer version.
        version: None takes the next free number.

    Raises:
        OutputExists: the version is there already.
        StateCorrupt: a stored value cannot be read.
    """
    view = WindowView(state, window)
    unread: Counter[str] = Counter()
    touched = 0
    with DatasetWriter(root, config, window, version) as writer:
        for page_id in state.store.touched_pages(view.start):
            touched += 1
            progress("articles", 1)
            _write_article(view, page_id, writer, unread)
        changed, unchanged = _probes(view, config, progress)
        writer.extend(Part.PROBES_CHANGED, (probe_row(p, window) for p in changed.probes))
        writer.extend(Part.PROBES_UNCHANGED, (probe_row(p, window) for p in unchanged.probes))
        entities = state.store.touched_entities(view.start)
        writer.extend(Part.FACTS_REMOVED, candidates.removed(view, entities))
        tuning = lighttuning.choose(
            changed, unchanged, config.windows.lighttuning_facts, window.name
        )
        writer.extend(Part.LIGHTTUNING_CHANGED, (probe_row(p, window) for p in tuning.changed))
        writer.extend(Part.LIGHTTUNING_UNCHANGED, (probe_row(p, window) for p in tuning.unchanged))
        passages = nondiff.passages(
            _standing_articles(view, progress),
            wiki_url=config.wiki.url,
            budget=config.windows.nondiff_characters,
        )
        writer.extend(Part.NONDIFF, passages)
        folder = writer.finish(
            run=run,
            quality={Category.CHANGED: _steps(changed), Category.UNCHANGED: _steps(unchanged)},
            reconcile=reconcile,
            corrects=corrects,
        )
    counts = {part.value: rows for part, rows in Dataset.open(folder).counts.items()}
    return CutReport(
        window=window.name,
        version=int(folder.name.removeprefix("v")),
        folder=folder,
        counts=counts,
        pages_touched=touched,
        unread=dict(sorted(unread.items())),
    )


def policy_of(state: AsOf) -> Policy:
    """The policy under which a state is read."""
    return Policy.DUMP if state.pins else Policy.BOUNDARY


def _write_article(
    view: WindowView, page_id: int, writer: DatasetWriter, unread: Counter[str]
) -> None:
    new = view.state.article(page_id, view.end)
    if new.article is None:
        return
    old = view.state.article(page_id, view.start)
    found = view.diff(old, new)
    if found is None:
        unread[str(new.missing or old.missing or Missing.NEEDED)] += 1
        return
    writer.article(old.article, new.article, found)


def _probes(view: WindowView, config: CoreConfig, progress: Progress) -> tuple[ProbeSet, ProbeSet]:
    store, rate = view.state.store, config.facts.unchanged_rate

    def counted(ids: Iterator[str], stage: str) -> Iterator[str]:
        for entity_id in ids:
            progress(stage, 1)
            yield entity_id

    touched = counted(store.touched_entities(view.start), "entities")
    sampled = counted(store.sampled_entities(), "sampled entities")
    changed = probes.build(
        view.window, candidates.changed(view, touched), Category.CHANGED, view, config.quality
    )
    unchanged = probes.build(
        view.window,
        candidates.unchanged(view, sampled, rate),
        Category.UNCHANGED,
        view,
        config.quality,
    )
    return changed, unchanged


def _standing_articles(view: WindowView, progress: Progress) -> Iterator[nondiff.NondiffArticle]:
    """Articles live at both boundaries in the order of their hash, and what changed in each."""
    for page_id in view.state.store.pages_by_hash():
        progress("passages", 1)
        new = view.state.article(page_id, view.end)
        old = view.state.article(page_id, view.start)
        if new.article is None or old.article is None or new.article.blocks is None:
            continue
        found = view.diff(old, new) if old.article.rev_id != new.article.rev_id else Diff()
        if found is None:
            continue
        clean = [view.clean(block) for block in new.article.blocks]
        yield nondiff.NondiffArticle(
            page_id=page_id,
            title=new.article.title,
            rev_id=new.article.rev_id,
            paragraphs=[paragraph for block in clean for paragraph in block.paragraphs],
            unchanged=nondiff.untouched(clean, found),
        )


def _steps(made: ProbeSet) -> QualitySteps:
    return QualitySteps(candidates=made.candidates, dropped=made.dropped)
