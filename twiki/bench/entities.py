"""Entities: decoding and comparing them, without state (the part of an edit that is ours).

Peers, in the same run: the standard library's ``json``, and msgspec reading the same typed fields
without making facts of them.
"""

import json

from twiki.bench.corpus import encoded
from twiki.bench.figures import Figure, figure, seconds
from twiki.config import WikiConfig
from twiki.entities import decode, shapes
from twiki.facts import chosen, compare

_ENTITIES = 2_000
_EDITS_BUDGET = 3_000
_RATE = 0.001


def run(entities: int = _ENTITIES) -> list[Figure]:
    """Decode and compare ``entities`` generated entities, each once before and once after."""
    old = [encoded(number) for number in range(1, entities + 1)]
    new = [encoded(number, edited=1) for number in range(1, entities + 1)]
    megabytes = sum(map(len, new)) / 1e6
    wiki = WikiConfig()
    typed = shapes.decoder(wiki.name, wiki.languages, shapes.Claims)
    before = [decode(content) for content in old]

    def edits() -> None:
        for entity, content in zip(before, new, strict=True):
            compare(entity, decode(content), unchanged=lambda fact: chosen(fact, _RATE))

    decoding = seconds(lambda: [decode(content) for content in new], repeat=3)
    reading = seconds(lambda: [typed.decode(content) for content in new], repeat=3)
    plain = seconds(lambda: [json.loads(content) for content in new])
    rate = entities / seconds(edits, repeat=3)
    return [
        figure("entity edits decoded and compared", rate, "edits/s", budget=_EDITS_BUDGET),
        figure("decode", megabytes / decoding, "MB/s", peer=megabytes / reading),
        figure("decode against json.loads", megabytes / decoding, "MB/s", peer=megabytes / plain),
        figure("mean size of an entity", megabytes * 1e3 / entities, "KB"),
    ]
