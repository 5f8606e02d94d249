"""The application: addresses to pages, errors to pages, and what is opened and closed with it."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from stream.clock import Clock
from stream.pages import api, modelpages, now, shown, views
from stream.pages.guard import LOOPBACK, Guard
from stream.pages.library import Library, Shelved
from stream.pages.livefeed import DB, LiveFeed
from stream.pages.models import Models
from stream.pages.query import Tables, TooLong
from stream.pages.reading import Reading
from stream.pages.search import Indexes, Progress
from stream.pages.site import Site, environment
from stream.settings import Settings
from twiki.errors import TwikiError, UsageError

_STATIC = Path(__file__).with_name("static")
_TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}
_HEADINGS = {
    400: "That cannot be asked",
    404: "Not here",
    410: "Withdrawn",
    414: "Too long",
    503: "Not now",
}

Page = Callable[[Site, Request], Response]


def open_site(
    settings: Settings,
    clock: Clock,
    *,
    state: Path | None,
    datasets: Path,
    cache: Path,
    report: Path | None = None,
    runs: Path | None = None,
    told: Callable[[Shelved, Progress], None] = lambda _shelf, _progress: None,
) -> Site:
    """Open what the pages read; :meth:`Site.close` releases it.

    Raises:
        StateError: there is no state at ``state``.
    """
    tables = Tables([folder for folder in (datasets, runs) if folder is not None])
    library = Library(datasets)
    feed = None
    if state is not None and (state / DB / "CURRENT").is_file():
        feed = LiveFeed(state, settings, clock)
    templates = environment()
    made = Site(
        settings=settings,
        library=library,
        tables=tables,
        reading=Reading(tables),
        indexes=Indexes(library, cache, told=told),
        models=Models(report, runs, tables),
        links=shown.Links(settings.wiki),
        feed=feed,
        templates=templates,
    )
    templates.globals.update(now.helpers())
    templates.globals["repository"] = settings.wiki.repository
    return made


def application(site: Site, *, hosts: Iterable[str] = ()) -> ASGIApp:
    """The guarded application over a site; ``hosts`` are names it may be reached under."""
    readers = now.Readers()

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        if site.feed is not None:
            site.feed.start()
        site.indexes.want_all()
        try:
            yield
        finally:
            site.close()

    def on(path: str, page: Page) -> Route:
        return Route(path, _endpoint(site, page), methods=["GET"])

    def live(path: str, follow: Callable[..., Awaitable[Response]]) -> Route:
        async def endpoint(request: Request) -> Response:
            if request.method == "HEAD":
                return Response(media_type="text/event-stream")
            return await follow(site, request, readers)

        return Route(path, endpoint, methods=["GET"])

    routes = [
        on("/", lambda _site, _request: RedirectResponse("/windows", status_code=302)),
        on("/now", now.page),
        live("/now/feed", now.fragments),
        on("/windows", views.windows),
        on("/windows/{wiki}/{window}", views.window),
        on("/datasets/{id}", views.dataset),
        on("/datasets/{id}/articles", views.articles),
        on("/datasets/{id}/articles/{page}", views.article),
        on("/datasets/{id}/facts/{part}", views.facts),
        on("/datasets/{id}/facts/{part}/{subject}/{relation}/{digest}", views.fact),
        on("/datasets/{id}/files/{name:path}", views.file),
        on("/search", views.search),
        on("/models", modelpages.models),
        on("/models/compare", modelpages.compare),
        on("/api", api.about),
        live("/api/v1/live", now.events),
        *(on(f"/api/v1{call.path}", call.answer) for call in api.CALLS),
        on("/static/{name}", _static),
    ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={
            HTTPException: _failure(site),
            TwikiError: _failure(site),
            UnicodeEncodeError: _failure(site),
        },
    )
    app.router.redirect_slashes = False
    return Guard(app, {*LOOPBACK, *hosts})


def _endpoint(site: Site, page: Page) -> Callable[[Request], Response]:
    def endpoint(request: Request) -> Response:
        return page(site, request)

    return endpoint


def _static(_site: Site, request: Request) -> Response:
    names = {entry.name: entry for entry in os.scandir(_STATIC)}
    found = names.get(request.path_params["name"])
    if found is None:
        raise HTTPException(404, "There is no such file.")
    return FileResponse(
        found.path,
        media_type=_TYPES.get(Path(found.name).suffix, "application/octet-stream"),
        headers={"cache-control": "max-age=3600"},
    )


def _failure(site: Site) -> Callable[[Request, Exception], Response]:
    """Errors as pages, or as JSON where a program asked."""

    def answer(request: Request, error: Exception) -> Response:
        status, detail = _told(error)
        if request.url.path.startswith("/api/"):
            return JSONResponse({"error": detail}, status_code=status)
        heading = _HEADINGS.get(status, "That went wrong")
        return site.page(request, "error.html", status, heading=heading, detail=detail)

    return answer


def _told(error: Exception) -> tuple[int, str]:
    match error:
        case HTTPException():
            detail = error.detail
            return error.status_code, "There is no such page." if detail == "Not Found" else detail
        case UsageError():
            return 400, str(error)
        case UnicodeEncodeError():
            return 400, "The address holds what is no text."
        case TooLong():
            return 503, str(error)
        case _:
            return 500, str(error)
