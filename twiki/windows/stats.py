"""``stats.json``: the counts of the paper's Tables 1 and 2, and every step of quality control.

A :class:`Tally` sees every row once, as it is written. A word is a run without white space
(``str.split``), bytes are UTF-8, tokens need a tokenizer and are null without one.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import blake2b
from heapq import heappush, heapreplace
from pathlib import Path
from typing import Any

import msgspec

from twiki.errors import DatasetError
from twiki.records import Category, Record
from twiki.windows.schema import (
    DiffsetRow,
    NondiffRow,
    Part,
    ProbeRow,
    SentenceRow,
    order_key,
)

Tokenizer = Callable[[str], int]
"""Text in, number of tokens out."""

ALIGNMENT = ("no_label", "no_article", "not_in_diffset", "no_evidence")
"""Rules whose survivors the paper's Table 2 calls aligned; the later ones are its heuristics."""

_TOP_RELATIONS = 30
_EXAMPLES = 5
_PROBES = {
    Part.PROBES_CHANGED: Category.CHANGED,
    Part.PROBES_UNCHANGED: Category.UNCHANGED,
    Part.PROBES_REMOVED: Category.REMOVED,
}


class Volume(Record, frozen=True, kw_only=True):
    """How much text: a row of Table 1."""

    articles: int = 0
    sentences: int | None = 0
    words: int = 0
    bytes: int = 0
    tokens: int | None = None


class _Corpus(msgspec.Struct):
    wiki: str
    as_of: datetime
    counts: Volume


def snapshot_volume(corpus_manifest: Path, wiki: str, as_of: datetime) -> Volume:
    """Return the size of the whole corpus of ``wiki`` as of a boundary from its manifest.

    Raises:
        DatasetError: it cannot be read, or is of another wiki or boundary.
    """
    try:
        corpus = msgspec.json.decode(corpus_manifest.read_bytes(), type=_Corpus)
    except (OSError, msgspec.MsgspecError) as error:
        raise DatasetError(
            f"{corpus_manifest}: expected the manifest of a corpus, found: {error}"
        ) from error
    if (corpus.wiki, corpus.as_of) != (wiki, as_of):
        raise DatasetError(
            f"{corpus_manifest}: expected the corpus of {wiki} as of {as_of:%Y-%m-%d %H:%M}, "
            f"found {corpus.wiki} as of {corpus.as_of:%Y-%m-%d %H:%M}"
        )
    return corpus.counts


class QualitySteps(Record, frozen=True, kw_only=True):
    """Quality control of one category: candidates and what each rule dropped, in rule order."""

    candidates: int = 0
    dropped: dict[str, int] = msgspec.field(default_factory=dict)

    @property
    def kept(self) -> int:
        """What is left."""
        return self.candidates - sum(self.dropped.values())

    @property
    def aligned(self) -> int:
        """What passed alignment, before the heuristics."""
        return self.candidates - sum(self.dropped.get(rule, 0) for rule in ALIGNMENT)


