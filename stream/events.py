"""Wikimedia JSON → Change | Canary | Rejected: where events begin to mean something to us.

::

    decoder = Decoder(settings.wiki, settings.stream, namespace_of=site.namespace_of)
    decoder.decode(b'{"$schema": "/mediawiki/recentchange/1.0.0", …}')

Field names live in :mod:`stream.wire`, the meaning of each kind in :mod:`stream.kinds`; here
stand the rules that hold for all: times (ENGINE 1), what is followed, titles, position.
Nothing raises: what cannot be used is Rejected, as a dead letter or dropped by rule.
"""

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from stream import kinds, wire
from stream.kinds import Fields, Reason
from stream.settings import PAGE_CHANGE, StreamConfig
from stream.wire import Event
from twiki.config import WikiConfig
from twiki.records import Change, Record, SourcePosition

__all__ = ["Canary", "Decoded", "Decoder", "Reason", "Rejected", "english_namespace"]

IMPORT_DELAY = timedelta(hours=24)
"""A revision announced later than this was imported: it was not there before (ENGINE 1)."""
MAX_COMMENT = 1024


class Canary(Record, frozen=True, kw_only=True):
    """An artificial event that shows that a stream lives; it advances the watermark."""

    arrival_time: datetime
    position: SourcePosition | None = None


class Rejected(Record, frozen=True, kw_only=True):
    """An event that became no Change. ``raw`` is kept, bounded, for dead letters alone."""

    reason: Reason
    detail: str = ""
    raw: bytes = b""
    position: SourcePosition | None = None
    arrival_time: datetime | None = None


Decoded = Change | Canary | Rejected

NamespaceOf = Callable[[str], tuple[int, str]]

_ENGLISH = {
    "talk": 1,
    "user": 2,
    "user talk": 3,
    "wikipedia": 4,
    "project": 4,
    "wikidata": 4,
    "wikipedia talk": 5,
    "file": 6,
    "image": 6,
    "file talk": 7,
    "mediawiki": 8,
    "template": 10,
    "template talk": 11,
    "help": 12,
    "category": 14,
    "category talk": 15,
    "portal": 100,
    "draft": 118,
    "draft talk": 119,
    "property": 120,
    "property talk": 121,
    "lexeme": 146,
    "module": 828,
}


def english_namespace(title: str) -> tuple[int, str]:
    """Namespace and rest of ``title`` by English names; a ``SiteInfo`` knows the others."""
    prefix, colon, rest = title.partition(":")
    number = _ENGLISH.get(prefix.strip().casefold()) if colon else None
    return (0, title) if number is None else (number, rest.strip())


_ENTITY = {0: re.compile(r"Q[1-9]\d{0,15}"), 120: re.compile(r"Property:P[1-9]\d{0,15}")}
_ENTITY_MODELS = frozenset([None, "wikibase-item", "wikibase-property"])


class Decoder:
    """Decodes the events of one wiki and its repository."""

    def __init__(
        self,
        wiki: WikiConfig | None = None,
        stream: StreamConfig | None = None,
        namespace_of: NamespaceOf = english_namespace,
    ) -> None:
        self._wiki = wiki or WikiConfig()
        stream = stream or StreamConfig()
        self._namespace_of = namespace_of
        self._max_bytes = stream.max_event_bytes
        self._max_raw = stream.max_raw_bytes
        self._page_changes = PAGE_CHANGE in stream.streams
        spaces = self._wiki.namespaces
        self._namespaces = None if spaces == "all" else frozenset(spaces)

    def decode(self, data: bytes, sse_id: str = "") -> Decoded:
        """The Change that ``data`` (one event as JSON) describes, or why there is none.

        ``sse_id`` stands in for the position where the event itself does not tell it.
        """
        if len(data) > self._max_bytes:
            return self.unreadable(Reason.TOO_LARGE, f"{len(data)} bytes", data, sse_id)
        try:
            event = wire.decode_event(data)
        except ValueError as error:
            return self.unreadable(Reason.MALFORMED, str(error), data, sse_id)
        meta = event.meta
        time = (meta.dt if meta else None) or event.dt
        arrival = wire.utc(time) if time else kinds.from_seconds(event.timestamp)
        position = _position(event, arrival, sse_id)
        wiki = event.wiki or event.wiki_id or event.database
        if arrival and ((meta and meta.domain == "canary") or wiki == "examplewiki"):
            return Canary(arrival_time=arrival, position=position)
        fields = self._fields(event, wiki)
        if isinstance(fields, Fields):
            refused = self._refused(fields, wiki) if arrival else Reason.NO_TIME
            if arrival and not refused:
                return _change(fields, wiki or "", arrival, meta, position)
            reason = refused or Reason.NO_TIME
        else:
            reason = fields
        return Rejected(
            reason=reason,
            detail=_name(event) if reason.dead_letter else "",
            raw=data[: self._max_raw] if reason.dead_letter else b"",
            position=position,
            arrival_time=arrival,
        )

    def unreadable(self, reason: Reason, detail: str, data: bytes, sse_id: str = "") -> Rejected:
        """Reject an event that is no JSON; its position is looked for in the bytes."""
        found = wire.position_in(data)
        position = _id_position(sse_id, None)
        if found:
            topic, partition, offset = found
            position = SourcePosition(
                topic=topic,
                partition=partition,
                offset=offset,
                timestamp_ms=position.timestamp_ms if position else 0,
            )
        return Rejected(
            reason=reason, detail=detail[:200], raw=data[: self._max_raw], position=position
        )

    def _fields(self, event: Event, wiki: str | None) -> Fields | Reason:
        if wiki is not None and wiki not in (self._wiki.name, self._wiki.repository):
            return Reason.OTHER_WIKI
        try:
            if event.page_change_kind is not None:
                fields = kinds.page_change(event)
            elif event.type is not None:
                fields = kinds.recent_change(event, self._page_changes)
            else:
                fields = kinds.page_stream(event)
        except (ValueError, TypeError, KeyError):
            return Reason.UNKNOWN_PARAMS
        return Reason.NO_WIKI if wiki is None and isinstance(fields, Fields) else fields

    def _refused(self, fields: Fields, wiki: str | None) -> Reason | None:
        """Normalise the titles, then say why the page is not followed, if it is not."""
        fields.title = title = kinds.display_title(fields.title)
        if title is None:
            return Reason.NO_TITLE
        fields.from_title = kinds.display_title(fields.from_title)
        if fields.namespace is None:
            fields.namespace = self._namespace_of(title)[0]
        if fields.kind in kinds.TEXT_KINDS and not fields.rev_id:
            return Reason.NO_REVISION
        if wiki == self._wiki.repository:
            return _not_entity(fields.namespace, title, fields.model)
        followed = self._namespaces is None or fields.namespace in self._namespaces
        if not followed and fields.from_title is not None and self._namespaces is not None:
            # A move out of what is followed ends an article: it must be seen.
            followed = self._namespace_of(fields.from_title)[0] in self._namespaces
        return None if followed else Reason.OTHER_NAMESPACE


