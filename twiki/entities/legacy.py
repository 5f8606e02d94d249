"""The storage format of 2012 to 2014, rewritten as today's JSON.

Old revisions in XML dumps hold it as it was saved::

    {"label": {"en": "universe"}, "aliases": {"en": ["cosmos"]}, "links": {"enwiki": "Universe"},
     "entity": ["item", 1],
     "claims": [{"m": ["value", 793, "wikibase-entityid", {"entity-type": "item",
                 "numeric-id": 323}], "q": [], "g": "Q1$…", "rank": 1, "refs": []}]}

Seen in Wikidata's dump of February 2014. Its snaks have no data type.
"""

from typing import Any

_RANKS = ("deprecated", "normal", "preferred")
_SNAK_LENGTH = 4


class NotLegacy(ValueError):
    """Neither today's format nor the old one."""


def modern(old: dict[str, Any]) -> dict[str, Any]:
    """Today's JSON for an entity in the old format.

    Raises:
        NotLegacy: a part has another shape than the old format gives it.
    """
    try:
        return _modern(old)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise NotLegacy(f"not the storage format of 2012 to 2014 either: {error!r}") from error


def _modern(old: dict[str, Any]) -> dict[str, Any]:
    entity = old["entity"]
    if isinstance(entity, str):
        identifier = entity.upper()
    else:
        identifier = {"item": "Q", "property": "P"}[entity[0]] + str(int(entity[1]))
    claims: dict[str, list[dict[str, Any]]] = {}
    for claim in old.get("claims") or []:
        relation, statement = _statement(claim)
        claims.setdefault(relation, []).append(statement)
    return {
        "id": identifier,
        "type": "property" if identifier.startswith("P") else "item",
        "labels": {
            language: {"value": text if isinstance(text, str) else text["value"]}
            for language, text in _items(old.get("label"))
        },
        "aliases": {
            language: [{"value": text} for text in _values(texts)]
            for language, texts in _items(old.get("aliases"))
        },
        "sitelinks": {
            site: {"title": link if isinstance(link, str) else link["name"]}
            for site, link in _items(old.get("links"))
        },
        "claims": claims,
    }


def _statement(claim: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    relation, mainsnak = _snak(claim["m"])
    qualifiers: dict[str, list[dict[str, Any]]] = {}
    for qualifier in claim.get("q") or []:
        name, snak = _snak(qualifier)
        qualifiers.setdefault(name, []).append(snak)
    return relation, {
        "mainsnak": mainsnak,
        "rank": _RANKS[claim.get("rank", 1)],
        "id": claim.get("g") or "",
        "qualifiers": qualifiers,
    }


def _snak(parts: list[Any]) -> tuple[str, dict[str, Any]]:
    relation = f"P{int(parts[1])}"
    if parts[0] != "value" or len(parts) < _SNAK_LENGTH:
        return relation, {"snaktype": parts[0]}
    return relation, {"snaktype": "value", "datavalue": {"type": parts[2], "value": parts[3]}}


def _items(mapping: dict[str, Any] | list[Any] | None) -> list[tuple[str, Any]]:
    return list(mapping.items()) if isinstance(mapping, dict) else []


def _values(texts: dict[str, str] | list[str]) -> list[str]:
    """Aliases were written as a list, or as a map when one in the middle had been removed."""
    return list(texts.values()) if isinstance(texts, dict) else texts
