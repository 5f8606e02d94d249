"""Algorithm 2 of the paper: which facts of an entity changed between two moments (L7, L8).

::

    no entity before                       new_subject   ┐
    relation not there before              new_relation  │ changed
    relation there, object not             new_object    ┘
    relation and object there before       unchanged
    there before, not now                  removed

A redirect is no entity: when an item is merged away its facts are removed, and facts of other
items that point at it are compared under the id it was merged into.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from hashlib import blake2b

from twiki.entities.literals import ended
from twiki.records import Entity, Fact, FactChange, FactClass

CHANGED = (FactClass.NEW_SUBJECT, FactClass.NEW_RELATION, FactClass.NEW_OBJECT)
"""The classes that make a Changed probe."""

_HASH_BYTES = 8
_OBJECTS_BY_RELATION = dict[str, dict[str, Fact]]


def compare(
    old: Entity | None,
    new: Entity | None,
    redirects: Callable[[str], str] = lambda identifier: identifier,
) -> list[FactChange]:
    """Class of every fact of ``old`` and ``new``, sorted by subject, relation, object.

    ``redirects`` gives the item that an id was merged into as of the newer moment, the id
    itself when it was not; objects of both sides pass through it before they are compared.
    Facts that state the same object twice count once.
    """
    before = _facts(old, redirects)
    after = _facts(new, redirects)
    absent = old is None or old.redirect is not None
    changes: list[FactChange] = []
    for relation in sorted(before.keys() | after.keys()):
        was = before.get(relation, {})
        now = after.get(relation, {})
        previous, present = tuple(sorted(was)), tuple(sorted(now))
        if absent:
            added = FactClass.NEW_SUBJECT
        else:
            added = FactClass.NEW_OBJECT if was else FactClass.NEW_RELATION
        for text in sorted(was.keys() | now.keys()):
            fact = now.get(text)
            if fact is None:
                fact, fact_class = was[text], FactClass.REMOVED
            else:
                fact_class = FactClass.UNCHANGED if text in was else added
            changes.append(
                FactChange(
                    fact=fact,
                    fact_class=fact_class,
                    previous_objects=previous,
                    all_objects=present,
                )
            )
    return changes


def _facts(entity: Entity | None, redirects: Callable[[str], str]) -> _OBJECTS_BY_RELATION:
    found: _OBJECTS_BY_RELATION = {}
    if entity is None or entity.redirect is not None:
        return found
    for stated in entity.facts:
        fact = stated
        if fact.is_entity and (target := redirects(fact.object)) != fact.object:
            fact = _with_object(fact, target)
        objects = found.setdefault(fact.relation, {})
        twin = objects.get(fact.object)
        if twin is None or _preference(fact) > _preference(twin):
            objects[fact.object] = fact
    return found


def _with_object(fact: Fact, identifier: str) -> Fact:
    return Fact(
        subject=fact.subject,
        relation=fact.relation,
        object=identifier,
        datatype=fact.datatype,
        statement_id=fact.statement_id,
        rank=fact.rank,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
        point_in_time=fact.point_in_time,
    )


def _preference(fact: Fact) -> tuple[bool, str, str, str]:
    """Of two statements with one object the one that holds longest; ids break the tie.

    A person who holds an office for the second time has two statements, and the fact is
    current when one of them is.
    """
    return (fact.valid_to is None, fact.valid_to or "", fact.valid_from or "", fact.statement_id)


def fact_hash(fact: Fact, salt: str = "") -> int:
    """BLAKE2b-64 of ``subject|relation|object`` in UTF-8, as an unsigned number.

    With ``salt`` (a window's name) the hashed text is ``subject|relation|object|salt``.
    """
    return text_hash(fact.subject, fact.relation, fact.object, *([salt] if salt else []))


def text_hash(*parts: str) -> int:
    """BLAKE2b-64 of the parts joined by ``|``."""
    data = "|".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=_HASH_BYTES).digest(), "big")


def chosen(fact: Fact, rate: float) -> bool:
    """Whether an Unchanged fact is in the sample of ``rate`` (L13): by its hash alone."""
    return fact_hash(fact) / 2**64 < rate


def sample(facts: Iterable[Fact], rate: float) -> list[Fact]:
    """The facts of an iterable that :func:`chosen` takes."""
    return [fact for fact in facts if chosen(fact, rate)]


def current(fact: Fact, end: datetime) -> bool:
    """Whether the fact may still hold at ``end``: it has no end time, or not a past one."""
    return not ended(fact.valid_to, end)
