"""Generated entities in the shapes and sizes of a live Wikidata stream, for benchmarks.

The sizes are the twentieths of 635 entities of one minute of 2019 (median 6 KB, mean 12 KB, a
tail to 140 KB); of their bytes half are statements, half of those references, as it is here.
Everything follows from the number of the entity: the same dump comes out every time.
"""

import json
from collections.abc import Iterator
from typing import Any

from twiki.facts import text_hash

_SIZES = (
    620, 2615, 3232, 3873, 4005, 4174, 4250, 4587, 5132, 5876, 6296,
    6817, 7443, 8349, 9126, 10941, 12620, 17514, 24968, 48959, 140230,
)  # fmt: skip
_LANGUAGES = (
    "en", "mul", "de", "fr", "es", "it", "nl", "sv", "pl", "ru", "ja", "zh", "pt", "ar", "fa", "uk",
    "ca", "cs", "fi", "he", "hu", "id", "ko", "nb", "ro", "sr", "tr", "vi", "bn", "el",
)  # fmt: skip
_STATEMENT_BYTES = 715
"""Mean bytes of a statement with its references in the same sample."""


def entity(number: int, *, edited: int = 0) -> dict[str, Any]:
    """The entity ``Q<number>`` as JSON values; ``edited`` changes that many of its objects."""
    draw = text_hash("entity", str(number))
    place, within = draw % 20, draw // 20 % 1000
    size = _SIZES[place] + (_SIZES[place + 1] - _SIZES[place]) * within // 1000
    statements = max(1, size // 2 // _STATEMENT_BYTES)
    claims: dict[str, list[dict[str, Any]]] = {}
    for index in range(statements):
        relation = f"P{31 + index * 7 % 211}"
        shift = 1 if index < edited else 0
        claims.setdefault(relation, []).append(_statement(number, index, relation, shift))
    terms = max(2, size // 2 // 190)
    return {
        "type": "item",
        "id": f"Q{number}",
        "lastrevid": 1_000_000 + number + edited,
        "modified": "2026-11-01T00:00:00Z",
        "labels": _terms(f"label of {number}", terms),
        "descriptions": _terms(f"something that was made up as number {number}", terms),
        "aliases": {"en": [{"language": "en", "value": f"alias {number}"}]},
        "claims": claims,
        "sitelinks": {
            f"{language}wiki": {
                "site": f"{language}wiki",
                "title": f"Title {number}",
                "badges": [],
                "url": f"https://{language}.wikipedia.org/wiki/Title_{number}",
            }
            for language in ("de", "en", "fr")[: 1 + number % 3]
        },
    }


def encoded(number: int, *, edited: int = 0) -> bytes:
    """:func:`entity` as compact JSON, a line of a dump without its comma."""
    return json.dumps(entity(number, edited=edited), separators=(",", ":")).encode()


def lines(count: int, *, edited_share: float = 0.0) -> Iterator[bytes]:
    """A dump of ``count`` entities, line by line, of which a share is edited."""
    yield b"[\n"
    for number in range(1, count + 1):
        edited = text_hash("edited", str(number)) / 2**64 < edited_share
        comma = b",\n" if number < count else b"\n"
        yield encoded(number, edited=int(edited)) + comma
    yield b"]\n"


def _terms(text: str, count: int) -> dict[str, dict[str, str]]:
    languages = [*_LANGUAGES, *(f"x-{n}" for n in range(max(0, count - len(_LANGUAGES))))][:count]
    return {language: {"language": language, "value": text} for language in languages}


def _statement(number: int, index: int, relation: str, shift: int) -> dict[str, Any]:
    draw = text_hash("statement", str(number), str(index))
    kind = draw % 16
    if kind < 8:  # noqa: PLR2004 - half are items, a quarter strings, the rest as they come
        datatype, value = "wikibase-item", _item(draw // 16 % 100_000 + shift)
    elif kind < 12:  # noqa: PLR2004 - see above
        datatype, value = "string", _value("string", f"text {draw % 9973 + shift}")
    elif kind < 14:  # noqa: PLR2004 - see above
        datatype, value = "external-id", _value("string", f"{draw:020}")
    else:
        moment = {
            "time": f"+{1900 + draw % 120 + shift}-03-21T00:00:00Z",
            "timezone": 0,
            "before": 0,
            "after": 0,
            "precision": 11,
            "calendarmodel": "http://www.wikidata.org/entity/Q1985727",
        }
        datatype, value = "time", _value("time", moment)
    return {
        "mainsnak": _snak(relation, datatype, value),
        "type": "statement",
        "id": f"Q{number}${draw:016x}-{index}",
        "rank": "normal",
        "references": [
            {
                "hash": f"{draw:040x}",
                "snaks": {"P248": [_snak("P248", "wikibase-item", _item(36578))]},
                "snaks-order": ["P248"],
            }
        ],
    }


def _snak(relation: str, datatype: str, value: dict[str, Any]) -> dict[str, Any]:
    return {
        "snaktype": "value",
        "property": relation,
        "hash": "0123456789abcdef0123456789abcdef01234567",
        "datavalue": value,
        "datatype": datatype,
    }


def _item(number: int) -> dict[str, Any]:
    value = {"entity-type": "item", "numeric-id": number, "id": f"Q{number}"}
    return _value("wikibase-entityid", value)


def _value(kind: str, value: str | dict[str, Any]) -> dict[str, Any]:
    return {"value": value, "type": kind}
