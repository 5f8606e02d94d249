"""The world's own books: what is true of a window, worked out from the structured truth.

This is the oracle that the system is held against. It reads sentences as lists and
statements as tuples, applies the laws with its own code, and shares nothing with the code
that it judges: no cleaner, no differ, no decoder, no probe builder of ``twiki``.
"""

import unicodedata
from collections import Counter, deque
from datetime import datetime
from typing import Any, NamedTuple

from stream.sandbox.bookfacts import Repository, Verdict, is_sampled, judge
from stream.sandbox.bookprobes import Reading, select
from stream.sandbox.feed import iso
from stream.sandbox.model import Books
from stream.sandbox.prose import Document, Part, Sentence
from stream.sandbox.wiki import PageState, Wiki
from twiki.records import Window


class ArticleAt(NamedTuple):
    """A live article at a boundary; ``document`` None: hidden, and hidden before."""

    title: str
    rev_id: int
    document: Document | None


class Difference(NamedTuple):
    """What an article gained: (sentence, index of its paragraph); and lost."""

    gained: list[tuple[Sentence, int]]
    lost: list[Sentence]


def keep_books(
    enwiki: Wiki,
    repository: Wiki,
    window: Window,
    *,
    before: datetime | None,
    known_at: datetime,
    unchanged_rate: float = 1.0,
) -> Books:
    """The books of a window.

    Args:
        enwiki: the articles.
        repository: the entities.
        window: which window.
        before: the boundary before the window's start; None: there is none.
        known_at: revisions hidden until then count as hidden.
        unchanged_rate: share of unchanged facts that are chosen.
    """
    old = live_articles(enwiki, window.start, before, known_at)
    new = live_articles(enwiki, window.end, window.start, known_at)
    articles = [
        entry
        for page_id, article in sorted(new.items())
        if (entry := _entry(page_id, old.get(page_id), article)) is not None
    ]
    start, end = Repository(repository, window.start), Repository(repository, window.end)
    verdicts = list(judge(start, end))
    changed = [one for one in verdicts if one.outcome.startswith("new_")]
    unchanged = [
        one
        for one in verdicts
        if one.outcome == "unchanged" and is_sampled(one.triple, unchanged_rate)
    ]
    # Only subjects with an article make candidates.
    about = {item.id for item in end.items.values() if item.sitelink}
    candidates = [one for one in changed if one.triple.subject in about]
    stayed = [one for one in unchanged if one.triple.subject in about]
    removed = [one for one in verdicts if one.outcome == "removed"]
    readings = {
        article.title: Reading(page_id, article.title, _texts(article.document))
        for page_id, article in new.items()
    }
    diffset = {
        entry["title"]: Reading(
            entry["page_id"], entry["title"], [one["text"] for one in entry["sentences"]]
        )
        for entry in articles
    }
    probes, dropped, count = select(candidates, end, readings, diffset, window.name)
    same, dropped_same, count_same = select(stayed, end, readings, None, window.name)
    linked = {item.id for item in start.items.values() if item.sitelink}
    removed_rows = [_fact(one) | {"listed": one.triple.subject in linked} for one in removed]
    data: dict[str, Any] = {
        "window": window.name,
        "start": iso(window.start),
        "end": iso(window.end),
        "articles": articles,
        "facts_changed": [_fact(one) for one in changed],
        "facts_unchanged": [_fact(one) for one in unchanged],
        "facts_removed": removed_rows,
        "probes_changed": probes,
        "probes_unchanged": same,
        "dropped_changed": dropped,
        "dropped_unchanged": dropped_same,
    }
    kinds = Counter(entry["kind"] for entry in articles)
    data["counts"] = {
        "articles_live": len(new),
        "articles_new": kinds["new_article"],
        "articles_updated": kinds["updated"],
        "articles_without_text": sum(article.document is None for article in new.values()),
        "diff_sentences": sum(len(entry["sentences"]) for entry in articles),
        "facts_changed": len(changed),
        "facts_unchanged": len(unchanged),
        "facts_removed": len(removed),
        "facts_removed_listed": sum(row["listed"] for row in removed_rows),
        "candidates_changed": count,
        "candidates_unchanged": count_same,
        "probes_changed": len(probes),
        "probes_unchanged": len(same),
    }
    return Books(window=window.name, data=data)


# --- articles -------------------------------------------------------------------------------


