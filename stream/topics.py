"""Kafka topics: names, partitions, keys, retention, and what a record says. The one place.

::

    changes            what the source told, by wiki and title          (bridge → hydrator)
    needs              revisions that state lacks, by page               (worker → hydrator)
    revisions-pages    changes with their content, by page               (hydrator → article worker)
    revisions-entities the same by entity                                (hydrator → entity worker)
    pages-changelog    state of every page, of every entity              (worker → itself, cut)
    entities-changelog
    sentences · facts  the live feed                                     (worker → readers)
    dead               what could not be used, with the reason
    windows            announcements: closed, dataset written            (bridge, cut → listener)
    positions          where the bridge stands, what topics there were
    titles             which page bore a title at the first boundary     (fill → hydrator)

All topics have the same number of partitions and :func:`partition_of` chooses among them from
the raw bytes of the key, so that a page has one partition number everywhere. Values are JSON
(schemas in ``deploy/schemas``), but for the changelogs: versioned bytes
(:mod:`stream.cluster.state`).
"""

import re
from enum import StrEnum
from typing import NamedTuple, TypeVar
from zlib import crc32

import msgspec

from stream.settings import KafkaConfig
from twiki.errors import SourceError
from twiki.records import Change, Revision

VERSION = 1
_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS
_PAGE_KEY = re.compile(rb"[a-z0-9_-]+:(\d{1,18}|[QP]\d{1,16})")
_MARGIN = 64 << 10
"""Room for key, headers and framing around the largest value."""


class Topic(StrEnum):
    """A topic's name without the prefix."""

    CHANGES = "changes"
    NEEDS = "needs"
    PAGES = "revisions-pages"
    ENTITIES = "revisions-entities"
    PAGES_CHANGELOG = "pages-changelog"
    ENTITIES_CHANGELOG = "entities-changelog"
    SENTENCES = "sentences"
    FACTS = "facts"
    DEAD = "dead"
    WINDOWS = "windows"
    POSITIONS = "positions"
    TITLES = "titles"


class Role(StrEnum):
    """What a worker does."""

    HYDRATOR = "hydrator"
    ARTICLE = "article"
    ENTITY = "entity"


REVISIONS = {Role.ARTICLE: Topic.PAGES, Role.ENTITY: Topic.ENTITIES}
CHANGELOGS = {Role.ARTICLE: Topic.PAGES_CHANGELOG, Role.ENTITY: Topic.ENTITIES_CHANGELOG}
COMPACTED = frozenset(
    [
        Topic.PAGES,
        Topic.ENTITIES,
        Topic.PAGES_CHANGELOG,
        Topic.ENTITIES_CHANGELOG,
        Topic.POSITIONS,
        Topic.TITLES,
    ]
)


class Spec(NamedTuple):
    """A topic as it is created."""

    name: str
    partitions: int
    replication: int
    config: dict[str, str]


def name_of(topic: Topic, config: KafkaConfig) -> str:
    """The topic's full name."""
    return f"{config.prefix}.{topic}"


def group_of(role: Role, config: KafkaConfig) -> str:
    """The consumer group, which is also the Faust application's id."""
    return f"{config.prefix}-{role}"


def specs(config: KafkaConfig) -> list[Spec]:
    """Every topic, ready to be created."""
    return [
        Spec(name_of(topic, config), config.partitions, config.replication, _config(topic, config))
        for topic in Topic
    ]


def _config(topic: Topic, config: KafkaConfig) -> dict[str, str]:
    limits = {"max.message.bytes": str(config.max_record_bytes + _MARGIN)}
    if topic not in COMPACTED:
        return {
            **limits,
            "cleanup.policy": "delete",
            "retention.ms": str(config.retention_days * _DAY_MS),
        }
    lag = config.compaction_lag_hours * _HOUR_MS
    compacted = {**limits, "cleanup.policy": "compact", "min.compaction.lag.ms": str(lag)}
    if topic in (Topic.PAGES, Topic.ENTITIES):
        # A text hidden at the source must go: its page's next record replaces it.
        compacted["max.compaction.lag.ms"] = str(max(lag, 1))
        compacted["segment.ms"] = str(max(lag, _HOUR_MS))
    return compacted


