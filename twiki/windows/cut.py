"""Cutting a window: from the state as of its two boundaries to a dataset on disk.

::

    touched pages     ──article(start), article(end)──▶ diff ──▶ diffset, sentences
    touched entities  ──entity(start), entity(end)────▶ Algorithm 2 ──▶ probes_changed, removed,
                                                                        probes_removed
    sampled entities  ──the same──────────────────────▶ probes_unchanged
    pages by hash     ──both──────────────────────────▶ nondiff

It costs what the window touched and what it samples, never what the state holds. What it
could not read it counts: see :class:`CutReport`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from twiki.config import CoreConfig
from twiki.errors import EmptyProbes
from twiki.records import Category, Diff, Entity, Policy, Window
from twiki.state.asof import AsOf, Missing
from twiki.windows import candidates, kinds, lighttuning, manifest, nondiff, probes
from twiki.windows.convert import probe_row
from twiki.windows.dataset import Dataset, DatasetWriter, Part, Run
from twiki.windows.probes import ProbeSet
from twiki.windows.schema import Quality, Tombstone
from twiki.windows.stats import QualitySteps, Tokenizer, Volume, snapshot_volume
from twiki.windows.unlearning import Unlearning
from twiki.windows.view import EarlierRevisions, WindowView

Progress = Callable[[str, int], None]
"""Told (stage, how many more are done); for people only."""


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """What a cut may use beside the state; all of it may lack."""

    labels: EarlierRevisions | None = None
    """Where labels are had of entities that the state does not hold (L9)."""
    corpus: Path | None = None
    """Folder of the whole corpus as of the window's end: its size goes into ``stats.json``."""
    tokenizer: Tokenizer | None = None
    """Counts tokens, under the name ``tokenizer_name``."""
    tokenizer_name: str = ""
    require_probes: bool = False
    """Candidates of which none became a probe are an error, not an empty file."""


NOTHING = Beside()


class CutReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a cut wrote, and what it could not read."""

    window: str
    version: int
    folder: Path
    counts: dict[str, int]
    pages_touched: int = 0
    unread: dict[str, int] = {}
    """Touched articles that count as unchanged because a text is hidden or not held."""
    unread_entities: dict[str, int] = {}
    """Entities whose facts are left out because a content is hidden or not held."""
    labels_fetched: dict[str, int] = {}
    """Labels asked for because the state does not hold the entity, by outcome."""


def cut(
    state: AsOf,
    window: Window,
    config: CoreConfig,
    root: Path,
    *,
    run: Run,
    reconcile: object = None,
    corrects: str = "",
    withdraws: str = "",
    tombstones: Sequence[Tombstone] = (),
    version: int | None = None,
    beside: Beside = NOTHING,
    progress: Progress = lambda _stage, _more: None,
) -> CutReport:
    """Write the next version of the window's dataset under ``root``.

    Args:
        state: the store read under the policy and knowledge that the version stands for.
        run: how the content came, for the manifest.
        reconcile: the report for ``reconcile.json``; None: not reconciled.
        corrects: why there is a newer version.
        withdraws: why the earlier versions must not be used any more; empty: they may.
        tombstones: the hidden revisions that they held (L21).
        version: None takes the next free number.

    Raises:
        OutputExists: the version is there already.
        StateCorrupt: a stored value cannot be read.
        DatasetError: the corpus is of another wiki or boundary.
        EmptyProbes: there were candidates, and not one became a probe, where some are required.
    """
    view = WindowView(state, window, beside.labels)
    snapshot = _snapshot(beside.corpus, config, window)
    unread: Counter[str] = Counter()
    touched = 0
    with DatasetWriter(
        root,
        config,
        window,
        version,
        tokenizer=beside.tokenizer,
        tokenizer_name=beside.tokenizer_name,
    ) as writer:
        for page_id in state.store.touched_pages(view.start):
            touched += 1
            progress("articles", 1)
            _write_article(view, page_id, writer, unread)
        changed, unchanged = _probes(view, config, progress)
        if beside.require_probes:
            _require(changed, unchanged, window)
        writer.extend(Part.PROBES_CHANGED, (probe_row(p, window) for p in changed.probes))
        writer.extend(Part.PROBES_UNCHANGED, (probe_row(p, window) for p in unchanged.probes))
        removed = _write_removed(view, config, writer)
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
        writer.extend(Part.TOMBSTONES, tombstones)
        folder = writer.finish(
            run=run,
            quality={
                Category.CHANGED: _steps(changed),
                Category.UNCHANGED: _steps(unchanged),
                Category.REMOVED: removed,
            },
            snapshot=snapshot,
            entity_types=_kinds(view, changed),
            reconcile=reconcile,
            corrects=corrects,
            withdraws=withdraws,
        )
    counts = {part.value: rows for part, rows in Dataset.open(folder).counts.items()}
    return CutReport(
        window=window.name,
        version=int(folder.name.removeprefix("v")),
        folder=folder,
        counts=counts,
        pages_touched=touched,
        unread=dict(sorted(unread.items())),
        unread_entities=dict(sorted(Counter(map(str, view.unread.values())).items())),
        labels_fetched=dict(sorted(view.fetched.items())),
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


def _require(changed: ProbeSet, unchanged: ProbeSet, window: Window) -> None:
    """Refuse candidates without a single probe: settings or dumps do not fit together."""
    if (changed.candidates or unchanged.candidates) and not (changed.probes or unchanged.probes):
        raise EmptyProbes(
            f"window {window.name}: no probes; changed: {changed.explained()}; unchanged: "
            f"{unchanged.explained()}. Check that entities, articles and languages belong "
            "together, or allow an empty set with --allow-empty-probes"
        )


def _write_removed(view: WindowView, config: CoreConfig, writer: DatasetWriter) -> QualitySteps:
    """Removed facts as they are, and those of them that are probes."""
    entities = view.state.store.touched_entities(view.start)
    unlearning = Unlearning(config.quality, view.window.name)
    writer.extend(Part.FACTS_REMOVED, unlearning.seen(candidates.removed(view, entities)))
    kept = unlearning.kept()
    again = candidates.removed(view, kept.subjects)
    passed = (msgspec.structs.replace(row, qc=Quality.PASSED) for row in again if row in kept)
    writer.extend(Part.PROBES_REMOVED, passed)
    return kept.steps


def _kinds(view: WindowView, made: ProbeSet) -> dict[str, dict[str, int]]:
    """Kinds of the probes' subjects and objects as of the window's end.

    Those without an article count as ``other``: the state need not hold their statements.
    """

    def entity(of: str) -> Entity | None:
        found = view.entity(view.redirect(of), view.end)
        return None if found is None or found.entity.sitelink is None else found.entity

    return kinds.count((probe.change.fact for probe in made.probes), entity)


def _snapshot(corpus: Path | None, config: CoreConfig, window: Window) -> Volume | None:
    if corpus is None:
        return None
    return snapshot_volume(corpus / manifest.NAME, config.wiki.name, window.end)


def _standing_articles(view: WindowView, progress: Progress) -> Iterator[nondiff.NondiffArticle]:
    """Articles live at both boundaries in the order of their hash, and what changed in each."""
    state = view.state
    for page_id in state.store.pages_by_hash():
        progress("passages", 1)
        held = state.store.held(page_id)
        if held is None or not state.is_article(held, view.start):
            continue
        new = state.read(page_id, held, view.end)
        if new.article is None or new.article.blocks is None:
            continue
        stood = state.stands(held, view.start)
        found: Diff | None = Diff()
        if stood is not None and stood.rev != new.article.rev_id:
            found = view.diff(state.read(page_id, held, view.start), new)
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
