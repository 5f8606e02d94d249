"""What the stream lost, from the API's lists: edits by recentchanges, actions by logevents.

Both lists tell what events would have told; the ledger takes a second telling as the first, so
that a backfill may overlap with the stream and be repeated::

    spans = missing_spans(positions.gaps(), margin)
    for start, end in spans:
        for change in backfill.changes("enwiki", start, end):
            …                                       # hydrate, apply
    positions.healed(gaps)

recentchanges reaches back 30 days on Wikimedia's wikis; what lies before is told, not guessed.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from stream.answers import Answer, LogEventJson, RecentChangeJson, is_set
from stream.api import ApiError, Client, Params, Unavailable
from stream.kinds import TEXT_HIDDEN, display_title
from stream.position import Gap
from stream.revisions import api_time
from stream.settings import StreamConfig, base_url
from twiki.config import WikiConfig
from twiki.errors import SourceError
from twiki.records import Change, ChangeKind

RECENT = timedelta(days=30)
"""How far back recentchanges reaches ($wgRCMaxAge); the log has no end."""
LOG_TYPES = ("delete", "move", "merge", "import")

Span = tuple[datetime, datetime]


def missing_spans(gaps: Iterable[Gap], margin: timedelta) -> list[Span]:
    """The times that gaps lie in, widened by ``margin``, joined where they touch."""
    spans: list[Span] = []
    for after, before in sorted((gap.after_ms, gap.before_ms) for gap in gaps):
        start = datetime.fromtimestamp(min(after, before) / 1000, UTC) - margin
        end = datetime.fromtimestamp(max(after, before) / 1000, UTC) + margin
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], end))
        else:
            spans.append((start, end))
    return spans


def out_of_reach(span: Span, now: datetime) -> Span | None:
    """The part of ``span`` whose edits recentchanges does not list any more."""
    horizon = now - RECENT
    return (span[0], min(span[1], horizon)) if span[0] < horizon else None


class Backfill:
    """Reads the lists of one wiki and its repository, politely, through ``client``."""

    def __init__(self, client: Client, wiki: WikiConfig, stream: StreamConfig) -> None:
        self._client = client
        self._wiki = wiki
        self._rows = stream.backfill_rows
        self._urls = {
            name: base_url(wiki, stream, name) + stream.api_path
            for name in (wiki.repository, wiki.name)
        }

    def changes(
        self,
        wiki: str,
        start: datetime,
        end: datetime,
        on_time: Callable[[datetime], None] = lambda _time: None,
    ) -> Iterator[Change]:
        """Every change of ``wiki`` in ``[start, end]``: edits by time, then each kind of action.

        ``on_time`` hears how far the reading got.

        Raises:
            SourceError: the API gives no answer or refuses the list.
        """
        for edit in self._edits(wiki, start, end):
            change = self._edit(wiki, edit)
            if change is not None:
                on_time(change.effective_time)
                yield change
        for kind in LOG_TYPES:
            for row in self._log(wiki, kind, start, end):
                change = self._action(wiki, row)
                if change is not None:
                    on_time(change.effective_time)
                    yield change

    def _edits(self, wiki: str, start: datetime, end: datetime) -> Iterator[RecentChangeJson]:
        params: dict[str, str | int] = {
            "list": "recentchanges",
            "rcdir": "newer",
            "rcstart": _stamp(start),
            "rcend": _stamp(end),
            "rctype": "edit|new",
            "rcprop": "title|ids|timestamp|comment|flags|redirect",
            "rclimit": self._rows,
        }
        namespaces = (0, 120) if wiki == self._wiki.repository else self._wiki.namespaces
        if namespaces != "all":
            params["rcnamespace"] = "|".join(str(number) for number in namespaces)
        for answer in self._pages(wiki, params):
            yield from answer.query.recentchanges

    def _log(self, wiki: str, kind: str, start: datetime, end: datetime) -> Iterator[LogEventJson]:
        params: Params = {
            "list": "logevents",
            "letype": kind,
            "ledir": "newer",
            "lestart": _stamp(start),
            "leend": _stamp(end),
            "leprop": "ids|title|type|timestamp|comment|details",
            "lelimit": self._rows,
        }
        for answer in self._pages(wiki, params):
            yield from answer.query.logevents

    def _pages(self, wiki: str, params: Params) -> Iterator[Answer]:
        query: dict[str, str | int] = {"action": "query", **params}
        while True:
            try:
                answer = self._client.query(self._urls[wiki], query)
            except (Unavailable, ApiError) as error:
                raise SourceError(f"backfill of {wiki}: {error}") from error
            yield answer
            if not answer.proceed:
                return
            following = {**query, **answer.proceed}
            if following == query:
                raise SourceError(f"backfill of {wiki}: the API goes on without end")
            query = following

    def _edit(self, wiki: str, row: RecentChangeJson) -> Change | None:
        time, title = api_time(row.timestamp), display_title(row.title)
        if time is None or title is None or not row.revid:
            return None
        new = row.type == "new"
        return Change(
            wiki=wiki,
            kind=ChangeKind.CREATE if new else ChangeKind.EDIT,
            effective_time=time,
            arrival_time=time,
            page_id=row.pageid or None,
            title=title,
            namespace=row.ns,
            rev_id=row.revid,
            parent_rev_id=0 if new else row.old_revid,
            rev_dt=time,
            redirect=True if is_set(row.redirect) else None,
            comment=row.comment,
        )

    def _action(self, wiki: str, row: LogEventJson) -> Change | None:
        time, title = api_time(row.timestamp), display_title(row.title)
        told = _told(row)
        if time is None or title is None or told is None:
            return None
        target = told.pop("to", None)
        base: dict[str, Any] = {
            "wiki": wiki,
            "effective_time": time,
            "arrival_time": time,
            "page_id": row.logpage or row.pageid or None,
            "title": title,
            "namespace": row.ns,
            "comment": row.comment,
            **told,
        }
        if target is not None:
            base |= {"title": target, "from_title": title}
        return Change(**base) if self._followed(wiki, base) else None

    def _followed(self, wiki: str, fields: dict[str, Any]) -> bool:
        spaces = (0, 120) if wiki == self._wiki.repository else self._wiki.namespaces
        return spaces == "all" or bool({fields["namespace"], fields.pop("old", None)} & {*spaces})


def _told(row: LogEventJson) -> dict[str, Any] | None:
    """What a row of the log says beyond page and time; None where it has no effect."""
    try:
        params = msgspec.json.decode(row.params) if row.params else {}
    except (msgspec.DecodeError, RecursionError):
        return None
    params = params if isinstance(params, dict) else {}
    reader = _LOG.get(f"{row.type}/{row.action}") or _LOG.get(f"{row.type}/")
    return reader(row, params) if reader else None


def _deleted(_row: LogEventJson, _params: dict[str, Any]) -> dict[str, Any] | None:
    return {"kind": ChangeKind.DELETE}


def _restored(_row: LogEventJson, _params: dict[str, Any]) -> dict[str, Any] | None:
    return {"kind": ChangeKind.RESTORE}


def _moved(row: LogEventJson, params: dict[str, Any]) -> dict[str, Any] | None:
    target, space = display_title(_string(params.get("target_title"))), params.get("target_ns")
    if target is None or not isinstance(space, int):
        return None
    return {"kind": ChangeKind.MOVE, "to": target, "old": row.ns, "namespace": space}


def _merged(_row: LogEventJson, params: dict[str, Any]) -> dict[str, Any] | None:
    target, rev_id = display_title(_string(params.get("dest_title"))), params.get("mergerevid")
    revisions = (rev_id,) if isinstance(rev_id, int) and rev_id > 0 else ()
    if target is None:
        return None
    return {"kind": ChangeKind.MERGE, "target_title": target, "rev_ids": revisions}


def _hidden(_row: LogEventJson, params: dict[str, Any]) -> dict[str, Any] | None:
    ids = params.get("ids")
    if params.get("type") not in ("revision", "archive", "oldid") or not isinstance(ids, list):
        return None
    revisions = {int(rev_id) for rev_id in ids if str(rev_id).isdigit()} - {0}
    now = params.get("new")
    mask = now.get("bitmask") if isinstance(now, dict) else None
    if not revisions:
        return None
    return {
        "kind": ChangeKind.VISIBILITY,
        "rev_ids": tuple(sorted(revisions)),
        "visible": not mask & TEXT_HIDDEN if isinstance(mask, int) else None,
    }


_LOG: dict[str, Callable[[LogEventJson, dict[str, Any]], dict[str, Any] | None]] = {
    "delete/delete": _deleted,
    "delete/delete_redir": _deleted,
    "delete/delete_redir2": _deleted,
    "delete/restore": _restored,
    "delete/revision": _hidden,
    "move/": _moved,
    "merge/": _merged,
    "import/": _restored,
}
"""By type and action, else by type alone."""


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _stamp(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"
