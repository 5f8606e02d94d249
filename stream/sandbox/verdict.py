"""A dataset held against the world's own books: what is missing, what should not be there."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from stream.sandbox.model import Books
from twiki.records import Record
from twiki.windows.dataset import Dataset, Part

_EXAMPLES = 10


class Verdict(Record, frozen=True, kw_only=True):
    """Differences between a dataset and the books, counted by table."""

    window: str
    missing: int
    unexpected: int
    by_table: dict[str, tuple[int, int]]
    """Table -> (missing, unexpected)."""
    examples: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether the dataset is what the world did, exactly."""
        return not self.missing and not self.unexpected


def judge(dataset: Dataset, books: Books) -> Verdict:
    """Compare diff sentences, articles, facts and probes."""
    data = books.data
    pairs = {
        "articles": (_written_articles(dataset), _true_articles(data)),
        "sentences": (_written_sentences(dataset), _true_sentences(data)),
        "facts_removed": (_written_removed(dataset), _true_removed(data)),
        "probes_changed": (
            _written_probes(dataset, Part.PROBES_CHANGED),
            _true_probes(data["probes_changed"]),
        ),
        "probes_unchanged": (
            _written_probes(dataset, Part.PROBES_UNCHANGED),
            _true_probes(data["probes_unchanged"]),
        ),
        "quality_changed": (_written_drops(dataset, "changed"), _true_drops(data, "changed")),
        "quality_unchanged": (_written_drops(dataset, "unchanged"), _true_drops(data, "unchanged")),
    }
    tables: dict[str, tuple[int, int]] = {}
    examples: list[str] = []
    for table, (written, true) in pairs.items():
        missing, unexpected = true - written, written - true
        tables[table] = (missing.total(), unexpected.total())
        examples += [f"{table}: missing {row}" for row in sorted(missing)[:_EXAMPLES]]
        examples += [f"{table}: unexpected {row}" for row in sorted(unexpected)[:_EXAMPLES]]
    return Verdict(
        window=books.window,
        missing=sum(missing for missing, _ in tables.values()),
        unexpected=sum(unexpected for _, unexpected in tables.values()),
        by_table=tables,
        examples=tuple(examples),
    )


def _counted(rows: Iterable[tuple[Any, ...]]) -> Counter[str]:
    return Counter(repr(row) for row in rows)


def _written_articles(dataset: Dataset) -> Counter[str]:
    return _counted(
        (r.id, r.title, str(r.kind), r.old_rev, r.new_rev, r.text)
        for r in dataset.rows(Part.DIFFSET)
    )


def _true_articles(data: dict[str, Any]) -> Counter[str]:
    return _counted(
        (a["page_id"], a["title"], a["kind"], a["old_rev"], a["new_rev"], a["text"])
        for a in data["articles"]
    )


def _written_sentences(dataset: Dataset) -> Counter[str]:
    return _counted((r.id, r.text) for r in dataset.rows(Part.SENTENCES))


def _true_sentences(data: dict[str, Any]) -> Counter[str]:
    return _counted((a["page_id"], s["text"]) for a in data["articles"] for s in a["sentences"])


def _written_removed(dataset: Dataset) -> Counter[str]:
    return _counted(
        (r.subject_qid, r.relation_pid, r.object_qid_or_value)
        for r in dataset.rows(Part.FACTS_REMOVED)
    )


def _true_removed(data: dict[str, Any]) -> Counter[str]:
    return _counted(
        (f["subject"], f["relation"], f["object"]) for f in data["facts_removed"] if f["listed"]
    )


def _written_probes(dataset: Dataset, part: Part) -> Counter[str]:
    return _counted(
        (
            (r.subject, r.relation, r.object),
            (r.subject_qid, r.relation_pid, r.object_qid_or_value),
            str(r.fact_class),
            r.page_id,
            r.page_title,
            r.evidence,
        )
        for r in dataset.rows(part)
    )


def _true_probes(probes: list[dict[str, Any]]) -> Counter[str]:
    return _counted(
        (
            (p["subject"], p["relation"], p["object"]),
            tuple(p["ids"]),
            p["class"],
            p["page_id"],
            p["page_title"],
            p["evidence"],
        )
        for p in probes
    )


def _written_drops(dataset: Dataset, category: str) -> Counter[str]:
    steps = dataset.stats()["quality"][category]["dropped"]
    return _counted((step["rule"], step["count"]) for step in steps)


def _true_drops(data: dict[str, Any], category: str) -> Counter[str]:
    return _counted(data[f"dropped_{category}"].items())
