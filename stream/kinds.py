"""What each kind of event says, as :class:`Fields`: the readers behind :mod:`stream.events`.

There is one for page_change, one for the older streams, one for edits of recentchange, and
one for each log entry that changes a page. A reader gives Fields, or the Reason why the event
is none of ours; a log entry whose parameters mean nothing raises ValueError, TypeError or
KeyError.
"""

import unicodedata
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec

from stream import wire
from stream.wire import Event
from twiki.records import ChangeKind

MAX_TITLE = 1024
TEXT_HIDDEN = 1
"""Bit of a revision's visibility mask: 1 text, 2 comment, 4 user, 8 restricted."""


class Reason(StrEnum):
    """Why an event became no Change. Also the label of its counter."""

    # dead letters: something is wrong with the event or with us
    MALFORMED = "malformed"
    TOO_LARGE = "too_large"
    UNKNOWN_KIND = "unknown_kind"
    UNKNOWN_PARAMS = "unknown_params"
    NO_WIKI = "no_wiki"
    NO_TITLE = "no_title"
    NO_TIME = "no_time"
    NO_REVISION = "no_revision"
    # dropped by rule: a good event that is not ours
    CATEGORIZE = "categorize"
    EXTERNAL = "external"
    OTHER_WIKI = "other_wiki"
    OTHER_NAMESPACE = "other_namespace"
    OTHER_STREAM = "other_stream"
    NOT_ENTITY = "not_entity"
    NO_EFFECT = "no_effect"
    COVERED = "covered"
    """page_change tells the same, with the page id."""
    SERVER_ERROR = "server_error"
    """``event: error`` of the source."""

    @property
    def dead_letter(self) -> bool:
        """Whether the event belongs into the dead letters."""
        return self in _DEAD_LETTERS


_DEAD_LETTERS = frozenset(list(Reason)[:8])


class Fields(msgspec.Struct):
    """A Change in the making: what the event itself tells."""

    kind: ChangeKind
    title: str | None
    page_id: int | None = None
    namespace: int | None = None
    rev_id: int | None = None
    parent_rev_id: int | None = None
    rev_dt: datetime | None = None
    acted: datetime | None = None
    """Time of the action, for kinds that are no edit."""
    redirect: bool | None = None
    visible: bool | None = None
    rev_ids: tuple[int, ...] = ()
    from_title: str | None = None
    target_title: str | None = None
    comment: str | None = None
    model: str | None = None


TEXT_KINDS = frozenset([ChangeKind.CREATE, ChangeKind.EDIT])
"""Kinds that bring a text of their own, with its own time."""

_PAGE_CHANGE_KINDS = {
    "create": ChangeKind.CREATE,
    "edit": ChangeKind.EDIT,
    "move": ChangeKind.MOVE,
    "delete": ChangeKind.DELETE,
    "undelete": ChangeKind.RESTORE,
    "visibility_change": ChangeKind.VISIBILITY,
}
_STREAM_KINDS = {
    "revision-create": ChangeKind.EDIT,
    "page-create": ChangeKind.CREATE,
    "page-delete": ChangeKind.DELETE,
    "page-suppress": ChangeKind.DELETE,
    "page-undelete": ChangeKind.RESTORE,
    "page-move": ChangeKind.MOVE,
    "revision-visibility-change": ChangeKind.VISIBILITY,
}
_OTHER_STREAMS = frozenset(
    ["page-properties-change", "page-links-change", "revision-tags-change", "revision-score"]
)


