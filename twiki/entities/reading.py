"""From bytes to a document: the quick way for nearly all, and two ways for the rest.

1. Today's JSON, typed (:mod:`twiki.entities.shapes`).
2. Where that refuses: the storage format of 2012 to 2014 (:mod:`twiki.entities.legacy`).
3. Else today's JSON again, statement by statement: one of a shape that nobody has seen yet costs
   itself and not the entity.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec

from twiki.entities import legacy, shapes

_Content = str | bytes | msgspec.Raw
_statement = msgspec.json.Decoder(shapes.Statement)


class BadReason(StrEnum):
    """Why something is not an entity that facts come from; a label of counters."""

    NOT_JSON = "not_json"
    SHAPE = "shape"
    NO_ID = "no_id"
    MISSING = "missing"
    UNSUPPORTED = "unsupported_type"
    SEVERAL = "several_entities"


class BadEntity(ValueError):
    """Content that is no item, property or redirect. ``reason`` says which kind of not."""

    def __init__(self, reason: BadReason, detail: str) -> None:
        """Keep the reason for counters, and a bounded detail for people."""
        super().__init__(f"{reason.value}: {detail[:200]}")
        self.reason = reason


def read(
    content: _Content, wiki: str, languages: tuple[str, ...], *, claims: bool
) -> shapes.Document:
    """The document of one entity, out of its envelope; ``claims`` false leaves them unread.

    Raises:
        BadEntity: it is not JSON, has another shape, or does not hold exactly one entity.
    """
    reader = _Reader(wiki, languages, shapes.Claims if claims else None)
    document = reader.document(content)
    if document.entities is not None:
        document = reader.document(_only(document.entities))
    return document


def _only(entities: dict[str, msgspec.Raw] | list[Any]) -> msgspec.Raw:
    if isinstance(entities, list) or not entities:
        raise BadEntity(BadReason.MISSING, "the answer holds no entity")
    if len(entities) > 1:
        raise BadEntity(BadReason.SEVERAL, f"the answer holds {len(entities)} entities")
    return next(iter(entities.values()))


class _Reader:
    """Reads documents of one wiki and its languages."""

    def __init__(self, wiki: str, languages: tuple[str, ...], claims: object) -> None:
        self._wiki, self._languages, self._claims = wiki, languages, claims

    def document(self, content: _Content) -> shapes.Document:
        """The document in ``content``, whichever way reads it."""
        try:
            document = self._decoder(self._claims).decode(content)
        except msgspec.ValidationError as error:
            return self._otherwise(content, str(error))
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise BadEntity(BadReason.NOT_JSON, str(error)) from error
        if document.id is None and document.entity is not None and not document.redirect:
            return self._otherwise(content, "an entity without an id")
        return document

    def _decoder(self, claims: object) -> msgspec.json.Decoder[shapes.Document]:
        return shapes.decoder(self._wiki, self._languages, claims)

    def _otherwise(self, content: _Content, problem: str) -> shapes.Document:
        try:
            old = msgspec.json.decode(content)
            if isinstance(old, dict) and "entity" in old and "id" not in old:
                kind = shapes.document_type(self._wiki, self._languages, self._claims)
                return msgspec.convert(legacy.modern(old), kind)
            if self._claims is not None and isinstance(old, dict) and "id" in old:
                return self._by_statement(content)
        except (legacy.NotLegacy, msgspec.DecodeError, UnicodeError, RecursionError) as error:
            problem = f"{problem}; {error}"
        raise BadEntity(BadReason.SHAPE, problem)

    def _by_statement(self, content: _Content) -> shapes.Document:
        document: Any = self._decoder(shapes.RawClaims).decode(content)
        if isinstance(document.claims, dict):
            document.claims = {
                relation: list(_readable(statements))
                for relation, statements in document.claims.items()
            }
        result: shapes.Document = document
        return result


def _readable(statements: Iterable[msgspec.Raw]) -> Iterable[shapes.Statement]:
    for statement in statements:
        try:
            yield _statement.decode(statement)
        except msgspec.ValidationError:
            continue
