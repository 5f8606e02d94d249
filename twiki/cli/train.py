"""``twiki train``, ``twiki evaluate``, ``twiki report``: datasets in, models and scores out."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twiki.cli.common import Config, Json, give, say
from twiki.errors import UsageError

if TYPE_CHECKING:
    from trainer.evaluate import Part
    from trainer.runs import Key, Run
    from trainer.section import TrainerConfig
    from trainer.sinks import StepReport
    from trainer.study_plan import WindowData

Runs = Annotated[Path | None, typer.Option("--runs", help="Folder of runs (default: runs).")]
SMALL = "small"
_GGUF = ".gguf"


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command("train")(train)
    app.command("evaluate")(evaluate)
    app.command("report")(report)


def train(
    datasets: Annotated[
        list[Path] | None, typer.Argument(help="Dataset folders in order of time.")
    ] = None,
    config: Config = None,
    root: Annotated[
        Path | None,
        typer.Option(
            "--datasets", help="Folder of all datasets, with --months (default: datasets)."
        ),
    ] = None,
    wiki: Annotated[str, typer.Option(help="Wiki below --datasets.")] = "enwiki",
    months: Annotated[
        str | None, typer.Option(help="Windows FIRST..LAST by name, e.g. 2026-09..2026-11.")
    ] = None,
    chosen: Annotated[
        str | None, typer.Option("--methods", help="Names with commas; all: the paper's six.")
    ] = None,
    preset: Annotated[str | None, typer.Option(help="paper or recommended.")] = None,
    corpus: Annotated[
        Path | None, typer.Option(help="Whole articles as of the first boundary (twiki corpus).")
    ] = None,
    corpora: Annotated[
        Path | None, typer.Option(help="A corpus a window, by its name: what full trains on.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            help=f"Model that Initial trains on: folder, name, GGUF file; {SMALL}: a random one."
        ),
    ] = None,
    initial: Annotated[
        str | None, typer.Option(help="An initial model that exists: folder, name or GGUF file.")
    ] = None,
    runs: Runs = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="A setting, e.g. --set lora.rank=16.")
    ] = None,
    initial_changes: Annotated[
        list[str] | None, typer.Option("--set-initial", help="A setting of Initial.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda:0 …")] = None,
    parts: Annotated[
        str | None,
        typer.Option(
            help="Measured: extrinsic, intrinsic, generation, lighttuning, with commas, or all."
        ),
    ] = None,
    tagger: Annotated[
        str | None, typer.Option(help="spaCy model or folder; an empty text: none.")
    ] = None,
    evaluation_batch: Annotated[
        int | None, typer.Option(min=1, help="Rows a forward pass where models are measured.")
    ] = None,
    sinks: Annotated[
        str | None, typer.Option(help="tensorboard, wandb, with commas; log.jsonl is always there.")
    ] = None,
    measure: Annotated[
        bool, typer.Option("--evaluate/--no-evaluate", help="Every model on every window.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Update models by one or more methods, window by window; go on where a run was stopped.

    A method goes on from its own run of the window before, which is looked for beside the
    first dataset too; each window, version and method is trained once.

    Example: twiki train --months 2026-09..2026-11 --datasets datasets --methods all
    --corpus corpora/2026-08 --start gpt2-large --runs runs

    Small, on a CPU: twiki train datasets/enwiki/2026-11/v1 --methods diff --start small
    --corpus corpora/2026-10 --runs runs

    Several GPUs: torchrun --nproc-per-node 8 --no-python -- twiki train …

    With --json: {"runs": [{"key": {"wiki", "window", "version", "label"}, "model", "costs",
    "preset"}, …]}. Without --methods, those of [trainer] on_close in the settings.
    """
    import dataclasses

    from trainer import threads

    threads.wait_passively()
    from trainer import files, section, study, timeline

    given = {
        "preset": preset,
        "corpus": corpus,
        "corpora": corpora,
        "start": start,
        "initial": initial,
        "runs": runs,
        "device": device,
        "on_close": _names(chosen),
        "parts": _parts(parts) if parts else None,
        "tagger": tagger,
        "evaluation_batch": evaluation_batch,
        "sinks": _names(sinks),
    }
    about = _section(config, given)
    small = about.start == SMALL
    about = _with_settings(about, _pairs(changes), _pairs(initial_changes), small=small)
    if not about.on_close:
        raise UsageError("no method: give --methods, or on_close in [trainer]")
    windows = _windows(datasets or [], root, wiki, months, about)
    before = [section.window_data(p, about) for p in timeline.earlier(windows[0].dataset)]
    # Of the processes that torchrun starts one makes the models, the others find them.
    with files.locked(about.runs / "start.lock", wait=True):
        about = _with_models(about)
    with _steps() as (observe, tell):
        plan = dataclasses.replace(section.make_study(about, observe=observe), tell=tell)
        done = study.run(plan, windows, before=before, measure=measure)
    if not threads.is_first():
        return
    if as_json:
        give({"runs": [_shown(run) for run in done]})
    for run in done:
        costs = run.record["costs"]
        say(f"{run.key}: {costs['tokens']:,} tokens in {costs['seconds']:.0f} s → {run.model}")


