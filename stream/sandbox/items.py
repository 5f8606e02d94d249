"""Entities as structured truth: statements as tuples, and the JSON that Wikibase makes of them.

Nothing here reads entity JSON, so the books need no decoder.
"""

import hashlib
import json
from typing import Any, NamedTuple

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July",
    "August", "September", "October", "November", "December",
)  # fmt: skip
DAY, MONTH, YEAR = 11, 10, 9
CONCEPTS = "http://www.wikidata.org/entity/"


class Value(NamedTuple):
    """A value by data type: what of the fields counts depends on it."""

    datatype: str
    text: str = ""
    """Id of an entity, amount of a quantity, or the text itself."""
    language: str = ""
    unit: str = ""
    """Id of a quantity's unit; "" for none."""
    date: tuple[int, int, int] = (0, 0, 0)
    precision: int = DAY

    def shown(self) -> str:
        """As prose says it, without unit and, for an entity, without its label."""
        if self.datatype != "time":
            return self.text
        year, month, day = self.date
        if self.precision == YEAR:
            return str(year)
        named = f"{MONTHS[month - 1]} {year}"
        return named if self.precision == MONTH else f"{day} {named}"


class Statement(NamedTuple):
    """A statement; ``value`` None with ``snak`` somevalue or novalue."""

    id: str
    relation: str
    value: Value | None
    snak: str = "value"
    rank: str = "normal"
    qualifiers: tuple[tuple[str, Value], ...] = ()
    references: tuple[tuple[str, Value], ...] = ()


class Item(NamedTuple):
    """An item or property, or with ``redirect`` what a merge left of one."""

    id: str
    labels: tuple[tuple[str, str], ...] = ()
    descriptions: tuple[tuple[str, str], ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    sitelink: str | None = None
    statements: tuple[Statement, ...] = ()
    datatype: str = ""
    """Of a property."""
    redirect: str = ""

    @property
    def is_property(self) -> bool:
        """Whether it is a property."""
        return self.id.startswith("P")

    def label(self, languages: tuple[str, ...] = ("en", "mul")) -> str | None:
        """Its label in the first of ``languages`` that has one."""
        held = dict(self.labels)
        return next((held[name] for name in languages if name in held), None)

    def render(self) -> str:
        """Entity JSON as the wiki stores it; a redirect is ``{"entity", "redirect"}``."""
        if self.redirect:
            return json.dumps({"entity": self.id, "redirect": self.redirect})
        data: dict[str, Any] = {"type": "property" if self.is_property else "item", "id": self.id}
        if self.is_property:
            data["datatype"] = self.datatype
        data["labels"] = _terms(self.labels)
        data["descriptions"] = _terms(self.descriptions)
        aliases: dict[str, list[dict[str, str]]] = {}
        for language, text in self.aliases:
            aliases.setdefault(language, []).append({"language": language, "value": text})
        # PHP cannot tell an empty map from an empty list: real answers hold both.
        data["aliases"] = aliases or []
        claims: dict[str, list[dict[str, Any]]] = {}
        for statement in self.statements:
            claims.setdefault(statement.relation, []).append(_statement(statement))
        data["claims"] = claims or []
        if not self.is_property:
            link: dict[str, Any] = {"site": "enwiki", "title": self.sitelink, "badges": []}
            data["sitelinks"] = {"enwiki": link} if self.sitelink else {}
        return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _terms(terms: tuple[tuple[str, str], ...]) -> dict[str, dict[str, str]]:
    return {language: {"language": language, "value": text} for language, text in terms}


def _digest(*texts: str) -> str:
    return hashlib.sha1("|".join(texts).encode(), usedforsecurity=False).hexdigest()


def _snak(relation: str, value: Value | None, kind: str = "value") -> dict[str, Any]:
    snak: dict[str, Any] = {"snaktype": kind, "property": relation}
    snak["hash"] = _digest(relation, kind, repr(value))
    if value is not None:
        snak["datavalue"] = _datavalue(value)
        snak["datatype"] = value.datatype
    else:
        snak["datatype"] = "wikibase-item"
    return snak


def _datavalue(value: Value) -> dict[str, Any]:
    if value.datatype == "wikibase-item":
        number = int(value.text[1:])
        inner: Any = {"entity-type": "item", "numeric-id": number, "id": value.text}
        return {"value": inner, "type": "wikibase-entityid"}
    if value.datatype == "time":
        year, month, day = value.date
        month = month if value.precision >= MONTH else 0
        day = day if value.precision >= DAY else 0
        inner = {
            "time": f"+{year:04d}-{month:02d}-{day:02d}T00:00:00Z",
            "timezone": 0,
            "before": 0,
            "after": 0,
            "precision": value.precision,
            "calendarmodel": CONCEPTS + "Q1985727",
        }
        return {"value": inner, "type": "time"}
    if value.datatype == "quantity":
        unit = CONCEPTS + value.unit if value.unit else "1"
        return {"value": {"amount": f"+{value.text}", "unit": unit}, "type": "quantity"}
    if value.datatype == "monolingualtext":
        inner = {"text": value.text, "language": value.language}
        return {"value": inner, "type": "monolingualtext"}
    return {"value": value.text, "type": "string"}


def _statement(statement: Statement) -> dict[str, Any]:
    data: dict[str, Any] = {
        "mainsnak": _snak(statement.relation, statement.value, statement.snak),
        "type": "statement",
        "id": statement.id,
        "rank": statement.rank,
    }
    if statement.qualifiers:
        data["qualifiers"], data["qualifiers-order"] = _grouped(statement.qualifiers)
    if statement.references:
        snaks, order = _grouped(statement.references)
        digest = _digest(repr(statement.references))
        data["references"] = [{"hash": digest, "snaks": snaks, "snaks-order": order}]
    return data


def _grouped(pairs: tuple[tuple[str, Value], ...]) -> tuple[dict[str, Any], list[str]]:
    snaks: dict[str, Any] = {}
    for relation, value in pairs:
        snaks.setdefault(relation, []).append(_snak(relation, value))
    return snaks, list(snaks)
