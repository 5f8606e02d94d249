"""Wikimedia's event JSON as typed structs: the field names, and how missing they may be.

One struct covers the three envelopes (recentchange, page_change.v1 and the older stream per
kind): msgspec skips what is not named here, so a decode costs what we read. Every field may be
absent or null: the schemas require next to nothing, and real events keep to that.
"""

import re
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

Id = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Seconds = Annotated[int, msgspec.Meta(ge=0, le=253402300799)]


class Meta(msgspec.Struct):
    """``meta``: where the event stands in its stream."""

    dt: datetime | None = None
    id: str | None = None
    domain: str | None = None
    stream: str | None = None
    topic: str | None = None
    partition: Id | None = None
    offset: Annotated[int, msgspec.Meta(ge=-1, le=2**63 - 1)] | None = None
    schema_uri: str | None = None


class Slot(msgspec.Struct):
    """One content slot."""

    content_model: str | None = None


class Slots(msgspec.Struct):
    """``content_slots``: only the main one matters."""

    main: Slot | None = None


class RevisionPart(msgspec.Struct):
    """``revision`` of recentchange (``old``, ``new``) and of page_change (the rest)."""

    new: Id | None = None
    old: Id | None = None
    rev_id: Id | None = None
    rev_parent_id: Id | None = None
    rev_dt: datetime | None = None
    is_content_visible: bool | None = None
    comment: str | None = None
    content_slots: Slots | None = None


class PagePart(msgspec.Struct):
    """``page`` of page_change."""

    page_id: Id | None = None
    page_title: str | None = None
    namespace_id: int | None = None
    is_redirect: bool | None = None


class PriorState(msgspec.Struct):
    """``prior_state``: only what changed; flat in the older streams."""

    page: PagePart | None = None
    page_title: str | None = None
    page_namespace: int | None = None


class Visibility(msgspec.Struct):
    """``visibility`` of revision-visibility-change."""

    text: bool | None = None


class Event(msgspec.Struct):
    """Any event."""

    meta: Meta | None = None
    schema: str | None = msgspec.field(name="$schema", default=None)
    comment: str | None = None
    # recentchange
    wiki: str | None = None
    type: str | int | None = None
    namespace: int | None = None
    title: str | None = None
    timestamp: Seconds | None = None
    revision: RevisionPart | None = None
    log_type: str | None = None
    log_action: str | None = None
    log_params: msgspec.Raw = msgspec.Raw()
    """Empty when absent: msgspec takes Raw in a union with None for None alone."""
    # page_change
    wiki_id: str | None = None
    page_change_kind: str | None = None
    dt: datetime | None = None
    page: PagePart | None = None
    prior_state: PriorState | None = None
    # the older stream per kind
    database: str | None = None
    page_id: Id | None = None
    page_title: str | None = None
    page_namespace: int | None = None
    page_is_redirect: bool | None = None
    rev_id: Id | None = None
    rev_parent_id: Id | None = None
    rev_timestamp: datetime | None = None
    rev_content_model: str | None = None
    visibility: Visibility | None = None


class StreamPosition(msgspec.Struct, omit_defaults=True):
    """One element of an SSE id."""

    topic: str
    partition: int = 0
    offset: int | None = None
    timestamp: int | None = None


_events = msgspec.json.Decoder(Event)
_anything = msgspec.json.Decoder()
_ids = msgspec.json.Decoder(list[StreamPosition])


def decode_event(data: bytes) -> Event:
    """Decode, with a second, lenient look at events whose types are not those of the schema.

    PHP writes empty objects as ``[]`` and some numbers as strings; both are forgiven.

    Raises:
        ValueError: not JSON, not an object, nested too deep, or beyond forgiving.
    """
    try:
        return _events.decode(data)
    except msgspec.ValidationError:
        pass
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"not JSON: {error}") from error
    try:
        event = _anything.decode(data)
        if not isinstance(event, dict):
            raise ValueError("not an object")  # noqa: TRY004 - the shape of data, not of a call
        params = event.pop("log_params", None)
        forgiven = msgspec.convert(_without_empty_lists(event), Event, strict=False)
        if params is not None:
            forgiven.log_params = msgspec.Raw(msgspec.json.encode(params))
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"unexpected shape: {error}") from error
    return forgiven


def _without_empty_lists(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return {key: _without_empty_lists(item) for key, item in value.items() if item != []}
    return value


def decode_ids(sse_id: str | bytes) -> list[StreamPosition]:
    """Topic-partitions of an SSE id; empty when it is none of ours."""
    try:
        return _ids.decode(sse_id)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return []


def log_params(raw: msgspec.Raw, names: tuple[str, ...]) -> dict[str, Any]:
    """``log_params`` of whatever shape as a mapping.

    Lists and strings are the legacy form: values in the order of ``names``, a string one
    value a line.

    Raises:
        ValueError: a shape that means nothing.
    """
    if not raw:
        return {}
    try:
        value = _anything.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"log_params: {error}") from error
    if isinstance(value, dict):
        return value
    if isinstance(value, str):
        value = value.split("\n") if value else []
    if isinstance(value, list):
        return dict(zip(names, value, strict=False))
    if value is None:
        return {}
    raise ValueError(f"log_params: {type(value).__name__}")


_TOPIC = re.compile(rb'"topic"\s*:\s*"([\w.\-]{1,200})"')
_PARTITION = re.compile(rb'"partition"\s*:\s*(\d{1,9})')
_OFFSET = re.compile(rb'"offset"\s*:\s*(\d{1,18})')


def position_in(data: bytes) -> tuple[str, int, int] | None:
    """Topic, partition and offset of an event that is no JSON: it still counts as read."""
    head = data[:65536]
    topic, partition, offset = (pattern.search(head) for pattern in (_TOPIC, _PARTITION, _OFFSET))
    if not topic or not offset:
        return None
    return topic[1].decode(), int(partition[1]) if partition else 0, int(offset[1])


def utc(time: datetime) -> datetime:
    """``time`` in UTC; one without a zone is taken to be in UTC already."""
    if time.tzinfo is UTC:
        return time
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
