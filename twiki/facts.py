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

_NEW_SUBJECT, _NEW_RELATION = FactClass.NEW_SUBJECT, FactClass.NEW_RELATION
_NEW_OBJECT, _UNCHANGED, _REMOVED = FactClass.NEW_OBJECT, FactClass.UNCHANGED, FactClass.REMOVED

CHANGED = (_NEW_SUBJECT, _NEW_RELATION, _NEW_OBJECT)
"""The classes that make a Changed probe."""

_HASH_BYTES = 8
_OBJECTS = dict[str, Fact]
_NOTHING: _OBJECTS = {}


def _itself(identifier: str) -> str:
    return identifier


def compare(
    old: Entity | None,
    new: Entity | None,
    redirects: Callable[[str], str] = _itself,
    *,
    unchanged: Callable[[Fact], bool] | None = None,
) -> list[FactChange]:
    """Class of every fact of ``old`` and ``new``, sorted by subject, relation, object.

    ``redirects`` gives the item that an id was merged into as of the newer moment, the id
    itself when it was not; objects of both sides pass through it before they are compared.
    Facts that state the same object twice count once. With ``unchanged`` only those Unchanged
    facts are told that it accepts: most edits leave nearly all facts as they were.
    """
    before = _facts(old, redirects)
    after = _facts(new, redirects)
    absent = old is None or old.redirect is not None
    changes: list[FactChange] = []
    for relation in sorted(before.keys() | after.keys()):
        was = before.get(relation, _NOTHING)
        now = after.get(relation, _NOTHING)
        changes += _relation(was, now, absent=absent, unchanged=unchanged)
    return changes


def _relation(
    was: _OBJECTS,
    now: _OBJECTS,
    *,
    absent: bool,
    unchanged: Callable[[Fact], bool] | None,
) -> list[FactChange]:
    """The changes of one relation, sorted by object."""
    present = tuple(sorted(now)) if len(now) > 1 else tuple(now)
    if was.keys() == now.keys():
        previous = told = present
    else:
        previous = tuple(sorted(was))
        told = tuple(sorted(was.keys() | now.keys()))
    added = _NEW_SUBJECT if absent else _NEW_OBJECT if was else _NEW_RELATION
    changes: list[FactChange] = []
    for text in told:
        fact, fact_class = now.get(text), added
        if fact is None:
            fact, fact_class = was[text], _REMOVED
        elif text in was:
            if unchanged is not None and not unchanged(fact):
                continue
            fact_class = _UNCHANGED
        changes.append(
            FactChange(
                fact=fact,
                fact_class=fact_class,
                previous_objects=previous,
                all_objects=present,
            )
        )
    return changes


def _facts(entity: Entity | None, redirects: Callable[[str], str]) -> dict[str, _OBJECTS]:
    found: dict[str, _OBJECTS] = {}
    if entity is None or entity.redirect is not None:
        return found
    for stated in entity.facts:
        fact, text = stated, stated.object
        if redirects is not _itself and fact.is_entity and (target := redirects(text)) != text:
            fact, text = _with_object(fact, target), target
        objects = found.get(fact.relation)
        if objects is None:
            found[fact.relation] = {text: fact}
            continue
        twin = objects.get(text)
        if twin is None or _preference(fact) > _preference(twin):
            objects[text] = fact
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
    if rate <= 0 or rate >= 1:
        return rate >= 1
    return fact_hash(fact) / 2**64 < rate


def sample(facts: Iterable[Fact], rate: float) -> list[Fact]:
    """The facts of an iterable that :func:`chosen` takes."""
    return [fact for fact in facts if chosen(fact, rate)]


def current(fact: Fact, end: datetime) -> bool:
    """Whether the fact may still hold at ``end``: it has no end time, or not a past one."""
    return not ended(fact.valid_to, end)
