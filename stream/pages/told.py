"""What the live feed is made of: samples, rates, and what a reader wants of it."""

from typing import NamedTuple

from twiki.live import LiveFact, LiveSentence, LiveTombstone, Output
from twiki.records import Record, SourcePosition


class Sample(NamedTuple):
    """The counters at one moment, seconds of a clock that only goes forward."""

    at: float
    revisions: int
    told: int
    watermark: float


class Rate(Record, frozen=True, kw_only=True):
    """Something a second, by what it is split by."""

    wiki: str
    kind: str
    per_second: float


class Now(Record, frozen=True, kw_only=True):
    """How far a state is at this moment."""

    wiki: str
    watermark: str | None
    """Arrival time reached, ISO 8601."""
    lag_seconds: float | None
    window: str | None
    """The open window."""
    revisions: int
    """Applied since the state began."""
    told: int
    """Diff sentences, facts and tombstones told since the state began."""
    revisions_per_second: float
    told_per_second: float
    events: list[Rate]
    """Changes read a second, as the worker tells them."""
    outputs: list[Rate]
    """Diff sentences and facts told a second."""
    positions: list[SourcePosition]
    counts: dict[str, int]
    dead_letters: dict[str, int]
    sides: dict[str, int]
    reconnects: int | None
    """Connections to the source after the first; None: the worker does not tell."""
    late: int
    problem: str
    """Why the state cannot be followed at the moment; empty: it can."""


def kind_of(record: Output) -> str:
    """What a record is: the kind of a sentence, the class of a fact, or tombstone."""
    match record:
        case LiveSentence():
            return str(record.sentence.kind)
        case LiveFact():
            return str(record.change.fact_class)
        case LiveTombstone():
            return "tombstone"


def title_of(record: Output) -> str:
    """The page or entity that a record is about."""
    match record:
        case LiveSentence():
            return record.title
        case LiveFact():
            return record.change.fact.subject
        case LiveTombstone():
            return record.key


class Wanted(Record, frozen=True, kw_only=True):
    """Which records a reader wants; empty: all."""

    wiki: str = ""
    kind: str = ""
    title: str = ""
    """Part of a title or entity id, whatever its case."""

    def __call__(self, record: Output) -> bool:
        """Whether ``record`` is wanted."""
        return (
            (not self.wiki or record.wiki == self.wiki)
            and (not self.kind or kind_of(record) == self.kind)
            and (not self.title or self.title.casefold() in title_of(record).casefold())
        )
