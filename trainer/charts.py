"""Charts as inline SVG: bars, lines and heat maps that need neither script nor colour vision.

Colours are Okabe and Ito's; every series also has its own marker or hatch, and every chart a
title and a text for screen readers. All text is escaped.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7F7F7F", "#000000")
"""Distinct for all common forms of colour vision (Okabe and Ito, 2008), yellow left out."""

Values = Sequence[float | None]


@dataclass(frozen=True)
class Series:
    """One line or one set of bars; None where there is no value."""

    name: str
    values: Values
    low: Values = ()
    high: Values = ()


_WIDTH, _LEFT, _TOP, _BOTTOM, _PLOT = 720, 64, 34, 56, 240


def bars(
    title: str, unit: str, groups: Sequence[str], series: Sequence[Series], *, line: float | None
) -> str:
    """Grouped bars from zero, with intervals where given; ``line`` marks a value."""
    found = _numbers(series) + ([line] if line is not None else [])
    if not found:
        return _empty(title)
    top = max(found) * 1.08 or 1.0
    plot = _Plot(title, unit, groups, top=top, bottom=0.0, log=False)
    width = plot.step * 0.8 / max(len(series), 1)
    for number, one in enumerate(series):
        for index, value in enumerate(one.values):
            if value is None:
                continue
            x = plot.x(index) - plot.step * 0.4 + number * width
            y = plot.y(value)
            plot.add(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width - 2:.1f}" '
                f'height="{plot.y(0) - y:.1f}" fill="url(#h{number % 8})" '
                f'stroke="{COLOURS[number % 8]}">{_tip(one.name, groups[index], value)}</rect>'
            )
            if index < len(one.low) and index < len(one.high):
                plot.whisker(x + width / 2 - 1, one.low[index], one.high[index])
    if line is not None:
        plot.rule(line)
    return plot.svg(series, hatched=True)


def lines(title: str, unit: str, ticks: Sequence[str], series: Sequence[Series]) -> str:
    """Lines over windows on a logarithmic axis, each with its own marker."""
    found = [v for v in _numbers(series) if v > 0]
    if not found:
        return _empty(title)
    plot = _Plot(title, unit, ticks, top=max(found) * 1.15, bottom=min(found) / 1.15, log=True)
    for number, one in enumerate(series):
        colour = COLOURS[number % 8]
        points = [(plot.x(i), plot.y(v)) for i, v in enumerate(one.values) if v]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        plot.add(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for index, value in enumerate(one.values):
            if value:
                if index < len(one.low) and index < len(one.high):
                    plot.whisker(plot.x(index), one.low[index], one.high[index])
                mark = _marker(number, plot.x(index), plot.y(value), colour)
                plot.add(f"<g>{mark}{_tip(one.name, ticks[index], value)}</g>")
    return plot.svg(series, hatched=False)


def heatmap(
    title: str, rows: Sequence[str], columns: Sequence[str], values: Sequence[Values]
) -> str:
    """A grid of numbers, dark where large (logarithmic); each cell shows its number."""
    found = [v for row in values for v in row if v]
    if not found:
        return _empty(title)
    low, high = math.log(min(found)), math.log(max(found))
    cell, height, left = 84, 30, 190
    width = left + cell * len(columns) + 10
    total = _TOP + height * (len(rows) + 1)
    parts = [f'<text x="8" y="20" class="t">{escape(title)}</text>']
    for index, name in enumerate(columns):
        x = left + cell * index + cell / 2
        parts.append(f'<text x="{x:.0f}" y="{_TOP + 18}" class="m">{escape(name)}</text>')
    for r, (name, row) in enumerate(zip(rows, values, strict=True)):
        y = _TOP + height * (r + 1)
        parts.append(f'<text x="{left - 8}" y="{y + 20}" class="e">{escape(name)}</text>')
        for c, value in enumerate(row):
            x = left + cell * c
            if not value:
                parts.append(f'<text x="{x + cell / 2:.0f}" y="{y + 20}" class="m">·</text>')
                continue
            share = (math.log(value) - low) / (high - low) if high > low else 0.0
            # One hue from near white to dark blue: lightness alone carries the order.
            red, green, blue = (round(a + (b - a) * share) for a, b in _RAMP)
            ink = "#fff" if share > 0.55 else "#111"  # noqa: PLR2004 - where white reads better
            parts.append(
                f'<rect x="{x}" y="{y}" width="{cell - 2}" height="{height - 2}" '
                f'fill="rgb({red},{green},{blue})">{_tip(name, columns[c], value)}</rect>'
                f'<text x="{x + cell / 2:.0f}" y="{y + 19}" class="m" '
                f'style="fill:{ink}">{_short(value)}</text>'
            )
    return _wrap(title, width, total + 8, parts)


_RAMP = ((239, 8), (243, 48), (255, 107))


class _Plot:
    """Axes, and what is drawn on them."""

    def __init__(
        self, title: str, unit: str, ticks: Sequence[str], *, top: float, bottom: float, log: bool
    ) -> None:
        self.title, self.ticks = title, ticks
        self.scale = math.log if log else float
        self.low, self.high = self.scale(bottom), self.scale(top)
        self.step = (_WIDTH - _LEFT - 10) / max(len(ticks), 1)
        self.parts = [f'<text x="8" y="20" class="t">{escape(title)} ({escape(unit)})</text>']
        for value in _log_ticks(bottom, top) if log else _even_ticks(top):
            y = self.y(value)
            self.add(f'<line x1="{_LEFT}" x2="{_WIDTH - 10}" y1="{y:.1f}" y2="{y:.1f}" class="g"/>')
            self.add(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" class="e">{_short(value)}</text>')
        for index, name in enumerate(ticks):
            y = _TOP + _PLOT + 18
            self.add(f'<text x="{self.x(index):.1f}" y="{y}" class="m">{escape(name)}</text>')

    def x(self, index: int) -> float:
        """Middle of a tick."""
        return _LEFT + self.step * (index + 0.5)

    def y(self, value: float) -> float:
        """Height of a value."""
        share = (self.scale(value) - self.low) / ((self.high - self.low) or 1.0)
        return _TOP + _PLOT * (1 - min(max(share, 0.0), 1.0))

    def add(self, part: str) -> None:
        """Draw."""
        self.parts.append(part)

    def whisker(self, x: float, low: float | None, high: float | None) -> None:
        """An interval."""
        if low and high:
            self.add(
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{self.y(low):.1f}" '
                f'y2="{self.y(high):.1f}" class="w"/>'
            )

    def rule(self, value: float) -> None:
        """A dashed line across at a value."""
        y = self.y(value)
        self.add(f'<line x1="{_LEFT}" x2="{_WIDTH - 10}" y1="{y:.1f}" y2="{y:.1f}" class="r"/>')

    def svg(self, series: Sequence[Series], *, hatched: bool) -> str:
        """The chart with its legend."""
        x, y = float(_LEFT), _TOP + _PLOT + 40
        for number, one in enumerate(series):
            width = 30 + 7 * len(one.name)
            if x + width > _WIDTH:
                x, y = float(_LEFT), y + 18
            colour = COLOURS[number % 8]
            self.add(
                f'<rect x="{x:.0f}" y="{y - 10}" width="12" height="12" '
                f'fill="url(#h{number % 8})" stroke="{colour}"/>'
                if hatched
                else _marker(number, x + 6, y - 4, colour)
            )
            self.add(f'<text x="{x + 17:.0f}" y="{y}">{escape(one.name)}</text>')
            x += width
        return _wrap(self.title, _WIDTH, y + 14, self.parts)


def _marker(number: int, x: float, y: float, colour: str) -> str:
    fill = f'fill="{colour}"' if number % 8 < 4 else f'fill="#fff" stroke="{colour}"'  # noqa: PLR2004 - filled, then open
    match number % 4:
        case 0:
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" {fill}/>'
        case 1:
            return f'<rect x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9" {fill}/>'
        case 2:
            points = f"{x:.1f},{y - 6:.1f} {x - 5.5:.1f},{y + 4:.1f} {x + 5.5:.1f},{y + 4:.1f}"
        case _:
            points = (
                f"{x:.1f},{y - 6:.1f} {x + 6:.1f},{y:.1f} {x:.1f},{y + 6:.1f} {x - 6:.1f},{y:.1f}"
            )
    return f'<polygon points="{points}" {fill}/>'


def _wrap(title: str, width: float, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(title)}" '
        f'xmlns="http://www.w3.org/2000/svg"><title>{escape(title)}</title>'
        + "".join(parts)
        + "</svg>"
    )


def _hatch(number: int, colour: str) -> str:
    turn = (0, 45, 90, 135)[number % 4]
    gap = 1 if number == 0 else 4 + number // 4 * 3
    ground = colour if number == 0 else "#fff"
    return (
        f'<pattern id="h{number}" width="{gap}" height="{gap}" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate({turn})"><rect width="{gap}" height="{gap}" fill="{ground}"/>'
        f'<rect width="{max(gap - 2, 1)}" height="{gap}" fill="{colour}"/></pattern>'
    )


HATCHES = (
    '<svg width="0" height="0" aria-hidden="true"><defs>'
    + "".join(_hatch(i, c) for i, c in enumerate(COLOURS))
    + "</defs></svg>"
)
"""What all bars of a page are filled with: to be put on it once."""


def _numbers(series: Sequence[Series]) -> list[float]:
    return [v for one in series for column in (one.low, one.values, one.high) for v in column if v]


def _even_ticks(top: float) -> list[float]:
    size = 10.0 ** math.floor(math.log10(top / 4))
    step = next(size * f for f in (1, 2, 5, 10) if top / (size * f) <= 6)  # noqa: PLR2004 - lines at most
    return [step * i for i in range(int(top / step) + 1)]


def _log_ticks(bottom: float, top: float) -> list[float]:
    first, last = math.floor(math.log10(bottom)), math.ceil(math.log10(top))
    every = (1.0, 2.0, 5.0) if last - first <= 3 else (1.0,)  # noqa: PLR2004 - decades
    ticks = [f * 10.0**e for e in range(first, last + 1) for f in every]
    return [t for t in ticks if bottom <= t <= top]


def _tip(name: str, where: str, value: float) -> str:
    return f"<title>{escape(name)}, {escape(where)}: {_short(value)}</title>"


def _short(value: float) -> str:
    """Three digits that matter."""
    if value >= 1000:  # noqa: PLR2004 - from here thousands are grouped
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _empty(title: str) -> str:
    return _wrap(
        title, _WIDTH, 60, [f'<text x="8" y="20" class="t">{escape(title)}: no data</text>']
    )
