"""The report: one self-contained HTML page, and the same as JSON and Markdown.

:func:`render` reads the folder of runs and nothing else. What each number means stands beside
it. No date, no path of this machine, no script, no font from elsewhere.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from trainer import charts, files, marks, nonfinite
from trainer.charts import Series
from trainer.collected import Cell, Collected, Table, base, collect, models, ratio
from trainer.runs import Runs
from trainer.tables import grid, tables
from twiki.errors import TrainerError


@dataclass(frozen=True)
class Figure:
    """A chart with its caption, and the numbers that it draws."""

    id: str
    caption: str
    svg: str
    columns: tuple[str, ...] = ()
    """What each value of a row belongs to."""
    rows: tuple[Series, ...] = ()


def render(
    runs: Runs,
    out: Path,
    *,
    wiki: str | None = None,
    extra: Sequence[Table] = (),
    findings: Sequence[str] = (),
) -> dict[str, Any]:
    """Write ``report.html``, ``report.json`` and ``report.md`` into ``out``.

    ``extra`` tables come first, ``findings`` before them. Returns what the JSON holds.

    Raises:
        TrainerError: there is no finished run.
    """
    found = runs.all(wiki)
    if not found:
        raise TrainerError(f"{runs.root}: no finished run to report on")
    wikis = sorted({run.key.wiki for run in found})
    if len(wikis) > 1:
        raise TrainerError(f"{runs.root}: runs of several wikis ({', '.join(wikis)}); name one")
    data = collect(found, runs.given(wikis[0]))
    shown = [*extra, *tables(data)]
    title = f"{wikis[0]}: what the models learned and what they forgot"
    summary = (
        f"{len(found)} runs, {len(data.windows)} windows. Lower perplexity is better. "
        "Changed: facts that the window changed; unchanged: facts that it left alone."
    )
    drawn = figures(data)
    content: dict[str, Any] = {
        "schema": 1,
        "wiki": wikis[0],
        "windows": list(data.windows),
        "findings": list(findings),
        "tables": [asdict(table) for table in shown],
        "figures": [
            {
                "id": figure.id,
                "caption": figure.caption,
                "columns": figure.columns,
                "rows": [asdict(row) for row in figure.rows],
            }
            for figure in drawn
        ],
        "runs": [
            {
                "window": run.key.window,
                "version": run.key.version,
                "method": run.key.label,
                "costs": run.record["costs"],
                "settings": run.record["settings"],
                "fingerprint": run.record["fingerprint"],
                "versions": run.record["versions"],
            }
            for run in found
        ],
    }
    plain: dict[str, Any] = nonfinite.to_json(content)
    with files.new_folder(out) as aside:
        page = html(title, summary, shown, drawn, findings)
        (aside / "report.html").write_text(page, encoding="utf-8")
        text = markdown(title, summary, shown, findings)
        (aside / "report.md").write_text(text, encoding="utf-8")
        files.write_json(aside / "report.json", plain)
    return plain


def figures(data: Collected) -> list[Figure]:
    """All charts."""
    out = [_relative(data)]
    for category in ("changed", "unchanged"):
        series = tuple(
            Series(
                label,
                [
                    data.at(label, w, "extrinsic", category, "object", "perplexity")
                    for w in data.windows
                ],
                [data.at(label, w, "extrinsic", category, "object", "low") for w in data.windows],
                [data.at(label, w, "extrinsic", category, "object", "high") for w in data.windows],
            )
            for label in models(data)
        )
        svg = charts.lines(f"{category} facts", "perplexity of objects", data.windows, series)
        caption = (
            f"Figure 3, {category} facts: each method's model of a window on that window's "
            "probes; whiskers are 95 % intervals. Table 3 over time; the number is this "
            "report's own."
        )
        out.append(Figure(f"figure-3-{category}", caption, svg, data.windows, series))
    out += _grids(data)
    out.append(_answers(data))
    return out


def _relative(data: Collected) -> Figure:
    last = data.windows[-1:] or ("",)
    series = []
    for part in ("diffset", "nondiff"):
        for which in ("proper_nouns", "all"):
            path = ("intrinsic", part, which, "perplexity")
            values = [
                ratio(data.at(label, last[0], *path), data.at(base(label), last[0], *path))
                for label in data.labels
            ]
            if any(value is not None for value in values):
                name = f"{part.replace('nondiff', 'non-diffset')}, {which.replace('_', ' ')}"
                series.append(Series(name, values))
    svg = charts.bars(
        f"Perplexity of text relative to Initial, {last[0]}", "ratio", data.labels, series, line=1.0
    )
    caption = (
        "Figure 2, as the paper's: relative to the Initial of the same preset. Below the line the "
        "model is better than before the update, above it worse. The last window."
    )
    return Figure("figure-2", caption, svg, data.labels, tuple(series))


def _grids(data: Collected) -> list[Figure]:
    """Temporal misalignment: every checkpoint on every window."""
    out = []
    for category in ("changed", "unchanged"):
        rows = tuple(
            Series(label if label in data.initials else f"{label} {trained}", values)
            for label, trained, values in grid(data, category)
        )
        svg = charts.heatmap(
            f"Every model on every window, {category}",
            [row.name for row in rows],
            data.windows,
            [row.values for row in rows],
        )
        caption = (
            f"Figure 4, {category} facts: a row is a model, a column the window whose probes it "
            "answers; darker is worse. A model fits the window it was trained on and drifts "
            "from the others. After the paper's temporal misalignment; the number is this "
            "report's own. The values stand in the table of every model on every window."
        )
        out.append(Figure(f"figure-4-{category}", caption, svg, data.windows, rows))
    return out


def _answers(data: Collected) -> Figure:
    last = data.windows[-1:] or ("",)
    labels = models(data)
    series = tuple(
        Series(c, [data.at(label, last[0], "lighttuning", c, "f1") for label in labels])
        for c in ("unchanged", "changed")
    )
    svg = charts.bars(f"F1 after light-tuning, {last[0]}", "percent", labels, series, line=None)
    caption = (
        "Figure 5: answers after light-tuning, the last window. Follows the paper's Appendix E; "
        "the number is this report's own."
    )
    return Figure("figure-5", caption, svg, labels, series)


def html(
    title: str,
    summary: str,
    shown: Sequence[Table],
    drawn: Sequence[Figure],
    findings: Sequence[str],
) -> str:
    """The page. Every text from outside is escaped."""
    sections = [_html_table(table) for table in shown]
    sections += [
        f'<figure id="{escape(f.id)}">{f.svg}<figcaption>{escape(f.caption)}</figcaption></figure>'
        for f in drawn
    ]
    links = [f'<a href="#{escape(t.id)}">{escape(t.title.partition(":")[0])}</a>' for t in shown]
    links += [f'<a href="#{escape(f.id)}">{escape(f.id.capitalize())}</a>' for f in drawn]
    said = "".join(f"<li>{escape(text)}</li>" for text in findings)
    template = Template((Path(__file__).parent / "report.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=escape(title),
        summary=escape(summary),
        contents=" ".join(links),
        findings=f"<h2>Findings</h2><ul>{said}</ul>" if said else "",
        body="\n".join([marks.HATCHES, *sections]),
    )


def markdown(title: str, summary: str, shown: Sequence[Table], findings: Sequence[str]) -> str:
    """The same tables in Markdown."""
    parts = [f"# {title}", summary]
    if findings:
        parts.append("\n".join(f"- {text}" for text in findings))
    for table in shown:
        lines = [
            "| " + " | ".join(table.columns) + " |",
            "|" + " --- |" * len(table.columns),
            *("| " + " | ".join(_md(cell) for cell in row) + " |" for row in table.rows),
        ]
        parts += [f"## {table.title}", table.note, "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def shown_cell(cell: Cell) -> str:
    """A cell as people read it: counts in full, measures with four digits."""
    if cell is None:
        return "–"
    if isinstance(cell, float):
        if not math.isfinite(cell):
            return charts.short(cell)
        if cell == int(cell) and abs(cell) < 1e9:  # noqa: PLR2004 - larger: FLOP
            return f"{int(cell):,}"
        return f"{cell:,.1f}" if 1000 <= abs(cell) < 1e9 else f"{cell:.4g}"  # noqa: PLR2004
    return f"{cell:,}" if isinstance(cell, int) else cell


def _html_table(table: Table) -> str:
    texts = [
        all(isinstance(row[i], str | None) for row in table.rows) for i in range(len(table.columns))
    ]
    kinds = ['class="s"' if text else "" for text in texts]
    head = "".join(f"<th {k}>{escape(c)}</th>" for k, c in zip(kinds, table.columns, strict=True))
    rows = "".join(
        "<tr>"
        + "".join(f"<td {k}>{escape(shown_cell(c))}</td>" for k, c in zip(kinds, row, strict=True))
        + "</tr>"
        for row in table.rows
    )
    return (
        f'<h2 id="{escape(table.id)}">{escape(table.title)}</h2><p>{escape(table.note)}</p>'
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _md(cell: Cell) -> str:
    text = shown_cell(cell)
    for character in "\\|<>*_`[]":
        text = text.replace(character, "\\" + character)
    return text.replace("\n", " ")
