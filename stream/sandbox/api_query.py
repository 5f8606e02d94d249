"""``action=query``: pages with their revisions, lists, and what the site says of itself."""

import unicodedata
from collections.abc import Iterable

import msgspec

from stream.sandbox.api_call import Answer, ApiError, Call
from stream.sandbox.api_lists import log_events, mediawiki_time, namespace_of, recent_changes, stamp
from stream.sandbox.model import FORMATS, PageView, RevisionView
from stream.sandbox.siteinfo import site_info

ITEM = "wikibase_item"
DEFAULT_RVPROP = "ids|timestamp|flags|comment|user"
_SOURCES = ("revids", "titles", "pageids")
_ENUMERATING = ("rvlimit", "rvstart", "rvend", "rvstartid", "rvendid", "rvcontinue")
_MAX_TITLE_BYTES = 255
_FORBIDDEN = frozenset("<>[]{}|#\n")


class _Found(msgspec.Struct, kw_only=True):
    """The pages asked for, by id, with the revisions to show, and what was not found."""

    pages: dict[int, PageView] = {}
    revisions: dict[int, list[RevisionView]] = {}
    absent: list[Answer] = []
    bad_ids: list[int] = []
    normalized: list[Answer] = []
    proceed: str | None = None


def query(call: Call) -> Answer:
    """Everything that one query asks for, in one answer."""
    result: Answer = {}
    proceed: Answer = {}
    if any(call.parameters.get(name) for name in _SOURCES):
        found = _resolve(call)
        if "revisions" in call.values("prop"):
            _with_revisions(call, found)
        result |= _pages(call, found)
        if found.proceed is not None:
            proceed = {"rvcontinue": found.proceed, "continue": "||"}
    for name in call.values("list"):
        if name == "recentchanges":
            rows, following = recent_changes(call)
            key = "rccontinue"
        elif name == "logevents":
            rows, following = log_events(call)
            key = "lecontinue"
        else:
            raise ApiError("badvalue", f'Unrecognized value for parameter "list": {name}.')
        result[name] = rows
        if following is not None:
            proceed |= {key: following, "continue": "-||"}
    if "siteinfo" in call.values("meta"):
        result |= site_info(call)
    answer: Answer = {"batchcomplete": True if call.version_2 else ""}
    if proceed:
        answer["continue"] = proceed
    return {**answer, "query": result} if result else answer


def _resolve(call: Call) -> _Found:
    given = [name for name in _SOURCES if call.parameters.get(name)]
    if len(given) > 1:
        raise ApiError(
            "multisource", f'The "{given[0]}" parameter cannot be used with "{given[1]}".'
        )
    found = _Found()
    if given[0] == "revids":
        _by_revision(call, found)
    elif given[0] == "pageids":
        for page_id in call.integers("pageids"):
            _add(call, found, page_id, {"pageid": page_id})
    else:
        _by_title(call, found)
    return found


def _by_revision(call: Call, found: _Found) -> None:
    for rev_id in call.integers("revids"):
        revision = call.view.by_id(call.wiki, rev_id)
        page = None if revision is None else _page_of(call, revision)
        if revision is None or page is None:
            found.bad_ids.append(rev_id)
            continue
        found.pages[page.page_id] = page
        found.revisions.setdefault(page.page_id, []).append(revision)
    for revisions in found.revisions.values():
        revisions.sort(key=lambda revision: revision.rev_id)


def _page_of(call: Call, revision: RevisionView) -> PageView | None:
    """The revision's page; one that is deleted by now (within grace), as it was."""
    page = call.view.page(call.wiki, revision.page_id)
    return page or call.view.world.page(call.wiki, revision.page_id, call.view.now)


