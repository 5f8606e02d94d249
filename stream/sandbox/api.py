"""``/w/api.php``: the action API as far as readers of the stream use it.

One host serves both wikis: ``/enwiki/w/api.php`` and ``/wikidatawiki/w/api.php``, and plain
``/w/api.php`` with ``wiki=``, by default enwiki. Answers have the shapes of the real API in
both format versions, errors included (HTTP status 200)::

    action=query & prop=revisions, prop=pageprops (revids | titles | pageids)
                 & list=recentchanges, list=logevents, meta=siteinfo
    action=wbgetentities (ids | sites and titles)

``rvprop`` etc. are read as the real API reads them; a parameter that it does not know is
ignored here, where the real one warns.
"""

from collections.abc import Callable, Mapping

from stream.sandbox.api_call import Answer, ApiError, Call
from stream.sandbox.api_entities import wbgetentities
from stream.sandbox.api_query import query
from stream.sandbox.model import DOMAINS, ENWIKI, WIKIDATA
from stream.sandbox.view import View

Action = Callable[[Call], Answer]


def answer(view: View, wiki: str, parameters: Mapping[str, str]) -> Answer:
    """The answer to a request, an error included."""
    call = Call(view=view, wiki=wiki, parameters=parameters)
    actions: dict[str, Action] = {"query": query}
    if wiki == WIKIDATA:
        actions["wbgetentities"] = wbgetentities
    try:
        action = call.one_of("action", actions, "help")
        return actions[action](call)
    except ApiError as error:
        return error_body(call, error)


def error_body(call: Call, error: ApiError) -> Answer:
    """An error as the API words it."""
    domain = DOMAINS.get(call.wiki, DOMAINS[ENWIKI])
    reference = f"See https://{domain}/w/api.php for API usage."
    key = "docref" if call.version_2 else "*"
    body: Answer = {"code": error.code, "info": error.info, **error.more, key: reference}
    return {"error": body, "servedby": "sandbox"}


def maxlag_error(lag: float) -> ApiError:
    """The server asks for patience; it says so with status 200."""
    return ApiError(
        "maxlag", f"Waiting for all: {lag} seconds lagged.", host="all", lag=lag, type="db"
    )
