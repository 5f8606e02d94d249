"""MediaWiki XML dumps: an open file is a ``for`` loop over pages or revisions.

::

    with xml.open(path) as dump:
        dump.siteinfo.dbname                      # "enwiki"
        for page in dump.pages(skip=state.has):   # pages whose revision state lacks
            for revision in page.revisions: ...

    with xml.open(history) as dump:               # memory holds one revision
        for page, revision in dump.revisions(): ...

``skip(page_id, rev_id)`` is asked once for each revision. A page whose revisions are all
skipped does not come out, and costs little more than its decompression. The closing
``</mediawiki>`` is required: an iteration that ends without an error has seen the whole dump.
"""

from collections.abc import Iterator
from pathlib import Path

from twiki.closing import Closing
from twiki.dumps.compression import DumpFile, open_dump
from twiki.dumps.pages import DumpPage, DumpRevision, DumpSite, PageHeader
from twiki.dumps.xmlscan import scan
from twiki.dumps.xmlwalk import Counts, Item, Skip
from twiki.errors import DumpError

__all__ = ["DumpPage", "DumpRevision", "DumpSite", "PageHeader", "Skip", "XmlDump", "open"]


class XmlDump(Closing):
    """An open XML dump, read once from beginning to end."""

    def __init__(self, path: Path, *, allow_empty: bool = False) -> None:
        self.path = path
        self.counts = Counts()
        self.file: DumpFile = open_dump(path)
        """For progress: ``file.position`` of ``file.total``."""
        self._allow_empty = allow_empty
        self._skip: Skip | None = None
        self._items = scan(str(path), self.file.chunks(), self._skips, self.counts)
        try:
            first = next(self._items, None)
        except DumpError:
            self.close()
            raise
        self.siteinfo = first if isinstance(first, DumpSite) else DumpSite()

    def pages(self, skip: Skip | None = None) -> Iterator[DumpPage]:
        """Yield every page with those of its revisions that ``skip`` does not name.

        Raises:
            DumpError: the dump is damaged, cut, or has no page at all.
        """
        header: PageHeader | None = None
        revisions: list[DumpRevision] = []
        for item in self._rest(skip):
            if isinstance(item, DumpRevision):
                revisions.append(item)
            elif isinstance(item, PageHeader):
                if header is not None:
                    yield _page(header, revisions)
                header, revisions = item, []
        if header is not None:
            yield _page(header, revisions)

    def revisions(self, skip: Skip | None = None) -> Iterator[tuple[PageHeader, DumpRevision]]:
        """Yield every revision with its page, one at a time: for full histories.

        Raises:
            DumpError: as ``pages``.
        """
        header: PageHeader | None = None
        for item in self._rest(skip):
            if isinstance(item, PageHeader):
                header = item
            elif isinstance(item, DumpRevision) and header is not None:
                yield header, item

    def close(self) -> None:
        """Stop reading."""
        self.file.close()

    def _rest(self, skip: Skip | None) -> Iterator[Item]:
        self._skip = skip
        yield from self._items
        if self.counts.pages == 0 and not self._allow_empty:
            raise DumpError(f"{self.path}: expected pages, found a whole dump without any")

    def _skips(self, page_id: int, rev_id: int) -> bool:
        return self._skip is not None and self._skip(page_id, rev_id)


def open(path: Path, *, allow_empty: bool = False) -> XmlDump:  # noqa: A001 (as gzip.open is)
    """Open the XML dump at ``path``; use as a context manager.

    Args:
        path: plain or compressed.
        allow_empty: whether a whole dump without any page is right.

    Raises:
        DumpError: it cannot be opened, or is no export of MediaWiki.
    """
    return XmlDump(path, allow_empty=allow_empty)


def _page(header: PageHeader, revisions: list[DumpRevision]) -> DumpPage:
    return DumpPage(
        page_id=header.page_id,
        title=header.title,
        namespace=header.namespace,
        redirect=header.redirect,
        revisions=tuple(revisions),
    )