def request_bytes(config: KafkaConfig) -> int:
    """Largest request of a producer: one record of the greatest size with its framing."""
    return config.max_record_bytes + _MARGIN


# --- keys ---------------------------------------------------------------------------------


def partition_of(key: bytes, partitions: int) -> int:
    """The partition of a key, in every topic."""
    return crc32(key) % partitions


def event_key(change: Change) -> bytes:
    """Key of a change: wiki and title as found, since not every event has a page id."""
    return title_key(change.wiki, change.title or "")


def title_key(wiki: str, title: str) -> bytes:
    """Key of a title."""
    return f"{wiki}:{title}".encode("utf-8", "surrogatepass")


def page_key(wiki: str, page: int | str) -> bytes:
    """Key of a page or entity."""
    return f"{wiki}:{page}".encode()


def revision_key(page: bytes, revision: Revision, *, supplied: bool = False) -> bytes:
    """Key of a record of ``revisions-*``: compaction keeps the last of each.

    The page's own key stands for its current text. What brings no current text (a deletion, a
    dump's pin, a revision asked for by id) must not replace that: it has a key of its own.
    """
    change = revision.change
    if supplied:
        return page + f"#{change.rev_id}".encode()
    if revision.pinned and revision.boundary is not None:
        return page + f"#pin/{int(revision.boundary.timestamp())}".encode()
    if revision.content is not None:
        return page
    return page + f"#{change.kind}/{int(change.effective_time.timestamp())}".encode()


def parse_page_key(key: bytes) -> int | str:
    """The page id or entity id in a page's key.

    Raises:
        BadRecordError: it is no key of ours.
    """
    found = _PAGE_KEY.fullmatch(key)
    if found is None:
        raise BadRecordError(f"key {key[:40]!r} names no page and no entity")
    page = found[1].decode()
    return int(page) if page.isdigit() else page


# --- records ------------------------------------------------------------------------------


