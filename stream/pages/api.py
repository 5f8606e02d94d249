"""``/api/v1``: the same as the pages, as JSON, with its own description.

Each call stands once in :data:`CALLS`; routes and OpenAPI are made from it. What a call gives
is a record, from which its schema follows. Released: fields are added, never changed or removed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from stream.pages import content, modelpages
from stream.pages.library import READABLE
from stream.pages.livefeed import Now
from stream.pages.models import Difference, Measured, Score
from stream.pages.now import KINDS
from stream.pages.reading import MOST, PAGE, object_digest
from stream.pages.search import Progress
from stream.pages.site import Site, fact_part, given_text, number, whole
from stream.pages.windows import WindowRow
from stream.pages.windows import rows as window_rows
from twiki.live import LiveFact, LiveSentence, LiveTombstone
from twiki.records import Record
from twiki.windows.manifest import Manifest
from twiki.windows.schema import FACT_PARTS, ROWS, DiffsetRow, ProbeRow, SentenceRow

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


class Found(Record, frozen=True, kw_only=True):
    """Hits in the order of the file; ``after`` goes into the next question, null: no more."""

    count: int
    """Counted up to 1,000; 1,001 means more."""
    rows: list[AnyRow]
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


def give(value: object) -> Response:
    """A record as JSON."""
    return Response(msgspec.json.encode(value, enc_hook=str), media_type="application/json")


def _windows(site: Site, _request: Request) -> Response:
    listing = site.library.listing()
    found = window_rows(site.library, site.feed)
    return give(Windows(windows=found, problems=[str(p) for p in listing.problems]))


def _dataset(site: Site, request: Request) -> Response:
    shelf = site.shelf(request.path_params["id"])
    return give(
        DatasetInfo(
            id=shelf.id,
            status=str(shelf.status),
            reason=shelf.reason,
            manifest=site.library.dataset(shelf).manifest,
            stats=site.library.stats(shelf),
            reconcile=site.library.reconcile(shelf),
            index=site.indexes.want(shelf),
            days=site.indexes.summary(shelf, "days"),
            lengths=site.indexes.summary(shelf, "lengths"),
        )
    )


def _rows(site: Site, request: Request) -> Response:
    shelf = site.shelf(request.path_params["id"])
    part = next((p for p in READABLE if p.value == request.path_params["part"]), None)
    if part is None:
        raise HTTPException(404, "There is no such part.")
    limit = whole(request, "limit", PAGE, least=1, most=MOST)
    after = request.query_params.get("after")
    page = site.reading.page(shelf, part, after=after or None, limit=limit)
    return give(Rows(rows=page.rows, after=page.after))


def _article(site: Site, request: Request) -> Response:
    shelf = site.shelf(request.path_params["id"])
    found = content.article(site, shelf, number(request.path_params["page"], "page"))
    if found is None:
        raise HTTPException(404, "The window brought nothing to such an article.")
    names = ("page_id", "title", "article", "sentences", "facts")
    return give({name: found[name] for name in names})


def _fact(site: Site, request: Request) -> Response:
    shelf = site.shelf(request.path_params["id"])
    part = fact_part(request.path_params["part"])
    subject, relation = request.path_params["subject"], request.path_params["relation"]
    digest = object_digest(given_text(request, "object", 1_000))
    found = content.fact(site, shelf, part, subject, relation, digest)
    if found is None:
        raise HTTPException(404, "There is no such fact in this set.")
    return give({name: found[name] for name in ("fact", "before", "after", "scores")})


def _search(site: Site, request: Request) -> Response:
    shelf = site.shelf(request.path_params["id"])
    asked = given_text(request, "q")
    where = given_text(request, "in") or "sentences"
    if where not in ("sentences", "facts"):
        raise HTTPException(400, "in: expected sentences or facts")
    limit = whole(request, "limit", PAGE, least=1, most=MOST)
    after = whole(request, "after", -1, least=-1)
    if not site.indexes.want(shelf).ready:
        raise HTTPException(503, "The index of this window is being made: ask again later.")
    found = content.search(site, shelf, asked, where, after, limit)
    return give(Found(count=found["hits"].count, rows=found["rows"], after=found["next"]))


def _models(site: Site, _request: Request) -> Response:
    report, measured = site.models.report(), site.models.measured()
    return give(
        ModelsInfo(
            windows=list(report.windows) if report else [],
            findings=list(report.findings) if report else [],
            tables=report.tables if report else [],
            runs=report.runs if report else [],
            evaluations=[named(one) for one in measured],
        )
    )


def _compare(site: Site, request: Request) -> Response:
    first, second = modelpages.chosen(site, request)
    limit = whole(request, "limit", PAGE, least=1, most=MOST)
    rows = [] if first == second else site.models.compare(first, second, limit=limit)
    return give(Comparison(first=named(first), second=named(second), rows=rows))


def _now(site: Site, _request: Request) -> Response:
    if site.feed is None:
        raise HTTPException(404, "Served without a state: there is nothing to follow.")
    return give(site.feed.now())


def _openapi(_site: Site, _request: Request) -> Response:
    return give(description())


def named(one: Measured) -> str:
    """The name of an evaluation, as addresses use it."""
    return f"{one.run} on {one.dataset}"


_ID = Parameter("id", "id of a dataset, e.g. twiki-enwiki-2026-11-v1", place="path")
_LIMIT = Parameter("limit", "rows, at most", "integer", bounds=(1, MOST))
_PART = Parameter(
    "part", "set of facts", place="path", choices=tuple(part.value for part in FACT_PARTS)
)
CALLS = (
    Call("/openapi.json", "this description", _openapi, dict[str, Any]),
    Call("/windows", "all windows with their states and versions", _windows, Windows),
    Call(
        "/datasets/{id}", "a dataset: manifest, counts, reconciling", _dataset, DatasetInfo, (_ID,)
    ),
    Call(
        "/datasets/{id}/rows/{part}",
        "rows of a part, page by page",
        _rows,
        Rows,
        (
            _ID,
            Parameter(
                "part", "file of rows", place="path", choices=tuple(p.value for p in READABLE)
            ),
            Parameter("after", "what the page before gave as after"),
            _LIMIT,
        ),
    ),
    Call(
        "/datasets/{id}/articles/{page}",
        "an article: sentences with what they replaced, probes",
        _article,
        Article,
        (_ID, Parameter("page", "page id", "integer", "path", bounds=(0, 2**53))),
    ),
    Call(
        "/datasets/{id}/facts/{part}/{subject}/{relation}",
        "a fact with its evidence and the models' scores",
        _fact,
        FactInfo,
        (
            _ID,
            _PART,
            Parameter("subject", "id of the subject", place="path"),
            Parameter("relation", "id of the property", place="path"),
            Parameter("object", "id or value of the object", needed=True),
        ),
    ),
    Call(
        "/datasets/{id}/search",
        "sentences or facts that hold all words",
        _search,
        Found,
        (
            _ID,
            Parameter("q", "words; each also finds what begins with it", needed=True),
            Parameter("in", "where", choices=("sentences", "facts")),
            Parameter("after", "what the page before gave as after", "integer", bounds=(-1, 2**62)),
            _LIMIT,
        ),
    ),
    Call("/models", "the trainer's report", _models, ModelsInfo),
    Call(
        "/models/compare",
        "the facts that two models see most differently",
        _compare,
        Comparison,
        (
            Parameter("a", "an evaluation, as /models names it", needed=True),
            Parameter("b", "another one", needed=True),
            _LIMIT,
        ),
    ),
    Call("/now", "how far the worker is", _now, Now),
)
_LIVE = Call(
    "/live",
    "diff sentences and facts as they are told, as server-sent events",
    _now,
    str,
    (
        Parameter(
            "after",
            "number of the last event seen; -1: from the oldest that is kept",
            "integer",
            bounds=(-1, 2**62),
        ),
        Parameter("wiki", "of this wiki alone"),
        Parameter("kind", "of this kind alone", choices=KINDS),
        Parameter("title", "whose title or entity id holds this"),
    ),
)


def about(site: Site, request: Request) -> Response:
    """The page that tells people of the API."""
    paths = [(f"/api/v1{call.path}", _operation(call)) for call in (*CALLS, _LIVE)]
    return site.page(request, "api.html", paths=paths, base=str(request.base_url))


def description() -> dict[str, Any]:
    """The OpenAPI 3.1 description of all calls."""
    kinds = [call.returns for call in CALLS if call.returns not in (dict[str, Any], str)]
    live = LiveSentence | LiveFact | LiveTombstone
    rows = list(dict.fromkeys(ROWS.values()))
    schemas, components = msgspec.json.schema_components(
        [*kinds, Failure, live, *rows], ref_template="#/components/schemas/{name}"
    )
    by_kind = dict(zip(kinds, schemas[: len(kinds)], strict=True))
    any_row = {"anyOf": schemas[-len(rows) :]}
    for name in ("Rows", "Found"):
        components[name]["properties"]["rows"]["items"] = any_row
    paths = {
        f"/api/v1{call.path}": {
            "get": {
                **_operation(call),
                "responses": _responses(
                    "application/json", by_kind.get(call.returns, {"type": "object"})
                ),
            }
        }
        for call in CALLS
    }
    paths["/api/v1/live"] = {
        "get": {
            **_operation(_LIVE),
            "description": (
                "Events sentence, fact and tombstone, data as JSON, id the record's number. "
                "Event reset: the state is younger than the number given. "
                "Last-Event-ID counts like after."
            ),
            "responses": _responses("text/event-stream", {"type": "string"}),
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "TWiki",
            "version": "1",
            "description": "What changed in a wiki and in Wikidata: by window, and as it happens.",
            "license": {"name": "Text: CC BY-SA 4.0; facts: CC0"},
        },
        "paths": paths,
        "components": {"schemas": components},
    }


def _operation(call: Call) -> dict[str, Any]:
    return {
        "summary": call.summary,
        "operationId": call.path.strip("/").replace("/", "_").replace("{", "").replace("}", ""),
        "parameters": [_parameter(one) for one in call.parameters],
    }


def _parameter(one: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": one.kind}
    if one.choices:
        schema["enum"] = list(one.choices)
    if one.bounds:
        schema["minimum"], schema["maximum"] = one.bounds
    return {
        "name": one.name,
        "in": one.place,
        "required": one.needed or one.place == "path",
        "description": one.about,
        "schema": schema,
    }


def _responses(kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    failure = {
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Failure"}}}
    }
    return {
        "200": {"description": "the answer", "content": {kind: {"schema": schema}}},
        "400": {"description": "a parameter that cannot be used", **failure},
        "404": {"description": "there is no such thing", **failure},
        "410": {"description": "the dataset is withdrawn", **failure},
        "414": {"description": "the address is too long"},
        "503": {"description": "it takes too long, or is not ready", **failure},
    }
