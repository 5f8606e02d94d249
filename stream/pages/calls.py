"""What a call of the API takes and gives: the records from which its description follows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import Response

from stream.pages.models import Difference, Score
from stream.pages.search import Progress
from stream.pages.site import Site
from stream.pages.windows import WindowRow
from twiki.records import Record, SentenceKind
from twiki.windows.manifest import Manifest
from twiki.windows.schema import DiffsetRow, ProbeRow, SentenceRow

AnyRow = Any


class Failure(Record, frozen=True, kw_only=True):
    """Why there is no answer."""

    error: str


class Windows(Record, frozen=True, kw_only=True):
    """All windows, the newest first."""

    windows: list[WindowRow]
    problems: list[str]


class DatasetInfo(Record, frozen=True, kw_only=True):
    """A dataset without its rows."""

    id: str
    status: str
    reason: str
    manifest: Manifest
    stats: dict[str, Any]
    reconcile: dict[str, Any] | None
    index: Progress
    """Search is possible when ``ready``."""
    days: dict[str, dict[str, int]] | None
    """Diff sentences by day and kind; null until the index is made."""
    lengths: list[dict[str, int]] | None


class Rows(Record, frozen=True, kw_only=True):
    """Rows of a part in their order; ``after`` goes into the next question, null: no more."""

    rows: list[AnyRow]
    after: str | None


class Article(Record, frozen=True, kw_only=True):
    """What a window did to one article."""

    page_id: int
    title: str
    article: DiffsetRow | None
    sentences: list[SentenceRow]
    facts: list[ProbeRow]


class FactInfo(Record, frozen=True, kw_only=True):
    """A fact, its evidence in its paragraph, and what models made of it."""

    fact: ProbeRow
    before: str
    """What stands before the evidence in its paragraph, as far as the dataset has it."""
    after: str
    scores: list[Score]


class Hit(Record, frozen=True, kw_only=True):
    """A sentence that holds all words."""

    id: int
    """Page id."""
    ordinal: int
    title: str
    text: str
    kind: SentenceKind


class Found(Record, frozen=True, kw_only=True):
    """Hits in the order of the file; ``after`` goes into the next question, null: no more."""

    count: int
    """Counted up to 1,000; 1,001 means more."""
    rows: list[AnyRow]
    """Of ``sentences`` a Hit each, of ``facts`` a ProbeRow."""
    after: int | None


class ModelsInfo(Record, frozen=True, kw_only=True):
    """The trainer's report, and what can be compared."""

    windows: list[str]
    findings: list[str]
    tables: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    evaluations: list[str]
    """Names for the comparison: ``<run> on <dataset>``."""


class Comparison(Record, frozen=True, kw_only=True):
    """Two evaluations, and the facts on which they differ most."""

    first: str
    second: str
    figures: dict[str, tuple[float | int | None, float | int | None]]
    """What was measured and what it cost, of the first and of the second."""
    rows: list[Difference]


@dataclass(frozen=True)
class Parameter:
    """What a call takes from the address or its query."""

    name: str
    about: str
    kind: Literal["string", "integer"] = "string"
    place: Literal["path", "query"] = "query"
    choices: tuple[str, ...] = ()
    needed: bool = False
    bounds: tuple[int, int] | None = None


@dataclass(frozen=True)
class Call:
    """One address of the API."""

    path: str
    summary: str
    answer: Callable[[Site, Request], Response]
    returns: type
    parameters: tuple[Parameter, ...] = ()
