"""What a change needs from the API, and the Revision that comes of the answer: pure functions.

| kind | needs |
|---|---|
| create, edit, move, restore | its revision by id, else what is current at its title |
| merge | page id of the source from the log; what still stands there |
| delete | nothing, or the page id from the log where the event lacks it |
| visibility | nothing, or page id and flags of the revisions it names |

An entity is named by its title, so that it never needs a page id.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from stream.entity_data import Wanted, entity_id_of
from stream.found import Failed, Failure, Fetched, Found
from stream.kinds import TEXT_KINDS
from twiki.config import WikiConfig
from twiki.records import Change, ChangeKind, ContentModel, Revision

K = TypeVar("K")

MAX_QUERY_BYTES = 4096
"""Titles of one request, percent-encoded: longer addresses are refused (414)."""


class Plan(msgspec.Struct):
    """By index of the change: what to ask for."""

    by_id: dict[int, int] = msgspec.field(default_factory=dict)
    by_title: dict[int, str] = msgspec.field(default_factory=dict)
    entities: dict[int, Wanted] = msgspec.field(default_factory=dict)
    logged: list[int] = msgspec.field(default_factory=list)


def title_batches(titles: Iterable[str], size: int) -> Iterator[list[str]]:
    """Cut titles into requests of at most ``size`` titles whose address is short enough."""
    batch: list[str] = []
    length = 0
    for title in titles:
        weight = len(quote(title)) + 3
        if batch and (len(batch) == size or length + weight > MAX_QUERY_BYTES):
            yield batch
            batch, length = [], 0
        batch.append(title)
        length += weight
    if batch:
        yield batch


def parts(items: Iterable[K], size: int) -> Iterator[list[K]]:
    """Cut ``items`` into lists of at most ``size``."""
    left = iter(items)
    while part := list(islice(left, size)):
        yield part


def plan(changes: Sequence[Change], wanted: Callable[[Change], bool], wiki: WikiConfig) -> Plan:
    """Decide what to ask for each change."""
    todo = Plan()
    for index, change in enumerate(changes):
        if change.wiki == wiki.repository:
            if _has_content(change) and wanted(change):
                todo.entities[index] = (entity_id_of(change.title), change.rev_id)
        elif _has_content(change):
            if change.page_id is None or wanted(change):
                _plan_text(todo, index, change)
        elif change.kind is ChangeKind.MERGE:
            todo.logged.append(index)
        elif change.page_id is None or (_is_visibility(change) and change.visible is None):
            if _is_visibility(change) and change.rev_ids:
                todo.by_id[index] = change.rev_ids[-1]
            else:
                todo.logged.append(index)
    return todo


def _plan_text(todo: Plan, index: int, change: Change) -> None:
    if change.rev_id is not None:
        todo.by_id[index] = change.rev_id
    elif change.title is not None:
        todo.by_title[index] = change.title


def _has_content(change: Change) -> bool:
    return change.kind in TEXT_KINDS or change.kind in (ChangeKind.MOVE, ChangeKind.RESTORE)


def _is_visibility(change: Change) -> bool:
    return change.kind is ChangeKind.VISIBILITY


def hydrated(change: Change, got: Fetched | None, wiki: WikiConfig) -> Revision | Failed:
    """The Revision that comes of a change and what was found for it."""
    model = model_of(change, wiki)
    if got is None:
        return Revision(change=change, model=model)
    if isinstance(got, Found):
        full = _completed(change, got)
        content = got.content if _has_content(change) or change.kind is ChangeKind.MERGE else None
        return Revision(change=full, content=content, model=model)
    needless = not _has_content(change)
    if needless and got.reason in (Failure.MISSING, Failure.TEXT_MISSING, Failure.REFUSED):
        # A deletion or hiding says enough by its title where the page id cannot be had.
        return Revision(change=change, model=model)
    return Failed(
        wiki=change.wiki,
        reason=got.reason,
        detail=got.detail,
        change=change,
        rev_id=change.rev_id,
        title=change.title,
    )


def _completed(change: Change, found: Found) -> Change:
    """Fill in what the event left open."""
    visible = change.visible
    if change.kind is ChangeKind.VISIBILITY:
        visible = (not found.hidden) if visible is None else visible
        return replace(change, page_id=change.page_id or found.page_id or None, visible=visible)
    if found.hidden:
        visible = False
    same = found.rev_id == change.rev_id or change.rev_id is None
    parent = change.parent_rev_id
    if parent is None and same:
        parent = found.parent_rev_id
    return replace(
        change,
        page_id=change.page_id or _page_id(change, found),
        title=change.title or found.title,
        namespace=found.namespace if change.namespace is None else change.namespace,
        rev_id=change.rev_id or found.rev_id or None,
        parent_rev_id=parent,
        rev_dt=change.rev_dt or (found.rev_dt if same else None),
        visible=visible,
    )


def _page_id(change: Change, found: Found) -> int | None:
    """The page that the answer names, unless it bears another title than the event said.

    A revision that a history merge moved is told under its new page; of a page that was only
    renamed, the state knows the id by the old title.
    """
    renamed = change.title is not None and change.title != found.title
    return None if renamed else found.page_id or None


def revision_of(wiki: str, found: Found) -> Revision | Failed:
    """A Revision made of an answer alone: its Change says what the API knows."""
    if found.rev_dt is None:
        return Failed(
            wiki=wiki,
            reason=Failure.BAD_ANSWER,
            detail="no timestamp",
            rev_id=found.rev_id,
            title=found.title,
        )
    kind = ChangeKind.CREATE if found.parent_rev_id == 0 else ChangeKind.EDIT
    change = Change(
        wiki=wiki,
        kind=kind,
        effective_time=found.rev_dt,
        arrival_time=found.rev_dt,
        page_id=found.page_id or None,
        title=found.title,
        namespace=found.namespace,
        rev_id=found.rev_id,
        parent_rev_id=found.parent_rev_id,
        rev_dt=found.rev_dt,
        visible=not found.hidden,
        comment=found.comment,
    )
    return Revision(change=change, content=found.content, model=_model(found.model))


def model_of(change: Change, wiki: WikiConfig) -> ContentModel:
    """Content model by wiki and title."""
    if change.wiki != wiki.repository:
        return ContentModel.WIKITEXT
    is_property = entity_id_of(change.title).startswith("P")
    return ContentModel.PROPERTY if is_property else ContentModel.ITEM


def _model(name: str | None) -> ContentModel:
    known = {model.value: model for model in ContentModel}
    return known.get(name or "", ContentModel.WIKITEXT)
