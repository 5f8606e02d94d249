"""What a study showed: each of the paper's claims on every seed, with paired intervals.

All comparisons are log ratios of object perplexities on the same facts. A claim that is
*required* must hold on every seed; the others are reported whatever they show.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trainer import files, report, study_world
from trainer.charts import heatmap
from trainer.collected import Cell, Table
from trainer.evaluate import fact_scores
from trainer.report import Figure
from trainer.scores import Scores, exp, log_ratio

NOTICEABLE = math.log(1.2)
"""Data order alone moves a perplexity by up to 12 %: less than a fifth is no difference."""

TEXT_OF = ("full", "mixreview")
"""Methods whose models also read text."""

FORGET_LESS = {
    "one": ("mixreview", "recadam", "kadapter", "lora"),
    "equal": ("mixreview", "recadam", "kadapter"),
}


@dataclass(frozen=True)
class Claim:
    """One claim on one seed."""

    name: str
    seed: int
    value: float
    low: float
    high: float
    limit: float
    required: bool
    margin: float = 0.0
    """What the value must lie below the limit by to count as a difference."""

    @property
    def holds(self) -> bool:
        """Whether the whole interval lies below the limit, and the value far enough."""
        return self.high < self.limit and self.value <= self.limit - self.margin


@dataclass(frozen=True)
class Seed:
    """Scores of a seed's models, read from where the study left them."""

    root: Path
    seed: int
    months: int

    def scores(self, table: str, label: str, model: int, on: int, category: str) -> Scores:
        """Object scores of the model of month ``model`` (0: base) on month ``on``'s facts."""
        return fact_scores(self._folder(table, label, model, on), category)

    def value(self, table: str, label: str, month: int, category: str) -> float:
        """Perplexity of a month's model on its month."""
        on = month or 1
        return self.scores(table, label, month, on, category).perplexity or math.nan

    def kept(self, table: str, label: str) -> Scores:
        """The first month's changed facts, untouched since, as the last model has them."""
        world = study_world.make(self.seed, self.months)
        later = {key for month in world.changed[1:] for key in month}
        mask = np.array([key not in later for key in world.changed[0]])
        found = self.scores(table, label, self.months, 1, "changed")
        return Scores(found.nll[mask], found.tokens[mask], found.bytes[mask])

    def record(self, table: str, label: str, month: int) -> dict[str, Any]:
        """What the run's record says."""
        return files.read_json(self._run(table, label, month) / "run.json")

    def text(self, label: str, part: str) -> float:
        """Perplexity of the last model (no label: the base) on a text part of the last month."""
        base = self.root / str(self.seed) / "one" / "base"
        folder = self._run("one", label, self.months) if label else base
        path = folder / "text" / f"month-{self.months}" / "evaluation.json"
        return float(files.read_json(path)["intrinsic"][part]["all"]["perplexity"])

    def plain(self, table: str, label: str, month: int, category: str) -> float:
        """Perplexity of a month's facts in the form "subject relation object"."""
        path = self._run(table, label, month) / "plain" / "evaluation.json"
        return float(files.read_json(path)["extrinsic"][category]["object"]["perplexity"])

    def _run(self, table: str, label: str, month: int) -> Path:
        wiki = f"study-{self.seed}"
        return self.root / str(self.seed) / table / wiki / f"month-{month}" / "v1" / label

    def _folder(self, table: str, label: str, model: int, on: int) -> Path:
        base = self.root / str(self.seed) / "one" / "base"
        run = self._run(table, label, model) if model else base
        return run / "evaluations" / f"month-{on}-v1"


def conclude(
    root: Path, seeds: Sequence[int], months: int, rates: dict[str, float], *, samples: int
) -> dict[str, Any]:
    """Judge every claim, write the report below ``root``, return it all."""
    found = [Seed(root, seed, months) for seed in seeds]
    judged = [claim for seed in found for claim in judge(seed, samples)]
    shown = [
        _claims_table(judged),
        _table(
            found,
            "one",
            ("diff", "mixreview", "replay", "recadam", "merge", "lora", "kadapter", "full"),
        ),
        _table(found, "equal", tuple(rates)),
    ]
    said = findings(judged, found, rates)
    figures = [
        _grid(found[0], table, tuple(rates), c)
        for table in ("one", "equal")
        for c in ("changed", "unchanged")
    ]
    title = "Do the paper's claims hold? A study on small worlds"
    summary = (
        f"{len(seeds)} seeds, {months} months, a model trained from nothing on each world. "
        "Perplexities of object tokens; U: facts that no month changes, C: facts that the month "
        "changed. Intervals are 95 %, paired over facts."
    )
    with files.new_folder(root / "report") as aside:
        page = report.html(title, summary, shown, figures, said)
        (aside / "report.html").write_text(page, encoding="utf-8")
        text = report.markdown(title, summary, shown, said)
        (aside / "report.md").write_text(text, encoding="utf-8")
    return {
        "report": str(root / "report" / "report.html"),
        "findings": said,
        "rates": rates,
        "figures": [
            {
                "figure": f"{claim.name}, seed {claim.seed}",
                "value": round(claim.value, 4),
                "unit": "log ratio",
                "budget": round(claim.limit - claim.margin, 4) if claim.required else None,
                "met": claim.holds if claim.required else None,
                "peer": None,
                "ratio": round(exp(claim.value), 4),
            }
            for claim in judged
        ],
    }


