"""What a report says of each window, as tables.

The same values make the HTML page, the JSON and the Markdown. Tables 1 to 3 and Figure 2 show
what the paper's of that number show. The other numbers are this report's own, and each note
says what of the paper it follows: its evaluation on text (of which its Figure 2 has the
relative perplexities), its temporal misalignment, Appendix D (settings), Appendix E (answers).
"""

from typing import Any

from trainer.charts import short
from trainer.collected import Cell, Collected, Table, base, models, ratio
from trainer.months import cost_table, transfer_table
from trainer.runs import INITIAL


def tables(data: Collected) -> list[Table]:
    """All tables of the report."""
    return [
        _text(data),
        _probes(data),
        _perplexity(data),
        _intrinsic(data),
        _answers(data),
        _settings(data),
        _variants(data),
        transfer_table(data),
        cost_table(data),
        _misalignment(data),
    ]


def grid(data: Collected, category: str) -> list[tuple[str, str, list[float | None]]]:
    """Every model on every window: label, window it was trained on, perplexity by window."""
    out = []
    for label in models(data):
        for trained in (INITIAL,) if label in data.initials else data.windows:
            at = ("extrinsic", category, "object", "perplexity")
            row = [data.of(label, trained, on, *at) for on in data.windows]
            if any(value is not None for value in row):
                out.append((label, trained, row))
    return out


def _text(data: Collected) -> Table:
    rows: dict[tuple[str, str], tuple[Cell, ...]] = {}
    for run in data.runs:
        text, about = run.record["text"], run.record["data"]
        what = "corpus" if run.key.window == INITIAL or run.key.label.startswith("full") else "diff"
        window = run.key.window
        rows[window, what] = (
            f"{about.get('wiki')} {window}",
            "whole articles" if what == "corpus" else "diffset",
            text["documents"],
            text["tokens"],
        )
    return Table(
        "table-1",
        "Table 1: training text",
        "As the paper's Table 1. "
        "Articles and tokens of each text, in the model's own tokens with one token between "
        "articles.",
        ("window", "text", "articles", "tokens"),
        tuple(rows[key] for key in sorted(rows)),
    )


def _probes(data: Collected) -> Table:
    rows = []
    for window in data.windows:
        evaluations = (e for (_, _, on), e in data.evaluations.items() if on == window)
        found: dict[str, Any] = next(evaluations, {})
        shown = found.get("extrinsic", {})
        counts = [shown.get(c, {}).get("object", {}) for c in ("unchanged", "changed")]
        rows.append((window, *(c.get("instances") for c in counts)))
    return Table(
        "table-2",
        "Table 2: probes",
        "As the last step of the paper's Table 2. "
        "Facts that passed alignment and quality control; each step is in the dataset's card.",
        ("window", "unchanged", "changed"),
        tuple(rows),
    )


def _perplexity(data: Collected) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for window in data.windows:
        for label in models(data):
            figures = [
                data.at(label, window, "extrinsic", category, "object", name)
                for category in ("unchanged", "changed")
                for name in ("perplexity", "low", "high")
            ]
            if figures[0] is None and figures[3] is None:
                continue
            average = [
                data.at(label, window, "extrinsic", "average", "object", kind)
                for kind in ("arithmetic", "geometric")
            ]
            spent = _spent(data, label, window)
            rows.append(
                (
                    window,
                    label,
                    figures[0],
                    _interval(*figures[1:3]),
                    figures[3],
                    _interval(*figures[4:]),
                    *average,
                    spent.get("tokens"),
                    spent.get("seconds"),
                )
            )
    return Table(
        "table-3",
        "Table 3: perplexity of facts (object)",
        "As the paper's Table 3, which scores the whole fact; Table 7 has that too. How surprised "
        "a model is by the object, given subject and relation: exp of the mean "
        "over all object tokens; lower is better. The probe begins with the model's begin "
        "token, so every token is scored. Each method's model of a window on that window's "
        "probes; in brackets 95 % bootstrap intervals over facts. The arithmetic average "
        "follows the larger value, so the geometric one stands beside it.",
        (
            "window",
            "method",
            "unchanged",
            "interval",
            "changed",
            "interval",
            "average",
            "geometric",
            "tokens trained",
            "seconds",
        ),
        tuple(rows),
    )