def _by_title(call: Call, found: _Found) -> None:
    for given in call.values("titles"):
        if not given or _FORBIDDEN & set(given) or len(given.encode()) > _MAX_TITLE_BYTES:
            reason = "The requested page title contains invalid characters."
            absent = {"title": given, "invalidreason": reason, **call.flags(invalid=True)}
            found.absent.append(absent)
            continue
        title = _normal_title(given)
        if title != given:
            encoded = {"fromencoded": False} if call.version_2 else {}
            found.normalized.append({**encoded, "from": given, "to": title})
        namespace = namespace_of(call.wiki, title)
        _add(call, found, title, {"ns": namespace, "title": title})


def _normal_title(given: str) -> str:
    title = " ".join(unicodedata.normalize("NFC", given).replace("_", " ").split())
    return title[:1].upper() + title[1:]


def _add(call: Call, found: _Found, key: int | str, absent: Answer) -> None:
    page = call.view.page(call.wiki, key)
    if page is None:
        found.absent.append({**absent, **call.flags(missing=True)})
    else:
        found.pages[page.page_id] = page


def _with_revisions(call: Call, found: _Found) -> None:
    """Choose the revisions: those named, the newest of each page, or a page's history."""
    enumerating = [name for name in _ENUMERATING if name in call.parameters]
    newest_first = call.one_of("rvdir", ("newer", "older"), "older") == "older"
    if call.parameters.get("revids"):
        if enumerating:
            raise ApiError(
                "invalidparammix", f'The "revids" parameter cannot be used with "{enumerating[0]}".'
            )
        return
    if not enumerating and newest_first:
        for page in found.pages.values():
            revision = call.view.revision(call.wiki, page.rev_id)
            found.revisions[page.page_id] = [revision] if revision else []
        return
    if len(found.pages) + len(found.absent) > 1:
        raise ApiError(
            "multpages",
            '"titles", "pageids" or a generator was used to supply multiple pages, but the '
            '"rvlimit", "rvstartid", "rvendid", "rvdir=newer", "rvuser", "rvexcludeuser", '
            '"rvstart", and "rvend" parameters may only be used on a single page.',
        )
    for page in found.pages.values():
        found.revisions[page.page_id] = _history(call, found, page, newest_first=newest_first)


def _history(
    call: Call, found: _Found, page: PageView, *, newest_first: bool
) -> list[RevisionView]:
    views = [call.view.revision(call.wiki, rev_id) for rev_id in page.revisions]
    revisions = [view for view in views if view is not None]
    if newest_first:
        revisions.reverse()
    sign = -1 if newest_first else 1
    low = _edge(call, revisions, "rvstart", "rvstartid")
    high = _edge(call, revisions, "rvend", "rvendid")
    proceed = call.parameters.get("rvcontinue")
    if proceed is not None:
        moment, _, number = proceed.partition("|")
        low = (mediawiki_time(moment), int(number)) if number.isdigit() else low
    chosen = [
        revision
        for revision in revisions
        if _not_before(low, revision, sign) and _not_before(high, revision, -sign)
    ]
    with_text = "content" in call.values("rvprop", DEFAULT_RVPROP)
    limit = call.limit("rvlimit", default=10, most=50 if with_text else 500)
    if len(chosen) > limit:
        following = chosen[limit]
        found.proceed = f"{following.timestamp:%Y%m%d%H%M%S}|{following.rev_id}"
    return chosen[:limit]


_Edge = tuple[object, int | None]


def _edge(
    call: Call, revisions: Iterable[RevisionView], time_name: str, id_name: str
) -> _Edge | None:
    if (moment := call.parameters.get(time_name)) is not None:
        return (mediawiki_time(moment), None)
    if (rev_id := call.integer(id_name)) is not None:
        for revision in revisions:
            if revision.rev_id == rev_id:
                return (revision.timestamp, rev_id)
        raise ApiError("badid_" + id_name, f"There is no revision with ID {rev_id}.")
    return None


