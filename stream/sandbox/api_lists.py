"""``list=recentchanges`` and ``list=logevents``, and MediaWiki's ways to write a time.

Both read the world's recentchange events up to now: what the stream lost is still here, which
is what a reader heals a gap with.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from stream.sandbox.api_call import Answer, ApiError, Call
from stream.sandbox.model import NAMESPACES, SandboxEvent

_MOMENT = re.compile(r"\d{14}", re.ASCII)
DEFAULT_RCPROP = "title|timestamp|ids"
DEFAULT_LEPROP = "ids|title|type|user|timestamp|comment|details"
_LISTED_TYPES = "edit|new|log|categorize"


def stamp(moment: datetime) -> str:
    """``2026-11-30T23:59:59Z``."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def mediawiki_time(text: str) -> datetime:
    """A time in one of the forms the API takes: ISO 8601, ``YYYYMMDDHHMMSS``, Unix seconds.

    Raises:
        ApiError: none of these.
    """
    if _MOMENT.fullmatch(text):
        try:
            return datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        except ValueError as error:
            raise _bad_time(text) from error
    try:
        if text.isascii() and text.isdigit():
            return datetime.fromtimestamp(int(text), tz=UTC)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError) as error:
        raise _bad_time(text) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _bad_time(text: str) -> ApiError:
    return ApiError("badtimestamp", f'Invalid value "{text}" for timestamp parameter.')


def namespace_of(wiki: str, title: str) -> int:
    """Number of the namespace that the title's prefix names."""
    prefix, colon, _ = title.partition(":")
    names = {name: number for number, name in NAMESPACES[wiki].items() if name}
    return names.get(prefix, 0) if colon else 0


def recent_changes(call: Call) -> tuple[list[Answer], str | None]:
    """The rows asked for, and where to go on."""
    types = call.values("rctype", _LISTED_TYPES)
    namespaces = call.integers("rcnamespace")
    wanted = frozenset(call.values("rcprop", DEFAULT_RCPROP))
    events = (
        event
        for event in call.view.recent(call.wiki)
        if event.body.get("type") in types
        and (not namespaces or event.body.get("namespace") in namespaces)
    )
    chosen, following = _paged(call, events, prefix="rc", identity="id")
    return [_change_row(call, event, wanted) for event in chosen], following


def log_events(call: Call) -> tuple[list[Answer], str | None]:
    """The rows of the log asked for, and where to go on."""
    kind = call.parameters.get("letype")
    action = call.parameters.get("leaction")
    title = call.parameters.get("letitle")
    wanted = frozenset(call.values("leprop", DEFAULT_LEPROP))
    events = (
        event
        for event in call.view.recent(call.wiki)
        if event.body.get("type") == "log"
        and event.body.get("log_id")
        and kind in (None, event.body.get("log_type"))
        and action in (None, f"{event.body.get('log_type')}/{event.body.get('log_action')}")
        and title in (None, event.body.get("title"))
    )
    chosen, following = _paged(call, events, prefix="le", identity="log_id")
    return [_log_row(call, event, wanted) for event in chosen], following


def _paged(
    call: Call, events: Iterable[SandboxEvent], *, prefix: str, identity: str
) -> tuple[list[SandboxEvent], str | None]:
    """The events between start and end in the direction asked for, up to the limit."""

    def place(event: SandboxEvent) -> tuple[datetime, int]:
        return _time_of(event), int(event.body.get(identity) or 0)

    newer = call.one_of(f"{prefix}dir", ("newer", "older"), "older") == "newer"
    ordered = sorted(events, key=place, reverse=not newer)
    limit = call.limit(f"{prefix}limit", default=10, most=500)
    first, last = (call.parameters.get(f"{prefix}{name}") for name in ("start", "end"))
    early, late = (first, last) if newer else (last, first)
    if early is not None:
        least = mediawiki_time(early)
        ordered = [event for event in ordered if _time_of(event) >= least]
    if late is not None:
        most = mediawiki_time(late)
        ordered = [event for event in ordered if _time_of(event) <= most]
    if (proceed := call.parameters.get(f"{prefix}continue")) is not None:
        moment, _, number = proceed.partition("|")
        if not number.isdigit():
            raise ApiError("badcontinue", "Invalid continue param.")
        at = (mediawiki_time(moment), int(number))
        ordered = [
            event for event in ordered if (place(event) >= at if newer else place(event) <= at)
        ]
    if len(ordered) <= limit:
        return ordered, None
    moment_after, number_after = place(ordered[limit])
    return ordered[:limit], f"{moment_after:%Y%m%d%H%M%S}|{number_after}"


