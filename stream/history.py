"""Histories as Revisions in the order of time: the way to past months.

* a MediaWiki dump with full history (``pages-meta-history``), its pages sorted into one stream;
* a folder or tar of ``Special:EntityData`` answers, ``<revision id>.json`` each.

What is told is what the wiki knows today: a revision's time serves as effective and arrival
time, and the page's title is that of the dump.
"""

import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import msgspec

from stream import answers
from stream.sorting import Item, sort
from twiki.config import WikiConfig
from twiki.dumps import xml
from twiki.errors import SourceError
from twiki.records import Change, ChangeKind, ContentModel, Revision

SORT_BYTES = 64 << 20
"""Memory for sorting a dump by time."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Revision)


def dump_revisions(path: Path, wiki: WikiConfig, *, budget: int = SORT_BYTES) -> Iterator[Revision]:
    """All revisions of a dump by (time, revision id); memory stays near ``budget``.

    Raises:
        DumpError: the dump is damaged or cut; nothing has come out then.
        SourceError: it is the dump of a wiki that the settings do not follow.
    """
    for data in sort(_keyed(path, wiki), budget=budget):
        yield _decoder.decode(data)


def _keyed(path: Path, wiki: WikiConfig) -> Iterator[Item]:
    with xml.open(path) as dump:
        name = dump.siteinfo.dbname or wiki.name
        if name not in (wiki.name, wiki.repository):
            raise SourceError(
                f"{path}: a dump of {name}, but the settings follow {wiki.name} and "
                f"{wiki.repository}: set wiki.name"
            )
        before = None
        for page, revision in dump.revisions():
            first = page.page_id != before
            before = page.page_id
            found = _revision(name, page, revision, first=first)
            key = (_milliseconds(revision.timestamp), revision.rev_id)
            yield key, _encoder.encode(found)


_MODELS = {model.value: model for model in ContentModel}


def _revision(
    wiki: str, page: xml.PageHeader, revision: xml.DumpRevision, *, first: bool
) -> Revision:
    created = first or revision.parent_id == 0
    change = Change(
        wiki=wiki,
        kind=ChangeKind.CREATE if created else ChangeKind.EDIT,
        effective_time=revision.timestamp,
        arrival_time=revision.timestamp,
        page_id=page.page_id,
        title=page.title,
        namespace=page.namespace,
        rev_id=revision.rev_id,
        parent_rev_id=revision.parent_id,
        rev_dt=revision.timestamp,
        visible=False if revision.hidden else None,
        comment=revision.comment,
    )
    model = _MODELS.get(revision.model, ContentModel.WIKITEXT)
    return Revision(change=change, content=revision.text, model=model)


def folder_revisions(folder: Path, wiki: WikiConfig) -> Iterator[Revision]:
    """EntityData of a folder by (time, revision id): heads are read first, contents one by one.

    Raises:
        SourceError: a file that is no EntityData, or none at all.
    """
    order = []
    for path in sorted(folder.rglob("*.json")):
        entity = _entity(path.read_bytes(), str(path))
        order.append((_time(entity, str(path)), entity.lastrevid or 0, path))
    if not order:
        raise SourceError(f"{folder}: no <revision id>.json in it")
    before: dict[str, int] = {}
    for _, _, path in sorted(order):
        yield _entity_revision(path.read_bytes(), str(path), wiki, before)


class Readable(Protocol):
    """An open file that knows where it lies; a :class:`~twiki.dumps.compression.DumpFile`."""

    path: Path

    def read(self, size: int = -1) -> bytes:
        """The next ``size`` bytes, fewer at the end."""


def tar_revisions(file: Readable, wiki: WikiConfig) -> Iterator[Revision]:
    """EntityData of an open tar in the order of its members, which must be that of time.

    Raises:
        DumpError: the file is damaged.
        SourceError: a member that is no EntityData, or one that steps back in time.
    """
    before: dict[str, int] = {}
    latest = datetime.min.replace(tzinfo=UTC)
    try:
        with tarfile.open(fileobj=file, mode="r|", bufsize=1 << 16) as archive:  # type: ignore[call-overload]  # any reader will do
            for member in archive:
                content = archive.extractfile(member) if member.isfile() else None
                if content is None or not member.name.endswith(".json"):
                    continue
                name = f"{file.path}, {member.name}"
                revision = _entity_revision(content.read(), name, wiki, before)
                time = revision.change.effective_time
                if (latest - time).total_seconds() > MAX_STEP_BACK_SECONDS:
                    raise SourceError(f"{name}: {time} after {latest}: unpack it into a folder")
                latest = max(latest, time)
                yield revision
    except tarfile.TarError as error:
        raise SourceError(f"{file.path}: damaged tar: {error}") from error


MAX_STEP_BACK_SECONDS = 3600
"""Windows wait an hour for what is late; a history may not step back further."""


class _EntityData(msgspec.Struct):
    entities: dict[str, answers.EntityJson]


_entity_data = msgspec.json.Decoder(_EntityData)


def _entity(data: bytes, name: str) -> answers.EntityJson:
    try:
        return next(iter(_entity_data.decode(data).entities.values()))
    except (msgspec.DecodeError, UnicodeDecodeError, StopIteration) as error:
        raise SourceError(f"{name}: no answer of Special:EntityData: {error}") from error


def _time(entity: answers.EntityJson, name: str) -> datetime:
    try:
        time = msgspec.convert(entity.modified, datetime, strict=False)
    except msgspec.ValidationError as error:
        raise SourceError(f"{name}: no time in 'modified': {error}") from error
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _entity_revision(data: bytes, name: str, wiki: WikiConfig, before: dict[str, int]) -> Revision:
    entity = _entity(data, name)
    try:
        content = data.decode()  # decoders take the envelope too
    except UnicodeDecodeError as error:
        raise SourceError(f"{name}: not UTF-8: {error}") from error
    time = _time(entity, name)
    entity_id = entity.id or ""
    is_property = entity_id.startswith("P")
    rev_id = entity.lastrevid or 0
    change = Change(
        wiki=wiki.repository,
        kind=ChangeKind.EDIT if entity_id in before else ChangeKind.CREATE,
        effective_time=time,
        arrival_time=time,
        page_id=entity.pageid or None,
        title=f"Property:{entity_id}" if is_property else entity_id,
        namespace=120 if is_property else 0,
        rev_id=rev_id,
        parent_rev_id=before.get(entity_id, 0),
        rev_dt=time,
    )
    before[entity_id] = rev_id
    return Revision(
        change=change,
        content=content,
        model=ContentModel.PROPERTY if is_property else ContentModel.ITEM,
    )


def _milliseconds(time: datetime) -> int:
    return int(time.timestamp() * 1000)
