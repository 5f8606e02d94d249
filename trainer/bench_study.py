"""``twiki bench study``: do the paper's claims hold? Several seeds, two tables, stated plainly.

Table *one rate*: every method at the same learning rate, as in the paper. Table *equal
plasticity*: each method at the smallest rate with which it learns the first month's changed
facts, chosen on a seed that is not reported, without looking at what it forgets. Everything
else, RecAdam's pull and the adapter's scale among it, was settled on seeds 0 and 100 to 102.

A base model is trained until it knows its facts; no seed is dropped. Stopped studies go on
where they were. Nothing below a factor of 1.2 is called a difference.
"""

import bisect
import dataclasses
import functools
import math
import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trainer import claims, evaluate, files, methods, study, study_world, threads, train
from trainer.config import SmallModel
from trainer.runs import Key, Run, Runs
from trainer.study_plan import Study, WindowData
from twiki.errors import TrainerError

UPDATE: dict[str, Any] = {
    "sequence": 64,
    "batch": 8,
    # Rows of a review are drawn anew each epoch: with fewer, too little old text is read again.
    "epochs": 16.0,
    "lr": 1e-3,
    "schedule": "one-cycle",
    "warmup": 0.3,
    "betas": (0.9, 0.98),
    "clip": 1.0,
    "checkpoint_every": 0,
}
INITIAL: dict[str, Any] = {**UPDATE, "batch": 16, "epochs": 45.0, "lr": 2e-3}
METHODS: dict[str, dict[str, Any]] = {
    # Costly ones first, so that the processes end together. What is not set is as in the
    # recommended presets, where RecAdam's pull and the adapter's scale follow from the rate.
    "full": {},
    "mixreview": {},
    "diff": {},
    "replay": {},
    "kadapter": {},
    "merge": {},
    "recadam": {"recadam.anchor": "initial"},
    # Rank 32 on the MLPs learned most of the variants tried at this size.
    "lora": {"lora.rank": 32, "lora.alpha": 64, "lora.targets": ("c_fc", "mlp.c_proj")},
}
EQUAL: dict[str, dict[str, Any]] = {
    "diff": {},
    "mixreview": {},
    # What is learned follows from the pull and hardly from the rate: that of the first table.
    "recadam": {"recadam.gamma": 100.0, "recadam.anchor": "initial"},
    "lora": METHODS["lora"],
    # Of 2, 3, 5, 10 and 20 the one that forgot least where it learned, on seeds not reported.
    "kadapter": {"kadapter.scale": 3.0},
}

# fmt: off
LADDER = (
    1e-4, 1.5e-4, 2e-4, 3e-4, 4e-4, 6e-4, 8e-4,
    1e-3, 1.5e-3, 2e-3, 3e-3, 4e-3, 6e-3, 8e-3, 1e-2,
)
# fmt: on
"""Learning rates that are tried. A step is a half at most: over a larger one a method would
learn, and forget, more than those it is compared with."""


@dataclass(frozen=True, kw_only=True)
class Design:
    """What the study does; the defaults are what is reported."""

    seeds: tuple[int, ...] = (1, 2, 3)
    blind_seed: int = 0
    """Learning rates of equal plasticity are chosen on it; it is not reported."""
    months: int = 3
    shape: SmallModel = field(
        default_factory=lambda: SmallModel(
            layers=2, width=128, positions=64, vocabulary=1200, prefix_space=True
        )
    )
    initial: dict[str, Any] = field(default_factory=lambda: dict(INITIAL))
    update: dict[str, Any] = field(default_factory=lambda: dict(UPDATE))
    gate: float = 1.6
    """Unchanged perplexity that a base model must reach; else it trains on."""
    rounds: int = 4
    """Times that it trains on at most."""
    plasticity: float = 2.0
    """Changed perplexity after month 1 that counts as learned."""
    ladder: tuple[float, ...] = LADDER
    samples: int = 1000


