"""Facts of a window as candidates for probes, and the facts that went (L7 to L9, L13)."""

from collections.abc import Iterable, Iterator

from twiki import facts
from twiki.records import EntityAt, Fact, FactChange, FactClass
from twiki.windows.convert import removed_row
from twiki.windows.probes import Candidate
from twiki.windows.schema import ProbeRow
from twiki.windows.view import WindowView


def changed(view: WindowView, entities: Iterable[str]) -> Iterator[Candidate]:
    """Facts that are new at the window's end, of the entities given."""
    for entity_id in entities:
        old, new = _both(view, entity_id)
        if new is None:
            continue
        for change in _compared(view, old, new):
            if change.fact_class in facts.CHANGED:
                yield _candidate(view, change, old, new)


def unchanged(view: WindowView, entities: Iterable[str], rate: float) -> Iterator[Candidate]:
    """Facts that stood at both boundaries and that L13's hash chose."""
    for entity_id in entities:
        old, new = _both(view, entity_id)
        if new is None or old is None:
            continue
        for change in _compared(view, old, new):
            if change.fact_class is FactClass.UNCHANGED and facts.chosen(change.fact, rate):
                yield _candidate(view, change, old, new)


def removed(view: WindowView, entities: Iterable[str]) -> Iterator[ProbeRow]:
    """Facts that are gone at the window's end, of subjects that had an article at its start."""
    for entity_id in entities:
        old, new = _both(view, entity_id)
        title = None if old is None else old.entity.sitelink
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
                    view.label(fact.relation) or "",
                    object_label(view, fact) or "",
                ),
                previous_labels=_labels(view, change, change.previous_objects),
                object_labels=_labels(view, change, change.all_objects),
                old_rev=old.rev_id,
                new_rev=None if new is None else new.rev_id,
                changed_at=None if new is None else new.rev_dt,
            )


def object_label(view: WindowView, fact: Fact) -> str | None:
    """The object as text: an entity's label, a literal with its unit's label."""
    return _object_text(view, fact, fact.object)


def _object_text(view: WindowView, fact: Fact, value: str) -> str | None:
    if fact.is_entity:
        return view.label(value)
    amount, _, unit = value.rpartition(" ")
    if fact.unit is None or unit != fact.unit:
        return value
    label = view.label(unit)
    return None if label is None else f"{amount} {label}"


def _labels(view: WindowView, change: FactChange, objects: Iterable[str]) -> tuple[str, ...]:
    return tuple(_object_text(view, change.fact, value) or "" for value in objects)


def _both(view: WindowView, entity_id: str) -> tuple[EntityAt | None, EntityAt | None]:
    return view.entity(entity_id, view.start), view.entity(entity_id, view.end)


def _compared(view: WindowView, old: EntityAt | None, new: EntityAt | None) -> list[FactChange]:
    return facts.compare(
        None if old is None else old.entity,
        None if new is None else new.entity,
        view.redirect,
    )


def _candidate(
    view: WindowView, change: FactChange, old: EntityAt | None, new: EntityAt
) -> Candidate:
    fact = change.fact
    return Candidate(
        change=change,
        subject=view.label_of(new.entity),
        relation=view.label(fact.relation),
        object=object_label(view, fact),
        sitelink=new.entity.sitelink,
        old_rev=None if old is None else old.rev_id,
        new_rev=new.rev_id,
        changed_at=new.rev_dt,
        current=facts.current(fact, view.window.end),
        previous_labels=_labels(view, change, change.previous_objects),
        object_labels=_labels(view, change, change.all_objects),
        object_aliases=view.aliases(fact.object) if fact.is_entity else (),
    )
