"""The books' probes: alignment with articles, quality control, caps.

Laws 10 to 12 and 14, written down a second time on purpose.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from stream.sandbox.bookfacts import Repository, Triple, Verdict, digest

RULES = (
    "no_label",
    "no_article",
    "not_in_diffset",
    "no_evidence",
    "duplicate",
    "substring",
    "object_words",
    "subject_cap",
    "relation_cap",
    "object_cap",
)
_CAPS = (("subject", 0.01), ("relation", 0.05), ("object", 0.05))
_MOST_WORDS = 5
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−"), "-") | {0xA0: " "}


class Reading(NamedTuple):
    """A live article as of the end: what evidence is looked for in."""

    page_id: int
    title: str
    sentences: Sequence[str]


class Candidate(NamedTuple):
    """A fact with its texts and its evidence."""

    verdict: Verdict
    texts: tuple[str, str, str]
    article: Reading
    evidence: str


def select(
    verdicts: Iterable[Verdict],
    end: Repository,
    articles: Mapping[str, Reading],
    diffset: Mapping[str, Reading] | None,
    window: str,
) -> tuple[list[dict[str, Any]], dict[str, int], int]:
    """Probes, dropped by rule, and how many candidates there were.

    Args:
        verdicts: the candidates, sorted by triple.
        end: entities as of the end: labels and sitelinks.
        articles: live articles as of the end, by title.
        diffset: for changed facts, the articles with their diff sentences alone.
        window: name, part of the hash that chooses under the caps.
    """
    dropped: Counter[str] = Counter()
    kept: list[Candidate] = []
    seen: set[tuple[str, str, str]] = set()
    total = 0
    for verdict in verdicts:
        total += 1
        outcome = _align(verdict, end, articles, diffset)
        if isinstance(outcome, str):
            dropped[outcome] += 1
            continue
        rule = _refuse(outcome.texts, seen)
        if rule:
            dropped[rule] += 1
        else:
            kept.append(outcome)
        seen.add(outcome.texts)
    kept = _cap(kept, window, dropped)
    probes = [_probe(one) for one in sorted(kept, key=lambda one: one.verdict.triple)]
    return probes, {rule: dropped[rule] for rule in RULES}, total


def _align(
    verdict: Verdict,
    end: Repository,
    articles: Mapping[str, Reading],
    diffset: Mapping[str, Reading] | None,
) -> Candidate | str:
    """The candidate with its evidence, or the rule that drops it."""
    triple = verdict.triple
    subject, relation = end.label(triple.subject), end.label(triple.relation)
    label = end.object_label(triple, end)
    if subject is None or relation is None or label is None:
        return "no_label"
    title = end.items[triple.subject].sitelink
    if title is None or title not in articles:
        return "no_article"
    reading: Reading | None = articles[title]
    if diffset is not None:
        reading = diffset.get(title)
    if reading is None:
        return "not_in_diffset"
    evidence = next((one for one in reading.sentences if says(one, label)), None)
    if evidence is None:
        return "no_evidence"
    return Candidate(verdict, (subject, relation, label), reading, evidence)


def _refuse(texts: tuple[str, str, str], seen: set[tuple[str, str, str]]) -> str:
    subject, label = texts[0].casefold(), texts[2].casefold()
    if texts in seen:
        return "duplicate"
    if subject in label or label in subject:
        return "substring"
    return "object_words" if len(label.split()) > _MOST_WORDS else ""


def says(sentence: str, label: str) -> bool:
    """Whether the label stands in the sentence as whole words; ``3.5`` and ``1,234`` are one."""
    text, wanted = (one.casefold().translate(_DASHES) for one in (sentence, label))
    if wanted not in text:
        return False
    before = r"(?<!\w)(?<!\d[.,])" if wanted[0].isdigit() else r"(?<!\w)"
    after = r"(?!\w)(?![.,]\d)" if wanted[-1].isdigit() else r"(?!\w)"
    return re.search(before + re.escape(wanted) + after, text) is not None


def _cap(kept: list[Candidate], window: str, dropped: Counter[str]) -> list[Candidate]:
    """Drop, largest hash first, until no subject, relation or object has too large a share."""
    while True:
        size = len(kept)
        for column, (name, cap) in enumerate(_CAPS):
            allowed = max(1, math.floor(cap * len(kept)))
            by_value: dict[str, list[tuple[int, Candidate]]] = {}
            for one in kept:
                rank = digest(*one.verdict.triple, window)
                by_value.setdefault(one.texts[column], []).append((rank, one))
            left: set[Triple] = set()
            for ranked in by_value.values():
                ranked.sort(key=lambda pair: pair[0])
                left.update(one.verdict.triple for _, one in ranked[:allowed])
                dropped[f"{name}_cap"] += max(0, len(ranked) - allowed)
            kept = [one for one in kept if one.verdict.triple in left]
        if len(kept) == size:
            return kept


def _probe(one: Candidate) -> dict[str, Any]:
    return {
        "subject": one.texts[0],
        "relation": one.texts[1],
        "object": one.texts[2],
        "ids": list(one.verdict.triple),
        "class": one.verdict.outcome,
        "page_id": one.article.page_id,
        "page_title": one.article.title,
        "evidence": one.evidence,
    }
