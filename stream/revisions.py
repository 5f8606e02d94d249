"""Texts by ``prop=revisions``: by revision id in batches, by title, or as of a time.

Every shape of answer that the API has for one revision ends as Found or Lost: ``badrevids``,
``missing``, ``texthidden``, ``textmissing``, ``suppressed``, ``invalid``, and the continuation
that comes when a batch is too large for one answer.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import msgspec

from stream.answers import Answer, LogEventJson, PageJson, RevisionJson, is_set
from stream.api import ApiError, Client, Params
from stream.found import Failure, Fetched, Found, Lost
from stream.kinds import display_title
from stream.wire import utc

RVPROP = "ids|timestamp|flags|comment|sha1|size|content"
MAX_CONTINUATIONS = 100
ITEM = "wikibase_item"
"""The property of a page that names its item."""


class RevisionReader:
    """Reads the revisions of one wiki."""

    def __init__(self, client: Client, url: str) -> None:
        self._client = client
        self._url = url

    def by_id(self, rev_ids: Sequence[int]) -> dict[int, Fetched]:
        """The revisions of these ids, at most fifty: one request, and its continuations.

        Raises:
            Unavailable: no usable answer came.
        """
        wanted = set(rev_ids)
        listed = "|".join(str(rev_id) for rev_id in sorted(wanted))
        found: dict[int, Fetched] = {}
        for page in self._pages({"revids": listed}):
            if isinstance(page, Lost):
                return dict.fromkeys(wanted, page)
            for revision in page.revisions:
                if revision.revid in wanted:
                    found[revision.revid] = _fetched(page, revision)
        missing = Lost(Failure.MISSING, "no such revision")
        return {rev_id: found.get(rev_id, missing) for rev_id in wanted}

    def current(self, titles: Sequence[str]) -> dict[str, Fetched]:
        """The current revisions of these pages, at most fifty, by the titles asked for.

        Raises:
            Unavailable: no usable answer came.
        """
        renamed: dict[str, str] = {}
        found: dict[str, Fetched] = {}
        listed = "|".join(title for title in titles if "|" not in title)
        for page in self._pages({"titles": listed}, renamed):
            if isinstance(page, Lost):
                return dict.fromkeys(titles, page)
            title = display_title(page.title)
            if title is not None and page.revisions:
                found[title] = _fetched(page, page.revisions[0])
        missing = Lost(Failure.MISSING, "no such page")
        return {
            title: found.get(
                renamed.get(title, title), found.get(display_title(title) or "", missing)
            )
            for title in titles
        }

    def before(
        self, time: datetime, *, page_id: int | None = None, title: str | None = None
    ) -> Fetched:
        """The page's last revision before ``time`` (the API's times are whole seconds).

        Raises:
            Unavailable: no usable answer came.
        """
        start = utc(time) - timedelta(microseconds=1)
        page_of: Params = {"titles": title or ""} if page_id is None else {"pageids": page_id}
        params = {
            **page_of,
            "rvlimit": 1,
            "rvdir": "older",
            "rvstart": f"{start:%Y-%m-%dT%H:%M:%SZ}",
        }
        for page in self._pages(params, follow=False):
            if isinstance(page, Lost):
                return page
            if page.revisions:
                return _fetched(page, page.revisions[0])
        return Lost(Failure.MISSING, "no revision before that time")

    def items(self, page_ids: Sequence[int]) -> dict[int, str]:
        """The item of each of these pages (at most fifty) that has one, as of now.

        Raises:
            Unavailable: no usable answer came.
            ApiError: the API refuses the request.
        """
        params: Params = {
            "action": "query",
            "prop": "pageprops",
            "ppprop": ITEM,
            "pageids": "|".join(map(str, page_ids)),
        }
        pages = self._client.query(self._url, params).query.all_pages
        return {
            page.pageid: item
            for page in pages
            if page.pageid and isinstance(page.pageprops, dict)
            if (item := page.pageprops.get(ITEM))
        }

    def logged(self, title: str, kind: str, time: datetime) -> LogEventJson | None:
        """The log entry on ``title`` at ``time``: it knows the page id that the event lacks.

        Raises:
            Unavailable: no usable answer came.
        """
        params: Params = {
            "action": "query",
            "list": "logevents",
            "letype": kind,
            "letitle": title,
            "lestart": f"{time + timedelta(seconds=2):%Y-%m-%dT%H:%M:%SZ}",
            "leend": f"{time - timedelta(seconds=2):%Y-%m-%dT%H:%M:%SZ}",
            "leprop": "ids|title|type|timestamp",
            "lelimit": 10,
        }
        try:
            rows = self._client.query(self._url, params).query.logevents
        except ApiError:
            return None
        moment = f"{time:%Y-%m-%dT%H:%M:%SZ}"
        return next((row for row in rows if row.timestamp == moment), rows[0] if rows else None)

    def _pages(
        self, params: Params, renamed: dict[str, str] | None = None, *, follow: bool = True
    ) -> Iterator[PageJson | Lost]:
        """The pages of a query and its continuations; a refusal comes as Lost."""
        query: dict[str, str | int] = {
            "action": "query",
            "prop": "revisions",
            "rvprop": RVPROP,
            "rvslots": "main",
            **params,
        }
        for _ in range(MAX_CONTINUATIONS if follow else 1):
            try:
                answer: Answer = self._client.query(self._url, query)
            except ApiError as error:
                yield Lost(Failure.REFUSED, str(error)[:200])
                return
            for pair in answer.query.normalized:
                if renamed is not None:
                    renamed[pair.source] = display_title(pair.to) or pair.to
            yield from answer.query.all_pages
            if not answer.proceed:
                return
            query = {**query, **answer.proceed}
        if follow:
            yield Lost(Failure.BAD_ANSWER, "the API goes on without end")


def _fetched(page: PageJson, revision: RevisionJson) -> Fetched:
    slot, text = revision.slot, revision.text
    if text is None and not revision.hidden:
        if is_set(revision.textmissing) or is_set(slot.textmissing):
            return Lost(Failure.TEXT_MISSING, "the text is missing in storage")
        return Lost(Failure.BAD_ANSWER, "a revision without content")
    rev_dt = api_time(revision.timestamp)
    if rev_dt is None:
        return Lost(Failure.BAD_ANSWER, "a revision without timestamp")
    return Found(
        page_id=page.pageid or 0,
        title=display_title(page.title) or "",
        namespace=page.ns or 0,
        rev_id=revision.revid,
        parent_rev_id=revision.parentid,
        rev_dt=rev_dt,
        comment=revision.comment,
        content=None if revision.hidden else text,
        hidden=revision.hidden,
        model=slot.contentmodel,
    )


def api_time(text: str | None) -> datetime | None:
    """A timestamp of the API; None where there is none that can be read."""
    try:
        return None if text is None else utc(msgspec.convert(text, datetime, strict=False))
    except msgspec.ValidationError:
        return None
