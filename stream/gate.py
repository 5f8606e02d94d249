"""Which contents are worth a request: the sitelink gate, and bursts fetched once.

An entity without an article in this wiki matters for its label and as a redirect alone. The
edit's comment, which Wikibase writes (``/* wbsetclaim-create:2||1 */``), tells whether either can
have changed; where it does not, the content is fetched. Both answers plug into
:meth:`stream.hydrate.Hydrator.fetch` as ``wanted``::

    gate = SitelinkGate(settings.wiki, has_article=store.has_sitelink)
    skip = superseded(changes, window_of, burst_of)
    api.fetch(changes, lambda change: gate.wants(change) and change not in skip)
"""

import re
from collections.abc import Callable, Hashable, Sequence
from datetime import datetime

from stream.entity_data import entity_id_of
from stream.kinds import TEXT_KINDS
from stream.reorder import order, page_key
from twiki.config import WikiConfig
from twiki.records import Change, ChangeKind

_AUTOCOMMENT = re.compile(r"/\* (?P<action>[a-z]+)[a-z-]*(?::\d*\|(?P<site>[^|*]*))?")
_STATEMENTS = frozenset(
    [
        "wbsetclaim",
        "wbcreateclaim",
        "wbremoveclaims",
        "wbsetclaimvalue",
        "wbsetqualifier",
        "wbremovequalifiers",
        "wbsetreference",
        "wbremovereferences",
        "wbsetdescription",
        "wbsetaliases",
    ]
)
"""Edits that leave label, sitelinks and redirect alone."""
_SITELINKS = frozenset(["wbsetsitelink", "clientsitelink"])


def can_matter(comment: str | None, wiki: str) -> bool:
    """Whether an edit of an entity without article can touch label, redirect or our sitelink."""
    match = _AUTOCOMMENT.match(comment or "")
    if match is None:
        return True
    action, site = match["action"], (match["site"] or "").strip()
    if action in _SITELINKS:
        return not site or site == wiki or wiki in (comment or "")
    return action not in _STATEMENTS


class SitelinkGate:
    """Lets through what can matter to this wiki."""

    def __init__(self, wiki: WikiConfig, has_article: Callable[[str], bool]) -> None:
        self._wiki = wiki
        self._has_article = has_article

    def wants(self, change: Change) -> bool:
        """Whether the change's content is worth a request."""
        if change.wiki != self._wiki.repository or change.kind is not ChangeKind.EDIT:
            return True
        if change.redirect or can_matter(change.comment, self._wiki.name):
            return True
        return self._has_article(entity_id_of(change.title))


def superseded(
    changes: Sequence[Change],
    window_of: Callable[[datetime], Hashable],
    burst_of: Callable[[datetime], Hashable] = lambda _effective: None,
) -> frozenset[Change]:
    """Edits followed by a newer edit of the same page in the same window, nothing in between.

    Their text stands at no boundary, so that the window's result is the same without it.
    ``burst_of`` tells by the same time which edits may stand for each other.
    """
    newest: dict[Hashable, Change] = {}
    skipped: set[Change] = set()
    for change in sorted(changes, key=order):
        span = (window_of(change.effective_time), burst_of(change.effective_time))
        key = (_titled(change, change.title), *span)
        before = newest.pop(key, None)
        newest.pop((_titled(change, change.from_title), *span), None)
        if change.kind not in TEXT_KINDS or change.visible is False:
            continue
        if before is not None and _follows(before, change):
            skipped.add(before)
        newest[key] = change
    return frozenset(skipped)


def _titled(change: Change, title: str | None) -> Hashable:
    """The page by its title: whether the account with its id came first is luck."""
    return page_key(change) if title is None else (change.wiki, title)


def _follows(before: Change, after: Change) -> bool:
    """Whether ``after`` is newer by its own time too: an import may come late and be old."""
    if None not in (before.page_id, after.page_id) and before.page_id != after.page_id:
        return False  # the title has gone to another page
    if before.rev_dt is None or after.rev_dt is None:
        return False
    return (before.rev_dt, before.rev_id or 0) < (after.rev_dt, after.rev_id or 0)