def judge(seed: Seed, samples: int) -> list[Claim]:
    """Every claim on one seed."""
    out: list[Claim] = []
    last = seed.months

    def add(
        name: str, one: Scores, other: Scores, *, required: bool, within: float | None = None
    ) -> None:
        ratio = log_ratio(one, other, samples=samples, seed=seed.seed)
        limit, margin = (0.0, NOTICEABLE) if within is None else (within, 0.0)
        out.append(Claim(name, seed.seed, *ratio, limit, required, margin))

    for month in range(1, last + 1):
        diff = seed.scores("one", "diff", month, month, "changed")
        start = seed.scores("one", "diff", 0, month, "changed")
        add(f"Diff below Initial on changed, month {month}", diff, start, required=True)
        before = seed.scores("equal", "diff", month - 1, month, "unchanged")
        now = seed.scores("equal", "diff", month, month, "unchanged")
        add(f"Diff's unchanged grows, month {month}", before, now, required=True)
    for table, names in FORGET_LESS.items():
        diff = seed.scores(table, "diff", last, last, "unchanged")
        for name in (*names, *(["lora"] if table == "equal" else [])):
            own = seed.scores(table, name, last, last, "unchanged")
            required = name in names
            add(f"{name} forgets less than Diff, {table} table", own, diff, required=required)
    mix, full = _both(seed, "mixreview"), _both(seed, "full")
    add("Mix-review within 1.5 x Full", mix, full, within=math.log(1.5), required=True)
    add("Full above Diff on average", _both(seed, "diff"), full, required=False)
    cheap = _both(seed, "full", "cost")
    for name in ("diff", "mixreview", "recadam", "kadapter", "lora"):
        add(f"{name} below Full at Diff's cost", _both(seed, name), cheap, required=False)
    kept = seed.kept("one", "diff")
    for name in ("mixreview", "recadam", "kadapter", "lora"):
        add(f"{name} keeps month 1 better than Diff", seed.kept("one", name), kept, required=False)
    tokens = [seed.record("one", m, 1) for m in ("full", "diff")]
    spent = tokens[0]["costs"]["tokens"] / tokens[1]["costs"]["tokens"]
    corpora = tokens[0]["text"]["tokens"] / tokens[1]["text"]["tokens"]
    gap = abs(math.log(spent / corpora))
    out.append(
        Claim(
            "Full costs Diff's tokens times the corpora's ratio",
            seed.seed,
            gap,
            gap,
            gap,
            0.01,
            required=True,
        )
    )
    return out


def findings(judged: Sequence[Claim], seeds: Sequence[Seed], rates: dict[str, float]) -> list[str]:
    """In plain words: what held, what did not, and what else was seen."""
    names = dict.fromkeys(claim.name for claim in judged)
    said = [verdict([claim for claim in judged if claim.name == name]) for name in names]
    near = [s.text("full", "diffset") / s.text("", "diffset") for s in seeds]
    said.append(
        "Full on the diffset, relative to the base: "
        f"{_list(near)}. The paper saw it near 1, since GPT-2 Large never fits a whole "
        "Wikipedia; a model that fits its corpus learns the new text too."
    )
    rest = [s.text("mixreview", "nondiff") / s.text("", "nondiff") for s in seeds]
    said.append(f"Mix-review on the non-diffset, relative to the base: {_list(rest)}.")
    said.append(
        "Rates of equal plasticity, chosen on a seed that is not reported: "
        + ", ".join(f"{name} {rate:g}" for name, rate in rates.items())
        + "."
    )
    said += _about_lora(judged)
    said.append(
        "Two adapter blocks beside a base of two layers double it; the paper's add 5 % to "
        "GPT-2 Large. A frozen base protects what the base knew, not what last month taught."
    )
    return said


def _about_lora(judged: Sequence[Claim]) -> list[str]:
    """Where LoRA forgets less than Diff at one rate and not at equal plasticity: why."""
    name = "lora forgets less than Diff, {} table"
    one, equal = (
        [claim for claim in judged if claim.name == name.format(table)] for table in FORGET_LESS
    )
    if not all(claim.holds for claim in one) or any(claim.holds for claim in equal):
        return []
    more = all(claim.low > NOTICEABLE for claim in equal)
    told = "more" if more else "as much"
    reason = "LoRA forgets less than Diff at one learning rate because it learns less there."
    return [f"{reason} Where both learn alike it forgets {told}."]


