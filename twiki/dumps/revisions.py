"""What a dump holds, as :class:`~twiki.records.Revision`: the door into the state.

A dump's revision stands for its page at the dump's boundary. Most are older than it and are
ordinary revisions there; one that is newer, because dumps take hours, is *pinned* (ENGINE 2).
"""

from datetime import datetime

from twiki.dumps.entities import DumpEntity
from twiki.dumps.pages import DumpPage, DumpRevision, PageHeader
from twiki.errors import DumpError
from twiki.records import Change, ChangeKind, ContentModel, Revision

PROPERTY = "P"
_ITEMS, _PROPERTIES = 0, 120


def of_page(
    wiki: str,
    page: DumpPage | PageHeader,
    revision: DumpRevision,
    *,
    boundary: datetime | None = None,
) -> Revision:
    """A page's revision, as that of ``boundary`` where one is given."""
    return Revision(
        change=Change(
            wiki=wiki,
            kind=ChangeKind.EDIT if revision.parent_id else ChangeKind.CREATE,
            page_id=page.page_id,
            title=page.title,
            namespace=page.namespace,
            rev_id=revision.rev_id,
            parent_rev_id=revision.parent_id,
            rev_dt=revision.timestamp,
            redirect=page.redirect is not None,
            effective_time=revision.timestamp,
            arrival_time=revision.timestamp,
            visible=False if revision.hidden else None,
        ),
        content=revision.text,
        pinned=boundary is not None and revision.timestamp >= boundary,
        boundary=boundary,
    )


def of_entity(
    repository: str,
    entity: DumpEntity,
    *,
    boundary: datetime | None = None,
    outline: bool = False,
) -> Revision:
    """An entity's revision, as that of ``boundary`` where one is given.

    ``outline``: only its labels are to be kept.

    Raises:
        DumpError: the dump carries no revision ids, so nothing can be held against it.
    """
    if entity.rev_id is None or entity.modified is None:
        raise DumpError(
            f"{entity.id} at byte {entity.offset}: no lastrevid or no modified; the dump must "
            "carry page metadata, as Wikidata's own do"
        )
    is_property = entity.id.startswith(PROPERTY)
    return Revision(
        change=Change(
            wiki=repository,
            kind=ChangeKind.EDIT,
            title=f"Property:{entity.id}" if is_property else entity.id,
            namespace=_PROPERTIES if is_property else _ITEMS,
            rev_id=entity.rev_id,
            rev_dt=entity.modified,
            redirect=False,
            effective_time=entity.modified,
            arrival_time=entity.modified,
        ),
        content=entity.raw.decode("utf-8", "replace"),
        model=ContentModel.PROPERTY if is_property else ContentModel.ITEM,
        pinned=boundary is not None and entity.modified >= boundary,
        boundary=boundary,
        outline=outline,
    )
