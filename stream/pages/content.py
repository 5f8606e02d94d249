"""What the pages and the API tell alike: an article, a fact, a search, a reconciling."""

from collections.abc import Iterable
from typing import Any

from stream.pages.library import Shelved
from stream.pages.search import Hits
from stream.pages.site import Site, mapping
from twiki.windows.schema import Part

_MOST_SENTENCES = 1_000
_ARTICLE = ("title", "kind", "old_rev", "new_rev", "new_timestamp")
_SENTENCE = ("ordinal", "text", "kind", "replaced", "cosmetic")
_PROBE = (
    *("subject_qid", "relation_pid", "object_qid_or_value"),
    *("subject", "relation", "object", "class", "evidence", "page_title"),
)
_RECONCILED = ("pages", "entities")


def article(
    site: Site, shelf: Shelved, page_id: int, *, whole: bool = False
) -> dict[str, Any] | None:
    """An article's row, its sentences and its facts; None where the window has nothing of it.

    ``whole``: all columns, not those of the page alone.
    """
    row = site.reading.article(shelf, page_id, *(() if whole else _ARTICLE))
    facts = [
        {**fact, "part": part.value}
        for part in (Part.PROBES_CHANGED, Part.PROBES_UNCHANGED, Part.PROBES_REMOVED)
        for fact in site.reading.facts_of(shelf, part, page_id, *(() if whole else _PROBE))
    ]
    if row is None and not facts:
        return None
    sentences = site.reading.sentences(shelf, page_id, *(() if whole else _SENTENCE))
    stated: dict[str, list[str]] = {}
    for fact in facts:
        if fact["evidence"]:
            stated.setdefault(fact["evidence"], []).append(fact["object"])
    return {
        "article": row,
        "page_id": page_id,
        "title": row["title"] if row else facts[0]["page_title"],
        "sentences": sentences[:_MOST_SENTENCES],
        "facts": facts,
        "stated": stated,
    }


def fact(
    site: Site, shelf: Shelved, part: Part, subject: str, relation: str, digest: str
) -> dict[str, Any] | None:
    """A fact with the paragraph around its evidence and the models' scores."""
    row = site.reading.fact(shelf, part, subject, relation, digest)
    if row is None:
        return None
    before, after = _around(site, shelf, row)
    return {
        "fact": row,
        "before": before,
        "after": after,
        "scores": site.models.scores(shelf.id, row),
        "digest": digest,
    }


def search(
    site: Site,
    shelf: Shelved,
    asked: str,
    where: str,
    after: int,
    limit: int,
    *,
    whole: bool = False,
) -> dict[str, Any]:
    """Hits in ``sentences`` or ``facts``, with their rows; ``whole``: all columns of facts."""
    if where == "facts":
        hits = site.indexes.facts(shelf, asked, after=after, limit=limit)
        keys = site.indexes.fact_keys(shelf, hits.rows) if hits.rows else []
        return {
            "hits": hits,
            "rows": site.reading.facts_at(shelf, keys, whole=whole),
            "next": _next(hits),
        }
    hits = site.indexes.sentences(shelf, asked, after=after, limit=limit)
    return {"hits": hits, "rows": site.indexes.sentences_at(shelf, hits.rows), "next": _next(hits)}


def reconciled(site: Site, shelf: Shelved) -> list[dict[str, Any]] | None:
    """The classes of pages and of entities with their examples; None: no dump was at hand."""
    found = site.library.reconcile(shelf)
    if found is None:
        return None
    told = []
    for subject in _RECONCILED:
        about = mapping(found.get(subject))
        examples = mapping(about.get("examples"))
        classes = mapping(about.get("classes"))
        told.append(
            {
                "subject": subject,
                "in_dump": about.get("in_dump"),
                "had": about.get("had"),
                "completeness": about.get("completeness"),
                "classes": [
                    {"name": name, "count": count, "examples": list(examples.get(name, ()))}
                    for name, count in classes.items()
                ],
            }
        )
    return told


def _around(site: Site, shelf: Shelved, row: dict[str, Any]) -> tuple[str, str]:
    """What stands before and after the evidence in its paragraph, as far as the dataset has it."""
    evidence, page_id = row["evidence"], row["page_id"]
    if not evidence or page_id is None:
        return "", ""
    found = site.reading.sentences(shelf, page_id, "ordinal", "text", "block", "paragraph")
    place = next((s for s in found if s["text"] == evidence), None)
    if place is not None:
        same = [
            s for s in found if (s["block"], s["paragraph"]) == (place["block"], place["paragraph"])
        ]
        return (
            _joined(s["text"] for s in same if s["ordinal"] < place["ordinal"]),
            _joined(s["text"] for s in same if s["ordinal"] > place["ordinal"]),
        )
    for passage in site.reading.passages(shelf, page_id):
        for paragraph in passage["text"].split("\n"):
            before, hit, after = paragraph.partition(evidence)
            if hit:
                return before.strip(), after.strip()
    return "", ""


def _joined(sentences: Iterable[str]) -> str:
    return " ".join(sentences)


def _next(hits: Hits) -> int | None:
    return hits.rows[-1] if hits.more and hits.rows else None
