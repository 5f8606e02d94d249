"""The plain walk over a MediaWiki XML export: every element through lxml, any encoding.

A walk yields, in the order of the file, the site once, then for each page its header and its
revisions. Elements are freed as soon as they are read, so memory holds one revision. This is
the definition of what an export says; :mod:`twiki.dumps.xmlscan` says the same, faster.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from lxml import etree

from twiki.dumps import pages
from twiki.dumps.pages import BadElementError, DumpRevision, DumpSite, Element, PageHeader
from twiki.errors import DumpError

Item = DumpSite | PageHeader | DumpRevision
Skip = Callable[[int, int], bool]
"""(page id, revision id) → whether the caller has that revision and needs nothing of it."""

MAX_ELEMENT = 64 << 20
"""Bytes of XML that one revision may take; MediaWiki's own limit is 2 MB of wikitext."""
PARSING: dict[str, Any] = {
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "huge_tree": True,  # a text may exceed libxml2's 10 MB; MAX_ELEMENT bounds it instead
    "remove_comments": True,
    "remove_pis": True,
}
"""How lxml parses an export: nothing is loaded, expanded or kept that is not its content."""
_TAGS = tuple("{*}" + name for name in ("siteinfo", "page", "revision", "upload", "logitem"))


class Counts:
    """What a walk met so far."""

    def __init__(self) -> None:
        self.pages = 0
        self.revisions = 0
        self.skipped = 0
        """Revisions that the caller had."""
        self.duplicates = 0
        """Revisions that stood twice on one page."""


class PageState:
    """The page being read: which of its revisions came, whether its header went out."""

    def __init__(self, skip: Skip | None, counts: Counts) -> None:
        self._skip = skip
        self._counts = counts
        self._page_id: int | None = None
        self._seen: set[int] = set()
        self._any_revision = False
        self._announced = False

    def enter(self, page_id: int) -> None:
        """Begin a page; the same id again goes on with the page before."""
        if page_id != self._page_id:
            self._seen.clear()
        self._page_id = page_id
        self._any_revision = self._announced = False
        self._counts.pages += 1

    def repeats(self, rev_id: int) -> bool:
        """Take note of revision ``rev_id``; say whether this page had it before."""
        self._any_revision = True
        if rev_id in self._seen:
            self._counts.duplicates += 1
            return True
        self._seen.add(rev_id)
        self._counts.revisions += 1
        return False

    def skips(self, rev_id: int) -> bool:
        """Ask the caller whether to pass over revision ``rev_id`` of this page."""
        if self._skip is None or not self._skip(self._page_id or 0, rev_id):
            return False
        self._counts.skipped += 1
        return True

    def announce(self) -> bool:
        """Say, once a page, that its header goes before what follows."""
        first, self._announced = not self._announced, True
        return first

    @property
    def without_revisions(self) -> bool:
        """Whether the page has had no revision so far, skipped ones included."""
        return not self._any_revision


def walk(
    name: str,
    chunks: Iterable[bytes],
    skip: Skip | None = None,
    counts: Counts | None = None,
) -> Iterator[Item]:
    """Yield the site, then headers and revisions; a page with all revisions skipped is left out.

    Args:
        name: of the file, for messages.
        chunks: the text; what follows the root element must be white space.
        skip: asked once for each revision.
        counts: counted into.

    Raises:
        DumpError: the XML is malformed, ends early, or a page or revision is not usable.
    """
    state = PageState(skip, counts if counts is not None else Counts())
    yield from _walk(name, chunks, _Reader(state), 0)


def go_on(
    name: str,
    chunks: Iterable[bytes],
    state: PageState,
    site: DumpSite,
    offset: int,
    *,
    within: bool,
) -> Iterator[Item]:
    """Walk the rest of an export that was begun otherwise.

    Args:
        name: of the file, for messages.
        chunks: the root's start tag and the rest of its content; inside a page the page's
            header comes between them.
        state: of the pages so far.
        site: as it was read.
        offset: where the rest begins in the whole text.
        within: whether it begins inside a page that ``state`` has entered.

    Raises:
        DumpError: as :func:`walk`.
    """
    yield from _walk(name, chunks, _Reader(state, site, entered=within), offset)


def check_size(size: int) -> None:
    """Refuse an element that takes more than ``MAX_ELEMENT`` bytes."""
    if size > MAX_ELEMENT:
        raise BadElementError(f"one element of more than {MAX_ELEMENT:,} bytes")


def _walk(name: str, chunks: Iterable[bytes], reader: "_Reader", offset: int) -> Iterator[Item]:
    parser = etree.XMLPullParser(events=("start", "end"), tag=_TAGS, **PARSING)
    end = offset
    pending = 0
    try:
        for chunk in chunks:
            end += len(chunk)
            pending += len(chunk)
            parser.feed(chunk)
            for event, element in parser.read_events():
                pending = 0
                yield from reader.items(event, element)
            check_size(pending)
        parser.close()
        for event, element in parser.read_events():
            yield from reader.items(event, element)
    except etree.XMLSyntaxError as error:
        raise DumpError(
            f"{name}: expected XML up to the closing </mediawiki>, found in the first {end:,} "
            f"bytes of it: {error.msg}. The file is cut or damaged: fetch it again.",
        ) from error
    except BadElementError as error:
        raise DumpError(f"{name}: near byte {end:,} of the XML: {error}") from error
    if not reader.site_known:
        yield reader.site


class _Reader:
    """Turns parser events into items and frees the elements."""

    def __init__(
        self,
        state: PageState,
        site: DumpSite | None = None,
        *,
        entered: bool = False,
    ) -> None:
        self._state = state
        self._header: PageHeader | None = None
        self._entered = entered
        self.site = site or DumpSite()
        self.site_known = site is not None

    def items(self, event: str, element: Element) -> Iterator[Item]:
        name = pages.local(element)
        if event == "start":
            if name == "page" and not self.site_known:
                self.site_known = True
                yield self.site
            return
        parent = element.getparent()
        if name == "siteinfo":
            self.site, self.site_known = pages.site(element), True
            yield self.site
        elif name == "revision" and parent is not None and pages.local(parent) == "page":
            header = self._enter(parent)
            number = pages.revision_id(element)
            if not self._state.repeats(number) and not self._state.skips(number):
                if self._state.announce():
                    yield header
                yield pages.revision(element)
        elif name == "page":
            header = self._enter(element)
            if self._state.without_revisions:
                yield header
            self._header = None
        if parent is not None:
            parent.remove(element)

    def _enter(self, page: Element) -> PageHeader:
        if self._header is None:
            self._header = pages.header(page, self.site)
            if not self._entered:
                self._state.enter(self._header.page_id)
            self._entered = False
        return self._header
