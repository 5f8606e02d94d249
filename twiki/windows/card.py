"""``README.md``: the dataset card, as the Hugging Face hub and GitHub render it.

Everything up to the last section is a function of the data (L19); the section *Provenance*
says how this version came about. Text from the wiki is hostile: :func:`escape` leaves no
character that Markdown, HTML, YAML or a formula could take for its own.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from twiki.windows import charts, harness
from twiki.windows.manifest import Data, Run
from twiki.windows.schema import MEANINGS, ROWS, Part, ProbeRow, columns

EXAMPLES = (Part.PROBES_CHANGED, Part.PROBES_UNCHANGED, Part.PROBES_REMOVED)
"""Parts of which the card shows a few rows."""

_PROVENANCE = "\n## Provenance\n"
_SPLITS = {Part.DIFFSET: "train", Part.SENTENCES: "train", Part.NONDIFF: "test"}
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_LARGEST = "1M<n<10M"
_ACTIVE = re.compile(r"[\\`*_{}\[\]<>#!|&$~:@\"'^=+]")
_TEXT_LIMIT = 240

_INTRODUCTION = """\
What changed in {wiki} and Wikidata from {start} to {end} (UTC): the text that the window added
to each article, the facts that changed and a sample of those that did not, each with the
sentence and revision that state it. Made after TemporalWiki (Jang et al., EMNLP 2022), to train
language models on what is new and to test what they learned and what they forgot."""

_READING = """\
```python
from datasets import load_dataset
probes = load_dataset("parquet", data_files="probes_changed.parquet", split="train")
```

Figures of a model on the probes and texts, by lm-evaluation-harness:

```
lm_eval --include_path harness --tasks {tasks} --model hf --model_args pretrained=MODEL
```

The folder `csv/` holds the paper's file names and columns for its readers. With pandas read them
with `keep_default_na=False`, or the object "None" becomes a missing value. Do not open them in a
spreadsheet: a cell may begin with `=` and would be taken for a formula."""

_LICENCE = """\
Text: CC BY-SA 4.0, by the authors of the articles (`url` leads to an article and its history).
Facts: CC0, from Wikidata."""


def escape(text: str, limit: int = _TEXT_LIMIT) -> str:
    """Return hostile text for a Markdown line: bounded, printable, nothing of it active."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    short = line if len(line) <= limit else line[: limit - 1] + "…"
    inert = _ACTIVE.sub(lambda match: f"&#{ord(match[0])};", short)
    return inert.replace("www.", "www&#46;")


def render(
    data: Data,
    stats: Mapping[str, Any],
    examples: Mapping[Part, Sequence[ProbeRow]],
    run: Run,
    reconcile: object,
) -> str:
    """Return the card; ``stats`` and ``reconcile`` are the content of their JSON files."""
    sections = [
        front_matter(data),
        f"# TWiki {data.wiki} {data.window}\n",
        _INTRODUCTION.format(wiki=data.wiki, start=_time(data.start), end=_time(data.end)) + "\n",
        _parts(data),
        _volumes(stats),
        _quality(stats),
        _pictures(data),
        _examples(examples),
        f"## Reading\n\n{_READING.format(tasks=harness.group(data.window))}\n",
        _columns(),
        f"## Licence\n\n{_LICENCE}\n",
    ]
    return "\n".join(sections) + _provenance(run, reconcile)


def split(text: str) -> tuple[str, str]:
    """Return the card up to its provenance, and the provenance."""
    data, mark, run = text.rpartition(_PROVENANCE)
    return data, mark + run


def front_matter(data: Data) -> str:
    """Return the YAML block that the hub reads: a configuration for each part."""
    entries = [(part, f"{part.value}", part.file) for part in Part]
    return yaml_block(
        pretty_name=f"TWiki {data.wiki} {data.window}",
        languages=[code for code in data.settings["wiki"]["languages"] if code != "mul"],
        rows=sum(data.counts.values()),
        configs=[
            config_entry(name, part, path, default=part is Part.DIFFSET)
            for part, name, path in entries
        ],
    )


def config_entry(name: str, part: Part, path: str, *, default: bool) -> list[str]:
    """Return the YAML lines of one configuration."""
    lines = [f"- config_name: {yaml_text(name)}"]
    if default:
        lines.append("  default: true")
    split_name = _SPLITS.get(part, "test")
    return [*lines, "  data_files:", f"  - split: {split_name}", f"    path: {yaml_text(path)}"]


