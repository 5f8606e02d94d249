"""The fast walk: markup found by its bytes, lxml only for what the caller wants to read.

An export is monotonous. Between tags nothing but ``</text>`` can follow the text of a
revision, since MediaWiki escapes every ``<``; so one search for ``<`` crosses an article, and
a revision that the caller skips costs a few searches. What is wanted is cut out and given to
lxml whole, with the root's own start tag before it.

This holds for UTF-8 without comments, CDATA sections or processing instructions inside the
root. Whatever does not look exactly so (also: an end too early, a tag with a space in it)
goes from there on to :func:`~twiki.dumps.xmlwalk.walk`, which decides what it is and words
the error. Both give the same items; a law in the tests holds them to it.
"""

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from lxml import etree

from twiki.dumps import pages
from twiki.dumps.pages import BadElementError, DumpSite, Element, PageHeader
from twiki.dumps.xmlwalk import PARSING, Counts, Item, PageState, Skip, check_size, go_on, walk
from twiki.errors import DumpError

_HEAD = 64 << 10
"""Bytes in which the root element has to begin."""
_SITE = 4 << 20
"""Bytes in which the first page has to begin; else lxml walks."""
_ROOT = re.compile(rb"<(?![?!])([^\s<>/]+)[^<>]*>")
_BEGIN = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml(?P<declaration>[^<>]*)\?>\s*)?(?:<!--(?:(?!--).)*-->\s*)*"
    rb"(?P<root><mediawiki(?=[\s>])[^<>]*(?<!/)>)",
    re.DOTALL,
)
_ENCODING = re.compile(rb"encoding\s*=\s*[\"'](?!utf-?8[\"'])", re.IGNORECASE)
_SPACE = re.compile(rb"[ \t\r\n]*")
_HEADER_END = re.compile(rb"<(?:(?P<plain>(?:revision|/page|upload)>)|/?page|revision|[!?])")
_OTHER_END = re.compile(rb"<(?:(?P<plain>(?:revision|/page)>)|/?page|revision|[!?])")
_HEADER = re.compile(
    rb"<page>\s*<title>[^<]*</title>\s*(?:<ns>[^<]*</ns>\s*)?<id>(\d{1,18})</id>\s*"
    rb"(?:<redirect title=\"[^\"<]*\"\s*/>\s*)?(?:<restrictions>[^<]*</restrictions>\s*)?",
)
_REVISION = re.compile(rb"<revision>\s*<id>(\d{1,18})</id>")
_CLOSE = b"</mediawiki>"
_REVISION_CLOSE = b"</revision>"
_SLASH = ord("/")
_LONGEST_TAG = 16


class _OddError(Exception):
    """The bytes are not those of a plain export: lxml has to decide."""


class _Rest(NamedTuple):
    """Where lxml takes over: after the root's start tag and ``before``."""

    before: bytes = b""
    within: bool = False
    """Inside a page that ``before`` is the header of, and that was entered."""


def scan(
    name: str,
    chunks: Iterable[bytes],
    skip: Skip | None = None,
    counts: Counts | None = None,
) -> Iterator[Item]:
    """Yield what :func:`~twiki.dumps.xmlwalk.walk` yields for the same arguments.

    Raises:
        DumpError: as ``walk``; also where the root is no ``<mediawiki>``.
    """
    window = _Window(iter(chunks))
    while len(window.data) < _HEAD and window.more():
        pass
    check_root(name, window.data[:_HEAD])
    state = PageState(skip, counts if counts is not None else Counts())
    try:
        beginning = _beginning(window)
        if beginning is None:
            yield from walk(name, window.rest(), skip, counts)
            return
        root, site = beginning
        yield site
        rest = yield from _pages(window, root, site, state)
    except BadElementError as error:
        raise DumpError(f"{name}: near byte {window.offset:,} of the XML: {error}") from error
    if rest is not None:
        remaining = chain((root + rest.before,), window.rest())
        yield from go_on(name, remaining, state, site, window.offset, within=rest.within)


