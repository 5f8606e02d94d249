"""``/api/v1``: the same as the pages, as JSON, with its own description.

Each call stands once in :data:`CALLS`; routes and OpenAPI are made from it. What a call gives
is a record, from which its schema follows. Released: fields are added, never changed or removed.
"""

from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from stream.pages import content, modelpages, openapi
from stream.pages.calls import (
    Article,
    Call,
    Comparison,
    DatasetInfo,
    FactInfo,
    Found,
    ModelsInfo,
    Parameter,
    Rows,
    Windows,
)
from stream.pages.library import READABLE
from stream.pages.models import Measured
from stream.pages.now import KINDS
from stream.pages.reading import MOST, PAGE, object_digest
from stream.pages.site import Site, fact_part, given_text, number, whole
from stream.pages.told import Now
from stream.pages.windows import rows as window_rows
from twiki.windows.schema import FACT_PARTS


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
    found = content.article(site, shelf, number(request.path_params["page"], "page"), whole=True)
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
    found = content.search(site, shelf, asked, where, after, limit, whole=True)
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
    left, right = site.models.figures_of(first), site.models.figures_of(second)
    figures = {name: (left[name], right[name]) for name in left}
    return give(Comparison(first=named(first), second=named(second), figures=figures, rows=rows))


def _now(site: Site, _request: Request) -> Response:
    if site.feed is None:
        raise HTTPException(404, "Served without a state: there is nothing to follow.")
    return give(site.feed.now())


def _openapi(_site: Site, _request: Request) -> Response:
    return give(openapi.description(CALLS, LIVE))


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
            Parameter("q", "words; word* also finds what begins with it", needed=True),
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
LIVE = Call(
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
    paths = [(f"{openapi.PREFIX}{call.path}", openapi.operation(call)) for call in (*CALLS, LIVE)]
    return site.page(request, "api.html", paths=paths, base=str(request.base_url))