def verdict(own: Sequence[Claim]) -> str:
    """One claim over all seeds, as a sentence."""
    held = sum(claim.holds for claim in own)
    ratios = ", ".join(f"{exp(claim.value):.3g}" for claim in own)
    kind = "required" if own[0].required else "reported"
    found = f"holds on {held} of {len(own)} seeds"
    if held == len(own):
        found = "holds on every seed"
    elif not held:
        found = "did not reproduce on any seed"
    return f"{own[0].name} ({kind}): {found}; ratios {ratios}."


def _both(seed: Seed, label: str, table: str = "one") -> Scores:
    """The last model's changed and unchanged facts, each half of the weight.

    Scores of both categories are put together with token counts that make their log
    perplexities count the same: the logarithm of the geometric average.
    """
    last = seed.months
    changed, unchanged = (
        seed.scores(table, label, last, last, c) for c in ("changed", "unchanged")
    )
    share = unchanged.tokens.sum() / changed.tokens.sum()
    return Scores(
        np.concatenate([changed.nll * share, unchanged.nll]),
        np.concatenate([changed.tokens * share, unchanged.tokens]),
        np.concatenate([changed.bytes, unchanged.bytes]),
    )


def _claims_table(judged: Sequence[Claim]) -> Table:
    rows = tuple(
        (
            claim.name,
            claim.seed,
            exp(claim.value),
            f"{exp(claim.low):.3g} to {exp(claim.high):.3g}",
            exp(claim.limit),
            "required" if claim.required else "reported",
            "holds" if claim.holds else "does not hold",
        )
        for claim in judged
    )
    return Table(
        "claims",
        "Claims",
        "Ratio of perplexities (of the first named to the second): if the claim holds, the whole "
        "interval lies below the limit, and where the limit is 1 the ratio below 1 / 1.2. A "
        "smaller difference is none, whatever its interval.",
        ("claim", "seed", "ratio", "interval", "limit", "kind", "verdict"),
        rows,
    )


def _table(seeds: Sequence[Seed], table: str, labels: Sequence[str]) -> Table:
    last = seeds[0].months
    months = range(1, last + 1)
    rows: list[tuple[Cell, ...]] = []
    for seed in seeds:
        start = [seed.value(table, "", 0, c) for c in ("unchanged", "changed")]
        rows.append(
            (
                seed.seed,
                "base",
                start[0],
                *[None] * (last - 1),
                start[1],
                *[None] * (last - 1),
                None,
                None,
                None,
                0,
                0.0,
            )
        )
        shown = [(label, table, label) for label in labels]
        if table == "one":
            shown.append(("full at Diff's steps", "cost", "full"))
        for name, where, label in shown:
            records = [seed.record(where, label, m)["costs"] for m in months]
            rows.append(
                (
                    seed.seed,
                    name,
                    *(seed.value(where, label, m, "unchanged") for m in months),
                    *(seed.value(where, label, m, "changed") for m in months),
                    seed.kept(where, label).perplexity,
                    seed.plain(where, label, last, "unchanged"),
                    seed.plain(where, label, last, "changed"),
                    sum(r["tokens"] for r in records),
                    sum(r["seconds"] for r in records),
                )
            )
    titles = {"one": "One learning rate for all", "equal": "Equal plasticity"}
    return Table(
        f"table-{table}",
        titles[table],
        f"U and C after each month. C1@{last}: month 1's changed facts, untouched since, after the "
        'last month. Plain: the last month\'s facts in the form "subject relation object". The '
        "base's C is of month 1.",
        (
            "seed",
            "method",
            *(f"U{m}" for m in months),
            *(f"C{m}" for m in months),
            f"C1@{last}",
            "plain U",
            "plain C",
            "tokens",
            "seconds",
        ),
        tuple(rows),
    )


def _grid(seed: Seed, table: str, labels: Sequence[str], category: str) -> Figure:
    months = range(1, seed.months + 1)
    names = ["base"] + [f"{label} {m}" for label in labels for m in months]
    models = [("", 0)] + [(label, m) for label in labels for m in months]
    values = [
        [seed.scores(table, label, m, on, category).perplexity for on in months]
        for label, m in models
    ]
    title = f"Every model on every month, {category}, {table}, seed {seed.seed}"
    svg = heatmap(title, names, [f"month {m}" for m in months], values)
    caption = "A row is a model after a month, a column the month whose facts it is asked."
    return Figure(f"grid-{table}-{category}", caption, svg)


def _list(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.3g}" for value in values)
