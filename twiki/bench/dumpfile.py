"""Generated dumps: pages of wikitext as MediaWiki exports them, plain or as Wikimedia's bzip2."""

import bz2
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self
from xml.sax.saxutils import escape

_HEAD = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">\n'
    "  <siteinfo>\n    <sitename>Wikipedia</sitename>\n    <dbname>enwiki</dbname>\n"
    "    <base>https://en.wikipedia.org/wiki/Main_Page</base>\n    <case>first-letter</case>\n"
    '    <namespaces>\n      <namespace key="0" case="first-letter" />\n'
    '      <namespace key="10" case="first-letter">Template</namespace>\n'
    "    </namespaces>\n  </siteinfo>\n"
)
_STREAM_PAGES = 100
"""Pages in one bzip2 stream, as in Wikimedia's multistream files."""


class DumpedPage(NamedTuple):
    """A page with its one revision."""

    page_id: int
    title: str
    rev_id: int
    moment: datetime
    text: str


class DumpWriter:
    """Writes an XML dump page by page; ``*.bz2`` is compressed by streams of a hundred."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._packs = path.suffix == ".bz2"
        self._waiting = [_HEAD]

    def add(self, page: DumpedPage) -> None:
        """Append a page."""
        self._waiting.append(_element(page))
        if len(self._waiting) > _STREAM_PAGES:
            self._flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._waiting.append("</mediawiki>\n")
            self._flush()
        self._file.close()

    def _flush(self) -> None:
        data = "".join(self._waiting).encode()
        self._file.write(bz2.compress(data) if self._packs else data)
        self._waiting.clear()


def _element(page: DumpedPage) -> str:
    size = len(page.text.encode())
    return (
        f"  <page>\n    <title>{escape(page.title)}</title>\n    <ns>0</ns>\n"
        f"    <id>{page.page_id}</id>\n    <revision>\n      <id>{page.rev_id}</id>\n"
        f"      <timestamp>{page.moment:%Y-%m-%dT%H:%M:%SZ}</timestamp>\n"
        "      <contributor>\n        <username>Someone</username>\n        <id>1</id>\n"
        "      </contributor>\n      <model>wikitext</model>\n      <format>text/x-wiki</format>\n"
        f'      <text bytes="{size}" xml:space="preserve">{escape(page.text)}</text>\n'
        "      <sha1>phoiac9h4m842xq45sp7s6u21eteeq1</sha1>\n    </revision>\n  </page>\n"
    )
