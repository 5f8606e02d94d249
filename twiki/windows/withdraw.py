"""Published datasets without what has been hidden since (L21).

A dataset is never edited. One that carries a hidden revision gets a version beside it without
that text, the revision listed in ``tombstones.parquet``; the versions before are marked
withdrawn in the index::

    for folder, revs in carriers(root, wiki, repository, hidden):
        redact(folder, config, revs)        # or twiki.windows.cut, where the state still can

Which of the two depends on whether the window is still kept: a cut works out everything anew;
:func:`redact` copies the current version and leaves out every row that the hidden text made.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from twiki.config import CoreConfig
from twiki.records import Category
from twiki.suppression import Hidden
from twiki.windows import versions
from twiki.windows.dataset import Dataset, DatasetWriter, Part, Run
from twiki.windows.schema import (
    FACT_PARTS,
    DiffsetRow,
    NondiffRow,
    ProbeRow,
    SentenceRow,
    Tombstone,
)
from twiki.windows.stats import QualitySteps
from twiki.windows.writer import RECONCILE

REASON = "text hidden since"
RULE = "hidden_since"
"""The step of quality control under which a probe counts that a redaction took away."""
_TEXT_COLUMNS: dict[Part, tuple[str, ...]] = {
    Part.DIFFSET: ("new_rev",),
    Part.NONDIFF: ("rev",),
    **dict.fromkeys(FACT_PARTS, ("evidence_rev",)),
}
_ENTITY_COLUMNS = dict.fromkeys(FACT_PARTS, ("old_rev", "new_rev"))


def carriers(
    root: Path, wiki: str, repository: str, hidden: Sequence[Hidden]
) -> Iterator[tuple[Path, Path, tuple[Hidden, ...]]]:
    """Yield (window folder, version, hidden revisions in it) for versions that may be in use.

    Raises:
        DatasetError: a dataset that cannot be read.
    """
    if not root.is_dir() or not hidden:
        return
    for folder in versions.windows(root):
        if folder.parent.name != wiki:
            continue
        withdrawn = {v.version for v in versions.read(folder).versions if _is_withdrawn(v)}
        for path in versions.folders(folder):
            if int(path.name.removeprefix("v")) in withdrawn:
                continue
            found = _carried(Dataset.open(path), wiki, repository, hidden)
            if found:
                yield folder, path, found


def _is_withdrawn(version: versions.Version) -> bool:
    return version.status is versions.Status.WITHDRAWN


def _carried(
    dataset: Dataset, wiki: str, repository: str, hidden: Sequence[Hidden]
) -> tuple[Hidden, ...]:
    """What of ``hidden`` gave text or facts to the dataset, and is no tombstone of it."""
    done = {(stone.wiki, stone.rev_id) for stone in dataset.rows(Part.TOMBSTONES)}
    found: set[Hidden] = set()
    for name, columns_of in ((wiki, _TEXT_COLUMNS), (repository, _ENTITY_COLUMNS)):
        wanted = {one.rev: one for one in hidden if one.wiki == name}
        if not wanted:
            continue
        revs = _replaced(dataset) if name == wiki else set()
        for part, columns in columns_of.items():
            for batch in dataset.batches(part, list(columns)):
                for column in columns:
                    revs.update(batch.column(column).to_pylist())
        found.update(wanted[rev] for rev in wanted.keys() & revs)
    return tuple(sorted(one for one in found if (one.wiki, one.rev) not in done))


def _replaced(dataset: Dataset) -> set[int]:
    """Revisions whose sentences stand in the column ``replaced``."""
    found: set[int] = set()
    for batch in dataset.batches(Part.SENTENCES, ["old_rev", "replaced"]):
        for row in batch.to_pylist():
            if row["replaced"] is not None and row["old_rev"] is not None:
                found.add(row["old_rev"])
    return found


def tombstones(before: Dataset | None, hidden: Iterable[Hidden], version: int) -> list[Tombstone]:
    """Rows of the new version: what earlier versions listed, and what is hidden now."""
    rows = {} if before is None else {(t.wiki, t.rev_id): t for t in before.rows(Part.TOMBSTONES)}
    for one in hidden:
        page_id = one.key if isinstance(one.key, int) else None
        row = Tombstone(wiki=one.wiki, rev_id=one.rev, page_id=page_id, version=version)
        rows.setdefault((one.wiki, one.rev), row)
    return [rows[key] for key in sorted(rows)]


def redact(
    folder: Path, config: CoreConfig, hidden: Sequence[Hidden], *, source: str = "stream"
) -> Path:
    """Write the next version of a window from its current one, without rows of ``hidden``.

    Raises:
        DatasetError: there is no current version, or it cannot be read.
    """
    old = Dataset.open(versions.current(folder))
    texts = {one.rev for one in hidden if one.wiki == config.wiki.name}
    facts = {one.rev for one in hidden if one.wiki == config.wiki.repository}
    version = versions.next_version(folder)
    run = Run(engine=source, policy=old.manifest.run.policy, sources=old.manifest.run.sources)
    root = folder.parent.parent
    gone: Counter[Part] = Counter()
    with DatasetWriter(root, config, old.window, version) as writer:
        writer.extend(Part.TOMBSTONES, tombstones(old, hidden, version))
        for part in Part:
            if part is Part.TOMBSTONES:
                continue
            for row in old.rows(part):
                left = _without(row, texts, facts)
                if left is None:
                    gone[part] += 1
                else:
                    writer.add(part, left)
        return writer.finish(
            run=run,
            quality=_quality(old.stats(), gone),
            reconcile=msgspec.json.decode((old.folder / RECONCILE).read_bytes()),
            withdraws=REASON,
        )


def _without(row: Any, texts: set[int], facts: set[int]) -> Any:  # noqa: ANN401 - of any part
    """The row, or what may stay of it, or None."""
    match row:
        case DiffsetRow() | SentenceRow() if row.new_rev in texts:
            return None
        case SentenceRow() if row.old_rev in texts and row.replaced is not None:
            return msgspec.structs.replace(row, replaced=None)
        case NondiffRow() if row.rev in texts:
            return None
        case ProbeRow() if row.evidence_rev in texts or facts & {row.old_rev, row.new_rev}:
            return None
    return row


def _quality(stats: Mapping[str, Any], gone: Mapping[Part, int]) -> dict[Category, QualitySteps]:
    """The steps of quality control as they were, and as one more what is hidden since."""
    steps = {}
    for category in Category:
        told = stats.get("quality", {}).get(category.value)
        if told is None:
            continue
        dropped = {step["rule"]: step["count"] for step in told["dropped"]}
        if left := gone.get(Part(f"probes_{category.value}"), 0):
            dropped[RULE] = dropped.get(RULE, 0) + left
        steps[category] = QualitySteps(candidates=told["candidates"], dropped=dropped)
    return steps
