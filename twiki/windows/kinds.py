"""What an entity is, for the datasheet: person, organisation, place, work, event, taxon, other.

By the classes that it is an instance of (P31), from a table of the most used ones
(``kinds.toml``). A literal is of the kind of its data type: time, quantity, text, place.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from importlib import resources

from twiki.records import Entity, Fact

OTHER = "other"
_INSTANCE_OF = "P31"
_CLASS = re.compile(r"\bQ\d+\b")
_LITERALS = {"time": "time", "quantity": "quantity", "globe-coordinate": "place"}
_TEXT = "text"


@cache
def table() -> dict[str, str]:
    """The kind of every class in the table."""
    data = resources.files(__package__ or "twiki.windows").joinpath("kinds.toml").read_text("utf-8")
    kinds: dict[str, str] = {}
    for kind, classes in tomllib.loads(data).items():
        for each in _CLASS.findall(classes):
            kinds.setdefault(each, kind)
    return kinds


@cache
def order() -> tuple[str, ...]:
    """The kinds in the order in which they win, ``other`` last."""
    return (*dict.fromkeys(table().values()), OTHER)


def kind(entity: Entity | None) -> str:
    """The kind of an entity; ``other`` where none of its classes is in the table."""
    facts = entity.facts if entity is not None else ()
    found = {table().get(fact.object, OTHER) for fact in facts if fact.relation == _INSTANCE_OF}
    return min(found, key=order().index, default=OTHER)


def object_kind(fact: Fact, entity: Entity | None) -> str:
    """The kind of a fact's object: of ``entity`` where it is one, else of its data type."""
    return kind(entity) if fact.is_entity else _LITERALS.get(fact.datatype, _TEXT)


def count(
    facts: Iterable[Fact], entity: Callable[[str], Entity | None]
) -> dict[str, dict[str, int]]:
    """Kinds of the subjects and objects of facts, as ``stats.json`` has them.

    ``entity`` gives the entity of an id as of the window's end.
    """
    subjects: Counter[str] = Counter()
    objects: Counter[str] = Counter()
    for fact in facts:
        subjects[kind(entity(fact.subject))] += 1
        objects[object_kind(fact, entity(fact.object) if fact.is_entity else None)] += 1
    return {"subjects": dict(subjects), "objects": dict(objects)}
