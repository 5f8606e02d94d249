"""What one revision does to the state: the architecture in one function.

:func:`apply` is pure. It takes what is held of one page or entity and one
:class:`~twiki.records.Revision`, and gives what is to be held afterwards and what there is
to tell. It uses no seek, no scan and no clock, so that every engine can run it: the embedded
one keeps the parts under keys of their own, the cluster keeps one value::

    Revision ──▶ ledger entry ──union──▶ ledger ──standing at each boundary──▶ which contents
    to keep, drop, fetch ──▶ Applied(held, puts, drops, outputs)

The order of arrival decides nothing but what the live feed tells (ENGINE 2).
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

import msgspec

from twiki import entities as wikibase
from twiki import live
from twiki.context import Context
from twiki.records import Change, ChangeKind, ContentModel, Entity, Revision
from twiki.state.codec import Held, decode_entity, encode
from twiki.state.contents import Texts, patch
from twiki.state.ledger import (
    Entry,
    EntryKind,
    fold,
    follows,
    hidden_revisions,
    is_folded,
    is_late,
    union,
)
from twiki.state.subject import Subject
from twiki.state.survey import Survey, survey
from twiki.text.siteinfo import SiteInfo, redirect_target
from twiki.times import to_ms


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be written, and what there is to tell."""

    held: Held
    changed: bool = True
    puts: dict[int, bytes] = {}
    drops: tuple[int, ...] = ()
    outputs: tuple[live.Output, ...] = ()
    touched: tuple[int, ...] = ()
    """Starts of the windows in which it counts as touched."""
    titles: tuple[str, ...] = ()
    """Titles that now lead to this page."""
    late: bool = False
    sampled: bool = False
    """The entity has a fact that L13 chose."""
    problem: str | None = None
    """Why the content could not be used: a dead letter."""


def apply(subject: Subject, revision: Revision, context: Context) -> Applied:
    """Work one revision into what is held of its page or entity."""
    entries = _entries(revision, context)
    held = subject.held.entries
    ledger = (*held, *entries) if follows(held, entries) else union(held, entries)
    if not is_folded(ledger, context.boundaries[0]):
        ledger = fold(ledger, context.boundaries[0])
    if ledger == subject.held.entries and not _brings(subject, revision):
        return Applied(held=subject.held, changed=False)
    if isinstance(subject.key, int):
        return _apply_page(subject, revision, ledger, entries, context)
    return _apply_entity(subject, revision, ledger, entries, context)


def _apply_page(
    subject: Subject,
    revision: Revision,
    ledger: tuple[Entry, ...],
    fresh: Sequence[Entry],
    context: Context,
) -> Applied:
    held = subject.held
    found = survey(held, ledger, fresh, context, articles=True)
    hidden = hidden_revisions(ledger)
    texts = Texts(subject.load)
    available, problem = set(held.revs) - hidden, None
    rev = revision.change.rev_id or 0
    if revision.content is not None and rev in found.wanted and rev not in available | hidden:
        problem = _too_large(revision.content, context)
        if problem is None:
            near = texts.blocks(held.shown) if held.shown in held.revs else ()
            if near:
                split = context.resplit(near, revision.content)
                texts.put(rev, split or context.split(revision.content))
            elif context.passing:
                texts.put_unsplit(rev, revision.content)
            else:
                texts.put(rev, context.split(revision.content))
            available.add(rev)
    current = found.open.rev if found.open is not None and found.open.rev in found.wanted else 0
    readable = current if current in available else 0
    told, broken = live.page(subject.key, revision, held, texts, readable, ledger, context)
    shown = readable if readable or not current else held.shown
    keep = (found.wanted | {shown}) & available
    puts, bases = _stored(keep, held, texts, found.stands, current)
    return _applied(
        held,
        found,
        keep,
        hidden,
        ledger,
        fresh,
        context,
        bases=bases,
        shown=shown,
        puts=puts,
        outputs=told,
        problem=problem or broken,
    )