def run(
    root: Path,
    design: Design | None = None,
    *,
    processes: int = 2,
    tell: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Run or finish the study below ``root``; return claims, tables and where the report is."""
    design = design or Design()
    say = tell or (lambda _text: None)
    threads.wait_passively()  # inherited by the processes, before they import torch
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_single) as pool:

        def each(work: Callable[..., Any], items: Sequence[Any]) -> list[Any]:
            return list(pool.map(functools.partial(work, root, design), items))

        say("base models, until they know their facts")
        each(base, (design.blind_seed, *design.seeds))
        say("learning rates of equal plasticity, on a seed of their own")
        costly_first = tuple(reversed(EQUAL))
        chosen = dict(zip(costly_first, each(choose_rate, costly_first), strict=True))
        rates = {name: chosen[name] for name in EQUAL}
        files.write_json(root / "rates.json", rates)
        say("every method at one learning rate")
        each(one_rate, [(seed, name) for name in METHODS for seed in design.seeds])
        say("every method at equal plasticity")
        each(
            equal_plasticity, [(seed, name, rates[name]) for name in EQUAL for seed in design.seeds]
        )
    say("claims and report")
    return claims.conclude(root, design.seeds, design.months, rates, samples=design.samples)


def base(root: Path, design: Design, seed: int) -> Path:
    """The base model of a seed: trained from nothing on its world, until it knows its facts."""
    plan, windows = _plan(root, design, seed, "base", ())
    initial = Path(study.train_initial(plan, _wiki(seed)))
    for number in range(design.rounds):
        found = _perplexity(plan, initial, root / f"{seed}" / "gate" / str(number), windows[0])
        if found["unchanged"] <= design.gate:
            break
        key = Key(_wiki(seed), f"initial-{number + 1}", 1, "initial")
        more = {**design.initial, "seed": seed, "epochs": 15.0, "lr": design.initial["lr"] / 2}
        settings = methods.settings_for("initial", "recommended", more)
        inputs = train.Inputs(initial, _corpus(plan))
        initial = plan.runs.train(key, settings, inputs).model
    else:
        found = _perplexity(plan, initial, root / f"{seed}" / "gate" / "last", windows[0])
        if found["unchanged"] > design.gate:
            raise TrainerError(
                f"seed {seed}: the base model's unchanged perplexity is {found['unchanged']:.2f} "
                f"after {design.rounds} more rounds, at most {design.gate} is asked for"
            )
    files.write_json(root / f"{seed}" / "base.json", {"model": str(initial)})
    return initial


def choose_rate(root: Path, design: Design, name: str) -> float:
    """The smallest rate of the ladder with which a method learns month 1 on the blind seed.

    Found by halving the ladder; where that finds none, since a higher rate does not teach every
    method more, the others are tried from the lowest on. Where none is enough, it is the one
    that learned most.
    """
    seed = design.blind_seed
    tried: dict[float, float] = {}

    def learns(rate: float) -> bool:
        if rate not in tried:
            changes = {**EQUAL[name], "lr": rate}
            plan, windows = _plan(root, design, seed, f"ladder/{name}-{rate:g}", (name,), changes)
            (run,) = study.train_window(plan, windows[0])
            found = _perplexity(plan, run.model, run.folder / "learned", windows[0])
            tried[rate] = found["changed"]
        return tried[rate] <= design.plasticity

    place = bisect.bisect_left(design.ladder, x=True, key=learns)
    for rate in (*design.ladder[place : place + 1], *design.ladder):
        if learns(rate):
            return rate
    return min(tried, key=lambda rate: tried[rate])


def one_rate(root: Path, design: Design, given: tuple[int, str]) -> None:
    """A method at the rate of ``design.update``; with Diff also the base, and Full at its cost."""
    seed, name = given
    plan, windows = _plan(root, design, seed, "one", (name,))
    plan = dataclasses.replace(plan, method_changes=METHODS)
    runs = study.run(plan, windows, measure=False)
    _measure(plan, runs, windows)
    if name != "diff":
        return
    done: list[WindowData] = []
    for run, window in zip(runs, windows, strict=True):
        same = {"steps": run.record["costs"]["steps"]}
        cheap, _ = _plan(root, design, seed, "cost", ("full",), same)
        _measure(cheap, study.train_window(cheap, window, done), windows)
        done.append(window)
    out = root / f"{seed}" / "one" / "base"
    study.evaluate_run(plan, _base(root, seed), out, [w.dataset for w in windows])
    _read(plan, _base(root, seed), out, windows[-1].dataset)


def equal_plasticity(root: Path, design: Design, given: tuple[int, str, float]) -> None:
    """A method at the rate that was chosen for it."""
    seed, name, rate = given
    plan, windows = _plan(root, design, seed, "equal", (name,), {**EQUAL[name], "lr": rate})
    _measure(plan, study.run(plan, windows, measure=False), windows)


def _plan(
    root: Path,
    design: Design,
    seed: int,
    name: str,
    chosen: tuple[str, ...],
    changes: dict[str, Any] | None = None,
) -> tuple[Study, tuple[WindowData, ...]]:
    folders = study_world.write(study_world.make(seed, design.months), root / f"{seed}" / "world")
    start = root / f"{seed}" / "start"
    if not (start / "config.json").exists():
        from trainer import dataset, model  # noqa: PLC0415 - torch, in the process that needs it

        texts = list(dataset.open_folder(folders.corpus).texts())
        model.small_model(texts, start, shape=design.shape, seed=seed)
    known = root / f"{seed}" / "base.json"
    plan = Study(
        runs=Runs(root / f"{seed}" / name),
        corpus=folders.corpus,
        start=start,
        initial=files.read_json(known)["model"] if known.exists() else None,
        methods=chosen,
        changes={**design.update, "seed": seed, **(changes or {})},
        method_changes={"initial": {**design.initial, "seed": seed}},
        evaluation=evaluate.EvaluateSettings(
            parts=("extrinsic",), tagger="", samples=200, sequence=64, reference=False
        ),
        device="cpu",
    )
    return plan, folders.windows


def _measure(plan: Study, runs: Sequence[Run], windows: Sequence[WindowData]) -> None:
    """Every model on every window, its own facts in plain form, and text where it is asked."""
    for run in runs:
        study.evaluate_run(plan, run.model, run.folder, [w.dataset for w in windows])
        own = next(w.dataset for w in windows if w.dataset.name == run.key.window)
        plain = own.parent.parent / "plain" / own.name
        evaluate.run(run.model, plain, plan.evaluation, run.folder / "plain")
        if run.key.label in claims.TEXT_OF:
            _read(plan, run.model, run.folder, own)


def _read(plan: Study, model: Path, folder: Path, own: Path) -> None:
    settings = dataclasses.replace(plan.evaluation, parts=("intrinsic",))
    evaluate.run(model, own, settings, folder / "text" / own.name)


def _perplexity(plan: Study, model: Path, out: Path, window: WindowData) -> dict[str, float]:
    settings = dataclasses.replace(plan.evaluation, parts=("extrinsic",))
    found = evaluate.run(model, window.dataset, settings, out)["extrinsic"]
    shown = {c: found[c]["object"]["perplexity"] for c in evaluate.CATEGORIES}
    return {c: math.inf if v in (None, "inf", "nan") else float(v) for c, v in shown.items()}


def _base(root: Path, seed: int) -> Path:
    return Path(files.read_json(root / f"{seed}" / "base.json")["model"])


def _corpus(plan: Study) -> Path:
    return Path(plan.corpus or "")


def _wiki(seed: int) -> str:
    return f"study-{seed}"


def _single() -> None:
    import torch  # noqa: PLC0415 - in the new process, after its environment is set

    torch.set_num_threads(1)
