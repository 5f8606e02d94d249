"""What differs between two datasets, windows or versions: in numbers and in rows.

Both sides of a part are sorted by the same key, so one pass over both finds what is only here,
only there, or under the same key with other values; memory stays bounded.
"""

from collections.abc import Iterator
from typing import Any

from twiki.records import Record
from twiki.windows.dataset import Dataset, row_key
from twiki.windows.schema import Part, order_key

_CHANGED, _ONLY_A, _ONLY_B = "changed", "only_a", "only_b"


class RowDifference(Record, frozen=True, kw_only=True):
    """A row that differs: ``where`` is only_a, only_b or changed, then in ``columns``."""

    key: str
    where: str
    columns: tuple[str, ...] = ()


class PartDifference(Record, frozen=True, kw_only=True):
    """What differs in one part; ``rows`` are the first few of ``only_a + only_b + changed``."""

    rows_a: int
    rows_b: int
    only_a: int = 0
    only_b: int = 0
    changed: int = 0
    rows: tuple[RowDifference, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether all rows are the same."""
        return not (self.only_a or self.only_b or self.changed)


class Comparison(Record, frozen=True, kw_only=True):
    """Two datasets held against each other."""

    a: str
    b: str
    equal: bool
    """Whether all data files have the same bytes."""
    files: tuple[str, ...]
    """Data files whose bytes differ, or that only one has."""
    settings: dict[str, list[Any]]
    """Dotted name of a setting → its two values, where they differ."""
    stats: dict[str, list[Any]]
    """Dotted name of a number in ``stats.json`` → its two values, where they differ."""
    parts: dict[str, PartDifference]


def compare(a: Dataset, b: Dataset, limit: int = 20) -> Comparison:
    """Compare two open datasets; of each part name at most ``limit`` rows.

    Raises:
        DatasetError: a file that cannot be read.
    """
    data_a, data_b = a.manifest.data, b.manifest.data
    names = sorted({*data_a.files, *data_b.files})
    files = tuple(name for name in names if data_a.files.get(name) != data_b.files.get(name))
    settings = _differing(dict(_flat(data_a.settings)), dict(_flat(data_b.settings)))
    return Comparison(
        a=a.id,
        b=b.id,
        equal=not files and not settings and data_a.interval == data_b.interval,
        files=files,
        settings=settings,
        stats=_differing(dict(_numbers(a.stats())), dict(_numbers(b.stats()))),
        parts={part.value: _compare_part(a, b, part, limit) for part in Part},
    )


def _compare_part(a: Dataset, b: Dataset, part: Part, limit: int) -> PartDifference:
    counts = {_ONLY_A: 0, _ONLY_B: 0, _CHANGED: 0}
    shown: list[RowDifference] = []
    if a.manifest.data.files[part.file] != b.manifest.data.files[part.file]:
        for difference in _differences(a.rows(part), b.rows(part)):
            counts[difference.where] += 1
            if len(shown) < limit:
                shown.append(difference)
    return PartDifference(rows_a=a.counts[part], rows_b=b.counts[part], rows=tuple(shown), **counts)


def _differences(a: Iterator[Record], b: Iterator[Record]) -> Iterator[RowDifference]:
    """Merge two sorted runs of rows and yield what is not the same in both."""
    left, right = next(a, None), next(b, None)
    while left is not None or right is not None:
        if right is None or (left is not None and order_key(left) < order_key(right)):
            assert left is not None  # noqa: S101 - the loop's condition, for the type checker
            yield RowDifference(key=row_key(left), where=_ONLY_A)
            left = next(a, None)
        elif left is None or order_key(right) < order_key(left):
            yield RowDifference(key=row_key(right), where=_ONLY_B)
            right = next(b, None)
        else:
            columns = tuple(_columns(left, right))
            if columns:
                yield RowDifference(key=row_key(left), where=_CHANGED, columns=columns)
            left, right = next(a, None), next(b, None)


def _columns(left: Record, right: Record) -> Iterator[str]:
    for name, column in zip(left.__struct_fields__, left.__struct_encode_fields__, strict=True):
        if getattr(left, name) != getattr(right, name):
            yield column


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - JSON
    """Yield (dotted name, value) for everything in a tree of maps; lists count as values."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else str(key))
    else:
        yield name, value


def _numbers(stats: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the numbers of ``stats.json``; a list of counts by its values or rules."""
    for name, value in _flat(stats):
        if isinstance(value, list):
            for entry in value:
                label = entry.get("rule", entry.get("value"))
                yield f"{name}.{label}", entry["count"]
        elif isinstance(value, int | float):
            yield name, value


def _differing(a: dict[str, Any], b: dict[str, Any]) -> dict[str, list[Any]]:
    names = sorted({*a, *b})
    return {name: [a.get(name), b.get(name)] for name in names if a.get(name) != b.get(name)}
