"""What there is to tell the moment a revision is applied: diff sentences and facts.

The live feed compares the open end before and after one revision. It is not net: an edit
and its revert both appear. A window's dataset is cut from the boundaries instead. Ids are a
hash of what is told, never of when or in which order it came, so that the same events give
the same records in every engine.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from hashlib import blake2b

import msgspec

from twiki import facts
from twiki.context import Context
from twiki.diff import diff
from twiki.records import CleanBlock, DiffSentence, Entity, FactChange, Revision
from twiki.state.codec import Held
from twiki.state.contents import Texts
from twiki.state.layout import Id
from twiki.state.ledger import Entry, standing
from twiki.times import to_ms


class LiveSentence(msgspec.Struct, frozen=True, kw_only=True, tag="sentence"):
    """A diff sentence of one revision."""

    id: str
    wiki: str
    page_id: int
    title: str
    rev_id: int
    effective_time: datetime
    sentence: DiffSentence


class LiveFact(msgspec.Struct, frozen=True, kw_only=True, tag="fact"):
    """A fact that one revision changed, removed, or (where L13 chose it) left as it was."""

    id: str
    wiki: str
    rev_id: int
    effective_time: datetime
    change: FactChange


class LiveTombstone(msgspec.Struct, frozen=True, kw_only=True, tag="tombstone"):
    """A revision is hidden since: whoever kept its sentences or facts drops them (L21)."""

    id: str
    wiki: str
    key: str
    """Page or entity id."""
    rev_id: int
    effective_time: datetime


Output = LiveSentence | LiveFact | LiveTombstone


def page(
    key: Id,
    revision: Revision,
    held: Held,
    texts: Texts,
    rev: int,
    ledger: Sequence[Entry],
    context: Context,
) -> tuple[tuple[Output, ...], str | None]:
    """Diff sentences between the text shown last and that of ``rev``, now at the open end.

    ``rev`` is 0 where no text stands there. Nothing is told of content from a dump, nor of
    a page whose earlier text is not known. The second value says which block could not be
    cleaned, if any.
    """
    if not rev or rev == held.shown or revision.boundary is not None:
        return (), None
    change = revision.change
    old: Sequence[str] | None = None
    if held.shown in held.revs:
        old = texts.blocks(held.shown)
    elif not _new_article(ledger, change.effective_time, context):
        return (), None
    broken: list[str] = []

    def clean(block: str) -> CleanBlock:
        made = context.clean(block)
        if made.broken is not None:
            broken.append(made.broken)
        return made

    found = diff(old, texts.blocks(rev), clean)
    told = tuple(
        LiveSentence(
            id=_id(context.wiki, key, rev, sentence.kind, sentence.text, ordinal),
            wiki=context.wiki,
            page_id=int(key),
            title=change.title or "",
            rev_id=rev,
            effective_time=change.effective_time,
            sentence=sentence,
        )
        for ordinal, sentence in enumerate(found.sentences)
    )
    return told, broken[0] if broken else None


def entity(
    key: Id,
    revision: Revision,
    held: Held,
    content: Callable[[int], Entity | None],
    rev: int,
    context: Context,
) -> tuple[Output, ...]:
    """Facts that differ between the entity shown last and revision ``rev`` of it."""
    if rev == held.shown or revision.boundary is not None:
        return ()
    old = content(held.shown) if held.shown else None
    new = content(rev) if rev else None
    if (new is None and old is None) or (old is not None and old.outline):
        return ()  # of an outline nobody knows what it said
    change = revision.change
    # One revision says nothing of merges elsewhere: objects are compared as written.
    told = facts.compare(
        old, new, unchanged=lambda fact: facts.chosen(fact, context.unchanged_rate)
    )
    return tuple(
        LiveFact(
            id=_id(context.repository, key, rev, found.fact_class, _words(found), 0),
            wiki=context.repository,
            rev_id=rev,
            effective_time=change.effective_time,
            change=found,
        )
        for found in told
    )


def tombstone(wiki: str, key: Id, rev: int, moment: datetime) -> LiveTombstone:
    """What tells a consumer of the feed that a revision is hidden since."""
    name = _id(wiki, key, rev, "tombstone", "", 0)
    return LiveTombstone(id=name, wiki=wiki, key=str(key), rev_id=rev, effective_time=moment)


def sampled(subject: Entity, rate: float) -> bool:
    """Whether L13 chose any fact of the entity."""
    return any(facts.chosen(fact, rate) for fact in subject.facts)


def _new_article(ledger: Sequence[Entry], moment: datetime, context: Context) -> bool:
    start = context.window_start(to_ms(moment))
    stood = None if start is None else standing(ledger, start)
    return stood is None or not context.is_article(stood.namespace, redirect=stood.redirect)


def _words(found: FactChange) -> str:
    return f"{found.fact.relation}|{found.fact.object}"


def _id(wiki: str, key: Id, rev: int, kind: str, text: str, ordinal: int) -> str:
    name = f"{wiki}|{key}|{rev}|{kind}|{text}|{ordinal}"
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