def _apply_entity(
    subject: Subject,
    revision: Revision,
    ledger: tuple[Entry, ...],
    fresh: Sequence[Entry],
    context: Context,
) -> Applied:
    held = subject.held
    found = survey(held, ledger, fresh, context, articles=False)
    hidden = hidden_revisions(ledger)
    available, problem = set(held.revs) - hidden, None
    rev = revision.change.rev_id or 0
    new: Entity | None = None
    if revision.content is not None and rev in found.wanted and rev not in available | hidden:
        try:
            new = wikibase.decode(
                revision.content,
                wiki=context.wiki,
                languages=context.languages,
                literals=context.literals,
                claims=not revision.outline,
            )
        except wikibase.BadEntity as error:
            problem = str(error)
        else:
            available.add(rev)

    def content(of: int) -> Entity | None:
        if of == rev and new is not None:
            return new
        data = subject.load(of) if of in held.revs else None
        return None if data is None else decode_entity(data)

    if new is not None and new.sitelink is not None and not _has_article(content(held.shown)):
        # It has an article now: what it said before is worth reading in full.
        available -= {of for of in available if (was := content(of)) is not None and was.outline}
    current = 0 if found.open is None else found.open.rev
    readable = current if current in available else 0
    told: tuple[live.Output, ...] = ()
    if readable or not current:  # of a content that is yet to come nothing can be told
        told = live.entity(subject.key, revision, held, content, readable, context)
    shown = readable if readable or not current else held.shown
    keep = (found.wanted | {shown}) & available
    return _applied(
        held,
        found,
        keep,
        hidden,
        ledger,
        fresh,
        context,
        bases=tuple((r, 0) for r in sorted(keep)),
        shown=shown,
        puts={rev: encode(new)} if new is not None and rev in keep else {},
        outputs=told,
        problem=problem,
        sampled=new is not None and live.sampled(new, context.unchanged_rate),
    )


def _has_article(entity: Entity | None) -> bool:
    return entity is not None and entity.sitelink is not None


def _applied(
    before: Held,
    found: Survey,
    keep: AbstractSet[int],
    hidden: AbstractSet[int],
    ledger: tuple[Entry, ...],
    fresh: Sequence[Entry],
    context: Context,
    *,
    bases: tuple[tuple[int, int], ...],
    shown: int,
    puts: dict[int, bytes],
    outputs: tuple[live.Output, ...],
    problem: str | None,
    sampled: bool = False,
) -> Applied:
    needs = found.wanted - keep - hidden
    starts = {context.window_start(moment) for e in fresh for moment in _moments(e)}
    return Applied(
        held=Held(
            entries=ledger,
            bases=bases,
            shown=shown if shown in keep else 0,
            stood=0 if found.open is None else found.open.rev,
            stands=found.stands,
            needs=tuple(sorted(needs)),
        ),
        puts=puts,
        drops=tuple(rev for rev in before.revs if rev not in keep),
        outputs=outputs,
        touched=tuple(sorted(start for start in starts if start is not None)),
        titles=tuple(sorted({e.title for e in fresh if e.title is not None})),
        late=any(is_late(e) for e in fresh),
        sampled=sampled,
        problem=problem,
    )


def _moments(entry: Entry) -> tuple[int, ...]:
    """Times whose windows an entry touches: a pin, those on both sides of its boundary."""
    if entry.boundary is None:
        return (entry.effective,)
    return (entry.effective, entry.boundary - 1, entry.boundary)


def _too_large(text: str, context: Context) -> str | None:
    if len(text) <= context.max_page_bytes:
        return None
    return f"page of {len(text)} characters, at most {context.max_page_bytes}"


