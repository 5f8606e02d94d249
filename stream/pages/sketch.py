"""Small charts as inline SVG, coloured by the page's style so that they read in light and dark."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from stream.pages.shown import plain

_WIDTH, _HEIGHT = 320, 56
_DAY, _TALL = 22, 120


def spark(title: str, values: Sequence[float], unit: str) -> Markup:
    """A line of values, the oldest first."""
    top = max(values, default=0.0) or 1.0
    step = _WIDTH / max(len(values) - 1, 1)
    points = " ".join(
        f"{index * step:.1f},{_HEIGHT - 4 - (_HEIGHT - 8) * max(value, 0) / top:.1f}"
        for index, value in enumerate(values)
    )
    most = f"{max(values, default=0.0):,.1f} {unit}"
    return Markup(
        '<svg class="spark" viewBox="0 0 {w} {h}" role="img" preserveAspectRatio="none" '
        'aria-label="{title}: at most {most}"><polyline points="{points}"/></svg>'
    ).format(w=_WIDTH, h=_HEIGHT, title=plain(title, 100), most=most, points=points)


def days(title: str, counts: Mapping[str, Mapping[str, int]], kinds: Sequence[str]) -> Markup:
    """Stacked columns, a day each; the kinds in the order of their layers."""
    names = sorted(counts)
    top = max((sum(found.values()) for found in counts.values()), default=1) or 1
    width = max(len(names) * _DAY, _DAY)
    parts = []
    for place, day in enumerate(names):
        base = float(_TALL)
        for layer, kind in enumerate(kinds):
            count = counts[day].get(kind, 0)
            height = _TALL * count / top
            base -= height
            if count:
                parts.append(
                    Markup(
                        '<rect class="k{layer}" x="{x}" y="{y}" width="{w}" height="{h}">'
                        "<title>{day}: {count} {kind}</title></rect>"
                    ).format(
                        layer=layer,
                        x=place * _DAY + 2,
                        y=f"{base:.1f}",
                        w=_DAY - 4,
                        h=f"{max(height, 0.5):.1f}",
                        day=plain(day, 20),
                        count=f"{count:,}",
                        kind=plain(kind, 30).replace("_", " "),
                    )
                )
        if place % 5 == 0:
            parts.append(
                Markup('<text x="{x}" y="{y}">{day}</text>').format(
                    x=place * _DAY + 2, y=_TALL + 16, day=plain(day[5:], 10)
                )
            )
    return Markup(
        '<svg class="days" viewBox="0 0 {w} {h}" role="img" aria-label="{title}">{parts}</svg>'
    ).format(w=width + 24, h=_TALL + 22, title=plain(title, 100), parts=Markup("").join(parts))


def bars(title: str, rows: Sequence[tuple[str, int]]) -> Markup:
    """Horizontal bars with their numbers, as a table whose bars are drawn."""
    top = max((count for _, count in rows), default=1) or 1
    lines = []
    for place, (name, count) in enumerate(rows):
        y = place * 22
        lines.append(
            Markup(
                '<text class="e" x="196" y="{t}">{name}</text>'
                '<rect class="k0" x="204" y="{y}" width="{w}" height="16"/>'
                '<text x="{x}" y="{t}">{count}</text>'
            ).format(
                t=y + 14,
                y=y + 2,
                name=plain(name, 28),
                w=max(1, 260 * count // top),
                x=210 + max(1, 260 * count // top),
                count=f"{count:,}",
            )
        )
    return Markup(
        '<svg class="bars" viewBox="0 0 540 {h}" role="img" aria-label="{title}">{lines}</svg>'
    ).format(h=len(rows) * 22 + 4, title=plain(title, 100), lines=Markup("").join(lines))


def value_rows(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """Bars of a distribution in ``stats.json``."""
    return [(row["value"], row["count"]) for row in rows]


def length_rows(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """Bars of articles by their number of sentences."""
    found = []
    for place, row in enumerate(rows):
        least = row["from"]
        following = rows[place + 1]["from"] if place + 1 < len(rows) else None
        most = None if following is None else following - 1
        name = (
            f"{least} or more"
            if most is None
            else f"{least}"
            if most == least
            else f"{least} to {most}"
        )
        if row["articles"]:
            found.append((name, row["articles"]))
    return found
