"""Facts of a window as candidates for probes, and the facts that went (L7 to L9, L13).

Candidates are the facts of subjects that have an article as of the window's end: of the others the
state need not hold any statement (:mod:`twiki.windows.gate`).
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from twiki import facts
from twiki.records import EntityAt, Fact, FactChange, FactClass
from twiki.state.asof import Missing
from twiki.windows.convert import removed_row
from twiki.windows.probes import Candidate
from twiki.windows.schema import ProbeRow
from twiki.windows.view import WindowView

_AT_ONCE = 200
"""Facts whose lacking labels are asked for together."""


class _Found(NamedTuple):
    """A fact of one of the classes, with what its subject was at both boundaries."""

    change: FactChange
    title: str
    """The subject's article where the fact stands."""
    here: EntityAt
    """The subject at the boundary where the fact stands."""
    there: EntityAt | None
    """The subject at the other one."""


def changed(view: WindowView, entities: Iterable[str]) -> Iterator[Candidate]:
    """Facts that are new at the window's end, of the entities given."""
    found = (
        _Found(change, title, new, old)
        for old, new in _pairs(view, entities)
        if new is not None and (title := _article(view, old, new)) is not None
        for change in _compared(view, old, new)
        if change.fact_class in facts.CHANGED
    )
    return _candidates(view, found, view.changed)


def unchanged(view: WindowView, entities: Iterable[str], rate: float) -> Iterator[Candidate]:
    """Facts that stood at both boundaries and that L13's hash chose."""
    found = (
        _Found(change, title, new, old)
        for old, new in _pairs(view, entities)
        if new is not None and old is not None and (title := _article(view, old, new)) is not None
        for change in _compared(view, old, new)
        if change.fact_class is FactClass.UNCHANGED and facts.chosen(change.fact, rate)
    )
    return _candidates(view, found, view.live)


def removed(view: WindowView, entities: Iterable[str]) -> Iterator[ProbeRow]:
    """Facts that are gone at the window's end, of subjects that had an article at its start."""
    found = (
        _Found(change, title, old, new)
        for old, new in _pairs(view, entities)
        if old is not None and (title := view.article_title(old.entity, view.start)) is not None
        for change in _compared(view, old, new)
        if change.fact_class is FactClass.REMOVED
    )
    while part := list(islice(found, _AT_ONCE)):
        view.fetch_labels(ident for each in part for ident in _named(each.change))
        yield from (_removed_row(view, each) for each in part)


def _removed_row(view: WindowView, found: _Found) -> ProbeRow:
    change, title, old, new = found
    fact = change.fact
    return removed_row(
        change,
        view.window,
        page_title=title,
        page_id=view.state.titled(title, view.start),
        labels=(
            view.label(fact.subject) or view.label_of(old.entity) or "",
            view.fetched_label(fact.relation) or "",
            _object_text(view.fetched_label, fact, fact.object) or "",
        ),
        previous_labels=_labels(view.fetched_label, change, change.previous_objects),
        object_labels=_labels(view.fetched_label, change, change.all_objects),
        old_rev=old.rev_id,
        new_rev=None if new is None else new.rev_id,
        changed_at=None if new is None else new.rev_dt,
    )


Label = Callable[[str], str | None]
"""Entity id to label."""


def _object_text(label: Label, fact: Fact, value: str) -> str | None:
    """An object as text: an entity's label, a literal with its unit's label."""
    if fact.is_entity:
        return label(value)
    amount, _, unit = value.rpartition(" ")
    if fact.unit is None or unit != fact.unit:
        return value
    name = label(unit)
    return None if name is None else f"{amount} {name}"


def _labels(label: Label, change: FactChange, objects: Iterable[str]) -> tuple[str, ...]:
    return tuple(_object_text(label, change.fact, value) or "" for value in objects)


def _pairs(
    view: WindowView, entities: Iterable[str]
) -> Iterator[tuple[EntityAt | None, EntityAt | None]]:
    """Each entity as of both boundaries; left out and noted where a content cannot be had.

    Nothing is guessed of such a one: taken for absent, all its facts would be new, or removed.
    Not noted is one whose newest content at hand names no article: a stream leaves it unread.
    """
    for entity_id in entities:
        old, new = view.reading(entity_id, view.start), view.reading(entity_id, view.end)
        lacks = next((each for each in (new, old) if isinstance(each, Missing)), None)
        if lacks is not None:
            if view.may_have_article(entity_id):
                view.unread[entity_id] = lacks
        elif not isinstance(old, Missing) and not isinstance(new, Missing):
            yield old, new


def _article(view: WindowView, old: EntityAt | None, new: EntityAt) -> str | None:
    """The subject's article at the end; None where it has none, or what it said is not known."""
    title = view.article_title(new.entity, view.end)
    if title is not None and (new.entity.outline or (old is not None and old.entity.outline)):
        view.unread[new.entity.id] = Missing.NEEDED
        return None
    return title


def _compared(view: WindowView, old: EntityAt | None, new: EntityAt | None) -> list[FactChange]:
    return facts.compare(
        None if old is None else old.entity,
        None if new is None else new.entity,
        view.redirect,
    )


def _candidates(
    view: WindowView, found: Iterator[_Found], article: Callable[[str], object]
) -> Iterator[Candidate]:
    """The candidates; labels that the state lacks are asked for where ``article`` is there."""
    while part := list(islice(found, _AT_ONCE)):
        waiting = [view.fetches and _waits(view, each, article) for each in part]
        chosen = (each for each, waits in zip(part, waiting, strict=True) if waits)
        view.fetch_labels(ident for each in chosen for ident in _named(each.change))
        for each, waits in zip(part, waiting, strict=True):
            yield _candidate(view, each, view.fetched_label if waits else view.label)


def _waits(view: WindowView, found: _Found, article: Callable[[str], object]) -> bool:
    """Whether nothing but a label keeps the fact from being held against its article."""
    fact = found.change.fact
    if view.label(fact.relation) and _object_text(view.label, fact, fact.object):
        return False
    return article(found.title) is not None


def _named(change: FactChange) -> Iterator[str]:
    """Ids of entities whose labels a row shows."""
    fact = change.fact
    yield fact.relation
    if fact.is_entity:
        yield from (fact.object, *change.previous_objects, *change.all_objects)
    elif fact.unit is not None:
        yield fact.unit


def _candidate(view: WindowView, found: _Found, label: Label) -> Candidate:
    change, title, new, old = found
    fact = change.fact
    return Candidate(
        change=change,
        subject=view.label_of(new.entity),
        relation=label(fact.relation),
        object=_object_text(label, fact, fact.object),
        sitelink=title,
        old_rev=None if old is None else old.rev_id,
        new_rev=new.rev_id,
        changed_at=new.rev_dt,
        current=facts.current(fact, view.window.end),
        previous_labels=_labels(label, change, change.previous_objects),
        object_labels=_labels(label, change, change.all_objects),
        object_aliases=view.aliases(fact.object) if fact.is_entity else (),
    )
