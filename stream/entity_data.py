"""Entities at a revision: ``wbgetentities`` for fifty at once, ``Special:EntityData`` for one.

The batch gives an entity as it is now, which is the revision asked for as long as we keep up;
the rest is fetched one by one. What EntityData refuses is explained by ``prop=revisions``: a
redirect (400), a hidden text, or no such revision (404). A redirect's content is
``{"entity": "Q2", "redirect": "Q1"}``.
"""

from collections.abc import Sequence

import msgspec

from stream import answers
from stream.answers import EntityJson
from stream.api import OK, ApiError, Client
from stream.found import Failure, Fetched, Found, Lost
from stream.revisions import RevisionReader, api_time

NOT_FOUND = 404
BAD_REQUEST = 400

Wanted = tuple[str, int | None]
"""Entity id and revision; no revision: the current one."""


class EntityReader:
    """Reads the entities of one repository."""

    def __init__(
        self, client: Client, texts: RevisionReader, api_url: str, entity_url: str
    ) -> None:
        self._client = client
        self._texts = texts
        self._api_url = api_url
        self._entity_url = entity_url

    def batch(self, wanted: Sequence[Wanted]) -> dict[Wanted, Fetched]:
        """Those of ``wanted`` (at most a batch) that are current; the others are left out.

        Raises:
            Unavailable: no usable answer came.
        """
        ids = sorted({entity_id for entity_id, _ in wanted})
        params = {"action": "wbgetentities", "ids": "|".join(ids), "redirects": "no"}
        try:
            entities = self._client.query(self._api_url, params).entities
        except ApiError:
            return {}  # one invalid id spoils the batch: each is asked for by itself
        current: dict[str, Found] = {}
        for raw in entities.values() if isinstance(entities, dict) else entities:
            entity = _decoded(raw)
            if entity and entity.id and entity.lastrevid and not answers.is_set(entity.missing):
                current[entity.id] = _found(entity, entity.lastrevid, bytes(raw).decode())
        return {
            (entity_id, rev_id): current[entity_id]
            for entity_id, rev_id in wanted
            if entity_id in current and rev_id in (None, current[entity_id].rev_id)
        }

    def one(self, wanted: Wanted) -> Fetched:
        """One entity at its revision.

        Raises:
            Unavailable: no usable answer came.
        """
        entity_id, rev_id = wanted
        revision = {} if rev_id is None else {"revision": rev_id}
        reply = self._client.page(f"{self._entity_url}/{entity_id}.json", revision)
        if reply.status == OK:
            found = _from_body(reply.body, entity_id, rev_id)
            if rev_id is None and isinstance(found, Found) and not found.rev_id:
                # A redirect: which revision made it one is told by its page.
                return self._texts.current([found.title])[found.title]
            return found
        if reply.status in (BAD_REQUEST, NOT_FOUND) and rev_id is not None:
            return self._explained(rev_id, reply.status)
        if reply.status == NOT_FOUND:
            return Lost(Failure.MISSING, "no such entity")
        kind = Failure.REFUSED if reply.status >= BAD_REQUEST else Failure.BAD_ANSWER
        return Lost(kind, f"HTTP {reply.status} for {entity_id} at {rev_id}")

    def _explained(self, rev_id: int, status: int) -> Fetched:
        """Why EntityData refuses a revision; a redirect is an answer."""
        told = self._texts.by_id([rev_id])[rev_id]
        if isinstance(told, Lost) or told.hidden:
            return told
        if redirect_of(told.content or "") is not None:
            return told
        return Lost(Failure.BAD_ANSWER, f"HTTP {status} for a revision that can be read")


class _Redirect(msgspec.Struct):
    entity: str
    redirect: str


def redirect_of(content: str) -> str | None:
    """Target of a redirect entity's content, None when it is no redirect."""
    if '"redirect"' not in content[:1000]:
        return None
    try:
        return msgspec.json.decode(content, type=_Redirect).redirect
    except (msgspec.DecodeError, UnicodeError):
        return None


def entity_id_of(title: str | None) -> str:
    """``P31`` of ``Property:P31``, ``Q42`` of ``Q42``."""
    return (title or "").rpartition(":")[2]


class _Body(msgspec.Struct):
    entities: dict[str, msgspec.Raw] | list[msgspec.Raw] = msgspec.field(default_factory=list)


def _from_body(body: bytes, entity_id: str, rev_id: int | None) -> Fetched:
    try:
        entities = msgspec.json.decode(body, type=_Body).entities
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        return Lost(Failure.BAD_ANSWER, f"EntityData of {entity_id}: {error}"[:200])
    for raw in entities.values() if isinstance(entities, dict) else entities:
        entity = _decoded(raw)
        if entity is None or not entity.id:
            continue
        if entity.id != entity_id:
            # The entity is a redirect by now: the answer is its target.
            content = msgspec.json.encode({"entity": entity_id, "redirect": entity.id}).decode()
            return _found(EntityJson(id=entity_id), rev_id or 0, content)
        if rev_id is not None and entity.lastrevid not in (None, rev_id):
            return Lost(Failure.BAD_ANSWER, f"asked for {rev_id}, told {entity.lastrevid}")
        return _found(entity, entity.lastrevid or rev_id or 0, bytes(raw).decode())
    return Lost(Failure.BAD_ANSWER, f"EntityData without {entity_id}")


def _decoded(raw: msgspec.Raw) -> EntityJson | None:
    try:
        return answers.decode_head(raw)
    except ValueError:
        return None


def _found(entity: EntityJson, rev_id: int, content: str) -> Found:
    entity_id = entity.id or ""
    property_ = entity_id.startswith("P")
    # Only the redirect's own content has no time.
    return Found(
        page_id=entity.pageid or 0,
        title=entity.title or (f"Property:{entity_id}" if property_ else entity_id),
        namespace=120 if property_ else 0,
        rev_id=rev_id,
        parent_rev_id=None,
        rev_dt=api_time(entity.modified),
        content=content,
        model="wikibase-property" if property_ else "wikibase-item",
    )
