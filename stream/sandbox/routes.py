"""Which request goes where, the stream aside: API, EntityData, dumps, books."""

import re
import threading
from collections import Counter
from collections.abc import Callable

import msgspec

from stream.sandbox import api
from stream.sandbox.api_call import ApiError, Call
from stream.sandbox.dumps_site import PREFIX, DumpsSite
from stream.sandbox.entitydata import EntityDataError, entity_data
from stream.sandbox.faults import Faults, amount, chosen
from stream.sandbox.http import Request, Response, json_response, not_found, plain
from stream.sandbox.model import ENWIKI, WIKIDATA, WIKIS
from stream.sandbox.view import View

_API = re.compile(r"(?:/(\w+))?/w/api\.php")
_ENTITY = re.compile(r"(?:/(\w+))?/wiki/Special:EntityData/([^/]+)")
_BOOKS = re.compile(r"/books/([\w-]+)\.json", re.ASCII)
PATIENCE = 3
"""The same request fails no more often than this, so that everybody gets on."""
LAG_SECONDS = 5.5
REFUSALS = ((503, "Service Unavailable"), (429, "Too Many Requests"))


class Site:
    """Answers that fit in memory, with the API's planned faults."""

    def __init__(self, view: Callable[[], View], dumps: DumpsSite, faults: Faults) -> None:
        self._view = view
        self._dumps = dumps
        self._faults = faults
        self._lock = threading.Lock()
        self._asked: Counter[str] = Counter()

    def answer(self, request: Request) -> Response:
        """The answer to ``request``."""
        path = request.path
        if path == PREFIX or path.startswith(PREFIX + "/"):
            return self._dumps.answer(request)
        if matched := _API.fullmatch(path):
            return self._api(matched[1], request)
        if matched := _ENTITY.fullmatch(path):
            return self._entity(matched[1] or WIKIDATA, matched[2], request)
        if matched := _BOOKS.fullmatch(path):
            return self._books(matched[1], request)
        return not_found(path)

    def _api(self, named: str | None, request: Request) -> Response:
        parameters = request.parameters
        wiki = named or parameters.get("wiki", ENWIKI)
        if wiki not in WIKIS:
            return not_found(request.path)
        view = self._view()
        key = f"{wiki}?" + "&".join(f"{name}={parameters[name]}" for name in sorted(parameters))
        attempt = self._attempt(key)
        if refusal := self._refusal(key, attempt):
            return refusal
        if attempt < PATIENCE and chosen(
            self._faults, f"maxlag{attempt}", key, self._faults.maxlag
        ):
            call = Call(view=view, wiki=wiki, parameters=parameters)
            lagged: ApiError = api.maxlag_error(LAG_SECONDS)
            headers = (("Retry-After", str(self._faults.retry_after_seconds)),)
            body = json_response(api.error_body(call, lagged)).body
            return Response(body=body, headers=headers)
        return json_response(api.answer(self._with_lag(view), wiki, parameters))

    def _entity(self, wiki: str, name: str, request: Request) -> Response:
        if wiki != WIKIDATA:
            return not_found(request.path)
        key = request.target
        if refusal := self._refusal(key, self._attempt(key)):
            return refusal
        try:
            return Response(
                body=entity_data(self._with_lag(self._view()), name, request.parameters)
            )
        except EntityDataError as error:
            return plain(error.status, str(error))

    def _books(self, window: str, request: Request) -> Response:
        world = self._view().world
        if window not in {each.name for each in world.windows}:
            return not_found(request.path)
        return json_response(world.books(window).data)

    def _attempt(self, key: str) -> int:
        """How often ``key`` was asked for; counted only where a fault depends on it."""
        faults = self._faults
        if not (faults.api_refusals or faults.maxlag or faults.lagging):
            return 1
        with self._lock:
            self._asked[key] += 1
            return self._asked[key]

    def _refusal(self, key: str, attempt: int) -> Response | None:
        faults = self._faults
        if attempt >= PATIENCE or not chosen(faults, f"api{attempt}", key, faults.api_refusals):
            return None
        status, text = REFUSALS[int(amount(faults, "status", key) * len(REFUSALS))]
        return plain(status, text, ("Retry-After", str(faults.retry_after_seconds)))

    def _with_lag(self, view: View) -> View:
        """The view of a replica: some revisions are not there when first asked for."""
        if self._faults.lagging <= 0.0:
            return view

        def lags(wiki: str, rev_id: int) -> bool:
            key = f"{wiki}:{rev_id}"
            late = chosen(self._faults, "lag", key, self._faults.lagging)
            return late and self._attempt(f"revision {key}") == 1

        return msgspec.structs.replace(view, lags=lags)