def _not_before(edge: _Edge | None, revision: RevisionView, sign: int) -> bool:
    """Whether the revision lies at the edge or beyond it in the direction of ``sign``."""
    if edge is None:
        return True
    moment, rev_id = edge
    mine: tuple[object, ...] = (revision.timestamp,)
    its: tuple[object, ...] = (moment,)
    if rev_id is not None:
        mine, its = (*mine, revision.rev_id), (*its, rev_id)
    return mine >= its if sign > 0 else mine <= its


def _pages(call: Call, found: _Found) -> Answer:
    result: Answer = {}
    if found.normalized:
        result["normalized"] = found.normalized
    if found.bad_ids:
        result["badrevids"] = {
            str(rev_id): {"revid": rev_id, **call.flags(missing=True)} for rev_id in found.bad_ids
        }
    pages = [_page(call, page, found) for _, page in sorted(found.pages.items())]
    if call.version_2:
        if pages or found.absent:
            result["pages"] = found.absent + pages
        return result
    keyed: dict[str, Answer] = {}
    for number, absent in enumerate(found.absent, 1):
        keyed[str(absent.get("pageid", -number))] = absent
    keyed |= {str(page["pageid"]): page for page in pages}
    if keyed:
        result["pages"] = keyed
    return result


def _page(call: Call, page: PageView, found: _Found) -> Answer:
    answer: Answer = {"pageid": page.page_id, "ns": page.namespace, "title": page.title}
    if page.page_id in found.revisions:
        rows = [revision_row(call, revision) for revision in found.revisions[page.page_id]]
        answer["revisions"] = rows
    if "pageprops" in call.values("prop") and page.item is not None:
        wanted = call.values("ppprop", ITEM)
        answer |= {"pageprops": {ITEM: page.item}} if ITEM in wanted else {}
    if "info" in call.values("prop"):
        answer |= {"lastrevid": page.rev_id, **call.flags(redirect=page.redirect is not None)}
    return answer


def revision_row(call: Call, revision: RevisionView) -> Answer:
    """One revision with the members that ``rvprop`` asks for; what is hidden says so."""
    wanted = frozenset(call.values("rvprop", DEFAULT_RVPROP))
    row: Answer = {}
    if "ids" in wanted:
        row |= {"revid": revision.rev_id, "parentid": revision.parent_id}
    if "flags" in wanted:
        row |= call.flags(minor=revision.minor)
    if "user" in wanted:
        hidden, shown = call.flags(userhidden=True), {"user": revision.user}
        row |= hidden if revision.user_hidden else shown
    if "timestamp" in wanted:
        row["timestamp"] = stamp(revision.timestamp)
    if "size" in wanted:
        row["size"] = revision.size
    if "sha1" in wanted:
        shown = {"sha1": _hexadecimal(revision.sha1)}
        row |= call.flags(sha1hidden=True) if revision.text_hidden else shown
    if "comment" in wanted:
        hidden, shown = call.flags(commenthidden=True), {"comment": revision.comment}
        row |= hidden if revision.comment_hidden else shown
    slot = _slot(call, revision, wanted)
    if slot and {"main", "*"} & {*call.values("rvslots")}:
        row["slots"] = {"main": slot}
    else:
        row |= slot
    if revision.text_hidden and (call.wiki, revision.rev_id) not in call.view.openly_hidden:
        row |= call.flags(suppressed=True)
    return row


def _slot(call: Call, revision: RevisionView, wanted: frozenset[str]) -> Answer:
    slot: Answer = {}
    if "contentmodel" in wanted or ("content" in wanted and not revision.text_hidden):
        slot["contentmodel"] = revision.model
    if "content" in wanted:
        if revision.text_hidden or revision.text is None:
            return slot | call.flags(texthidden=True)
        slot |= {"contentformat": FORMATS[revision.model], call.text_key(): revision.text}
    return slot


def _hexadecimal(sha1: str) -> str:
    """The API writes SHA-1 in base 16, dumps and events in base 36."""
    return f"{int(sha1, 36):040x}"
