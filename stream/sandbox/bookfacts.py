"""The books' facts: what statements say at a boundary, and what became of it in a window.

Reads the world's own statements; knows nothing of entity JSON. The rules are the facts part
of the design's laws (7 to 9, 13), written down a second time on purpose.
"""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from stream.sandbox.items import Item, Statement
from stream.sandbox.wiki import Wiki

_FACT_TYPES = frozenset(
    {"wikibase-item", "wikibase-property", "time", "quantity", "monolingualtext", "string"}
)
_LONGEST_CHAIN = 20


class Triple(NamedTuple):
    """A fact by ids, or the rendered text of a literal; a unit by its id."""

    subject: str
    relation: str
    object: str


class Verdict(NamedTuple):
    """A fact and what the window made of it."""

    triple: Triple
    outcome: str
    """new_subject, new_relation, new_object, unchanged or removed."""
    previous: tuple[str, ...]
    """Objects of the same subject and relation before."""


class Repository:
    """All entities as they stand just before a boundary."""

    def __init__(self, wiki: Wiki, boundary: datetime) -> None:
        self.items: dict[str, Item] = {}
        """Entities that are no redirects."""
        self._redirects: dict[str, str] = {}
        for _, state in wiki.live_before(boundary):
            item = wiki.revisions[state.rev_id].content
            if not isinstance(item, Item):
                continue
            if item.redirect:
                self._redirects[item.id] = item.redirect
            else:
                self.items[item.id] = item

    def target(self, entity_id: str) -> str:
        """Where a chain of redirects ends."""
        for _ in range(_LONGEST_CHAIN):
            if entity_id not in self._redirects:
                break
            entity_id = self._redirects[entity_id]
        return entity_id

    def label(self, entity_id: str) -> str | None:
        """Label of an entity, or of what it redirects to."""
        item = self.items.get(self.target(entity_id))
        return item.label() if item else None

    def facts(self, entity_id: str, ends: "Repository") -> set[Triple]:
        """The facts of an entity, objects mapped through the redirects of ``ends``."""
        item = self.items.get(entity_id)
        if item is None:
            return set()
        preferred = {one.relation for one in item.statements if one.rank == "preferred"}
        found = set()
        for one in item.statements:
            wanted = "preferred" if one.relation in preferred else "normal"
            if one.rank == wanted and one.value is not None and one.value.datatype in _FACT_TYPES:
                found.add(Triple(entity_id, one.relation, _object(one, ends)))
        return found

    def object_label(self, triple: Triple, statements: "Repository") -> str | None:
        """How an object reads; ``statements`` holds the subject with the fact."""
        for one in statements.items[triple.subject].statements:
            value = one.value
            if one.relation != triple.relation or value is None:
                continue
            if _object(one, self) != triple.object or value.datatype not in _FACT_TYPES:
                continue
            if value.datatype in {"wikibase-item", "wikibase-property"}:
                return self.label(triple.object)
            if value.unit:
                unit = self.label(value.unit)
                return f"{value.text} {unit}" if unit else None
            return value.shown()
        raise KeyError(triple)


def _object(statement: Statement, ends: Repository) -> str:
    value = statement.value
    if value is None:
        raise ValueError(f"{statement.id} has no value")
    if value.datatype in {"wikibase-item", "wikibase-property"}:
        return ends.target(value.text)
    return f"{value.text} {value.unit}" if value.unit else value.shown()


def judge(start: Repository, end: Repository) -> Iterator[Verdict]:
    """Every fact of either boundary with its outcome, sorted by triple."""
    for entity_id in sorted(start.items.keys() | end.items.keys()):
        old, new = start.facts(entity_id, end), end.facts(entity_id, end)
        before: dict[str, set[str]] = {}
        for triple in old:
            before.setdefault(triple.relation, set()).add(triple.object)
        for triple in sorted(old | new):
            objects = before.get(triple.relation, set())
            if triple not in new:
                outcome = "removed"
            elif triple in old:
                outcome = "unchanged"
            elif entity_id not in start.items:
                outcome = "new_subject"
            elif not objects:
                outcome = "new_relation"
            else:
                outcome = "new_object"
            yield Verdict(triple, outcome, tuple(sorted(objects)))


def digest(*parts: str) -> int:
    """BLAKE2b-64 of the parts joined by bars."""
    return int.from_bytes(hashlib.blake2b("|".join(parts).encode(), digest_size=8).digest(), "big")


def is_sampled(triple: Triple, rate: float) -> bool:
    """Whether an unchanged fact is chosen at a rate."""
    return digest(*triple) / 2**64 < rate
