"""Text that is hidden afterwards leaves everything that is not published yet (L21).

:func:`twiki.apply.apply` drops the text itself from the state. Here the outbox loses what it
told of it, the live feed gets a tombstone for what is exported already, and the revision is
marked until every published dataset is without it (:mod:`twiki.windows.withdraw`)::

    if concerns(held, change):
        withhold(engine, key, change)       # in the batch of the event that hid it
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from twiki import live
from twiki.live import LiveFact, LiveSentence, Output
from twiki.records import Change, ChangeKind
from twiki.state import codec, layout
from twiki.state.codec import Held
from twiki.state.layout import Id
from twiki.times import to_ms

if TYPE_CHECKING:
    from twiki.engine import Engine


class Mark(msgspec.Struct, frozen=True):
    """What is known of a hidden revision beside its id."""

    key: Id


class Hidden(NamedTuple):
    """A revision that is hidden and may stand in published datasets."""

    wiki: str
    rev: int
    key: Id


def _hides(change: Change) -> tuple[int, ...]:
    """The revisions whose text the change hides."""
    if change.visible is not False:
        return ()
    if change.kind is ChangeKind.VISIBILITY:
        return change.rev_ids
    return (change.rev_id,) if change.rev_id else ()


def _shows(change: Change) -> tuple[int, ...]:
    """The revisions whose text the change makes readable again."""
    return change.rev_ids if change.kind is ChangeKind.VISIBILITY and change.visible else ()


def concerns(held: Held, change: Change) -> bool:
    """Whether the change is about text that could be read: one hidden from the start is not."""
    if change.kind is ChangeKind.VISIBILITY:
        return True
    return change.visible is False and any(e.rev == change.rev_id for e in held.entries)


def withhold(engine: "Engine", key: Id, change: Change) -> int:
    """Take what the change hides out of the outbox and mark it; how many records went.

    A sentence that replaced a hidden one stays, without the hidden one.
    """
    for rev in _shows(change):
        engine.batch.delete(_mark(change.wiki, rev))
    revs = _hides(change)
    if not revs:
        return 0
    for rev in revs:
        engine.batch.put(_mark(change.wiki, rev), codec.encode(Mark(key)))
    gone = _purge(engine, key, frozenset(revs))
    start = engine.context.window_start(to_ms(change.effective_time))
    for rev in revs:
        engine.tell(start or 0, live.tombstone(change.wiki, key, rev, change.effective_time))
    return gone


def hidden(engine: "Engine") -> Iterator[Hidden]:
    """The revisions marked, by wiki and id, as committed."""
    for found, value in engine.store.kv.scan(layout.HIDDEN):
        wiki, _, _ = found[1:].partition(b"\0")
        rev = int.from_bytes(found[-8:], "big")
        yield Hidden(wiki.decode(), rev, codec.decode(value, Mark).key)


def forget(engine: "Engine", done: Iterable[Hidden]) -> None:
    """Take marks away: the datasets are without these revisions. To be committed."""
    for one in done:
        engine.batch.delete(_mark(one.wiki, one.rev))


def _mark(wiki: str, rev: int) -> bytes:
    return layout.HIDDEN + wiki.encode() + b"\0" + layout.number(rev)


def _purge(engine: "Engine", key: Id, revs: frozenset[int]) -> int:
    told: list[tuple[bytes, Output]] = []
    for found in engine.batch.keys(layout.OUTBOX):
        value = engine.batch.get(found)
        output = None if value is None else codec.decode(value, Output)  # type: ignore[arg-type]
        if output is not None and _is_of(output, key):
            told.append((found, output))
    secret = {
        output.sentence.text
        for _, output in told
        if isinstance(output, LiveSentence) and output.rev_id in revs
    }
    gone = 0
    for found, output in told:
        if isinstance(output, LiveSentence | LiveFact) and output.rev_id in revs:
            engine.batch.delete(found)
            gone += 1
        elif isinstance(output, LiveSentence) and output.sentence.replaced in secret:
            sentence = msgspec.structs.replace(output.sentence, replaced=None)
            cleared = msgspec.structs.replace(output, sentence=sentence)
            engine.batch.put(found, codec.encode(cleared))
    return gone


def _is_of(output: Output, key: Id) -> bool:
    if isinstance(output, LiveSentence):
        return output.page_id == key
    return isinstance(output, LiveFact) and output.change.fact.subject == key
