"""Generated dumps: pages of wikitext as MediaWiki exports them, compressed as Wikimedia does."""

import bz2
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
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


def write(path: Path, pages: Iterable[DumpedPage]) -> None:
    """Write an XML dump of ``pages``, bzip2 by streams of a hundred pages."""
    with path.open("wb") as file:
        file.write(bz2.compress(_HEAD.encode()))
        waiting: list[str] = []
        for page in pages:
            waiting.append(_element(page))
            if len(waiting) == _STREAM_PAGES:
                file.write(bz2.compress("".join(waiting).encode()))
                waiting.clear()
        file.write(bz2.compress("".join([*waiting, "</mediawiki>\n"]).encode()))


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
