"""Generated entities in the shapes and sizes of a live Wikidata stream, for benchmarks.

The sizes are the twentieths of 635 entities of one minute of 2019 (median 6 KB, mean 12 KB, a
tail to 140 KB); of their bytes half are statements, half of those references, as it is here.
Hashes, words and scripts vary so that the text is as compressible as Wikidata's own (7.5 : 1 by
zlib, which decompresses both at the same pace). Everything follows from the number of the entity:
the same dump comes out every time. One in five has an article in the English Wikipedia; of
Wikidata's own it is one in fifteen.
"""

import json
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
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
_STATEMENT_BYTES = 1070
"""Mean bytes of a statement with its references."""
_TERM_BYTES = 210
"""Of a label with its description."""
_BODIES = 2_000
"""Bodies of a dump: a later entity has the body of an earlier one under its own id."""
_REVISION = 1_000_000_000


def entity(number: int, *, edited: int = 0) -> dict[str, Any]:
    """The entity ``Q<number>`` as JSON values; ``edited`` changes that many of its objects.

    It is of October 2026, an edited one of November.
    """
    draw = text_hash("entity", str(number))
    place, within = draw % 20, draw // 20 % 1000
    size = _SIZES[place] + (_SIZES[place + 1] - _SIZES[place]) * within // 1000
    statements = max(1, size // 2 // _STATEMENT_BYTES)
    claims: dict[str, list[dict[str, Any]]] = {}
    for index in range(statements):
        relation = f"P{31 + index * 7 % 211}"
        shift = edited if index < edited else 0
        claims.setdefault(relation, []).append(_statement(number, index, relation, shift))
    terms = max(2, size // 2 // _TERM_BYTES)
    return {
        "type": "item",
        "id": f"Q{number}",
        "labels": _terms(f"label {number}", terms, 2),
        "descriptions": _terms(f"description {number}", terms, 6),
        "aliases": {"en": [{"language": "en", "value": f"alias {number}"}]},
        "claims": claims,
        "sitelinks": {
            f"{language}wiki": {"site": f"{language}wiki", "title": f"Title {number}", "badges": []}
            for language in ("de", "fr", "en")[: 3 if number % 5 == 0 else 1 + number % 2]
        },
        "pageid": number,
        "ns": 0,
        "title": f"Q{number}",
        "lastrevid": _revision(number, edited),
        "modified": f"2026-{11 if edited else 10}-15T00:00:00Z",
    }


def encoded(number: int, *, edited: int = 0) -> bytes:
    """:func:`entity` as compact JSON, a line of a dump without its comma."""
    return _json(entity(number, edited=edited))


def lines(count: int, *, edited_share: float = 0.0) -> Iterator[bytes]:
    """A dump of ``count`` entities, line by line, of which a share is edited."""
    yield b"[\n"
    for number in range(1, count + 1):
        edited = text_hash("edited", str(number)) / 2**64 < edited_share
        yield _line(number, edited=int(edited)) + (b",\n" if number < count else b"\n")
    yield b"]\n"


def _line(number: int, *, edited: int) -> bytes:
    body = (number - 1) % _BODIES + 1
    line = _encoded(body, edited)
    if body == number:
        return line
    was, now = b'"Q%d' % body, b'"Q%d' % number
    line = line.replace(was + b'"', now + b'"').replace(was + b"$", now + b"$")
    was, now = (b'"lastrevid":%d' % _revision(each, edited) for each in (body, number))
    return line.replace(was, now)


def _revision(number: int, edited: int) -> int:
    return _REVISION + number + edited * 1_000_000


@lru_cache(2 * _BODIES)
def _encoded(number: int, edited: int) -> bytes:
    return encoded(number, edited=edited)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _terms(about: str, count: int, words: int) -> dict[str, dict[str, str]]:
    languages = [*_LANGUAGES, *(f"x-{n}" for n in range(max(0, count - len(_LANGUAGES))))][:count]
    return {  # a name is mostly the same in neighbouring languages
        language: {"language": language, "value": _words(f"{about} {index // 3}", words)}
        for index, language in enumerate(languages)
    }


_SYLLABLES = (
    "ka", "ri", "to", "men", "sal", "ber", "lin", "go", "ша", "ров", "на", "ти", "σα", "νι",
    "京", "都", "ür", "én",
)  # fmt: skip


def _words(about: str, count: int) -> str:
    draw = text_hash(about)
    made = []
    for _ in range(count):
        made.append("".join(_SYLLABLES[draw // 18**n % 18] for n in range(2 + draw % 2)))
        draw = draw // 18**3 + (draw << 32) % 2**64
    return " ".join(made)


def _statement(number: int, index: int, relation: str, shift: int) -> dict[str, Any]:
    draw = text_hash("statement", str(number), str(index))
    kind = draw % 16
    if kind < 8:  # noqa: PLR2004 - half are items, a quarter strings, the rest as they come
        datatype, value = "wikibase-item", _item(draw // 16 % 100_000 + shift)
    elif kind < 12:  # noqa: PLR2004 - see above
        datatype, value = "string", _value("string", f"{_words(str(draw), 3)} {shift}")
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
    told = _snak("P813", "time", _value("time", {"time": f"+2019-0{1 + number % 9}-11T00:00:00Z"}))
    return {
        "mainsnak": _snak(relation, datatype, value),
        "type": "statement",
        "id": f"Q{number}${_hash(draw, 'id')[:36]}",
        "rank": "normal",
        "references": [
            {
                "hash": _hash(draw, "reference"),
                "snaks": {"P248": [_snak("P248", "wikibase-item", _item(36578))], "P813": [told]},
                "snaks-order": ["P248", "P813"],
            }
        ],
    }


def _snak(relation: str, datatype: str, value: dict[str, Any]) -> dict[str, Any]:
    return {
        "snaktype": "value",
        "property": relation,
        "hash": _hash(relation, str(value)),
        "datavalue": value,
        "datatype": datatype,
    }


def _hash(*parts: object) -> str:
    return blake2b("|".join(map(str, parts)).encode(), digest_size=20).hexdigest()


def _item(number: int) -> dict[str, Any]:
    value = {"entity-type": "item", "numeric-id": number, "id": f"Q{number}"}
    return _value("wikibase-entityid", value)


def _value(kind: str, value: str | dict[str, Any]) -> dict[str, Any]:
    return {"value": value, "type": kind}
