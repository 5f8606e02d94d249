"""Charts of another page, with nothing in them but drawing.

They are parsed and written anew with the few tags and attributes that a chart needs, so that
nothing active can come along. A pattern may stand once in the page, outside of its charts: each
chart that is filled with it gets a copy, under a name of its own::

    for figure in figures(Path("report.html").read_text()):
        figure.svg
"""

import re
from collections.abc import Mapping
from typing import Any

from lxml import etree, html
from markupsafe import Markup

from twiki.records import Record

_TAGS = frozenset(
    "svg title text tspan line rect circle polygon polyline path g defs pattern".split()  # noqa: SIM905 - a list of words reads as one
)
# fmt: off
_ATTRIBUTES = frozenset((
    "viewBox", "role", "aria-label", "aria-hidden", "x", "y", "x1", "x2", "y1", "y2", "cx",
    "cy", "r", "points", "d", "width", "height", "class", "fill", "stroke", "stroke-width",
    "stroke-dasharray", "opacity", "fill-opacity", "text-anchor", "transform", "id",
    "patternUnits", "patternTransform",
))
# fmt: on
_CASED = {name.lower(): name for name in _ATTRIBUTES}
_NAME = re.compile(r"[\w-]{1,64}", re.ASCII)
_PAINT = re.compile(
    r"#[0-9A-Fa-f]{3,8}|[a-z]+|rgb\(\d{1,3},\d{1,3},\d{1,3}\)|url\(#[\w-]{1,64}\)", re.ASCII
)
_INK = re.compile(r"fill:(#[0-9A-Fa-f]{3,8})", re.ASCII)
_FROM = re.compile(r"url\(#([\w-]{1,64})\)", re.ASCII)


class Figure(Record, frozen=True, kw_only=True):
    """A chart of the report."""

    id: str
    caption: str
    svg: Markup


def figures(page: str) -> list[Figure]:
    """The charts of a page, each in its ``figure`` with an id."""
    if not page.strip():
        return []
    found = []
    document = html.document_fromstring(page)
    patterns = {one.get("id", ""): one for one in document.iter("pattern")}
    for figure in document.iter("figure"):
        chart = next(figure.iter("svg"), None)
        name = figure.get("id", "")
        if chart is None or not _NAME.fullmatch(name):
            continue
        caption = " ".join(" ".join(part.itertext()) for part in figure.iter("figcaption"))
        drawn = _clean(chart, name)
        if drawn is not None:
            _with_patterns(drawn, chart, patterns, name)
            svg = etree.tostring(drawn, encoding="unicode", method="xml")
            found.append(Figure(id=name, caption=" ".join(caption.split()), svg=Markup(svg)))  # noqa: S704 - rebuilt from allowed tags, serialised with escapes
    return found


def _with_patterns(drawn: Any, chart: Any, patterns: Mapping[str, Any], prefix: str) -> None:  # noqa: ANN401 - lxml ships no types
    """Put into ``drawn`` the patterns that it is filled with and does not bring itself."""
    own = {one.get("id", "") for one in chart.iter("pattern")}
    wanted = {found for one in chart.iter() for found in _FROM.findall(one.get("fill", ""))}
    shared = [_clean(patterns[name], prefix) for name in sorted(wanted & patterns.keys() - own)]
    if shared:
        place = etree.Element("defs")
        place.extend(shared)
        drawn.insert(0, place)


def _clean(source: Any, prefix: str) -> Any:  # noqa: ANN401 - lxml ships no types
    """A copy of an element with allowed tags and attributes; ids get a prefix of their own."""
    tag = source.tag.lower() if isinstance(source.tag, str) else ""
    if tag not in _TAGS:
        return None
    made = etree.Element(tag)
    if tag == "svg":
        made.set("xmlns", "http://www.w3.org/2000/svg")
        box = source.get("viewBox", source.get("viewbox", "")).split()
        if len(box) == 4 and box[2].isascii() and box[2].isdigit():  # noqa: PLR2004 - of a box
            made.set("width", box[2])
    ink = _INK.fullmatch(source.get("style", ""))
    if ink is not None:
        made.set("fill", ink[1])
    for name, value in source.attrib.items():
        cased = _CASED.get(name.lower())
        allowed = None if cased is None else _value(cased, value, prefix)
        if allowed is not None:
            made.set(cased, allowed)
    made.text = source.text
    made.tail = None if tag == "svg" else source.tail
    for child in source:
        part = _clean(child, prefix)
        if part is not None:
            made.append(part)
    return made


def _value(name: str, value: str, prefix: str) -> str | None:
    """An attribute's value as it may stand; None: it may not."""
    if name == "id":
        return f"{prefix}-{value}"
    if name not in ("fill", "stroke"):
        return value
    return value.replace("url(#", f"url(#{prefix}-") if _PAINT.fullmatch(value) else None