def _not_entity(namespace: int, title: str, model: str | None) -> Reason | None:
    pattern = _ENTITY.get(namespace)
    if pattern is None:
        return Reason.OTHER_NAMESPACE
    entity = pattern.fullmatch(title) is not None and model in _ENTITY_MODELS
    return None if entity else Reason.NOT_ENTITY


def _change(
    fields: Fields,
    wiki: str,
    arrival: datetime,
    meta: wire.Meta | None,
    position: SourcePosition | None,
) -> Change:
    acted = wire.utc(fields.acted) if fields.acted else arrival
    rev_dt = wire.utc(fields.rev_dt) if fields.rev_dt else None
    effective = acted
    if fields.kind in kinds.TEXT_KINDS:
        rev_dt = rev_dt or acted
        effective = arrival if arrival - rev_dt > IMPORT_DELAY else rev_dt
    comment = fields.comment
    if comment is not None and len(comment) > MAX_COMMENT:
        comment = comment[:MAX_COMMENT]
    return Change(
        wiki=wiki,
        kind=fields.kind,
        effective_time=effective,
        arrival_time=arrival,
        page_id=fields.page_id,
        title=fields.title,
        namespace=fields.namespace,
        rev_id=fields.rev_id,
        parent_rev_id=fields.parent_rev_id,
        rev_dt=rev_dt,
        redirect=fields.redirect,
        visible=fields.visible,
        rev_ids=fields.rev_ids,
        from_title=fields.from_title,
        target_title=fields.target_title,
        comment=comment,
        event_id=(meta.id if meta else None) or "",
        position=position,
    )


def _position(event: Event, arrival: datetime | None, sse_id: str) -> SourcePosition | None:
    meta = event.meta
    if meta is None or meta.topic is None or meta.offset is None:
        return _id_position(sse_id, meta.stream if meta else None)
    return SourcePosition(
        topic=meta.topic,
        partition=meta.partition or 0,
        offset=meta.offset,
        timestamp_ms=int(arrival.timestamp() * 1000) if arrival else 0,
    )


def _id_position(sse_id: str, stream: str | None) -> SourcePosition | None:
    """Where an event stands by the SSE id: the newest topic of its stream, offset unknown."""
    known = [
        part
        for part in (wire.decode_ids(sse_id) if sse_id else ())
        if part.timestamp is not None and (stream is None or part.topic.endswith("." + stream))
    ]
    if not known:
        return None
    newest = max(known, key=lambda part: part.timestamp or 0)
    # The source writes the timestamp after the event's own.
    timestamp = (newest.timestamp or 1) - 1
    return SourcePosition(
        topic=newest.topic, partition=newest.partition, offset=-1, timestamp_ms=timestamp
    )


def _name(event: Event) -> str:
    """What the event calls itself, for a dead letter."""
    if event.page_change_kind is not None:
        name = event.page_change_kind
    elif event.type == "log":
        name = f"log {event.log_type}/{event.log_action}"
    else:
        name = str(event.type if event.type is not None else kinds.stream_name(event))
    return name[:100]
