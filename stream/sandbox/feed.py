"""What the little world announces: JSON bodies of recentchange and page_change events.

Field names and their quirks are those of the real streams: recentchange names a page by its
title with spaces and has no page id, a move's event carries the old title, log parameters
are strings or an empty list; page_change has underscores, omits a parent that is not there
and, for a suppressed action, everything about who did it.
"""

import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from random import Random
from typing import Any
from urllib.parse import quote

from stream.sandbox.model import (
    DATACENTRE,
    DOMAINS,
    FORMATS,
    PAGE_CHANGE,
    RECENTCHANGE,
    SandboxEvent,
)
from stream.sandbox.wiki import PageState, Revision

VISIBLE: frozenset[str] = frozenset()
_CHANGELOG = {"create": "insert", "undelete": "insert", "delete": "delete"}
_GROUPS = ["*", "user", "autoconfirmed"]


def iso(at: datetime) -> str:
    """``2026-09-01T00:00:00Z``."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def iso_milliseconds(at: datetime) -> str:
    """``2026-09-01T00:00:00.123Z``."""
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"


def underscored(title: str) -> str:
    """A title in the database's form."""
    return title.replace(" ", "_")


class Feed:
    """Collects events; :meth:`ordered` gives them in order of arrival."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._events: list[SandboxEvent] = []
        self._numbers = {"rc": 2_400_000_000, "log": 170_000_000}
        self._request = self.identifier()

    def ordered(self, until: datetime) -> tuple[SandboxEvent, ...]:
        """Events that arrive before ``until``; those of one instant as they were sent."""
        events = (event for event in self._events if event.arrival_time < until)
        return tuple(sorted(events, key=lambda event: event.arrival_time))

    def arrival(self, at: datetime, least: float = 0.2, most: float = 2.5) -> datetime:
        """An arrival a little after ``at``, to the millisecond."""
        return at + timedelta(milliseconds=round(self._rng.uniform(least, most) * 1000))

    def number(self, name: str) -> int:
        """The next id of a recent change ("rc") or log entry ("log")."""
        self._numbers[name] += self._rng.randint(1, 40)
        return self._numbers[name]

    def identifier(self) -> str:
        """A fresh UUID."""
        return str(uuid.UUID(int=self._rng.getrandbits(128), version=4))

    def new_request(self) -> None:
        """What follows comes from another request to the wiki."""
        self._request = self.identifier()

    def canary(self, stream: str, at: datetime) -> None:
        """A canary: the example of the schema, to be ignored but for its time."""
        body: dict[str, Any] = {"$schema": _SCHEMAS[stream]}
        if stream == RECENTCHANGE:
            body |= {"type": "edit", "title": "Canary", "wiki": "canary", "timestamp": 0}
        else:
            body |= {
                "changelog_kind": "insert",
                "page_change_kind": "create",
                "wiki_id": "canary",
                "dt": "2020-06-10T18:57:16Z",
                "page": {"page_id": 1, "page_title": "Canary", "namespace_id": 0},
                "revision": {"rev_id": 1, "rev_dt": "2020-06-10T18:57:16Z"},
            }
        self._send(stream, "canary", at, body, uri="", domain="canary")

    def recentchange(
        self,
        wiki: str,
        at: datetime,
        page: PageState,
        fields: Mapping[str, Any],
        *,
        user: str,
        comment: str,
        arrival: datetime | None = None,
        bot: bool = False,
    ) -> None:
        """A recentchange event; ``fields`` are those of its type."""
        domain = DOMAINS[wiki]
        url = f"https://{domain}/wiki/{quote(underscored(page.title), safe=':/()')}"
        body = {
            "$schema": _SCHEMAS[RECENTCHANGE],
            "namespace": page.namespace,
            "title": page.title,
            "title_url": url,
            "comment": comment,
            "parsedcomment": comment.replace("&", "&amp;").replace("<", "&lt;"),
            "timestamp": int(at.timestamp()),
            "user": user,
            "bot": bot,
            "server_url": f"https://{domain}",
            "server_name": domain,
            "server_script_path": "/w",
            "wiki": wiki,
        }
        body |= {"id": self.number("rc")}
        body |= fields
        self._send(RECENTCHANGE, wiki, arrival or self.arrival(at), body, uri=url, domain=domain)

    def page_change(
        self,
        wiki: str,
        kind: str,
        at: datetime,
        page_id: int,
        page: PageState,
        *,
        revision: Revision,
        user: str | None,
        comment: str = "",
        hidden: frozenset[str] = VISIBLE,
        suppressed: bool = False,
        prior: Mapping[str, Any] | None = None,
        created_redirect: Mapping[str, Any] | None = None,
        revision_count: int = 0,
        arrival: datetime | None = None,
    ) -> None:
        """A page_change event; ``user`` None: an action that hides its performer."""
        domain = DOMAINS[wiki]
        place = page_body(page_id, page, revision)
        if revision_count:
            place["revision_count"] = revision_count
        body: dict[str, Any] = {
            "$schema": _SCHEMAS[PAGE_CHANGE],
            "changelog_kind": _CHANGELOG.get(kind, "update"),
            "page_change_kind": kind,
            "dt": iso(at),
            "wiki_id": wiki,
            "page": place,
        }
        if user is not None:
            body["performer"] = _user(user)
            body["comment"] = comment
        body["revision"] = revision_body(revision, hidden, suppressed=suppressed)
        if created_redirect is not None:
            body["created_redirect_page"] = created_redirect
        if prior is not None:
            body["prior_state"] = prior
        url = f"https://{domain}/wiki/{quote(underscored(page.title), safe=':/()')}"
        self._send(
            PAGE_CHANGE, wiki, arrival or self.arrival(at, 0.3, 3.0), body, uri=url, domain=domain
        )

    def _send(
        self, stream: str, wiki: str, at: datetime, body: dict[str, Any], *, uri: str, domain: str
    ) -> None:
        body["meta"] = {
            "uri": uri or "https://en.wikipedia.org/wiki/Canary",
            "request_id": self._request,
            "id": self.identifier(),
            "domain": domain,
            "stream": stream,
            "dt": iso_milliseconds(at),
        }
        self._events.append(
            SandboxEvent(
                stream=stream,
                topic=f"{DATACENTRE}.{stream}",
                wiki=wiki,
                arrival_time=at,
                body=body,
            )
        )


def page_body(page_id: int, page: PageState, revision: Revision) -> dict[str, Any]:
    """The ``page`` of a page_change event."""
    body: dict[str, Any] = {
        "page_id": page_id,
        "page_title": underscored(page.title),
        "namespace_id": page.namespace,
        "is_redirect": revision.redirect is not None,
    }
    if revision.redirect is not None:
        body["redirect_page_link"] = {
            "page_title": underscored(revision.redirect),
            "namespace_id": 0,
            "is_redirect": False,
        }
    return body


def revision_body(
    revision: Revision, hidden: frozenset[str] = VISIBLE, *, suppressed: bool = False
) -> dict[str, Any]:
    """The ``revision`` of a page_change event; ``suppressed`` leaves only the bare ids."""
    body: dict[str, Any] = {
        "rev_id": revision.rev_id,
        "rev_dt": iso(revision.timestamp),
        "is_minor_edit": revision.minor,
        "is_content_visible": "text" not in hidden,
        "is_editor_visible": "user" not in hidden,
        "is_comment_visible": "comment" not in hidden,
    }
    if revision.parent_id:
        body["rev_parent_id"] = revision.parent_id
    if suppressed:
        return body
    body["rev_size"] = revision.size
    body["rev_sha1"] = revision.sha1
    if "comment" not in hidden:
        body["comment"] = revision.comment
    if "user" not in hidden:
        body["editor"] = _user(revision.user, bot=revision.bot)
    body["content_slots"] = {
        "main": {
            "slot_role": "main",
            "content_model": revision.model,
            "content_format": FORMATS[revision.model],
            "content_sha1": revision.sha1,
            "content_size": revision.size,
            "origin_rev_id": revision.rev_id,
        }
    }
    return body


def user_id(name: str) -> int:
    """A number for an account name."""
    return 1000 + sum(ord(letter) * place for place, letter in enumerate(name, 1)) % 9_000_000


def _user(name: str, *, bot: bool = False) -> dict[str, Any]:
    return {
        "user_text": name,
        "groups": ["bot", *_GROUPS] if bot else list(_GROUPS),
        "is_bot": bot,
        "is_system": False,
        "is_temp": False,
        "user_id": user_id(name),
        "registration_dt": "2015-04-11T08:30:00Z",
        "edit_count": 100 + user_id(name) % 9000,
    }


_SCHEMAS = {
    RECENTCHANGE: "/mediawiki/recentchange/1.0.1",
    PAGE_CHANGE: "/mediawiki/page/change/1.3.0",
}
