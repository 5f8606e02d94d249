"""Charts as inline SVG: bars, lines and heat maps that need neither script nor colour vision.

Every series has its own marker or texture beside its colour (:mod:`trainer.marks`), and every
chart a title and a text for screen readers. All text is escaped. A value that is infinite is
drawn at the edge, one that is no number as a cross there, and the chart says so.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from trainer import marks

Values = Sequence[float | None]


@dataclass(frozen=True)
class Series:
    """One line or one set of bars; None where there is no value."""

    name: str
    values: Values
    low: Values = ()
    high: Values = ()


_WIDTH, _LEFT, _TOP, _PLOT = 720, 64, 34, 240
_INFINITE = "∞: infinite, beyond the axis"
_NO_NUMBER = "×: not a number"


def bars(
    title: str, unit: str, groups: Sequence[str], series: Sequence[Series], *, line: float | None
) -> str:
    """Grouped bars from zero, with intervals where given; ``line`` marks a value."""
    if not _given(series):
        return _empty(title)
    found = _finite(series) + ([line] if line is not None else [])
    top = max(found, default=0.0) * 1.08 or 1.0
    plot = _Plot(title, unit, groups, top=top, bottom=0.0, log=False)
    width = plot.step * 0.8 / len(series)
    for number, one in enumerate(series):
        for index, value in enumerate(one.values):
            if value is None:
                continue
            x = plot.x(index) - plot.step * 0.4 + number * width
            plot.note(value, x + width / 2)
            if math.isnan(value):
                continue
            y = plot.y(value)
            plot.add(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width - 2, width / 2):.1f}" '
                f'height="{plot.y(0) - y:.1f}" {marks.fill(number)}>'
                f"{_tip(one.name, groups[index], value)}</rect>"
            )
            if index < len(one.low) and index < len(one.high):
                plot.whisker(x + width / 2 - 1, one.low[index], one.high[index])
    if line is not None:
        plot.rule(line)
    return plot.svg(series, hatched=True)


def lines(title: str, unit: str, ticks: Sequence[str], series: Sequence[Series]) -> str:
    """Lines over windows on a logarithmic axis, each with its own marker."""
    if not _given(series):
        return _empty(title)
    found = [v for v in _finite(series) if v > 0] or [1.0]
    plot = _Plot(title, unit, ticks, top=max(found) * 1.15, bottom=min(found) / 1.15, log=True)
    for number, one in enumerate(series):
        shown = [(i, v) for i, v in enumerate(one.values) if v is not None]
        path = " ".join(f"{plot.x(i):.1f},{plot.y(v):.1f}" for i, v in shown if not math.isnan(v))
        plot.add(
            f'<polyline points="{path}" fill="none" stroke="{marks.colour(number)}" '
            f'stroke-width="2"{marks.dash(number)}/>'
        )
        for index, value in shown:
            plot.note(value, plot.x(index))
            if math.isnan(value):
                continue
            if index < len(one.low) and index < len(one.high):
                plot.whisker(plot.x(index), one.low[index], one.high[index])
            mark = marks.marker(number, plot.x(index), plot.y(value))
            plot.add(f"<g>{mark}{_tip(one.name, ticks[index], value)}</g>")
    return plot.svg(series, hatched=False)


def heatmap(
    title: str, rows: Sequence[str], columns: Sequence[str], values: Sequence[Values]
) -> str:
    """A grid of numbers, dark where large (logarithmic); each cell shows its number."""
    given = [v for row in values for v in row if v is not None]
    if not given:
        return _empty(title)
    found = [v for v in given if math.isfinite(v) and v > 0] or [1.0]
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
            if value is None or math.isnan(value):
                sign = "·" if value is None else "×"
                parts.append(f'<text x="{x + cell / 2:.0f}" y="{y + 20}" class="m">{sign}</text>')
                continue
            share = _share(value, low, high)
            # One hue from near white to dark blue: lightness alone carries the order.
            red, green, blue = (round(a + (b - a) * share) for a, b in _RAMP)
            ink = "#fff" if share > 0.55 else "#111"  # noqa: PLR2004 - where white reads better
            parts.append(
                f'<rect x="{x}" y="{y}" width="{cell - 2}" height="{height - 2}" '
                f'fill="rgb({red},{green},{blue})">{_tip(name, columns[c], value)}</rect>'
                f'<text x="{x + cell / 2:.0f}" y="{y + 19}" class="m" '
                f'style="fill:{ink}">{short(value)}</text>'
            )
    for note in _notes(given):
        parts.append(f'<text x="8" y="{total + 12}">{note}</text>')
        total += 16
    return _wrap(title, width, total + 8, parts)


_RAMP = ((239, 8), (243, 48), (255, 107))


def _share(value: float, low: float, high: float) -> float:
    """Where a value stands between the logarithms of the smallest and the largest."""
    if value <= 0 or math.isinf(value):
        return 1.0 if value > 0 else 0.0
    return (math.log(value) - low) / (high - low) if high > low else 0.0


class _Plot:
    """Axes, and what is drawn on them."""

    def __init__(
        self, title: str, unit: str, ticks: Sequence[str], *, top: float, bottom: float, log: bool
    ) -> None:
        self.title = title
        self.log = log
        self.low, self.high = (math.log(bottom), math.log(top)) if log else (bottom, top)
        self.step = (_WIDTH - _LEFT - 10) / max(len(ticks), 1)
        self.foot = float(_TOP + _PLOT + 18)
        self.parts = [f'<text x="8" y="20" class="t">{escape(title)} ({escape(unit)})</text>']
        for value in _log_ticks(bottom, top) if log else _even_ticks(top):
            y = self.y(value)
            self.add(f'<line x1="{_LEFT}" x2="{_WIDTH - 10}" y1="{y:.1f}" y2="{y:.1f}" class="g"/>')
            self.add(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" class="e">{short(value)}</text>')
        longest = 7 * max(map(len, ticks), default=0)
        for index, name in enumerate(ticks):
            place = f'x="{self.x(index):.1f}" y="{_TOP + _PLOT + 18}"'
            turn = ""
            if longest > self.step:  # beside each other they would overlap
                turn = f' transform="rotate(-35 {self.x(index):.1f} {_TOP + _PLOT + 18})"'
            kind = "e" if turn else "m"
            self.add(f'<text {place} class="{kind}"{turn}>{escape(name)}</text>')
        if longest > self.step:
            self.foot += 0.6 * longest

    def x(self, index: int) -> float:
        """Middle of a tick."""
        return _LEFT + self.step * (index + 0.5)

    def y(self, value: float) -> float:
        """Height of a value, at the edge where it lies beyond the axis."""
        if self.log and value <= 0:
            return _TOP + _PLOT
        height = math.log(value) if self.log else value
        share = (height - self.low) / ((self.high - self.low) or 1.0)
        return _TOP + _PLOT * (1 - min(max(share, 0.0), 1.0))

    def add(self, part: str) -> None:
        """Draw."""
        self.parts.append(part)

    def note(self, value: float, x: float) -> None:
        """The sign of a value that has no height."""
        if math.isfinite(value):
            return
        sign, y = ("×", _TOP + _PLOT - 2) if math.isnan(value) else ("∞", _TOP - 3)
        self.add(f'<text x="{x:.1f}" y="{y}" class="m">{sign}</text>')

    def whisker(self, x: float, low: float | None, high: float | None) -> None:
        """An interval."""
        if low is None or high is None or math.isnan(low) or math.isnan(high):
            return
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
        x, y = float(_LEFT), self.foot + 22
        sample = 17 if hatched else 33
        for number, one in enumerate(series):
            width = sample + 13 + 7 * len(one.name)
            if x > _LEFT and x + width > _WIDTH:
                x, y = float(_LEFT), y + 18
            if hatched:
                self.add(
                    f'<rect x="{x:.0f}" y="{y - 10:.0f}" width="12" height="12" '
                    f"{marks.fill(number)}/>"
                )
            else:
                self.add(
                    f'<line x1="{x:.0f}" x2="{x + 28:.0f}" y1="{y - 4:.0f}" y2="{y - 4:.0f}" '
                    f'stroke="{marks.colour(number)}" stroke-width="2"{marks.dash(number)}/>'
                    + marks.marker(number, x + 14, y - 4)
                )
            self.add(f'<text x="{x + sample:.0f}" y="{y:.0f}">{escape(one.name)}</text>')
            x += width
        for note in _notes([v for one in series for v in one.values if v is not None]):
            y += 18
            self.add(f'<text x="{_LEFT}" y="{y:.0f}">{note}</text>')
        return _wrap(self.title, _WIDTH, y + 14, self.parts)


def short(value: float) -> str:
    """Three digits that matter."""
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else ("∞" if value > 0 else "-∞")
    if 1000 <= value < 1e9:  # noqa: PLR2004 - from here thousands are grouped
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _given(series: Sequence[Series]) -> bool:
    return any(v is not None for one in series for v in one.values)


def _finite(series: Sequence[Series]) -> list[float]:
    columns = [column for one in series for column in (one.low, one.values, one.high)]
    return [v for column in columns for v in column if v is not None and math.isfinite(v)]


def _notes(values: Sequence[float]) -> list[str]:
    """What the signs of a chart mean, those that it has."""
    notes = [_INFINITE] if any(map(math.isinf, values)) else []
    return notes + ([_NO_NUMBER] if any(map(math.isnan, values)) else [])


def _wrap(title: str, width: float, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(title)}" '
        f'xmlns="http://www.w3.org/2000/svg"><title>{escape(title)}</title>'
        + "".join(parts)
        + "</svg>"
    )


def _even_ticks(top: float) -> list[float]:
    size = 10.0 ** math.floor(math.log10(top / 4))
    step = next(size * f for f in (1, 2, 5, 10) if top / (size * f) <= 6)  # noqa: PLR2004 - lines at most
    return [step * i for i in range(int(top / step) + 1)]


def _log_ticks(bottom: float, top: float) -> list[float]:
    first, last = math.floor(math.log10(bottom)), math.ceil(math.log10(top))
    every = (1.0, 2.0, 5.0) if last - first <= 3 else (1.0,)  # noqa: PLR2004 - decades
    decades = range(first, last + 1, max(1, (last - first) // 10))
    ticks = [f * 10.0**e for e in decades for f in every]
    return [t for t in ticks if bottom <= t <= top]


def _tip(name: str, where: str, value: float) -> str:
    return f"<title>{escape(name)}, {escape(where)}: {short(value)}</title>"


def _empty(title: str) -> str:
    return _wrap(
        title, _WIDTH, 60, [f'<text x="8" y="20" class="t">{escape(title)}: no data</text>']
    )