def _time_of(event: SandboxEvent) -> datetime:
    seconds = event.body.get("timestamp")
    if isinstance(seconds, int):
        return datetime.fromtimestamp(seconds, tz=UTC)
    return event.arrival_time.replace(microsecond=0)


def _change_row(call: Call, event: SandboxEvent, wanted: frozenset[str]) -> Answer:
    body = event.body
    row: Answer = {"type": body["type"]}
    revision = body.get("revision") or {}
    length = body.get("length") or {}
    if "title" in wanted:
        row |= {"ns": body.get("namespace"), "title": body.get("title")}
    if "ids" in wanted:
        row |= {
            "pageid": _page_id(call, body),
            "revid": revision.get("new") or 0,
            "old_revid": revision.get("old") or 0,
            "rcid": body.get("id") or 0,
        }
    if "user" in wanted:
        row["user"] = body.get("user", "")
    if "flags" in wanted:
        row |= call.flags(
            bot=bool(body.get("bot")), new=body["type"] == "new", minor=bool(body.get("minor"))
        )
    if "sizes" in wanted:
        row |= {"oldlen": length.get("old") or 0, "newlen": length.get("new") or 0}
    if "timestamp" in wanted:
        row["timestamp"] = stamp(_time_of(event))
    if "comment" in wanted:
        row["comment"] = body.get("comment", "")
    if "loginfo" in wanted and body["type"] == "log":
        row |= {
            "logid": body.get("log_id"),
            "logtype": body.get("log_type"),
            "logaction": body.get("log_action"),
            "logparams": log_parameters(call.wiki, body),
        }
    return row


def _page_id(call: Call, body: Mapping[str, Any]) -> int:
    """The page of the row; 0 where it is deleted, as in the real table's answers."""
    rev_id = (body.get("revision") or {}).get("new")
    if rev_id:
        revision = call.view.revision(call.wiki, rev_id)
        return revision.page_id if revision else 0
    page = call.view.page(call.wiki, body.get("title", ""))
    return page.page_id if page else 0


def _log_row(call: Call, event: SandboxEvent, wanted: frozenset[str]) -> Answer:
    body = event.body
    row: Answer = {}
    if "ids" in wanted:
        page_id = _page_id(call, body)
        acted_on = (call.wiki, str(body.get("title")), int(_time_of(event).timestamp()))
        log_page = call.view.pages_of_actions.get(acted_on, page_id)
        row |= {"logid": body["log_id"], "pageid": page_id, "logpage": log_page}
    if "title" in wanted:
        row |= {"ns": body.get("namespace"), "title": body.get("title")}
    if "details" in wanted:
        row["params"] = log_parameters(call.wiki, body)
    if "type" in wanted:
        row |= {"type": body.get("log_type"), "action": body.get("log_action")}
    if "user" in wanted:
        row["user"] = body.get("user", "")
    if "timestamp" in wanted:
        row["timestamp"] = stamp(_time_of(event))
    if "comment" in wanted:
        row["comment"] = body.get("comment", "")
    return row


def log_parameters(wiki: str, body: Mapping[str, Any]) -> Answer:
    """``log_params`` of the stream as the API words them; both name the same things."""
    given = body.get("log_params")
    if not isinstance(given, dict):
        return {}
    return dict(_parameters(wiki, str(body.get("log_type")), given))


def _parameters(wiki: str, log_type: str, given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in given.items():
        if name in ("target", "dest") and log_type in ("move", "merge"):
            yield f"{name}_ns", namespace_of(wiki, value)
            yield f"{name}_title", value
        elif name == "noredir" and log_type == "move":
            if value == "1":
                yield "suppressredirect", True
        elif name in ("ofield", "nfield"):
            mask = int(value)
            key = "old" if name == "ofield" else "new"
            yield key, {"bitmask": mask, **_hidden(mask)}
        elif name == "ids":
            yield name, [int(number) for number in value]
        elif name in ("mergepoint", "mergestart"):
            yield name, stamp(mediawiki_time(str(value)))
        elif name in ("count", "mergerevid", "mergestartid") and isinstance(value, str):
            yield name, int(value)
        else:
            yield name, value


def _hidden(mask: int) -> dict[str, bool]:
    names = {"content": 1, "comment": 2, "user": 4, "restricted": 8}
    return {name: bool(mask & bit) for name, bit in names.items()}
