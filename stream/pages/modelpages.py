"""The pages over what the trainer left: its report, and two runs side by side."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from stream.pages.models import Measured
from stream.pages.site import Site, given_text


def models(site: Site, request: Request) -> Response:
    """The trainer's report: tables, charts, costs."""
    measured = site.models.measured()
    # The two that are most worth comparing: tried on the same window, the newest.
    first = max(measured, key=lambda one: one.window, default=None)
    others = [m for m in measured if first and m.dataset == first.dataset and m != first]
    return site.page(
        request,
        "models.html",
        report=site.models.report(),
        measured=measured,
        first=first,
        second=others[-1] if others else None,
    )


def compare(site: Site, request: Request) -> Response:
    """The facts on which two models differ most."""
    first, second = chosen(site, request)
    rows = [] if first == second else site.models.compare(first, second)
    left, right = site.models.figures_of(first), site.models.figures_of(second)
    return site.page(
        request,
        "compare.html",
        a=first,
        b=second,
        rows=rows,
        figures=[(name, left[name], right[name]) for name in left],
        measured=site.models.measured(),
    )


def chosen(site: Site, request: Request) -> tuple[Measured, Measured]:
    """The two evaluations that a request names as ``<run> on <dataset>``.

    Raises:
        HTTPException: 404, there is none of that name.
    """
    measured = {f"{one.run} on {one.dataset}": one for one in site.models.measured()}
    names = [given_text(request, name) for name in ("a", "b")]
    missing = [name for name in names if name not in measured]
    if missing:
        raise HTTPException(404, "There is no such evaluation: choose two on the models' page.")
    return measured[names[0]], measured[names[1]]
