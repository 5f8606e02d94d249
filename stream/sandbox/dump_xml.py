"""Pages as MediaWiki's XML export, schema 0.11: text in, text out, no file.

::

    header(wiki) + page(title, …, revisions) + … + FOOTER

Hidden text, comment and contributor are elements with ``deleted="deleted"``; a blank text is
``<text bytes="0" …/>``. XML 1.0 cannot carry most control characters: they become U+FFFD here,
as in MediaWiki.
"""

import re
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from stream.sandbox.api_lists import stamp
from stream.sandbox.model import DOMAINS, FORMATS, NAMESPACES, PageView, RevisionView
from stream.sandbox.siteinfo import GENERATOR, SITE_NAMES

FOOTER = "</mediawiki>\n"
_SCHEMA = "http://www.mediawiki.org/xml/export-0.11"
_UNCARRIED = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def header(wiki: str) -> str:
    """The opening tag and ``siteinfo``."""
    namespaces = "\n".join(_namespace(number, name) for number, name in NAMESPACES[wiki].items())
    return f"""\
<mediawiki xmlns="{_SCHEMA}/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
xsi:schemaLocation="{_SCHEMA}/ {_SCHEMA}.xsd" version="0.11" xml:lang="en">
  <siteinfo>
    <sitename>{SITE_NAMES.get(wiki, "Wikidata")}</sitename>
    <dbname>{wiki}</dbname>
    <base>https://{DOMAINS[wiki]}/wiki/Main_Page</base>
    <generator>{GENERATOR}</generator>
    <case>first-letter</case>
    <namespaces>
{namespaces}
    </namespaces>
  </siteinfo>
"""


def _namespace(number: int, name: str) -> str:
    start = f'      <namespace key="{number}" case="first-letter"'
    return f"{start}>{_text(name)}</namespace>" if name else f"{start} />"


def page(view: PageView, revisions: Iterable[RevisionView]) -> str:
    """A page with the revisions given, oldest first."""
    redirect = "" if view.redirect is None else f"    <redirect title={_quoted(view.redirect)} />\n"
    body = "".join(_revision(revision) for revision in revisions)
    return f"""\
  <page>
    <title>{_text(view.title)}</title>
    <ns>{view.namespace}</ns>
    <id>{view.page_id}</id>
{redirect}{body}  </page>
"""


def _revision(revision: RevisionView) -> str:
    parent = f"      <parentid>{revision.parent_id}</parentid>\n" if revision.parent_id else ""
    minor = "      <minor />\n" if revision.minor else ""
    return f"""\
    <revision>
      <id>{revision.rev_id}</id>
{parent}      <timestamp>{stamp(revision.timestamp)}</timestamp>
{_contributor(revision)}{minor}{_comment(revision)}\
      <origin>{revision.rev_id}</origin>
      <model>{revision.model}</model>
      <format>{FORMATS[revision.model]}</format>
{_content(revision)}    </revision>
"""


def _contributor(revision: RevisionView) -> str:
    if revision.user_hidden:
        return '      <contributor deleted="deleted" />\n'
    return f"""\
      <contributor>
        <username>{_text(revision.user)}</username>
        <id>{revision.user_id}</id>
      </contributor>
"""


def _comment(revision: RevisionView) -> str:
    if revision.comment_hidden:
        return '      <comment deleted="deleted" />\n'
    return f"      <comment>{_text(revision.comment)}</comment>\n" if revision.comment else ""


def _content(revision: RevisionView) -> str:
    size = f'bytes="{revision.size}"'
    if revision.text_hidden or revision.text is None:
        return f'      <text {size} deleted="deleted" />\n      <sha1 />\n'
    start = f'<text {size} sha1="{revision.sha1}"'
    if revision.text:
        text = f'{start} xml:space="preserve">{_text(revision.text)}</text>'
    else:
        text = f"{start} />"
    return f"      {text}\n      <sha1>{revision.sha1}</sha1>\n"


def _text(text: str) -> str:
    return escape(_UNCARRIED.sub("\ufffd", text))


def _quoted(text: str) -> str:
    return quoteattr(_UNCARRIED.sub("\ufffd", text))