def check_root(name: str, head: bytes) -> None:
    """Refuse what is no export: another root element, or a document type with entities."""
    text = re.sub(rb"(?s)<!--.*?-->", b"", head.replace(b"\0", b""))
    before = text.partition(b"<mediawiki")[0]
    if doctype := re.search(rb"(?i)<!DOCTYPE[^>]{0,60}", before):
        found = doctype[0].decode("utf-8", "replace")
        raise DumpError(f"{name}: expected <mediawiki>, found {found}>: no MediaWiki export")
    root = _ROOT.search(text)
    if root is None:
        raise DumpError(f"{name}: expected <mediawiki>, found no element in {len(head):,} bytes")
    if root[1].rpartition(b":")[2] != b"mediawiki":
        found = root[1].decode("utf-8", "replace")[:40]
        raise DumpError(f"{name}: expected <mediawiki>, found <{found}>: no MediaWiki export")


class _Window:
    """The text from ``pos`` on, as much of it as was needed so far."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._dropped = 0
        self.data = b""
        self.pos = 0

    @property
    def offset(self) -> int:
        """Of ``pos`` in the whole text."""
        return self._dropped + self.pos

    def more(self) -> bool:
        """Drop what lies before ``pos`` and read on, at least doubling what is held."""
        held = self.data[self.pos :]
        check_size(len(held))
        parts = [held]
        size = 0
        for chunk in self._chunks:
            parts.append(chunk)
            size += len(chunk)
            if size >= len(held):
                break
        self._dropped += self.pos
        self.data, self.pos = b"".join(parts), 0
        return size > 0

    def markup(self) -> None:
        """Go over white space to the next tag, and have all of its name."""
        while True:
            space = _SPACE.match(self.data, self.pos)
            self.pos = space.end() if space else self.pos
            if len(self.data) - self.pos >= _LONGEST_TAG or not self.more():
                return

    def rest(self) -> Iterator[bytes]:
        """Yield all text from ``pos`` on."""
        yield self.data[self.pos :]
        yield from self._chunks

    def only_space(self) -> bool:
        """Say whether nothing but white space is left, reading it."""
        while not self.data[self.pos :].strip():
            self.pos = len(self.data)
            if not self.more():
                return True
        return False


def _beginning(window: _Window) -> tuple[bytes, DumpSite] | None:
    """Read the root's start tag and the site, up to the first page; None: not a plain export."""
    begin = _BEGIN.match(window.data)
    if begin is None or _ENCODING.search(begin["declaration"] or b""):
        return None
    while (first := window.data.find(b"<page>", begin.end())) < 0 and len(window.data) < _SITE:
        if not window.more():
            break
    if first < 0:
        return None
    before = window.data[begin.end() : first]
    if b"<!" in before or b"<?" in before:
        return None
    try:
        elements = etree.fromstring(begin[0] + before + _CLOSE, etree.XMLParser(**PARSING))
    except etree.XMLSyntaxError:
        return None
    site = DumpSite()
    for element in elements:
        if pages.local(element) != "siteinfo":
            return None
        site = pages.site(element)
    window.pos = first
    return begin["root"], site


def _pages(
    window: _Window,
    root: bytes,
    site: DumpSite,
    state: PageState,
) -> Generator[Item, None, _Rest | None]:
    cut = _Cutter(root)
    while True:
        window.markup()
        if window.data.startswith(b"<page>", window.pos):
            rest = yield from _page(window, cut, site, state)
            if rest is not None:
                return rest
        elif window.data.startswith(_CLOSE, window.pos):
            window.pos += len(_CLOSE)
            return None if window.only_space() else _Rest(_CLOSE)
        else:
            return _Rest()


