"""From the shapes of entity JSON to :class:`twiki.records.Entity`."""

from collections.abc import Callable, Iterable
from typing import Any

from twiki.config import FactConfig, WikiConfig
from twiki.entities import literals, shapes
from twiki.entities.reading import BadEntity, BadReason, read
from twiki.records import Entity, Fact

_WIKI = WikiConfig()
_ENTITY_TYPES = ("wikibase-item", "wikibase-property")
_PREFIX = {"item": "Q", "property": "P"}
_VALUE_TO_DATATYPE = {
    "time": "time",
    "quantity": "quantity",
    "monolingualtext": "monolingualtext",
    "globecoordinate": "globe-coordinate",
}
"""Data types that follow from the type of the value. A string does not say what it is (a
name, an identifier, a file), so without a data type it is no fact."""


def decode(
    content: str | bytes,
    *,
    wiki: str = _WIKI.name,
    languages: tuple[str, ...] = _WIKI.languages,
    literals: Iterable[str] = FactConfig().literals,
    claims: bool = True,
) -> Entity:
    """Decode one entity: bare JSON, an ``EntityData`` answer, a redirect, or the old format.

    Facts are the main snaks of best-rank statements whose data type is an item, a property or
    in ``literals``, in the order of the JSON; with ``claims`` false the statements are not read.

    Raises:
        BadEntity: lexemes, media info, missing entities, several at once, or no entity at all.
    """
    document = read(content, wiki, languages, claims=claims)
    return _entity(document, languages, frozenset(literals))


def _entity(
    document: shapes.Document, languages: tuple[str, ...], literal_types: frozenset[str]
) -> Entity:
    if document.redirect:
        if not isinstance(document.entity, str):
            raise BadEntity(BadReason.NO_ID, "a redirect without its own id")
        kind = "property" if document.entity[:1] in "Pp" else "item"
        return Entity(id=document.entity.upper(), type=kind, redirect=document.redirect.upper())
    if document.missing is not None:
        raise BadEntity(BadReason.MISSING, str(document.id))
    if not document.id:
        raise BadEntity(BadReason.NO_ID, "neither an id nor an entity in it")
    kind = document.type or {"Q": "item", "P": "property"}.get(document.id[:1], "unknown")
    if kind not in _PREFIX:
        raise BadEntity(BadReason.UNSUPPORTED, f"{document.id} is a {kind}")
    labels, aliases = shapes.terms(document, languages)
    claims: shapes.Claims = getattr(document, "claims", None)
    return Entity(
        id=document.id,
        type=kind,
        labels=labels,
        aliases=aliases,
        sitelink=shapes.sitelink(document),
        facts=_facts(document.id, claims, literal_types) if isinstance(claims, dict) else (),
        outline=not hasattr(document, "claims"),
    )


def _facts(
    subject: str, claims: dict[str, list[shapes.Statement]], literal_types: frozenset[str]
) -> tuple[Fact, ...]:
    facts: list[Fact] = []
    for relation, statements in claims.items():
        # A preferred statement hides normal ones even when its value is unknown: that is what
        # "best rank" means in Wikidata's own truthy export.
        best = "normal"
        for statement in statements:
            if statement.rank == "preferred":
                best = "preferred"
        for statement in statements:
            if statement.rank != best:
                continue
            snak = statement.mainsnak
            if snak.datavalue is None or snak.snaktype != "value":
                continue
            rendered = _object(snak.datavalue, snak.datatype, literal_types)
            if rendered is None:
                continue
            text, datatype, unit = rendered
            start, end, at = _validity(statement.qualifiers)
            facts.append(
                Fact(
                    subject=subject,
                    relation=relation,
                    object=text,
                    datatype=datatype,
                    statement_id=statement.id,
                    rank=best,
                    unit=unit,
                    valid_from=start,
                    valid_to=end,
                    point_in_time=at,
                )
            )
    return tuple(facts)


def _validity(
    qualifiers: shapes.Qualifiers | list[Any] | None,
) -> tuple[str | None, str | None, str | None]:
    """Start, end and point in time of a statement."""
    if not isinstance(qualifiers, shapes.Qualifiers):
        return None, None, None
    return (
        _moment(qualifiers.start, min) if qualifiers.start else None,
        _moment(qualifiers.end, max) if qualifiers.end else None,
        _moment(qualifiers.at, max) if qualifiers.at else None,
    )


def _object(
    datavalue: shapes.DataValue, datatype: str | None, literal_types: frozenset[str]
) -> tuple[str, str, str | None] | None:
    """Text, data type and unit of a value; None where it is not to be a fact."""
    value = datavalue.value
    if isinstance(value, str):
        if datatype not in literal_types or datatype is None:
            return None
        text = " ".join(value.split())
        return (text, datatype, None) if text else None
    if not isinstance(value, shapes.Value):
        return None
    if datavalue.type == "wikibase-entityid":
        return _entity_object(value, datatype)
    datatype = datatype or _VALUE_TO_DATATYPE.get(datavalue.type)
    if datatype is None or datatype not in literal_types:
        return None
    literal, unit = _literal(value)
    return (literal, datatype, unit) if literal else None


def _entity_object(value: shapes.Value, datatype: str | None) -> tuple[str, str, None] | None:
    identifier = value.id
    if identifier is None:
        prefix = _PREFIX.get(value.entity_type or "item")
        if prefix is None or value.numeric_id is None:
            return None
        identifier = f"{prefix}{value.numeric_id}"
    if datatype is None:
        datatype = "wikibase-property" if identifier[:1] == "P" else "wikibase-item"
    if datatype not in _ENTITY_TYPES or identifier[:1] not in ("Q", "P"):
        return None
    return identifier, datatype, None


def _literal(value: shapes.Value) -> tuple[str | None, str | None]:
    if value.time is not None:
        return literals.render_time(value.time, _precision(value)), None
    if value.amount is not None:
        unit = literals.unit_id(value.unit)
        amount = literals.render_amount(value.amount)
        return (f"{amount} {unit}" if amount and unit else amount), unit
    if value.text is not None:
        return " ".join(value.text.split()), None
    if value.latitude is not None and value.longitude is not None:
        return literals.render_coordinates(value.latitude, value.longitude), None
    return None, None


def _precision(value: shapes.Value) -> int:
    return 11 if value.precision is None else int(value.precision)


def _moment(snaks: list[shapes.Snak], choose: Callable[[list[str]], str]) -> str | None:
    """The earliest or latest moment among a qualifier's values; None where it has none."""
    moments = [
        text
        for snak in snaks
        if snak.datavalue is not None
        and isinstance(value := snak.datavalue.value, shapes.Value)
        and value.time is not None
        and (text := literals.iso_time(value.time, _precision(value)))
    ]
    return choose(moments) if moments else None
