"""Facts of a window as candidates for probes, and the facts that went (L7 to L9, L13).

Candidates are the facts of subjects that have an article as of the window's end: of the others the
state need not hold any statement (:mod:`twiki.windows.gate`).
"""

from collections.abc import Callable, Iterable, Iterator

from twiki import facts
from twiki.records import EntityAt, Fact, FactChange, FactClass
from twiki.state.asof import Missing
from twiki.windows.convert import removed_row
from twiki.windows.probes import Candidate
from twiki.windows.schema import ProbeRow
from twiki.windows.view import WindowView


def changed(view: WindowView, entities: Iterable[str]) -> Iterator[Candidate]:
    """Facts that are new at the window's end, of the entities given."""
    for old, new in _pairs(view, entities):
        if new is None or not _about_an_article(view, old, new):
            continue
        for change in _compared(view, old, new):
            if change.fact_class in facts.CHANGED:
                yield _candidate(view, change, old, new, view.changed)


def unchanged(view: WindowView, entities: Iterable[str], rate: float) -> Iterator[Candidate]:
    """Facts that stood at both boundaries and that L13's hash chose."""
    for old, new in _pairs(view, entities):
        if new is None or old is None or not _about_an_article(view, old, new):
            continue
        for change in _compared(view, old, new):
            if change.fact_class is FactClass.UNCHANGED and facts.chosen(change.fact, rate):
                yield _candidate(view, change, old, new, view.live)


def removed(view: WindowView, entities: Iterable[str]) -> Iterator[ProbeRow]:
    """Facts that are gone at the window's end, of subjects that had an article at its start."""
    for old, new in _pairs(view, entities):
        title = None if old is None else view.article_title(old.entity, view.start)
        if old is None or title is None:
            continue
        page_id = view.state.titled(title, view.start)
        for change in _compared(view, old, new):
            if change.fact_class is not FactClass.REMOVED:
                continue
            fact = change.fact
            yield removed_row(
                change,
                view.window,
                page_title=title,
                page_id=page_id,
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


def _about_an_article(view: WindowView, old: EntityAt | None, new: EntityAt) -> bool:
    """Whether the subject has an article at the end, and what it said is known."""
    if view.article_title(new.entity, view.end) is None:
        return False
    if new.entity.outline or (old is not None and old.entity.outline):
        view.unread[new.entity.id] = Missing.NEEDED
        return False
    return True


def _compared(view: WindowView, old: EntityAt | None, new: EntityAt | None) -> list[FactChange]:
    return facts.compare(
        None if old is None else old.entity,
        None if new is None else new.entity,
        view.redirect,
    )


def _candidate(
    view: WindowView,
    change: FactChange,
    old: EntityAt | None,
    new: EntityAt,
    article: Callable[[str], object],
) -> Candidate:
    """The candidate; a label that the state lacks is asked for where ``article`` is there."""
    fact, title = change.fact, view.article_title(new.entity, view.end)
    label: Label = view.label
    relation, obj = label(fact.relation), _object_text(label, fact, fact.object)
    lacks = relation is None or obj is None
    if lacks and view.fetches and title is not None and article(title) is not None:
        label = view.fetched_label
        relation, obj = label(fact.relation), _object_text(label, fact, fact.object)
    return Candidate(
        change=change,
        subject=view.label_of(new.entity),
        relation=relation,
        object=obj,
        sitelink=title,
        old_rev=None if old is None else old.rev_id,
        new_rev=new.rev_id,
        changed_at=new.rev_dt,
        current=facts.current(fact, view.window.end),
        previous_labels=_labels(label, change, change.previous_objects),
        object_labels=_labels(label, change, change.all_objects),
        object_aliases=view.aliases(fact.object) if fact.is_entity else (),
    )