class _Told(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", omit_defaults=False):
    """Base of all JSON records."""

    v: int = VERSION


class ChangeRecord(_Told, frozen=True, kw_only=True, tag="change"):
    """``changes``: an event. ``closed`` and ``first`` are the bridge's clock (see Epoch)."""

    change: Change
    first: int
    """Oldest boundary that is kept, in milliseconds."""
    closed: int = 0
    """End of the last window that had closed when the event arrived; decides lateness."""
    page: int | None = None
    """The page that bore the title then, where the event does not say and the bridge knows."""


class NeedRecord(_Told, frozen=True, kw_only=True, tag="need"):
    """``needs``: a revision whose content the state of ``page`` lacks."""

    wiki: str
    page: int | str
    rev_id: int
    first: int


class RevisionRecord(_Told, frozen=True, kw_only=True, tag="revision"):
    """``changes`` (from a recording) and ``revisions-*``: a change with its content."""

    revision: Revision
    first: int
    closed: int = 0
    page: int | str | None = None
    """The page where the revision does not say it."""
    supplied: bool = False
    """Asked for by id: it was always there, never late."""


class CloseRecord(_Told, frozen=True, kw_only=True, tag="close"):
    """``changes``, ``revisions-*``: all that came before the window's close is before this."""

    start: int
    end: int
    first: int
    source: int | None = None
    """``revisions-*``: the partition of ``changes`` that it came through."""


class ReconciledRecord(_Told, frozen=True, kw_only=True, tag="reconciled"):
    """``revisions-*``: all corrections of a reconcile run are before this."""

    start: int
    end: int
    run: str
    count: int
    policy: str
    first: int


class WindowRecord(_Told, frozen=True, kw_only=True, tag="window"):
    """``windows``: a window closed, or a dataset of it was written."""

    event: str
    """``closed``, ``dataset`` or ``trained``."""
    window: str
    wiki: str
    version: int | None = None
    folder: str | None = None
    method: str | None = None
    """``trained``: by which method."""


class DeadRecord(_Told, frozen=True, kw_only=True, tag="dead"):
    """``dead``: something that could not be used."""

    id: str
    reason: str
    detail: str = ""
    raw: bytes = b""
    """The bytes as they came, bounded; base64 in JSON."""
    position: str = ""


class BridgeRecord(_Told, frozen=True, kw_only=True, tag="bridge"):
    """``positions``: how far the bridge is; everything before it is acknowledged."""

    positions: bytes
    watermarks: dict[str, int]
    first: int
    closed: int
    sent: int = 0
    """Changes sent since the beginning."""


class TitleRecord(_Told, frozen=True, kw_only=True, tag="title"):
    """``titles``: the page that bore the key's title at the first boundary."""

    page: int


class TopicsRecord(_Told, frozen=True, kw_only=True, tag="topics"):
    """``positions``: the topics that a role's state was made with, by their ids."""

    role: str
    source: str
    changelog: str
    generation: int = 0
    """Counts how often the source topic was made anew: its offsets begin at 0 then."""


Record = (
    ChangeRecord
    | NeedRecord
    | RevisionRecord
    | CloseRecord
    | ReconciledRecord
    | WindowRecord
    | DeadRecord
    | BridgeRecord
    | TopicsRecord
    | TitleRecord
)
OfChanges = ChangeRecord | RevisionRecord | CloseRecord | NeedRecord
"""``changes`` and ``needs``."""
OfRevisions = RevisionRecord | CloseRecord | ReconciledRecord
OfPositions = BridgeRecord | TopicsRecord
OF_TOPIC: dict[Topic, tuple[type[_Told], ...]] = {
    Topic.CHANGES: (ChangeRecord, RevisionRecord, CloseRecord),
    Topic.NEEDS: (NeedRecord,),
    Topic.PAGES: (RevisionRecord, CloseRecord, ReconciledRecord),
    Topic.ENTITIES: (RevisionRecord, CloseRecord, ReconciledRecord),
    Topic.DEAD: (DeadRecord,),
    Topic.WINDOWS: (WindowRecord,),
    Topic.POSITIONS: (BridgeRecord, TopicsRecord),
    Topic.TITLES: (TitleRecord,),
}
"""Which records a topic holds; the live feed holds :data:`twiki.live.Output`."""

T = TypeVar("T", bound=_Told)
_encoder = msgspec.json.Encoder()
_changes: msgspec.json.Decoder[OfChanges] = msgspec.json.Decoder(OfChanges)
_revisions: msgspec.json.Decoder[OfRevisions] = msgspec.json.Decoder(OfRevisions)
_positions: msgspec.json.Decoder[OfPositions] = msgspec.json.Decoder(OfPositions)
_windows = msgspec.json.Decoder(WindowRecord)
_titles = msgspec.json.Decoder(TitleRecord)


class BadRecordError(ValueError):
    """A record that is none of ours: a poison record."""


def encode(record: Record) -> bytes:
    """A record as JSON.

    Raises:
        BadRecordError: its text is no Unicode (a lone surrogate).
    """
    try:
        return _encoder.encode(record)
    except UnicodeEncodeError as error:
        raise BadRecordError(str(error)) from error


def decode_change(data: bytes | None) -> OfChanges:
    """A record of ``changes`` or ``needs``; errors as :func:`decode_revision`."""
    return _decoded(_changes, data)


def decode_revision(data: bytes | None) -> OfRevisions:
    """A record of ``revisions-*``.

    Raises:
        BadRecordError: no JSON of ours.
        SourceError: written by a newer program: going on would lose it.
    """
    return _decoded(_revisions, data)


def decode_position(data: bytes | None) -> OfPositions:
    """A record of ``positions``; errors as :func:`decode_revision`."""
    return _decoded(_positions, data)


def decode_window(data: bytes | None) -> WindowRecord:
    """A record of ``windows``; errors as :func:`decode_revision`."""
    return _decoded(_windows, data)


def decode_title(data: bytes | None) -> TitleRecord:
    """A record of ``titles``; errors as :func:`decode_revision`."""
    return _decoded(_titles, data)


def _decoded(decoder: msgspec.json.Decoder[T], data: bytes | None) -> T:
    try:
        record = decoder.decode(data or b"")
    except (msgspec.DecodeError, ValueError) as error:
        raise BadRecordError(str(error)) from error
    if record.v > VERSION:
        raise SourceError(
            f"a record of version {record.v}, this program reads {VERSION}: update this program"
        )
    return record
