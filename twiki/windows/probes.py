"""Candidates to probes: labels, article, evidence, quality control (L10 to L14).

::

    FactChange + labels + sitelink = Candidate
      │  no_label · no_article · not_in_diffset · no_evidence      here, one candidate at a time
      ▼
    aligned
      │  duplicate · substring · object_words · three caps         twiki.windows.quality
      ▼
    Probe

Every candidate is counted once: as a probe, or under the first rule that dropped it.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol

from twiki.config import QualityConfig
from twiki.entities.literals import spellings
from twiki.records import Category, FactChange, Probe, Record, Window
from twiki.windows import quality
from twiki.windows.matching import Passage, fold_label

_PASSAGES_KEPT = 128
"""Folded articles kept at hand: candidates of one subject come one after another."""


class Candidate(Record, frozen=True):
    """A fact with what is known about it as of the window's end, before any rule."""

    change: FactChange
    subject: str | None
    relation: str | None
    object: str | None
    """Labels; of a literal its text, with the unit's label for the unit's id."""
    sitelink: str | None
    old_rev: int | None
    new_rev: int
    changed_at: datetime
    current: bool = True
    previous_labels: tuple[str, ...] = ()
    object_labels: tuple[str, ...] = ()
    object_aliases: tuple[str, ...] = ()
    """Other names of the object; count as evidence where ``[quality] aliases`` is on."""


class ArticleText(Record, frozen=True):
    """An article with the sentences in which evidence is looked for, in reading order.

    ``sentences`` may be lazy: it is read only when a candidate needs it.
    """

    page_id: int
    title: str
    rev_id: int
    sentences: Sequence[str]


class Articles(Protocol):
    """Where the articles of a window are found, by title."""

    def changed(self, title: str) -> ArticleText | None:
        """The article with its diff sentences; None when it has none in this window."""

    def live(self, title: str) -> ArticleText | None:
        """The article live at the window's end with all its sentences; None if not live."""


class ProbeSet(Record, frozen=True):
    """The probes of one category, and where every other candidate went."""

    probes: tuple[Probe, ...]
    """Sorted by subject, relation and object id."""
    dropped: dict[str, int]
    """Every rule's name with its count; with ``probes`` they add up to ``candidates``."""
    candidates: int
    spare: tuple[Probe, ...] = ()
    """Those that only a cap dropped: light-tuning draws from them."""

    def explained(self) -> str:
        """One sentence on where the candidates went, for errors and logs."""
        gone = [f"{count} {rule}" for rule, count in self.dropped.items() if count]
        return f"{len(self.probes)} of {self.candidates} candidates kept" + (
            f"; dropped: {', '.join(gone)}" if gone else ""
        )


class _Aligned(quality.Row, frozen=True):
    probe: Probe


def build(
    window: Window,
    candidates: Iterable[Candidate],
    category: Category,
    articles: Articles,
    config: QualityConfig,
) -> ProbeSet:
    """Make the probes of a window and category; the order of ``candidates`` has no effect."""
    alignment = _Alignment(articles, category, config)
    rows: list[_Aligned] = []
    misses = dict.fromkeys(quality.RULES, 0)
    count = 0
    for candidate in candidates:
        count += 1
        aligned = alignment.align(candidate)
        if isinstance(aligned, str):
            misses[aligned] += 1
        else:
            rows.append(aligned)
    rows.sort(key=lambda row: (row.key, row.texts, row.probe.page_title))
    kept = quality.check(rows, config, window.name)
    return ProbeSet(
        probes=tuple(rows[index].probe for index in kept.kept),
        dropped={rule: misses[rule] + kept.dropped[rule] for rule in quality.RULES},
        candidates=count,
        spare=tuple(rows[index].probe for index in kept.capped),
    )


class _Alignment:
    """Finds a candidate's article and evidence."""

    def __init__(self, articles: Articles, category: Category, config: QualityConfig) -> None:
        self._articles = articles
        self._category = category
        self._config = config
        self._passages: OrderedDict[str, Passage] = OrderedDict()

    def align(self, candidate: Candidate) -> _Aligned | str:
        """The row of a candidate, or the name of the rule that drops it."""
        subject, relation, obj = candidate.subject, candidate.relation, candidate.object
        if not (
            subject and relation and obj and subject.strip() and relation.strip() and obj.strip()
        ):
            return quality.NO_LABEL
        title = candidate.sitelink
        article = self._articles.live(title) if title else None
        if article is None or title is None:
            return quality.NO_ARTICLE
        if self._category is Category.CHANGED:
            article = self._articles.changed(title)
            if article is None:
                return quality.NOT_IN_DIFFSET
        evidence = self._passage(article).evidence(self._names(candidate, obj))
        if evidence is None:
            return quality.NO_EVIDENCE
        fact = candidate.change.fact
        return _Aligned(
            subject=subject,
            relation=relation,
            object=obj,
            key=(fact.subject, fact.relation, fact.object),
            probe=Probe(
                subject=subject,
                relation=relation,
                object=obj,
                change=candidate.change,
                category=self._category,
                page_id=article.page_id,
                page_title=article.title,
                evidence=evidence,
                evidence_rev=article.rev_id,
                old_rev=candidate.old_rev,
                new_rev=candidate.new_rev,
                changed_at=candidate.changed_at,
                current=candidate.current,
                previous_labels=candidate.previous_labels,
                object_labels=candidate.object_labels,
            ),
        )

    def _names(self, candidate: Candidate, obj: str) -> list[str]:
        names = [obj]
        if self._config.aliases:
            names += candidate.object_aliases
            names += spellings(obj, candidate.change.fact.datatype)
        folded = (fold_label(name, diacritics=self._config.fold_diacritics) for name in names)
        return [name for name in folded if name]

    def _passage(self, article: ArticleText) -> Passage:
        passage = self._passages.get(article.title)
        if passage is None:
            passage = Passage(article.sentences, diacritics=self._config.fold_diacritics)
            self._passages[article.title] = passage
            if len(self._passages) > _PASSAGES_KEPT:
                self._passages.popitem(last=False)
        else:
            self._passages.move_to_end(article.title)
        return passage
