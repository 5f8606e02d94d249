"""Quality control: the paper's rules over rows of subject, relation and object (L11, L12, L14).

Two lists hold all of it. :data:`ROW_RULES` look at one row; the first that a row breaks drops
and counts it. The caps look at the whole set and are a fixed point: what they leave keeps every
cap *of its own size*. Repetitions are dropped in between.

Small sets: a cap allows ``floor(cap * n)`` rows of a value, and never less than one, so that in
a set of ten rows each value stays once.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TypeVar

from twiki.config import QualityConfig
from twiki.facts import text_hash
from twiki.records import Record
from twiki.windows.matching import fold_label

COLUMNS = ("Subject", "Relation", "Object")

NO_LABEL = "no_label"
NO_ARTICLE = "no_article"
NOT_IN_DIFFSET = "not_in_diffset"
NO_EVIDENCE = "no_evidence"
DUPLICATE = "duplicate"


class Row(Record, frozen=True):
    """A fact as texts, with the ids (or again the texts) that its hash is made of."""

    subject: str
    relation: str
    object: str
    key: tuple[str, str, str]

    @property
    def texts(self) -> tuple[str, str, str]:
        """Subject, relation and object as a reader sees them."""
        return (self.subject, self.relation, self.object)


def no_label(row: Row, _: QualityConfig) -> bool:
    """A text is empty."""
    return not (row.subject.strip() and row.relation.strip() and row.object.strip())


def substring(row: Row, _: QualityConfig) -> bool:
    """Subject or object contains the other (Rule 1, no exemption for word boundaries)."""
    subject, obj = fold_label(row.subject), fold_label(row.object)
    return subject in obj or obj in subject


def object_words(row: Row, config: QualityConfig) -> bool:
    """The object has more words than are allowed (Rule 2)."""
    return len(row.object.split()) > config.max_object_words


ROW_RULES: tuple[Callable[[Row, QualityConfig], bool], ...] = (substring, object_words)
"""Rules that a row breaks alone, in the order in which they are asked."""


class Cap(Record, frozen=True):
    """At most ``share`` of the rows may have one value in ``column`` (Rule 3)."""

    name: str
    column: int
    share: float

    def allowed(self, size: int) -> int:
        """Rows of one value in a set of ``size``."""
        return max(1, int(self.share * size))


def caps(config: QualityConfig) -> tuple[Cap, ...]:
    """The caps in the order in which they are applied."""
    return (
        Cap(name="subject_cap", column=0, share=config.subject_cap),
        Cap(name="relation_cap", column=1, share=config.relation_cap),
        Cap(name="object_cap", column=2, share=config.object_cap),
    )


RULES = (
    NO_LABEL,
    NO_ARTICLE,
    NOT_IN_DIFFSET,
    NO_EVIDENCE,
    DUPLICATE,
    *(rule.__name__ for rule in ROW_RULES),
    *(cap.name for cap in caps(QualityConfig())),
)
"""Every rule in the order in which an instance meets them: the keys of all counts (L14)."""

R = TypeVar("R", bound=Row)


class Kept(Record, frozen=True):
    """Indices into the rows given, in their order."""

    kept: tuple[int, ...]
    capped: tuple[int, ...]
    dropped: dict[str, int]
    """Every name in :data:`RULES`, with 0 where nothing was dropped."""


def check(rows: Sequence[Row], config: QualityConfig, window: str) -> Kept:
    """Apply duplicates, row rules and caps; ``window`` salts the hash that caps choose by."""
    dropped = dict.fromkeys(RULES, 0)
    passing: list[int] = []
    for index in _distinct(rows, dropped):
        for rule in ROW_RULES:
            if rule(rows[index], config):
                dropped[rule.__name__] += 1
                break
        else:
            passing.append(index)
    capped = _cap(rows, passing, caps(config), window, dropped)
    return Kept(
        kept=tuple(index for index in passing if index not in capped),
        capped=tuple(sorted(capped)),
        dropped=dropped,
    )


def _distinct(rows: Sequence[Row], dropped: dict[str, int]) -> list[int]:
    """Of rows with the same texts the one whose ids sort first."""
    first: dict[tuple[str, str, str], int] = {}
    for index, row in enumerate(rows):
        kept = first.setdefault(row.texts, index)
        if kept != index:
            dropped[DUPLICATE] += 1
            if row.key < rows[kept].key:
                first[row.texts] = index
    return sorted(first.values())


def _cap(
    rows: Sequence[Row],
    passing: Sequence[int],
    limits: Sequence[Cap],
    window: str,
    dropped: dict[str, int],
) -> set[int]:
    """Rows to drop so that every cap holds for what is left."""
    gone: set[int] = set()
    columns = [_Column(rows, passing, cap, window) for cap in limits]
    while True:
        before = len(gone)
        for column in columns:
            for value, excess in column.over(len(passing) - len(gone)):
                for index in column.largest(value, excess, gone):
                    gone.add(index)
                    dropped[column.cap.name] += 1
                    for other in columns:
                        other.forget(index)
        if len(gone) == before:
            return gone


class _Column:
    """One capped column: how many rows of each value are left, and which go first."""

    def __init__(self, rows: Sequence[Row], passing: Sequence[int], cap: Cap, window: str) -> None:
        self.cap = cap
        self._rows = rows
        self._window = window
        self._members: dict[str, list[int]] = defaultdict(list)
        for index in passing:
            self._members[self._value(index)].append(index)
        self._left = {value: len(members) for value, members in self._members.items()}
        self._ordered: set[str] = set()

    def over(self, size: int) -> list[tuple[str, int]]:
        """Values with more rows than a set of ``size`` may have of them, and how many more."""
        allowed = self.cap.allowed(size)
        return [(value, left - allowed) for value, left in self._left.items() if left > allowed]

    def largest(self, value: str, count: int, gone: set[int]) -> list[int]:
        """The ``count`` remaining rows of a value with the largest hashes."""
        members = self._members[value]
        if value not in self._ordered:
            self._ordered.add(value)
            members.sort(key=self._rank)
        taken: list[int] = []
        while len(taken) < count:
            index = members.pop()
            if index not in gone:
                taken.append(index)
        return taken

    def forget(self, index: int) -> None:
        """Count a row that was dropped by any column."""
        self._left[self._value(index)] -= 1

    def _value(self, index: int) -> str:
        return self._rows[index].texts[self.cap.column]

    def _rank(self, index: int) -> tuple[int, tuple[str, ...]]:
        row = self._rows[index]
        return text_hash(*row.key, self._window), (*row.key, *row.texts)


def shares(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Share of every value of every column, the largest first, equal ones by name."""
    result: dict[str, dict[str, float]] = {}
    for place, column in enumerate(COLUMNS):
        counts: dict[str, int] = defaultdict(int)
        for row in rows:
            counts[row.texts[place]] += 1
        ranking = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        result[column] = {value: count / len(rows) for value, count in ranking}
    return result


class Review(Record, frozen=True):
    """Which rows break which rule, and which values a cap, in a table as it is."""

    broken: dict[str, tuple[int, ...]]
    over: dict[str, dict[str, float]]


def review(rows: Sequence[Row], config: QualityConfig) -> Review:
    """Hold a table to the rules without dropping anything: a row may break several."""
    broken: dict[str, list[int]] = {NO_LABEL: [], DUPLICATE: []}
    broken |= {rule.__name__: [] for rule in ROW_RULES}
    seen: set[tuple[str, str, str]] = set()
    for index, row in enumerate(rows):
        if row.texts in seen:
            broken[DUPLICATE].append(index)
        seen.add(row.texts)
        for rule in (no_label, *ROW_RULES):
            if rule(row, config):
                broken[rule.__name__].append(index)
    table = shares(rows)
    over = {
        cap.name: {
            value: share
            for value, share in table[COLUMNS[cap.column]].items()
            if round(share * len(rows)) > cap.allowed(len(rows))
        }
        for cap in caps(config)
    }
    return Review(broken={rule: tuple(found) for rule, found in broken.items()}, over=over)