def evaluate(
    model: Annotated[str, typer.Argument(help="Model folder.")],
    dataset: Annotated[Path, typer.Argument(exists=True, file_okay=False)],
    parts: Annotated[
        str, typer.Option(help="extrinsic, intrinsic, generation, lighttuning, with commas; all.")
    ] = "extrinsic,intrinsic",
    rows: Annotated[int, typer.Option(min=1, help="Rows of text a part.")] = 10_000,
    sequence: Annotated[int, typer.Option(min=2, help="Tokens a row.")] = 512,
    batch: Annotated[int, typer.Option(min=1, help="Rows a forward pass.")] = 32,
    tagger: Annotated[
        str | None, typer.Option(help="spaCy model or folder; an empty text: none.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to keep the result in.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda:0 …")] = "auto",
    as_json: Json = False,
) -> None:
    """Measure what a model knows of a window.

    Example: twiki evaluate runs/enwiki/2026-11/v1/diff/model datasets/enwiki/2026-11/v1 --json

    With --json: {"extrinsic": {"changed"|"unchanged": {"object"|"whole": {"perplexity", "low",
    "high", "per_instance", "bits_per_byte", "instances", "tokens", "nll"},
    "reference_batch_mean"}, "average": {"object"|"whole": {"arithmetic", "geometric"}}},
    "intrinsic": {"tagger", "diffset"|"nondiff": {"all"|"proper_nouns": {"perplexity", …}}},
    "generation"|"lighttuning": {"changed"|"unchanged": {"exact_match", "f1", "facts"},
    "average_f1"}, "model", "dataset", "settings", "versions", "fingerprint"}. A null stands
    where there was nothing to score.
    """
    from trainer import threads

    threads.wait_passively()
    from trainer import device as machine
    from trainer import evaluate as measuring

    settings = measuring.EvaluateSettings(
        parts=_parts(parts), rows=rows, sequence=sequence, batch=batch, tagger=tagger
    )
    found = measuring.run(
        model,
        dataset,
        settings,
        out,
        on=machine.pick(device),
        progress=lambda part: say(f"{part} …"),
    )
    if as_json:
        give(found)
    for category in ("changed", "unchanged"):
        if facts := found.get("extrinsic", {}).get(category):
            shown = facts["object"]["perplexity"]
            figure = "no facts" if shown is None else f"perplexity of objects {float(shown):.4g}"
            say(f"{category}: {figure}")


def report(
    runs: Annotated[Path, typer.Argument(exists=True, file_okay=False)],
    out: Annotated[Path, typer.Option("--out", help="Folder to write.")] = Path("report"),
    wiki: Annotated[str | None, typer.Option(help="Where the runs are of several.")] = None,
    as_json: Json = False,
) -> None:
    """Render every run and evaluation as one HTML page, JSON and Markdown.

    Example: twiki report runs --out report

    With --json: {"report": path of the page, "runs": n, "windows": [name, …]}
    """
    from trainer import report as rendering
    from trainer.runs import Runs as Folder

    content = rendering.render(Folder(runs), out, wiki=wiki)
    page = out / "report.html"
    if as_json:
        give({"report": str(page), "runs": len(content["runs"]), "windows": content["windows"]})
    say(f"report: {page}")


def _section(config: Path | None, given: dict[str, Any]) -> "TrainerConfig":
    from trainer.section import read_section
    from twiki.cli.common import settings

    data = dict(settings(config).trainer)
    data |= {k: str(v) if isinstance(v, Path) else v for k, v in given.items() if v is not None}
    return read_section(data)


def _with_settings(
    about: "TrainerConfig", changes: dict[str, Any], initial: dict[str, Any], *, small: bool
) -> "TrainerConfig":
    import msgspec

    from trainer import study_plan

    update: dict[str, Any] = {}
    first: dict[str, Any] = {}
    if small:
        update, first = study_plan.SMALL_UPDATE, study_plan.SMALL_INITIAL
    if small and about.preset == "paper":
        # The paper's own values are what that preset is for; its rows are too long for the model.
        update = first = {"sequence": study_plan.SMALL_INITIAL["sequence"]}
    return msgspec.structs.replace(
        about,
        settings={**update, **about.settings, **changes},
        initial_settings={**first, **about.initial_settings, **initial},
    )