def yaml_block(
    *, pretty_name: str, languages: Iterable[str], rows: int, configs: Iterable[list[str]]
) -> str:
    """Return a card's front matter."""
    size = next((name for limit, name in _SIZES if rows < limit), _LARGEST)
    lines = [
        "---",
        "license: cc-by-sa-4.0",
        "language:",
        *(f"- {yaml_text(code)}" for code in languages),
        f"pretty_name: {yaml_text(pretty_name)}",
        "annotations_creators:",
        "- machine-generated",
        "task_categories:",
        "- text-generation",
        "- question-answering",
        "tags:",
        "- temporal",
        "- continual-learning",
        "- wikipedia",
        "- wikidata",
        "- temporalwiki",
        "size_categories:",
        f"- {yaml_text(size)}",
        "configs:",
        *(line for config in configs for line in config),
        "---",
    ]
    return "\n".join(lines) + "\n"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; cells are escaped by the caller where they are hostile."""
    lines = [f"| {' | '.join(header)} |", f"|{' --- |' * len(header)}"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _parts(data: Data) -> str:
    rows = [(f"`{part.file}`", f"{data.counts[part.value]:,}", MEANINGS[part]) for part in Part]
    return "## Parts\n\n" + table(("file", "rows", "a row is"), rows)


def _volumes(stats: Mapping[str, Any]) -> str:
    names = ("articles", "sentences", "words", "bytes", "tokens")
    rows = [
        (name, *(_number(volume[column]) for column in names))
        for name, volume in stats["table1"].items()
        if volume is not None
    ]
    tokens = f"Tokens by {escape(stats['tokenizer'])}.\n" if stats["tokenizer"] else ""
    return "## Text\n\n" + table(("", *names), rows) + tokens


def _quality(stats: Mapping[str, Any]) -> str:
    sections = ["## Quality control\n"]
    for category, steps in stats["quality"].items():
        rows = [("candidates", f"{steps['candidates']:,}")]
        rows += [
            (f"dropped by `{drop['rule']}`", f"{drop['count']:,}") for drop in steps["dropped"]
        ]
        rows += [("**kept**", f"**{steps['kept']:,}**")]
        sections.append(table((f"{category} facts", "count"), rows))
    classes = [(name, f"{count:,}") for name, count in stats["classes"].items()]
    if classes:
        sections.append(table(("class of the probes", "count"), classes))
    return "\n".join(sections)


def _pictures(data: Data) -> str:
    found = sorted(name for name in data.files if name.startswith("charts/"))
    lines = [f"![{charts.title(name)}]({name})\n" for name in found]
    return "\n".join(["## Relations and types\n", *lines])


def _examples(examples: Mapping[Part, Sequence[ProbeRow]]) -> str:
    rows = [
        (part.value.removeprefix("probes_"), *(escape(text) for text in _shown(row)))
        for part, found in examples.items()
        for row in found
    ]
    header = ("set", "subject", "relation", "object", "before", "evidence", "article")
    return "## Examples\n\n" + table(header, rows)


def _shown(row: ProbeRow) -> tuple[str, ...]:
    before = ", ".join(row.previous_labels or row.previous_objects)
    return row.subject, row.relation, row.object, before, row.evidence or "", row.page_title


def _columns() -> str:
    sections, seen = ["## Columns\n"], set()
    for part, row in ROWS.items():
        if row in seen:
            continue
        seen.add(row)
        files = ", ".join(f"`{p.file}`" for p, other in ROWS.items() if other is row)
        rows = [(f"`{name}`", text) for name, text in columns(part).items()]
        sections.append(f"{files}\n\n" + table(("column", "meaning"), rows))
    return "\n".join(sections)


def _provenance(run: Run, reconcile: object) -> str:
    rows: list[tuple[str, object]] = [
        ("id", f"`{run.id}`"),
        ("version", run.version),
        ("made by", escape(run.program)),
        ("engine", escape(run.engine)),
        ("policy", run.policy.value),
    ]
    rows += [(escape(name), escape(_plain(value))) for name, value in sorted(run.details.items())]
    sections = [_PROVENANCE, table(("", ""), rows)]
    for source in run.sources:
        told = "; ".join(f"{escape(k)} {escape(_plain(v))}" for k, v in source.items())
        sections.append(f"* {told}")
    if isinstance(reconcile, Mapping):
        numbers = [
            (escape(str(name)), escape(_plain(value)))
            for name, value in reconcile.items()
            if isinstance(value, str | int | float | bool)
        ]
        sections.append("\nReconciled with a dump (`reconcile.json`):\n")
        sections.append(table(("", ""), numbers))
    return "\n".join(sections).rstrip("\n") + "\n"


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _time(time: datetime) -> str:
    midnight = (time.hour, time.minute, time.second) == (0, 0, 0)
    return f"{time.date()}" if midnight else f"{time:%Y-%m-%d %H:%M:%S}"


def yaml_text(value: str) -> str:
    """Return a YAML string: JSON's form is one, as long as it is ASCII without surrogates."""
    return json.dumps(value.encode("ascii", "replace").decode())