def page_change(event: Event) -> Fields | Reason:
    """``mediawiki.page_change.v1``, schema 1.0 to 1.3."""
    kind = _PAGE_CHANGE_KINDS.get(event.page_change_kind or "")
    if kind is None:
        return Reason.UNKNOWN_KIND
    page = event.page or wire.PagePart()
    revision = event.revision or wire.RevisionPart()
    slots = revision.content_slots
    prior = event.prior_state.page if event.prior_state else None
    comment = revision.comment
    if kind not in TEXT_KINDS and event.comment is not None:
        comment = event.comment
    return Fields(
        kind=kind,
        title=page.page_title,
        page_id=page.page_id or None,
        namespace=page.namespace_id,
        redirect=page.is_redirect,
        rev_id=revision.rev_id or None,
        parent_rev_id=_parent(kind, revision.rev_parent_id),
        rev_dt=revision.rev_dt,
        acted=event.dt,
        visible=revision.is_content_visible,
        rev_ids=_named(kind, revision.rev_id),
        from_title=_moved_from(kind, prior.page_title if prior else None, page.page_title),
        comment=comment,
        model=slots.main.content_model if slots and slots.main else None,
    )


def page_stream(event: Event) -> Fields | Reason:
    """The older streams: one for each kind, flat field names."""
    name = stream_name(event)
    kind = _STREAM_KINDS.get(name)
    if kind is None:
        return Reason.OTHER_STREAM if name in _OTHER_STREAMS else Reason.UNKNOWN_KIND
    if name == "revision-create" and not event.rev_parent_id:
        kind = ChangeKind.CREATE
    visible = event.visibility.text if event.visibility else None
    prior = event.prior_state.page_title if event.prior_state else None
    return Fields(
        kind=kind,
        title=event.page_title,
        page_id=event.page_id or None,
        namespace=event.page_namespace,
        redirect=event.page_is_redirect,
        rev_id=event.rev_id or None,
        parent_rev_id=_parent(kind, event.rev_parent_id),
        rev_dt=event.rev_timestamp,
        visible=False if name == "page-suppress" else visible,
        rev_ids=_named(kind, event.rev_id),
        from_title=_moved_from(kind, prior, event.page_title),
        comment=event.comment,
        model=event.rev_content_model,
    )


def stream_name(event: Event) -> str:
    """``revision-create`` and the like, from the stream's name or the schema's address."""
    meta = event.meta
    if meta is not None and meta.stream:
        return meta.stream.removeprefix("mediawiki.")
    schema = event.schema or (meta.schema_uri if meta else None) or ""
    parts = [part for part in schema.split("/") if part and part != "mediawiki"]
    return "-".join(parts[:-1])


def _parent(kind: ChangeKind, parent: int | None) -> int | None:
    return 0 if parent is None and kind is ChangeKind.CREATE else parent


def _named(kind: ChangeKind, rev_id: int | None) -> tuple[int, ...]:
    return (rev_id,) if rev_id and kind is ChangeKind.VISIBILITY else ()


def _moved_from(kind: ChangeKind, prior: str | None, title: str | None) -> str | None:
    # prior_state holds what changed: no title there means that the title stayed.
    return (prior or title) if kind is ChangeKind.MOVE else None


def recent_change(event: Event, page_changes: bool) -> Fields | Reason:
    """``mediawiki.recentchange``; ``page_changes``: page_change is read beside it."""
    kind = event.type
    if kind in ("edit", "new"):
        revision = event.revision or wire.RevisionPart()
        new = kind == "new"
        return Fields(
            kind=ChangeKind.CREATE if new else ChangeKind.EDIT,
            title=event.title,
            namespace=event.namespace,
            rev_id=revision.new or None,
            parent_rev_id=0 if new else revision.old,
            rev_dt=from_seconds(event.timestamp),
            comment=event.comment,
        )
    if kind == "log":
        return _log_entry(event, page_changes)
    return _RECENT_CHANGE_REASONS.get(kind, Reason.UNKNOWN_KIND)


_RECENT_CHANGE_REASONS: dict[str | int | None, Reason] = {
    "categorize": Reason.CATEGORIZE,
    "external": Reason.EXTERNAL,
}