def _with_models(about: "TrainerConfig") -> "TrainerConfig":
    """Make folders, once, of models that are none: the small random one, and GGUF files."""
    import msgspec

    from trainer import pretrained

    start, initial = about.start, about.initial
    if start == SMALL:
        start = str(_small_model(about))
    elif start is not None and start.endswith(_GGUF):
        start = str(pretrained.from_gguf(Path(start), about.runs / "start" / Path(start).stem))
    if initial is not None and initial.endswith(_GGUF):
        given = Path(initial)
        initial = str(pretrained.from_gguf(given, about.runs / "start" / given.stem))
    return msgspec.structs.replace(about, start=start, initial=initial)


def _small_model(about: "TrainerConfig") -> Path:
    """The random model; its tokenizer is trained on the corpus's own text."""
    from trainer import dataset, model

    if about.corpus is None:
        raise UsageError("--start small needs --corpus: its tokenizer is trained on that text")
    folder = about.runs / "start"
    if not (folder / "config.json").exists():
        model.small_model(list(dataset.open_folder(about.corpus).texts()), folder)
    return folder


def _windows(
    given: list[Path], root: Path | None, wiki: str, months: str | None, about: "TrainerConfig"
) -> "list[WindowData]":
    from trainer import section, timeline

    if bool(given) == bool(months):
        raise UsageError("give dataset folders, or --months")
    found = given
    if months:
        root = root or Path("datasets")
        if not (root / wiki).is_dir():
            raise UsageError(f"--datasets: no folder {root}/{wiki}")
        first, _, last = months.partition("..")
        everything = timeline.datasets(root / wiki)
        names = [path.parent.name for path in everything]
        if first not in names or (last or first) not in names:
            raise UsageError(f"--months {months}: there are {', '.join(names) or 'no windows'}")
        found = everything[names.index(first) : names.index(last or first) + 1]
    return [section.window_data(path, about) for path in found]


def _names(given: str | None) -> tuple[str, ...] | None:
    return tuple(given.split(",")) if given else None


def _parts(given: str) -> "tuple[Part, ...]":
    """Parts of an evaluation in their own order."""
    from trainer.evaluate import PARTS

    names = set(given.split(","))
    if unknown := names - {*PARTS, "all"}:
        raise UsageError(f"--parts: {', '.join(sorted(unknown))} does not exist")
    return tuple(part for part in PARTS if part in names or "all" in names)


def _pairs(given: list[str] | None) -> dict[str, Any]:
    """``name=value`` with the value as JSON where it is JSON, else as text."""
    out: dict[str, Any] = {}
    for pair in given or []:
        name, sign, value = pair.partition("=")
        if not sign:
            raise UsageError(f"--set {pair}: expected name=value")
        try:
            parsed = json.loads(value)
        except ValueError:
            parsed = value
        out[name] = tuple(parsed) if isinstance(parsed, list) else parsed
    return out


def _shown(run: "Run") -> dict[str, Any]:
    key = run.key
    return {
        "key": {
            "wiki": key.wiki,
            "window": key.window,
            "version": key.version,
            "label": key.label,
        },
        "model": str(run.model),
        "costs": run.record["costs"],
        "preset": run.record["preset"],
    }


@contextmanager
def _steps() -> "Iterator[tuple[Callable[[Key, StepReport], None], Callable[[str], None]]]":
    """A progress bar for the run at hand, lines where standard error is no terminal.

    Of the processes that torchrun starts the first one speaks.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    from trainer import threads
    from twiki.cli.common import console

    if not threads.is_first():
        yield (lambda _key, _report: None), (lambda _text: None)
        return
    screen = console()
    if not screen.is_terminal:
        yield (lambda _key, _report: None), say
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining())
    with Progress(*columns, TextColumn("{task.fields[figures]}"), console=screen) as progress:
        tasks: dict[str, Any] = {}

        def observe(key: "Key", step: "StepReport") -> None:
            if str(key) not in tasks:
                tasks[str(key)] = progress.add_task(str(key), total=step.steps, figures="")
            figures = f"loss {step.loss:.3f}  {step.tokens_per_second:,.0f} tokens/s"
            progress.update(tasks[str(key)], completed=step.step + 1, figures=figures)

        yield observe, progress.console.print
