"""``twiki demo``: the whole system on the sandbox, from change events to a report."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twiki.cli.common import Config, console, give, patient_threads, say, settings

if TYPE_CHECKING:
    from stream.sandbox.rehearsal import Outcome

MARKER = ".twiki-demo"
_METHODS = ("diff", "mixreview")


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("demo")(demo)


def demo(
    out: Annotated[Path, typer.Option("--out", file_okay=False, help="Folder for it all.")] = Path(
        "demo"
    ),
    seed: Annotated[int, typer.Option(help="The same seed makes the same world.")] = 1,
    articles: Annotated[int, typer.Option(min=60, help="Articles at the start.")] = 150,
    months: Annotated[int, typer.Option(min=1, help="Months, a window each.")] = 2,
    train: Annotated[bool, typer.Option(help="Train and evaluate a small model.")] = True,
    open_page: Annotated[
        bool, typer.Option("--open", help="Show it in a browser when done.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier demo.")] = False,
    config: Config = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="A JSON object as the last line.")
    ] = False,
) -> None:
    """Run the whole system on a little world of its own; nothing is downloaded.

    Change events arrive over HTTP, a disconnect heals, windows close, each is reconciled with
    a dump and held against the world's own books, and a small model is trained on what
    changed. Exit code 1 if a dataset differs from the books.

    Example: twiki demo --seed 7 --out demo-7

    With --json, the last line: {"ok", "report", "state", "datasets": [path, …], "windows":
    [{"window", "articles_changed", "diff_sentences", "probes_changed", "probes_unchanged",
    "facts_removed", "completeness", "missing", "unexpected"}, …]}
    """
    from stream.sandbox.rehearsal import Rehearsal
    from stream.sandbox.world import World
    from twiki.cli.common import opened

    _prepare(out, force=force)
    chosen = settings(config)
    state = out / "state"
    outcomes: list[Outcome] = []
    with _display() as (title, tell):
        title(f"world of seed {seed}")
        world = World(seed=seed, articles=articles, months=months)
        with opened(state, create=True) as store:
            rehearsal = Rehearsal(world, store, out, chosen, tell=tell)
            title(f"{len(world.events):,} events in {months} months")
            for outcome in rehearsal.run():
                outcomes.append(outcome)
                _say_outcome(outcome)
            corpus = _corpus(store, chosen, world.boundaries[0], out / "corpus", tell)
        report = None
        if train:
            title("training a small model")
            report = _train([o.final.folder for o in outcomes], corpus, out, title)
    ok = all(outcome.verdict.ok for outcome in outcomes) and len(outcomes) == months
    say(f"\nDatasets: {rehearsal.datasets}\nState: {state}")
    if report is not None:
        say(f"Report: {report}")
    say(f"Pages: twiki serve --state {state} --datasets {rehearsal.datasets} --open")
    if as_json:
        give(
            {
                "ok": ok,
                "report": report,
                "state": state,
                "datasets": [outcome.final.folder for outcome in outcomes],
                "windows": [_row(outcome) for outcome in outcomes],
            }
        )
    if open_page and ok:
        from twiki.cli.serve import serve

        serve(state=state, datasets=rehearsal.datasets, config=config, open_page=True)
    raise typer.Exit(0 if ok else 1)


def _prepare(out: Path, *, force: bool) -> None:
    from twiki.errors import OutputExists

    if out.exists() and any(out.iterdir()):
        if not (force and (out / MARKER).exists()):
            raise OutputExists(
                f"{out}: exists already, nothing was written: choose another --out, or --force "
                "to replace an earlier demo"
            )
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)
    (out / MARKER).touch()


def _corpus(store: Any, chosen: Any, at: Any, out: Path, tell: Callable[[str, int], None]) -> Path:  # noqa: ANN401 - typed where they come from
    """The articles as of the first boundary: what the base model learns."""
    from twiki.engine import reading
    from twiki.windows import corpus

    corpus.write(reading(store, chosen).as_of(), at, out, chosen, workers=1, progress=tell)
    return out


def _train(datasets: list[Path], corpus: Path, out: Path, title: Callable[[str], None]) -> Path:
    """Base model, an update a window and method, every model on every window, the report."""
    patient_threads()
    from trainer import report, study, study_plan
    from trainer.config import SmallModel
    from trainer.dataset import open_folder
    from trainer.evaluate import EvaluateSettings
    from trainer.model import small_model
    from trainer.runs import Runs

    shape = SmallModel(layers=2)
    base = small_model(list(open_folder(corpus).texts()), out / "model", shape=shape)
    runs = Runs(out / "runs")
    plan = study_plan.Study(
        runs=runs,
        corpus=corpus,
        start=base,
        methods=_METHODS,
        changes={**study_plan.SMALL_UPDATE, "epochs": 6.0},
        method_changes={"initial": {**study_plan.SMALL_INITIAL, "epochs": 12.0}},
        evaluation=EvaluateSettings(rows=32, sequence=256, samples=200),
        observe=lambda key, step: title(f"{key}: step {step.step} of {step.steps}"),
        tell=title,
    )
    study.run(plan, [study_plan.WindowData(folder) for folder in datasets])
    report.render(runs, out / "report")
    return out / "report" / "report.html"


def _row(outcome: "Outcome") -> dict[str, Any]:
    counts = outcome.final.counts
    return {
        "window": outcome.window.name,
        "articles_changed": counts["diffset"],
        "diff_sentences": counts["sentences"],
        "probes_changed": counts["probes_changed"],
        "probes_unchanged": counts["probes_unchanged"],
        "facts_removed": counts["facts_removed"],
        "completeness": outcome.reconciled.pages.completeness,
        "missing": outcome.verdict.missing,
        "unexpected": outcome.verdict.unexpected,
    }


def _say_outcome(outcome: "Outcome") -> None:
    row = _row(outcome)
    say(
        f"{row['window']}: {row['articles_changed']} articles changed, "
        f"{row['diff_sentences']} diff sentences, {row['probes_changed']} changed and "
        f"{row['probes_unchanged']} unchanged probes; the dump confirms "
        f"{row['completeness']:.1%}; against the books {row['missing']} missing, "
        f"{row['unexpected']} unexpected"
    )
    for example in outcome.verdict.examples[:10]:
        say(f"  {example}")


@contextmanager
def _display() -> Iterator[tuple[Callable[[str], None], Callable[[str, int], None]]]:
    """A title, and a line a stage with its count."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    screen = console()
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=screen, disable=not screen.is_terminal) as progress:
        head = progress.add_task("demo", total=None, count="")
        counts: dict[str, int] = {}
        tasks: dict[str, Any] = {}

        def title(text: str) -> None:
            progress.update(head, description=text)
            if not screen.is_terminal and ": step" not in text:
                say(text)

        def tell(stage: str, more: int) -> None:
            counts[stage] = counts.get(stage, 0) + more
            if stage not in tasks:
                tasks[stage] = progress.add_task(f"  {stage}", total=None, count="")
            progress.update(tasks[stage], count=f"{counts[stage]:,}")

        yield title, tell
