"""Removed facts as probes: what a model should no longer say (``probes_removed``).

A fact that is gone has no sentence that says so, hence no evidence. The other rules are those of
every probe: labels, an article (as of the window's start), no repetition, the rules for texts,
the caps. Only texts and ids are kept while the facts go by, so that memory stays small::

    unlearning = Unlearning(config, "2026-11")
    writer.extend(Part.FACTS_REMOVED, unlearning.seen(rows))
    kept = unlearning.kept()
"""

from collections.abc import Iterable, Iterator

from twiki.config import QualityConfig
from twiki.records import Record
from twiki.windows import quality
from twiki.windows.schema import ProbeRow
from twiki.windows.stats import QualitySteps

Key = tuple[str, str, str]
"""Ids of subject and relation, id or value of the object."""


class Kept(Record, frozen=True):
    """The facts that stay, and where the others went."""

    keys: frozenset[Key]
    steps: QualitySteps

    @property
    def subjects(self) -> list[str]:
        """Ids of the subjects in order."""
        return sorted({subject for subject, _, _ in self.keys})

    def __contains__(self, row: ProbeRow) -> bool:
        return key(row) in self.keys


class Unlearning:
    """Watches the removed facts of a window go by, then says which of them are probes."""

    def __init__(self, config: QualityConfig, window: str) -> None:
        self._config = config
        self._window = window
        self._rows: list[quality.Row] = []
        self._dropped = dict.fromkeys(quality.RULES, 0)
        self._candidates = 0

    def seen(self, rows: Iterable[ProbeRow]) -> Iterator[ProbeRow]:
        """The same rows, each noted on its way."""
        for row in rows:
            self._note(row)
            yield row

    def kept(self) -> Kept:
        """Quality control over all that was seen."""
        self._rows.sort(key=lambda row: (row.key, row.texts))
        found = quality.check(self._rows, self._config, self._window)
        dropped = {rule: self._dropped[rule] + found.dropped[rule] for rule in quality.RULES}
        return Kept(
            keys=frozenset(self._rows[index].key for index in found.kept),
            steps=QualitySteps(candidates=self._candidates, dropped=dropped),
        )

    def _note(self, row: ProbeRow) -> None:
        self._candidates += 1
        found = quality.Row(
            subject=row.subject, relation=row.relation, object=row.object, key=key(row)
        )
        if quality.no_label(found, self._config):
            self._dropped[quality.NO_LABEL] += 1
        elif row.page_id is None:
            self._dropped[quality.NO_ARTICLE] += 1
        else:
            self._rows.append(found)


def key(row: ProbeRow) -> Key:
    """The ids of a row."""
    return (row.subject_qid, row.relation_pid, row.object_qid_or_value)
