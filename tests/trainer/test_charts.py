"""Charts that need no colour: series differ in shape."""

import re
from itertools import combinations
from xml.dom import minidom

import pytest

from trainer import charts, marks
from trainer.charts import Series

COUNT = 24
_COLOUR = re.compile(r"#[0-9A-F]{6}")


def parsed(svg):
    return minidom.parseString(svg)  # noqa: S318 - our own text


def without_colour(element):
    return _COLOUR.sub("", element.toxml())


def moved(element):
    """The shape of a marker: its points relative to the first, no place, no colour."""
    if element.tagName == "polygon":
        points = [tuple(map(float, p.split(","))) for p in element.getAttribute("points").split()]
        x, y = points[0]
        relative = " ".join(f"{a - x:.1f},{b - y:.1f}" for a, b in points)
        element.setAttribute("points", relative)
    for name in ("x", "y", "cx", "cy"):
        if element.hasAttribute(name):
            element.removeAttribute(name)
    return without_colour(element)


@pytest.fixture(scope="module")
def looks():
    """Marker and dash of each line, as the chart draws them and as its legend does."""
    series = [Series(f"s{i}", [1.0 + i]) for i in range(COUNT)]
    page = parsed(charts.lines("t", "u", ["x"], series))
    dashes = [p.getAttribute("stroke-dasharray") for p in page.getElementsByTagName("polyline")]
    groups = page.getElementsByTagName("g")
    drawn = [(moved(g.firstChild), d) for g, d in zip(groups, dashes, strict=True)]
    samples = [
        (moved(line.nextSibling), line.getAttribute("stroke-dasharray"))
        for line in page.getElementsByTagName("line")
        if line.getAttribute("stroke")
    ]
    return drawn, samples


def test_no_two_of_24_lines_look_the_same_without_colour(looks):
    drawn, _ = looks
    assert len(drawn) == COUNT
    same = [(a, b) for a, b in combinations(range(COUNT), 2) if drawn[a] == drawn[b]]
    assert same == []


def test_the_legend_shows_each_line_as_it_is_drawn(looks):
    drawn, samples = looks
    assert samples == drawn


def test_no_two_of_24_textures_are_the_same_without_colour():
    shown = []
    for pattern in parsed(marks.HATCHES).getElementsByTagName("pattern"):
        pattern.removeAttribute("id")
        shown.append(without_colour(pattern))
    assert len(shown) == COUNT == marks.SERIES
    assert [(a, b) for a, b in combinations(range(COUNT), 2) if shown[a] == shown[b]] == []


def test_no_two_of_24_bars_are_filled_alike():
    series = [Series(f"s{i}", [1.0]) for i in range(COUNT)]
    page = parsed(charts.bars("t", "u", ["x"], series, line=None))
    fills = [
        r.getAttribute("fill")
        for r in page.getElementsByTagName("rect")
        if r.getElementsByTagName("title")
    ]
    assert fills == [f"url(#h{i})" for i in range(COUNT)]
    widths = [float(r.getAttribute("width")) for r in page.getElementsByTagName("rect")]
    assert min(widths) > 0


def test_lines_that_share_a_colour_differ_in_dash():
    for a, b in combinations(range(COUNT), 2):
        if marks.colour(a) == marks.colour(b):
            assert marks.dash(a) != marks.dash(b)


def test_many_groups_have_their_names_turned_and_few_do_not():
    names = [f"initial-paper-{i}" for i in range(22)]
    many = charts.bars("t", "u", names, [Series("s", [1.0] * 22)], line=None)
    few = charts.bars("t", "u", names[:2], [Series("s", [1.0] * 2)], line=None)
    assert many.count("rotate(-35") == 22
    assert "rotate" not in few


def test_bars_of_zero_are_data():
    svg = charts.bars("t", "u", ["a"], [Series("s", [0.0])], line=None)
    assert "no data" not in svg
    assert "s, a: 0</title>" in svg
