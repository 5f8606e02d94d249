"""The pages over datasets: windows, one dataset, its articles, its facts, search."""

import mimetypes
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from stream.pages import content
from stream.pages.search import COUNTED
from stream.pages.site import Site, fact_part, given_text, number, whole
from stream.pages.windows import rows as window_rows
from twiki.windows.schema import FACT_PARTS, MEANINGS, Part

_SHOWN = (Part.PROBES_CHANGED, Part.PROBES_UNCHANGED, Part.PROBES_REMOVED, Part.FACTS_REMOVED)
HITS = 20


def windows(site: Site, request: Request) -> Response:
    """All windows, with what state they are in."""
    return site.page(
        request,
        "windows.html",
        rows=window_rows(site.library, site.feed),
        problems=site.library.listing().problems,
    )


def window(site: Site, request: Request) -> Response:
    """The dataset to use of a window; its address stands in the answer."""
    wiki, name = request.path_params["wiki"], request.path_params["window"]
    current = site.library.listing().current(wiki, name)
    if current is None:
        raise HTTPException(404, "This window has no dataset yet: cut it with twiki window cut.")
    return RedirectResponse(f"/datasets/{current.id}", status_code=302)


def dataset(site: Site, request: Request) -> Response:
    """A dataset's data sheet."""
    shelf = site.shelf(request.path_params["id"])
    opened = site.library.dataset(shelf)
    return site.page(
        request,
        "dataset.html",
        shelf=shelf,
        manifest=opened.manifest,
        stats=site.library.stats(shelf),
        reconcile=content.reconciled(site, shelf),
        files=sorted(opened.files().items()),
        citation=site.library.text(shelf, "CITATION.cff"),
        days=site.indexes.summary(shelf, "days"),
        lengths=site.indexes.summary(shelf, "lengths"),
        progress=site.indexes.want(shelf),
        versions=site.library.listing().window(shelf.wiki, shelf.window),
        parts=[(part, MEANINGS[part]) for part in Part],
        shown=[part.value for part in FACT_PARTS],
        example_link=lambda subject, shelf, name: _example(site, subject, shelf.wiki, name),
    )


def articles(site: Site, request: Request) -> Response:
    """The articles of a diffset, page by page."""
    shelf = site.shelf(request.path_params["id"])
    after = request.query_params.get("after")
    page = site.reading.page(shelf, Part.DIFFSET, after=after)
    total = site.library.dataset(shelf).counts[Part.DIFFSET]
    return site.page(
        request, "articles.html", shelf=shelf, page=page, total=total, first=after is None
    )


def article(site: Site, request: Request) -> Response:
    """What a window did to one article."""
    shelf = site.shelf(request.path_params["id"])
    page_id = number(request.path_params["page"], "page")
    found = content.article(site, shelf, page_id)
    if found is None:
        raise HTTPException(404, "The window brought nothing to such an article.")
    return site.page(request, "article.html", shelf=shelf, **found)


def facts(site: Site, request: Request) -> Response:
    """A set of facts, page by page."""
    shelf = site.shelf(request.path_params["id"])
    part = fact_part(request.path_params["part"])
    after = request.query_params.get("after")
    page = site.reading.page(shelf, part, after=after)
    return site.page(
        request,
        "facts.html",
        shelf=shelf,
        part=part,
        meaning=MEANINGS[part],
        page=page,
        total=site.library.dataset(shelf).counts[part],
        others=_SHOWN,
        first=after is None,
    )


def fact(site: Site, request: Request) -> Response:
    """One fact: before and after, its evidence, its prompts, and what models made of it."""
    shelf = site.shelf(request.path_params["id"])
    part = fact_part(request.path_params["part"])
    names = (request.path_params[name] for name in ("subject", "relation", "digest"))
    found = content.fact(site, shelf, part, *names)
    if found is None:
        raise HTTPException(404, "There is no such fact in this set.")
    return site.page(request, "fact.html", shelf=shelf, part=part, **found)


def search(site: Site, request: Request) -> Response:
    """Search in sentences and facts of one dataset."""
    listing = site.library.listing()
    asked = given_text(request, "q")
    wanted = request.query_params.get("dataset", "")
    newest = listing.newest()
    shelf = site.shelf(wanted) if wanted else newest
    where = "facts" if request.query_params.get("in") == "facts" else "sentences"
    after = whole(request, "after", -1, least=-1)
    found: dict[str, Any] = {"hits": None, "rows": [], "progress": None, "next": None}
    if shelf is not None:
        found["progress"] = site.indexes.want(shelf)
    if asked and shelf is not None and found["progress"].ready:
        found = {**found, **content.search(site, shelf, asked, where, after, HITS)}
    return site.page(
        request,
        "search.html",
        asked=asked,
        where=where,
        shelf=shelf,
        shelves=sorted(listing.shelves.values(), key=lambda s: (s.window, s.version), reverse=True),
        counted=COUNTED,
        first=after < 0,
        **found,
    )


def file(site: Site, request: Request) -> Response:
    """A file of a dataset, for download; the manifest says which there are."""
    shelf = site.shelf(request.path_params["id"])
    name = request.path_params["name"]
    entry = site.library.dataset(shelf).files().get(name)
    if entry is None and name != "manifest.json":
        raise HTTPException(404, "The dataset has no such file.")
    # The name is one of the manifest's own; what a manifest may name is checked when it is read.
    path = (shelf.folder / name).resolve()
    if not path.is_relative_to(shelf.folder.resolve()):
        raise HTTPException(404, "The dataset has no such file.")
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    safe = kind if kind in ("application/json", "text/csv") else "application/octet-stream"
    return FileResponse(
        path,
        media_type=safe,
        filename=path.name,
        headers={"x-sha256": entry.sha256} if entry else None,
    )


def _example(site: Site, subject: str, wiki: str, name: object) -> str | None:
    """Where an example of a class of reconciling leads: a page by its id, or an entity."""
    told = str(name)
    if subject == "entities":
        return site.links.entity(told)
    return site.links.page(wiki, int(told)) if told.isascii() and told.isdigit() else None