def _entries(revision: Revision, context: Context) -> tuple[Entry, ...]:
    """The ledger entries of a revision: one, and one more where its text is hidden."""
    change = revision.change
    redirect = change.redirect
    if revision.content is not None:
        redirect = _redirects(revision, context.site)
    kind = EntryKind.ABSENT if revision.absent else _KINDS[change.kind]
    entry = Entry(
        kind=kind,
        effective=to_ms(change.effective_time),
        rev=change.rev_id or 0,
        parent=change.parent_rev_id,
        rev_ms=None if change.rev_dt is None else to_ms(change.rev_dt),
        title=change.title,
        namespace=change.namespace,
        redirect=redirect,
        epoch=context.closed,
        boundary=to_ms(revision.boundary) if revision.pinned and revision.boundary else None,
        from_title=change.from_title,
        from_namespace=_from_namespace(change, context.site),
        revs=tuple(sorted(change.rev_ids)),
        visible=change.visible if kind is EntryKind.VISIBILITY else None,
        created=change.kind is ChangeKind.CREATE and not revision.pinned,
    )
    if kind is EntryKind.VISIBILITY:
        # No more than both streams tell of it, so that it matters not whose account came.
        return (
            Entry(
                kind=kind,
                effective=entry.effective,
                revs=entry.revs,
                visible=entry.visible,
                epoch=entry.epoch,
            ),
        )
    if change.visible is False and change.rev_id:
        hides = Entry(
            kind=EntryKind.VISIBILITY,
            effective=entry.effective,
            revs=(change.rev_id,),
            visible=False,
            epoch=entry.epoch,
        )
        return (entry, hides)
    return (entry,)


def _redirects(revision: Revision, site: SiteInfo) -> bool:
    if revision.model is ContentModel.WIKITEXT:
        return redirect_target(revision.content or "", site) is not None
    return '"redirect"' in (revision.content or "")[:200]


def _from_namespace(change: Change, site: SiteInfo) -> int | None:
    return None if change.from_title is None else site.namespace_of(change.from_title)[0]


def _brings(subject: Subject, revision: Revision) -> bool:
    """Whether the revision carries a content that is wanted and not held."""
    return revision.content is not None and revision.change.rev_id in subject.held.needs


def _stored(
    keep: AbstractSet[int],
    held: Held,
    texts: Texts,
    stands: Sequence[tuple[int, int]],
    current: int,
) -> tuple[dict[int, bytes], tuple[tuple[int, int], ...]]:
    """What must be written so that ``keep``, and only that, is held.

    Each text is stored against that of the boundary before it.
    """
    puts: dict[int, bytes] = {}
    refers = {rev: base for rev, base in held.bases if rev in keep}
    order = list(dict.fromkeys([*(rev for _, rev in stands), current, *sorted(keep)]))
    order = [rev for rev in order if rev in keep]
    for index, rev in enumerate(order):
        base = refers.get(rev, -1)
        if base == 0 or base in keep:
            continue
        target = order[index - 1] if index else 0
        if target and not _leads_to(rev, target, refers):
            puts[rev], refers[rev] = patch(texts.blocks(rev), target, texts.blocks(target))
        else:
            puts[rev], refers[rev] = texts.whole(rev), 0
    return puts, tuple(sorted(refers.items()))


def _leads_to(rev: int, start: int, refers: Mapping[int, int]) -> bool:
    """Whether the stored text of ``start`` refers, by way of others, to ``rev``."""
    seen: set[int] = set()
    while start and start not in seen:
        if start == rev:
            return True
        seen.add(start)
        start = refers.get(start, 0)
    return False


_KINDS = {
    ChangeKind.CREATE: EntryKind.REVISION,
    ChangeKind.EDIT: EntryKind.REVISION,
    ChangeKind.MOVE: EntryKind.MOVE,
    ChangeKind.DELETE: EntryKind.DELETE,
    ChangeKind.RESTORE: EntryKind.RESTORE,
    ChangeKind.MERGE: EntryKind.MERGE,
    ChangeKind.VISIBILITY: EntryKind.VISIBILITY,
}
