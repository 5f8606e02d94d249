"""Two states of one history held against each other, as ENGINE 4 compares a killed run's.

What a state means is compared: texts and entities at every boundary, each ledger with its hidings,
and the live feed by id, as sets. Left out is what tells in which order things came: counters,
dead letters, side records, numbers of the outbox, and against which text another is stored;
and the feed of pages that were merged away, since no event tells what stands there afterwards:
the API says so, at whatever moment it is asked.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from twiki.engine import Engine
from twiki.live import LiveFact, LiveSentence, LiveTombstone, Output
from twiki.state import codec, layout
from twiki.state.layout import Id
from twiki.state.ledger import Entry, EntryKind
from twiki.times import to_ms

Meaning = dict[str, dict[Any, Any]]
"""Kind -> key -> value."""


def meaning(engine: Engine, until: datetime) -> Meaning:
    """What the state of ``engine`` says of the time before ``until``.

    Two runs that end when they have read so far have read a little more, each as it fell.
    """
    state, store, end = engine.as_of(), engine.store, to_ms(until)
    moments = [at for at in engine.context.boundaries if at <= end]
    pages = [page for page, _ in store.pages()]
    entities = [entity for entity, _ in store.entities()]
    ledgers = {
        key: told
        for key, held in (*store.pages(), *store.entities())
        if (told := [entry for entry in held.entries if entry.effective < end])
    }
    merged = {
        k for k, entries in ledgers.items() if any(e.kind is EntryKind.MERGE for e in entries)
    }
    return {
        "article": {(p, at): state.article(p, at) for p in pages for at in moments},
        "entity": {(e, at): state.entity(e, at) for e in entities for at in moments},
        "ledger": {key: frozenset(map(_timeless, entries)) for key, entries in ledgers.items()},
        "feed": {
            one.id: msgspec.json.encode(one)
            for one in _outputs(engine)
            if one.effective_time < until and _subject(one) not in merged
        },
    }


def differences(one: Meaning, other: Meaning) -> Iterator[str]:
    """What the two do not have in common, a line each, by kind and key."""
    for kind in one:
        ours, theirs = one[kind], other[kind]
        for key in sorted(ours.keys() | theirs.keys(), key=repr):
            if ours.get(key) != theirs.get(key):
                yield f"{kind} {key}: {ours.get(key)!r}, undisturbed {theirs.get(key)!r}"


def _timeless(entry: Entry) -> Entry:
    """An entry without what tells when it came, and by which of two streams.

    Only page_change says whether a page is a redirect; the text says it too.
    """
    return msgspec.structs.replace(entry, epoch=0, redirect=None)


def _subject(output: Output) -> Id:
    match output:
        case LiveSentence():
            return output.page_id
        case LiveFact():
            return output.change.fact.subject
        case LiveTombstone():
            return int(output.key) if output.key.isdigit() else output.key


def _outputs(engine: Engine) -> Iterator[Output]:
    for _, value in engine.store.kv.scan(layout.OUTBOX):
        yield codec.decode(value, Output)  # type: ignore[arg-type]