def live_articles(
    wiki: Wiki, boundary: datetime, before: datetime | None, known_at: datetime
) -> dict[int, ArticleAt]:
    """Live articles just before a boundary, by page id.

    A hidden text gives way to the text of the boundary ``before``, if the page was a live
    article there with a text that can be read.
    """
    found = {}
    for page_id, state in wiki.live_before(boundary):
        document = _document(wiki, state)
        if document is None:
            continue
        shown: Document | None = document
        if _is_hidden(wiki, state, known_at):
            earlier = wiki.pages[page_id].before(before) if before else None
            readable = earlier is not None and not _is_hidden(wiki, earlier, known_at)
            shown = _document(wiki, earlier) if earlier and readable else None
        found[page_id] = ArticleAt(state.title, state.rev_id, shown)
    return found


def _is_hidden(wiki: Wiki, state: PageState, known_at: datetime) -> bool:
    return "text" in wiki.hidden_fields(state.rev_id, known_at)


def _document(wiki: Wiki, state: PageState) -> Document | None:
    """The text of a page that is an article; tested after its revision was found."""
    if state.deleted:
        return None
    content = wiki.revisions[state.rev_id].content
    return content if state.namespace == 0 and isinstance(content, Document) else None


def _texts(document: Document | None) -> list[str]:
    return [one.clean for one in document.sentences()] if document else []


def key(sentence: str) -> str:
    """What makes two sentences the same: their Unicode form and white space do not count."""
    return unicodedata.normalize("NFC", " ".join(sentence.split()))


def difference(old: Document | None, new: Document) -> Difference:
    """Sentences of ``new`` beyond those of ``old``, as a multiset, and the other way round.

    Paragraphs that are equal to the letter are set aside first, in order; of a sentence that
    stands more often than before, the last ones in reading order are the new ones.
    """
    old_parts = list(old.parts()) if old else []
    new_parts = list(new.parts())
    equal = Counter(part.markup for part in old_parts)
    equal &= Counter(part.markup for part in new_parts)
    kept_old, kept_new = _set_aside(old_parts, equal), _set_aside(new_parts, equal)
    return Difference(
        _surplus(kept_new, kept_old), [one for one, _ in _surplus(kept_old, kept_new)]
    )


def _set_aside(parts: list[Part], equal: Counter[str]) -> list[tuple[Part, int]]:
    left = Counter(equal)
    rest = []
    for index, part in enumerate(parts):
        if left[part.markup] > 0:
            left[part.markup] -= 1
        else:
            rest.append((part, index))
    return rest


def _surplus(
    parts: list[tuple[Part, int]], others: list[tuple[Part, int]]
) -> list[tuple[Sentence, int]]:
    spare = Counter(key(one.clean) for part, _ in others for one in part.sentences)
    found = []
    for part, index in parts:
        for one in part.sentences:
            if spare[key(one.clean)] > 0:
                spare[key(one.clean)] -= 1
            else:
                found.append((one, index))
    return found


def _entry(page_id: int, old: ArticleAt | None, new: ArticleAt) -> dict[str, Any] | None:
    """An article's place in the diffset; None: it says nothing new."""
    if new.document is None or (old is not None and old.document is None):
        return None
    change = difference(old.document if old else None, new.document)
    if not change.gained:
        return None
    lost: dict[str, deque[str]] = {}
    for one in change.lost:
        lost.setdefault(one.slot, deque()).append(one.clean)
    sentences, text, last = [], "", -1
    for one, paragraph in change.gained:
        replaced = lost[one.slot].popleft() if one.slot and lost.get(one.slot) else None
        kind = "updated" if replaced else "added"
        sentences.append(
            {
                "kind": kind if old else "new_article",
                "text": one.clean,
                "replaced": replaced,
                "paragraph": paragraph,
            }
        )
        if text:
            text += " " if paragraph == last else "\n"
        text += one.clean
        last = paragraph
    return {
        "page_id": page_id,
        "title": new.title,
        "kind": "updated" if old else "new_article",
        "old_rev": old.rev_id if old else None,
        "new_rev": new.rev_id,
        "text": text,
        "sentences": sentences,
        "removed": [one.clean for one in change.lost],
    }


def _fact(verdict: Verdict) -> dict[str, Any]:
    triple = verdict.triple
    return {
        "subject": triple.subject,
        "relation": triple.relation,
        "object": triple.object,
        "class": verdict.outcome,
        "previous_objects": list(verdict.previous),
    }