def _intrinsic(data: Collected) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for window in data.windows:
        for label in models(data):
            figures = [
                data.at(label, window, "intrinsic", part, which, "perplexity")
                for part in ("diffset", "nondiff")
                for which in ("all", "proper_nouns")
            ]
            relative = [
                ratio(f, data.at(base(label), window, "intrinsic", part, which, "perplexity"))
                for f, (part, which) in zip(figures, _PARTS, strict=True)
            ]
            if any(f is not None for f in figures):
                rows.append((window, label, *figures, *relative))
    return Table(
        "table-4",
        "Table 4: perplexity of text",
        "The values behind Figure 2, after the paper's evaluation on text; the number is this "
        "report's own. On text that the window brought (diffset) and left alone (non-diffset): "
        "all tokens, and those of proper nouns as tagged by spaCy. Relative: divided by those of "
        "the Initial of the same preset.",
        ("window", "method", *_TEXT_COLUMNS, *(f"relative {c}" for c in _TEXT_COLUMNS)),
        tuple(rows),
    )


def _answers(data: Collected) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for window in data.windows:
        for label in models(data):
            for part, name in (("generation", "as it is"), ("lighttuning", "light-tuned")):
                figures = [
                    data.at(label, window, part, category, figure)
                    for category in ("unchanged", "changed")
                    for figure in ("exact_match", "f1")
                ]
                if any(f is not None for f in figures):
                    average = data.at(label, window, part, "average_f1")
                    rows.append((window, label, name, *figures, average))
    return Table(
        "table-5",
        "Table 5: answers",
        "Follows the paper's Appendix E; the number is this report's own. "
        "Greedy answers after subject and relation, in percent, against the best of the right "
        "answers. Light-tuned: after a short training on other facts of the same dataset; empty "
        "where there was nothing to tune on. Both are measured when asked for: twiki train "
        "--parts all.",
        (
            "window",
            "method",
            "model",
            "unchanged EM",
            "unchanged F1",
            "changed EM",
            "changed F1",
            "average F1",
        ),
        tuple(rows),
    )


def _settings(data: Collected) -> Table:
    newest = {run.key.label: run for run in data.runs}
    rows = []
    for label, run in newest.items():
        s = run.record["settings"]
        rows.append(
            (
                label,
                s["preset"],
                s["seed"],
                s["lr"],
                s["schedule"],
                f"{s['batch']} x {s['sequence']}",
                s["epochs"],
                s["mask"],
                run.record["parameters"],
                run.record["trainable_parameters"],
            )
        )
    return Table(
        "table-6",
        "Table 6: settings",
        "Follows the paper's Appendix D; the number is this report's own. "
        "Preset paper is what the paper's text says, recommended what works. All settings of "
        "each run, with versions and hashes, stand in its run.json.",
        (
            "method",
            "preset",
            "seed",
            "learning rate",
            "schedule",
            "batch",
            "epochs",
            "mask",
            "parameters",
            "trained",
        ),
        tuple(rows),
    )


def _variants(data: Collected) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for window in data.windows:
        for label in models(data):
            for category in ("unchanged", "changed"):
                at = ("extrinsic", category)
                figures = (
                    data.at(label, window, *at, "object", "perplexity"),
                    data.at(label, window, *at, "object", "per_instance"),
                    data.at(label, window, *at, "whole", "perplexity"),
                    data.at(label, window, *at, "whole", "bits_per_byte"),
                    data.at(label, window, *at, "reference_batch_mean"),
                )
                if any(f is not None for f in figures):
                    rows.append((window, label, category, *figures))
    return Table(
        "table-7",
        "Table 7: the same facts, scored in other ways",
        "This report's own: figures by which the paper's can be read. "
        "Per fact: every fact counts the same, whatever its length. Whole: subject and relation "
        "are scored too, as in the paper. Bits per byte compare models with different "
        "tokenizers. Reference: what the paper's published code would print; it depends on the "
        "batch size and predicts the first token from a pad, so compare it with nothing else.",
        (
            "window",
            "method",
            "facts",
            "object",
            "per fact",
            "whole",
            "bits per byte",
            "reference",
        ),
        tuple(rows),
    )


def _misalignment(data: Collected) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (category, label, trained, *values)
        for category in ("changed", "unchanged")
        for label, trained, values in grid(data, category)
    ]
    return Table(
        "table-10",
        "Every model on every window",
        "The values behind Figure 4, after the paper's temporal misalignment. Perplexity of "
        "objects; a column is the window whose probes are asked.",
        ("facts", "method", "trained on", *data.windows),
        tuple(rows),
    )


def _spent(data: Collected, label: str, window: str) -> dict[str, Any]:
    trained = INITIAL if label in data.initials else window
    found = [r for r in data.runs if (r.key.window, r.key.label) == (trained, label)]
    return dict(found[-1].record["costs"]) if found else {}


_PARTS = [(p, w) for p in ("diffset", "nondiff") for w in ("all", "proper_nouns")]
_TEXT_COLUMNS = (
    "diffset",
    "diffset proper nouns",
    "non-diffset",
    "non-diffset proper nouns",
)


def _interval(low: float | None, high: float | None) -> str | None:
    if low is None or high is None:
        return None
    return f"{short(low)} to {short(high)}"
