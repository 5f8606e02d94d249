"""Small charts as inline SVG, coloured by the page's style so that they read in light and dark."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from markupsafe import Markup

from stream.pages.shown import plain

_WIDTH, _HEIGHT = 320, 56
_DAYS_WIDTH, _TALL = 704, 120
_LABELLED = 7
"""Days named below the columns, at most."""
_NAME = 28
BEFORE = "before"
"""Of sentences whose revision is older than the window: an article that was moved or restored."""


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


def calendar(
    counts: Mapping[str, Mapping[str, int]], first: date, end: date
) -> dict[str, Mapping[str, int]]:
    """Counts by day with every day from ``first`` to before ``end``, also those without any.

    What is older than the window comes first, under :data:`BEFORE`, where there is any of it.
    """
    before: Counter[str] = Counter()
    found: dict[str, Mapping[str, int]] = {}
    day = first
    while day < end:
        found[day.isoformat()] = counts.get(day.isoformat(), {})
        day += timedelta(days=1)
    for name, kinds in counts.items():
        if name not in found:
            before.update(kinds)
    return {BEFORE: before, **found} if before else found


def days(title: str, counts: Mapping[str, Mapping[str, int]], kinds: Sequence[str]) -> Markup:
    """Stacked columns, a day each, in their order; the kinds in the order of their layers."""
    top = max((sum(found.values()) for found in counts.values()), default=1) or 1
    wide = max(1, min(22, _DAYS_WIDTH // max(len(counts), 1)))
    gap = 4 if wide > 8 else 0  # noqa: PLR2004 - narrow columns touch
    step = max(1, -(-len(counts) // _LABELLED))
    parts = []
    for place, (day, found) in enumerate(counts.items()):
        base = float(_TALL)
        for layer, kind in enumerate(kinds):
            count = found.get(kind, 0)
            height = _TALL * count / top
            base -= height
            if count:
                parts.append(
                    Markup(
                        '<rect class="k{layer}" x="{x}" y="{y}" width="{w}" height="{h}">'
                        "<title>{day}: {count} {kind}</title></rect>"
                    ).format(
                        layer=layer,
                        x=place * wide + gap // 2,
                        y=f"{base:.1f}",
                        w=wide - gap,
                        h=f"{max(height, 0.5):.1f}",
                        day=plain(day, 20),
                        count=f"{count:,}",
                        kind=plain(kind, 30).replace("_", " "),
                    )
                )
        if place % step == 0:
            parts.append(
                Markup('<text x="{x}" y="{y}">{day}</text>').format(
                    x=place * wide + gap // 2,
                    y=_TALL + 16,
                    day=day if day == BEFORE else plain(day[5:], 10),
                )
            )
    return Markup(
        '<svg class="days" viewBox="0 0 {w} {h}" role="img" aria-label="{title}, at most {top} a '
        'day">{parts}</svg>'
    ).format(
        w=len(counts) * wide + 24,
        h=_TALL + 22,
        title=plain(title, 100),
        top=f"{top:,}",
        parts=Markup("").join(parts),
    )


def bars(title: str, rows: Sequence[tuple[str, int]]) -> Markup:
    """Horizontal bars with their numbers; long names are cut and stand whole in their hint."""
    top = max((count for _, count in rows), default=1) or 1
    lines = []
    for place, (value, count) in enumerate(rows):
        y, whole = place * 22, plain(value, 200)
        lines.append(
            Markup(
                '<text class="e" x="196" y="{t}">{name}<title>{whole}</title></text>'
                '<rect class="k0" x="204" y="{y}" width="{w}" height="16"/>'
                '<text x="{x}" y="{t}">{count}</text>'
            ).format(
                t=y + 14,
                y=y + 2,
                name=whole if len(whole) <= _NAME else f"{whole[: _NAME - 1].rstrip()}…",
                whole=whole,
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