class Tally:
    """Counts of the rows seen so far."""

    def __init__(self, tokenizer: Tokenizer | None = None, tokenizer_name: str = "") -> None:
        self._tokenizer = tokenizer
        self._tokenizer_name = tokenizer_name
        self.rows: Counter[Part] = Counter()
        self._words: Counter[Part] = Counter()
        self._bytes: Counter[Part] = Counter()
        self._tokens: Counter[Part] = Counter()
        self._articles: Counter[Part] = Counter()
        self._last: dict[Part, int] = {}
        self._kinds: dict[str, Counter[str]] = {
            name: Counter() for name in ("articles", "sentences", "classes", "removed_datatypes")
        }
        self._relations: dict[Part, Counter[str]] = {part: Counter() for part in _PROBES}
        self._datatypes: dict[Part, Counter[str]] = {part: Counter() for part in _PROBES}
        self._examples: dict[Part, list[tuple[int, int, ProbeRow]]] = {part: [] for part in _PROBES}
        self._cosmetic = 0

    def add(self, part: Part, row: Record) -> None:
        """Count one row."""
        self.rows[part] += 1
        match row:
            case DiffsetRow():
                self._text(part, row.id, row.text)
                self._kinds["articles"][row.kind] += 1
            case NondiffRow():
                self._text(part, row.id, row.text)
            case SentenceRow():
                self._kinds["sentences"][row.kind] += 1
                self._cosmetic += row.cosmetic
            case ProbeRow() if part in _PROBES:
                self._kinds["classes"][row.fact_class] += 1
                self._relations[part][row.relation] += 1
                self._datatypes[part][row.object_datatype] += 1
                self._example(part, row)
            case ProbeRow() if part is Part.FACTS_REMOVED:
                self._kinds["removed_datatypes"][row.object_datatype] += 1
            case _:
                pass

    def volume(self, part: Part, sentences: int | None) -> Volume:
        """Return how much text the part holds."""
        return Volume(
            articles=self._articles[part],
            sentences=sentences,
            words=self._words[part],
            bytes=self._bytes[part],
            tokens=self._tokens[part] if self._tokenizer else None,
        )

    def examples(self, part: Part) -> tuple[ProbeRow, ...]:
        """Return a few probes, chosen by a hash of the fact, in that order."""
        return tuple(row for _, _, row in sorted(self._examples[part], key=lambda e: -e[0]))

    def relations(self, part: Part) -> list[tuple[str, int]]:
        """Return the most frequent relations of a set of probes."""
        return _ranked(self._relations[part])[:_TOP_RELATIONS]

    def _text(self, part: Part, page: int, text: str) -> None:
        self._words[part] += len(text.split())
        self._bytes[part] += len(text.encode())
        if self._tokenizer:
            self._tokens[part] += self._tokenizer(text)
        if self._last.get(part) != page:
            self._articles[part] += 1
            self._last[part] = page

    def _example(self, part: Part, row: ProbeRow) -> None:
        key = "|".join(order_key(row)).encode("utf-8", "replace")
        rank = -int.from_bytes(blake2b(key, digest_size=8).digest(), "big")
        heap = self._examples[part]
        item = (rank, -self.rows[part], row)
        if len(heap) < _EXAMPLES:
            heappush(heap, item)
        elif item > heap[0]:
            heapreplace(heap, item)

    def report(
        self,
        quality: Mapping[Category, QualitySteps],
        snapshot: Volume | None = None,
        entity_types: Mapping[str, Mapping[str, int]] | None = None,
    ) -> dict[str, Any]:
        """Return the content of ``stats.json``: maps, lists, texts and numbers.

        Raises:
            DatasetError: the steps of quality control do not add up to the probes (L14).
        """
        for part, category in _PROBES.items():
            steps = quality.get(category)
            if steps is not None and steps.kept != self.rows[part]:
                raise DatasetError(
                    f"{part.file}: quality control kept {steps.kept} of {steps.candidates} "
                    f"candidates, found {self.rows[part]} probes: every drop must be counted"
                )
        types = {name: Counter(kinds) for name, kinds in (entity_types or {}).items()}
        content = {
            "tokenizer": self._tokenizer_name or None,
            "table1": {
                "snapshot": snapshot,
                "diffset": self.volume(Part.DIFFSET, self.rows[Part.SENTENCES]),
                "nondiff": self.volume(Part.NONDIFF, None),
            },
            "table2": {
                category.value: {
                    "categorised": steps.candidates,
                    "aligned": steps.aligned,
                    "filtered": steps.kept,
                }
                for category, steps in sorted(quality.items())
            },
            "quality": {
                category.value: {
                    "candidates": steps.candidates,
                    "dropped": [{"rule": r, "count": n} for r, n in steps.dropped.items()],
                    "kept": steps.kept,
                }
                for category, steps in sorted(quality.items())
            },
            "rows": {part.value: self.rows[part] for part in Part},
            "articles": _counts(self._kinds["articles"]),
            "sentences": {**_counts(self._kinds["sentences"]), "cosmetic": self._cosmetic},
            "classes": _counts(self._kinds["classes"]),
            "relations": {p.value: _pairs(self.relations(p)) for p in _PROBES},
            "object_datatypes": {p.value: _pairs(_ranked(self._datatypes[p])) for p in _PROBES},
            "removed_datatypes": _pairs(_ranked(self._kinds["removed_datatypes"])),
            "entity_types": {name: _pairs(_ranked(types[name])) for name in sorted(types)} or None,
        }
        plain: dict[str, Any] = msgspec.to_builtins(content)
        return plain


def _ranked(counter: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counter.items(), key=lambda item: (-item[1], item[0]))


def _pairs(items: list[tuple[str, int]]) -> list[dict[str, Any]]:
    return [{"value": value, "count": count} for value, count in items]


def _counts(counter: Counter[str]) -> dict[str, int]:
    return {str(name): counter[name] for name in sorted(counter)}
