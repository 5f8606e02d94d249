"""Bar charts of the dataset card: the paper's Figures 6 and 7, as SVG that needs no script.

Same counts, same bytes: all coordinates are whole numbers and no font is measured.
"""

import html
from collections.abc import Mapping, Sequence
from typing import Any

_ROW, _LABELS, _BARS, _MARGIN = 22, 260, 400, 16
_MAX_LABEL = 36
_FONT = "font-family='system-ui, sans-serif' font-size='13'"
_TITLES = {
    "relations_changed": "Most frequent relations of the changed probes",
    "relations_unchanged": "Most frequent relations of the unchanged probes",
    "objects_changed": "Objects of the changed probes by Wikidata's datatype",
    "entity_types_subjects": "Entity types of the subjects",
    "entity_types_objects": "Entity types of the objects",
}


def charts(stats: Mapping[str, Any]) -> dict[str, str]:
    """Return path in the dataset folder → SVG; a chart without bars is left out.

    ``stats`` is the content of ``stats.json``.
    """
    types = stats["entity_types"] or {}
    series = {
        "relations_changed": stats["relations"]["probes_changed"],
        "relations_unchanged": stats["relations"]["probes_unchanged"],
        "objects_changed": stats["object_datatypes"]["probes_changed"],
        "entity_types_subjects": types.get("subjects", ()),
        "entity_types_objects": types.get("objects", ()),
    }
    return {
        f"charts/{name}.svg": bars(_TITLES[name], [(bar["value"], bar["count"]) for bar in found])
        for name, found in series.items()
        if found
    }


def title(path: str) -> str:
    """Return the title of a chart by its path."""
    return _TITLES[path.removeprefix("charts/").removesuffix(".svg")]


def bars(heading: str, rows: Sequence[tuple[str, int]]) -> str:
    """Draw horizontal bars, longest as wide as the chart, with their counts beside them."""
    width = 2 * _MARGIN + _LABELS + _BARS + 60
    height = 2 * _MARGIN + _ROW * (len(rows) + 1)
    size = f"width='{width}' height='{height}' role='img'"
    most = max((count for _, count in rows), default=1) or 1
    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' {size} {_FONT}>",
        f"<title>{_text(heading, 200)}</title>",
        f"<rect width='{width}' height='{height}' fill='#fff'/>",
        f"<text x='{_MARGIN}' y='{_MARGIN + 12}' font-weight='bold'>{_text(heading, 200)}</text>",
    ]
    for index, (label, count) in enumerate(rows):
        top = _MARGIN + _ROW * (index + 1)
        left = _MARGIN + _LABELS
        length = max(1, _BARS * count // most)
        name = _text(label, _MAX_LABEL)
        lines += [
            f"<text x='{left - 8}' y='{top + 15}' text-anchor='end'>{name}</text>",
            f"<rect x='{left}' y='{top + 3}' width='{length}' height='{_ROW - 6}' fill='#36c'/>",
            f"<text x='{left + length + 6}' y='{top + 15}'>{count}</text>",
        ]
    return "\n".join([*lines, "</svg>", ""])


def _text(value: str, limit: int) -> str:
    """Return hostile text as character data: no control, no markup, bounded."""
    printable = "".join(c if c.isprintable() else " " for c in value)
    short = printable if len(printable) <= limit else printable[: limit - 1] + "…"
    return html.escape(short)
