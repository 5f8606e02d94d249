"""What a MediaWiki XML export says: records, and how its elements become them.

Elements are known by their local name, so every schema from 0.3 to 0.11 reads alike. Three
things that look alike are kept apart: a *hidden* text (``deleted``), a *blank* one, and one
that is *unknown* because the file does not carry it (stubs, text lost in storage).
"""

import re
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from twiki.records import Record

Element = Any
"""An ``lxml.etree`` element; the library has no usable types."""

DEFAULT_MODEL = "wikitext"
"""Of revisions before schema 0.8, which name none."""


class BadElementError(ValueError):
    """An element lacks what a page or revision cannot be without, or it is no such value."""


class DumpNamespace(Record, frozen=True, kw_only=True):
    """A namespace of the wiki: its local name and whether its titles keep their first letter."""

    name: str
    case: str = "first-letter"


class DumpSite(Record, frozen=True, kw_only=True):
    """``<siteinfo>``; empty where the file has none."""

    sitename: str = ""
    dbname: str = ""
    base: str = ""
    generator: str = ""
    case: str = "first-letter"
    namespaces: dict[int, DumpNamespace] = msgspec.field(default_factory=dict)


class PageHeader(Record, frozen=True, kw_only=True):
    """A page without its revisions. ``title`` and ``redirect`` are display titles."""

    page_id: int
    title: str
    namespace: int
    redirect: str | None = None
    """Target; None: not marked as a redirect (before 0.5 none is). "": marked, no target."""


class DumpSlot(Record, frozen=True, kw_only=True):
    """A slot beside the main one."""

    role: str
    model: str
    text: str | None


class DumpRevision(Record, frozen=True, kw_only=True):
    """A revision. ``text`` None: hidden if ``hidden``, else unknown; "": the page is blank."""

    rev_id: int
    timestamp: datetime
    parent_id: int | None = None
    model: str = DEFAULT_MODEL
    text: str | None = None
    hidden: bool = False
    sha1: str | None = None
    """Of the revision, base 36; for one with several slots not that of ``text``."""
    size: int | None = None
    """Bytes of the main slot as the wiki counts them."""
    comment: str | None = None
    slots: tuple[DumpSlot, ...] = ()


class DumpPage(Record, frozen=True, kw_only=True):
    """A page with its revisions in the order of the file."""

    page_id: int
    title: str
    namespace: int
    redirect: str | None = None
    revisions: tuple[DumpRevision, ...] = ()


def local(element: Element) -> str:
    """Return the name of ``element`` without its namespace."""
    tag: str = element.tag
    return tag.rpartition("}")[2]


def site(element: Element) -> DumpSite:
    """Read a ``<siteinfo>``."""
    texts: dict[str, str] = {}
    namespaces: dict[int, DumpNamespace] = {}
    for child in element:
        name = local(child)
        texts[name] = (child.text or "").strip()
        if name == "namespaces":
            for space in child:
                key = _integer(space.get("key"), "a namespace's key")
                namespaces[key] = DumpNamespace(
                    name=display(space.text or ""),
                    case=space.get("case", "first-letter"),
                )
    return DumpSite(
        sitename=texts.get("sitename", ""),
        dbname=texts.get("dbname", ""),
        base=texts.get("base", ""),
        generator=texts.get("generator", ""),
        case=texts.get("case", "first-letter"),
        namespaces=namespaces,
    )


def header(page: Element, of: DumpSite) -> PageHeader:
    """Read what stands before the first revision of a ``<page>``."""
    title = number = space = redirect = None
    for child in page:
        name = local(child)
        if name == "title":
            title = display(child.text or "")
        elif name == "ns":
            space = _integer(child.text, "a page's <ns>")
        elif name == "id":
            number = _integer(child.text, "a page's <id>")
        elif name == "redirect":
            redirect = display(child.get("title", ""))
        elif name in ("revision", "upload"):
            break
    if not title:
        raise BadElementError("a page without <title>")
    if number is None:
        raise BadElementError(f"the page {title!r} without <id>")
    return PageHeader(
        page_id=number,
        title=title,
        namespace=namespace_of(title, of) if space is None else space,
        redirect=redirect,
    )


def revision_id(element: Element) -> int:
    """Return the id of a ``<revision>``."""
    for child in element:
        if local(child) == "id":
            return _integer(child.text, "a revision's <id>")
    raise BadElementError("a revision without <id>")


def revision(element: Element) -> DumpRevision:
    """Read a ``<revision>``."""
    children = {local(child): child for child in reversed(element)}
    stamp = children.get("timestamp")
    if stamp is None:
        raise BadElementError(f"revision {revision_id(element)} without <timestamp>")
    parent = children.get("parentid")
    text = children.get("text")
    return DumpRevision(
        rev_id=revision_id(element),
        timestamp=_time(stamp.text),
        parent_id=(_integer(parent.text, "<parentid>") or None) if parent is not None else None,
        model=_string(children.get("model")) or DEFAULT_MODEL,
        text=_text(text),
        hidden=text is not None and text.get("deleted") is not None,
        sha1=_string(children.get("sha1")),
        size=_size(text),
        comment=_string(children.get("comment")),
        slots=tuple(_slots(element)),
    )


def display(title: str) -> str:
    """Return ``title`` with spaces, in Unicode form NFC."""
    return unicodedata.normalize("NFC", title.replace("_", " ")).strip()


def namespace_of(title: str, of: DumpSite) -> int:
    """Return the namespace whose name ``title`` begins with, 0 where none does."""
    prefix, colon, _ = title.partition(":")
    if colon:
        folded = prefix.strip().casefold()
        for number, space in of.namespaces.items():
            if space.name and space.name.casefold() == folded:
                return number
    return 0


def _slots(element: Element) -> Iterator[DumpSlot]:
    for content in element:
        if local(content) == "content":
            children = {local(child): child for child in content}
            yield DumpSlot(
                role=_string(children.get("role")) or "",
                model=_string(children.get("model")) or "",
                text=_text(children.get("text")),
            )


def _text(element: Element | None) -> str | None:
    if element is None or element.get("deleted") is not None:
        return None
    text: str = element.text or ""
    if text:
        return text
    size = _size(element)
    if size is not None:
        return "" if size == 0 else None
    stub = element.get("id") is not None or element.get("location") is not None
    return None if stub else ""


def _size(element: Element | None) -> int | None:
    value = element.get("bytes") if element is not None else None
    return int(value) if value and re.fullmatch(r"\d{1,18}", value) else None


def _string(element: Element | None) -> str | None:
    if element is None or element.get("deleted") is not None:
        return None
    text: str | None = element.text
    return text or None


def _integer(text: str | None, what: str) -> int:
    if text is None or not re.fullmatch(r"\s*-?[0-9]{1,18}\s*", text):
        raise BadElementError(f"{what} is {text!r}, not a number")
    return int(text)


def _time(text: str | None) -> datetime:
    try:
        time = datetime.fromisoformat((text or "").strip())
    except ValueError as error:
        raise BadElementError(f"a revision's <timestamp> is {text!r}, not a time") from error
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
