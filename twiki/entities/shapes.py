"""The JSON of an entity, typed to the fields that facts, labels and alignment need.

msgspec skips whatever these types do not name without building it: references, hashes,
descriptions, labels in other languages and sitelinks to other wikis cost a scan and no object.
That is why languages and the wiki are fields of a generated type, not keys of a dictionary.

Wherever MediaWiki's PHP has an empty map it may write ``[]``; every map is therefore a union
with a list.
"""

import unicodedata
from functools import lru_cache
from typing import Any, Protocol, cast

import msgspec

from twiki.records import Entity

_QUALIFIERS = {"start": "P580", "end": "P582", "at": "P585"}


class Value(
    msgspec.Struct, gc=False, rename={"numeric_id": "numeric-id", "entity_type": "entity-type"}
):
    """The inside of a data value: the union of the fields of all value types."""

    id: str | None = None
    numeric_id: int | str | None = None
    entity_type: str | None = None
    time: str | None = None
    precision: int | float | None = None
    amount: str | int | float | None = None
    unit: str | None = None
    text: str | None = None
    latitude: float | None = None
    longitude: float | None = None


class DataValue(msgspec.Struct, gc=False):
    """``type`` and ``value`` of a snak; an unknown type may hold anything."""

    value: str | Value | list[Any] | int | float | bool | None = None
    type: str = ""


class Snak(msgspec.Struct, gc=False):
    """A claim's property and value. ``somevalue`` and ``novalue`` have no data value."""

    snaktype: str = "value"
    datavalue: DataValue | None = None
    datatype: str | None = None


class Qualifiers(msgspec.Struct, gc=False, rename=_QUALIFIERS):
    """The qualifiers that say when a statement holds."""

    start: list[Snak] = []
    end: list[Snak] = []
    at: list[Snak] = []


class Statement(msgspec.Struct, gc=False):
    """A statement without its references."""

    mainsnak: Snak
    rank: str = "normal"
    id: str = ""
    qualifiers: Qualifiers | list[Any] | None = None


class Term(msgspec.Struct, gc=False):
    """A label or alias with its language left out."""

    value: str = ""


class Sitelink(msgspec.Struct, gc=False):
    """A link to a page of the wiki that is followed."""

    title: str = ""


Claims = dict[str, list[Statement]] | list[Any] | None
RawClaims = dict[str, list[msgspec.Raw]] | list[Any] | None


class Document(Protocol):
    """What one JSON document holds: an entity, a redirect, an envelope, or the old format.

    ``labels``, ``aliases`` and ``sitelinks`` are read with :func:`terms` and :func:`sitelink`:
    their fields depend on the languages and the wiki. ``claims`` is there unless left unread.
    """

    id: str | None
    type: str | None
    labels: object
    aliases: object
    sitelinks: object
    redirect: str | None
    entity: str | list[Any] | None
    entities: dict[str, msgspec.Raw] | list[Any] | None
    missing: str | bool | None


@lru_cache(maxsize=16)
def decoder(
    wiki: str, languages: tuple[str, ...], claims: object
) -> msgspec.json.Decoder[Document]:
    """A decoder of :class:`Document` for a wiki and its languages."""
    return msgspec.json.Decoder(document_type(wiki, languages, claims))


@lru_cache(maxsize=16)
def document_type(wiki: str, languages: tuple[str, ...], claims: object) -> type[Document]:
    """The type behind :func:`decoder`.

    ``claims`` is the type of the statements: :data:`Claims`, :data:`RawClaims`, or None to leave
    them unread.
    """
    fields = {f"l{i}": language for i, language in enumerate(dict.fromkeys(languages))}
    labels: Any = msgspec.defstruct(
        "Labels", [(name, Term | None, None) for name in fields], rename=fields, gc=False
    )
    aliases: Any = msgspec.defstruct(
        "Aliases", [(name, list[Term], []) for name in fields], rename=fields, gc=False
    )
    sitelinks: Any = msgspec.defstruct(
        "Sitelinks", [("here", Sitelink | str | None, None)], rename={"here": wiki}, gc=False
    )
    document: list[tuple[str, Any, Any]] = [
        ("id", str | None, None),
        ("type", str | None, None),
        ("labels", labels | list[Any] | None, None),
        ("aliases", aliases | list[Any] | None, None),
        ("sitelinks", sitelinks | list[Any] | None, None),
        ("redirect", str | None, None),
        ("entity", str | list[Any] | None, None),
        ("entities", dict[str, msgspec.Raw] | list[Any] | None, None),
        ("missing", str | bool | None, None),
    ]
    if claims is not None:
        document.append(("claims", claims, None))
    built: Any = msgspec.defstruct("Document", document)
    return cast("type[Document]", built)


def terms(
    document: Document, languages: tuple[str, ...]
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Labels and aliases of a decoded document, in the order of ``languages``."""
    labels: dict[str, str] = {}
    aliases: dict[str, tuple[str, ...]] = {}
    for i, language in enumerate(dict.fromkeys(languages)):
        term: Term | None = getattr(document.labels, f"l{i}", None)
        if term is not None and (text := term.value.strip()):
            labels[language] = text
        each: list[Term] = getattr(document.aliases, f"l{i}", [])
        if texts := tuple(text for alias in each if (text := alias.value.strip())):
            aliases[language] = texts
    return labels, aliases


def sitelink(document: Document) -> str | None:
    """The title of the page that the followed wiki has on the entity, in display form."""
    link: Sitelink | str | None = getattr(document.sitelinks, "here", None)
    title = link.title if isinstance(link, Sitelink) else link
    return unicodedata.normalize("NFC", title.replace("_", " ")) if title else None


def label(entity: Entity, languages: tuple[str, ...]) -> str | None:
    """The label in the first of ``languages`` that has one (L9)."""
    for language in languages:
        if text := entity.labels.get(language):
            return text
    return None