def _log_entry(event: Event, page_changes: bool) -> Fields | Reason:
    reader = _LOG_ENTRIES.get(f"{event.log_type}/{event.log_action}")
    if reader is None:
        # protect, patrol, block and so on. The dummy revision of a protection has the text of
        # its parent and no event of its own: the next edit's parent is then one never seen.
        return Reason.NO_EFFECT
    if page_changes and reader in _COVERED:
        return Reason.COVERED
    fields = reader(event)
    if fields is None:
        return Reason.NO_EFFECT
    fields.acted = from_seconds(event.timestamp)
    fields.comment = event.comment
    if fields.kind is not ChangeKind.MOVE and event.namespace is not None:
        # The schema says -1 for log entries; real ones carry the page's own.
        fields.namespace = event.namespace if event.namespace >= 0 else None
    return fields


def _delete(event: Event) -> Fields | None:
    hidden = event.log_type == "suppress"
    return Fields(kind=ChangeKind.DELETE, title=event.title, visible=False if hidden else None)


def _restore(event: Event) -> Fields | None:
    # Which revisions came back is not told: whichever is current then.
    return Fields(kind=ChangeKind.RESTORE, title=event.title)


def _import(event: Event) -> Fields | None:
    # The same holds for imported revisions.
    return Fields(kind=ChangeKind.RESTORE, title=event.title)


def _move(event: Event) -> Fields | None:
    params = wire.log_params(event.log_params, ("target", "noredir"))
    return Fields(kind=ChangeKind.MOVE, title=_text(params["target"]), from_title=event.title)


def _merge(event: Event) -> Fields | None:
    params = wire.log_params(event.log_params, ("dest", "mergepoint", "mergerevid"))
    rev_id, point = params.get("mergerevid"), params.get("mergepoint")
    return Fields(
        kind=ChangeKind.MERGE,
        title=event.title,
        target_title=display_title(_text(params["dest"])),
        # The last revision that went over belongs to the target now: what is current at the
        # source afterwards, if anything, is not told.
        rev_ids=_revisions([rev_id]) if rev_id else (),
        rev_dt=from_digits(str(point)) if point else None,
    )


def _hide(event: Event) -> Fields | None:
    params = wire.log_params(event.log_params, ("type", "ids", "ofield", "nfield"))
    if params["type"] not in ("revision", "archive", "oldid"):
        return None
    ids = params["ids"]
    mask = params.get("nfield")
    mask = int(str(mask).removeprefix("nfield=")) if mask is not None else None
    return Fields(
        kind=ChangeKind.VISIBILITY,
        title=event.title,
        rev_ids=_revisions(ids.split(",") if isinstance(ids, str) else ids),
        visible=None if mask is None else not mask & TEXT_HIDDEN,
    )


def _revisions(ids: Iterable[Any]) -> tuple[int, ...]:
    revisions = tuple(sorted({int(rev_id) for rev_id in ids}))
    if not revisions or not 0 < revisions[0] <= revisions[-1] < 2**63:
        raise ValueError("no revision ids")
    return revisions


_LOG_ENTRIES: dict[str, Callable[[Event], Fields | None]] = {
    "delete/delete": _delete,
    "delete/delete_redir": _delete,
    "delete/delete_redir2": _delete,
    "suppress/delete": _delete,
    "delete/restore": _restore,
    "delete/revision": _hide,
    "suppress/revision": _hide,
    "move/move": _move,
    "move/move_redir": _move,
    "merge/merge": _merge,
    "import/upload": _import,
    "import/interwiki": _import,
}
_COVERED = frozenset([_delete, _restore, _move, _import])


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a title is missing")
    return value


def display_title(title: str | None) -> str | None:
    """``title`` with spaces and in NFC; None where it is none."""
    if title is None:
        return None
    title = title.replace("_", " ").strip()
    if not title.isascii() and not unicodedata.is_normalized("NFC", title):
        title = unicodedata.normalize("NFC", title)
    return title if 0 < len(title) <= MAX_TITLE else None


def from_seconds(seconds: int | None) -> datetime | None:
    """Unix time."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def from_digits(digits: str) -> datetime:
    """MediaWiki's own timestamp, ``20140804160710``.

    Raises:
        ValueError: anything else.
    """
    return datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