def _page(
    window: _Window,
    cut: "_Cutter",
    site: DumpSite,
    state: PageState,
) -> Generator[Item, None, _Rest | None]:
    """Read one page; None: it was read to its end."""
    try:
        end = _needed(window, _header_end)
        text = window.data[window.pos : end]
        simple = _HEADER.fullmatch(text)
        header = None if simple else cut.header(text, site)
        page_id = int(simple[1]) if simple else header.page_id if header else 0
    except _OddError:
        return _Rest()
    window.pos = end
    state.enter(page_id)
    try:
        while True:
            window.markup()
            data, start = window.data, window.pos
            if data.startswith(b"</page>", start):
                window.pos = start + len(b"</page>")
                break
            if not data.startswith(b"<revision>", start):
                end = _needed(window, _other_end)
                cut.check(window.data[window.pos : end])
                window.pos = end
                continue
            end = _needed(window, _revision_end)
            piece = window.data, window.pos, end
            found = _REVISION.match(*piece)
            element = None if found else cut.element(*piece)
            number = int(found[1]) if found else pages.revision_id(element)
            if state.repeats(number):
                cut.check(window.data[window.pos : end])
            elif not state.skips(number):
                if state.announce():
                    header = header or cut.header(text, site)
                    yield header
                yield pages.revision(cut.element(*piece) if element is None else element)
            window.pos = end
    except _OddError:
        return _Rest(text, within=True)
    if state.without_revisions:
        yield header or cut.header(text, site)
    return None


class _Cutter:
    """Parses pieces cut out of the text as children of the root."""

    def __init__(self, root: bytes) -> None:
        self._root = root
        self._parser = etree.XMLParser(**PARSING)

    def element(self, data: bytes, start: int, end: int) -> Element:
        """Return the one element of ``data[start:end]``."""
        return self._parse(data[start:end])[0]

    def header(self, text: bytes, site: DumpSite) -> PageHeader:
        """Return the header of the page that begins with ``text``."""
        return pages.header(self._parse(text + b"</page>")[0], site)

    def check(self, piece: bytes) -> None:
        """Take ``piece`` for well-formed, or leave the decision to the walk."""
        self._parse(piece)

    def _parse(self, piece: bytes) -> Element:
        try:
            return etree.fromstring(b"".join((self._root, piece, _CLOSE)), self._parser)
        except etree.XMLSyntaxError as error:
            raise _OddError from error


def _needed(window: _Window, end_of: Callable[[bytes, int], int | None]) -> int:
    """Return the end of the piece at ``window.pos``, reading as much as it takes."""
    while (end := end_of(window.data, window.pos)) is None:
        if not window.more():
            raise _OddError
    return end


def _header_end(data: bytes, start: int) -> int | None:
    return _before_markup(_HEADER_END.search(data, start + 1))


def _other_end(data: bytes, start: int) -> int | None:
    return _before_markup(_OTHER_END.search(data, start))


def _before_markup(found: re.Match[bytes] | None) -> int | None:
    if found is None:
        return None
    if found["plain"] is None:
        raise _OddError
    return found.start()


def _revision_end(data: bytes, start: int) -> int | None:
    """Find the end of the ``<revision>`` at ``start``; None: it is not in ``data``."""
    text = data.find(b"<text", start)
    tag_end = data.find(b">", text) if text >= 0 else -1
    if tag_end < 0 or data.find(_REVISION_CLOSE, start, text) >= 0:
        return _strict_end(data, start)
    after = tag_end + 1
    if data[tag_end - 1] != _SLASH:
        # MediaWiki escapes every "<" of a text, so the next one closes it.
        after = data.find(b"<", after)
        if after < 0:
            return None
        if not data.startswith(b"</text>", after):
            return _strict_end(data, start)
    _plain(data, start, text)
    return _strict_end(data, after)


def _strict_end(data: bytes, after: int) -> int | None:
    end = data.find(_REVISION_CLOSE, after)
    if end < 0:
        return None
    _plain(data, after, end)
    return end + len(_REVISION_CLOSE)


def _plain(data: bytes, start: int, end: int) -> None:
    """Leave it to lxml where ``>`` and ``<`` may stand in something other than a tag."""
    if data.find(b"<!", start, end) >= 0 or data.find(b"<?", start, end) >= 0:
        raise _OddError
