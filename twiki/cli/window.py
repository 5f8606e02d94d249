"""``twiki window``: list, close, cut and reconcile the windows of a state."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twiki.cli.common import Config, Datasets, Json, State, counting, give, opened, say, settings
from twiki.cli.training import InTurn

if TYPE_CHECKING:
    from twiki.engine import Engine
    from twiki.records import Window

Name = Annotated[str, typer.Argument(help="The window: 2026-11, or START..END.")]
Corpus = Annotated[
    Path | None,
    typer.Option(
        "--corpus", file_okay=False, help="What `twiki corpus` wrote of its end: for its size."
    ),
]
Tokens = Annotated[
    str | None, typer.Option("--tokenizer", help="Count tokens: a folder, or a name on the hub.")
]
Redirects = Annotated[
    list[Path] | None,
    typer.Option(
        "--redirects",
        help="The repository's page.sql.gz and redirect.sql.gz: items that were merged.",
    ),
]
ApiPageProps = Annotated[
    bool,
    typer.Option(
        "--api-page-props",
        help="Ask the wiki's API for the same, a request for 50 articles. It tells only of today.",
    ),
]
AllowEmpty = Annotated[
    bool,
    typer.Option("--allow-empty-probes", help="Facts of which none became a probe are no error."),
]
DATASETS = Path("datasets")
STATE = Path("state")
Kafka = Annotated[
    bool, typer.Option("--kafka", help="The state of the cluster: its changelogs, not a folder.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    windows = typer.Typer(help="List, close, cut and reconcile windows.", no_args_is_help=True)
    windows.command("list")(list_windows)
    windows.command("close")(close)
    windows.command("cut")(cut)
    windows.command("reconcile")(reconcile)
    windows.command("withdraw")(withdraw)
    app.add_typer(windows, name="window")


def list_windows(
    state: State, datasets: Datasets = DATASETS, config: Config = None, as_json: Json = False
) -> None:
    """List the windows that the state keeps, oldest first.

    Example: twiki window list --state state

    With --json: {"wiki", "watermark", "windows": [{"window", "start", "end", "status",
    "policy", "late", "versions"}, …]}; status is open, closed or reconciled.
    """
    from twiki.engine import reading
    from twiki.windows import versions

    chosen = settings(config)
    with opened(state, reader=True) as store:
        engine = reading(store, chosen)
        rows = [_row(engine, window) for window in engine.windows()]
        watermark = engine.watermark
    for row in rows:
        folder = versions.window_folder(datasets, chosen.wiki.name, row["window"])
        row["versions"] = [v.version for v in versions.read(folder).versions]
        say(f"{row['window']}  {row['status']:<10}  versions {row['versions'] or 'none'}")
    if as_json:
        give({"wiki": chosen.wiki.name, "watermark": watermark, "windows": rows})


def close(name: Name, state: State, config: Config = None, as_json: Json = False) -> None:
    """Close the open window by hand: for streams that have ended, such as a replay.

    Only the oldest open window can be closed.

    Example: twiki window close 2026-11 --state state

    With --json: {"window", "closed"}
    """
    from twiki.engine import Engine, find_window, reading
    from twiki.errors import UsageError

    chosen = settings(config)
    with opened(state) as store:
        reading(store, chosen)
        engine = Engine.open(store, chosen)
        window = find_window(engine, name)
        if window != engine.open_window:
            opened_name = engine.open_window.name if engine.open_window else "none"
            raise UsageError(f"window {name} is not the open one, that is {opened_name}")
        engine.close(window)
        engine.commit(sync=True)
    say(f"{name}: closed")
    if as_json:
        give({"window": name, "closed": True})


def cut(
    name: Name,
    state: State = STATE,
    datasets: Datasets = DATASETS,
    corrections: Annotated[
        bool, typer.Option("--corrections", help="With what arrived after the window closed.")
    ] = False,
    labels: Annotated[
        bool, typer.Option(help="Ask the API for labels that the state does not hold.")
    ] = False,
    corpus: Corpus = None,
    tokenizer: Tokens = None,
    allow_empty_probes: AllowEmpty = False,
    kafka: Kafka = False,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Write the next version of a window's dataset from the state.

    Runs beside a live worker: it reads, and writes only the dataset.

    Example: twiki window cut 2026-11 --state state --datasets datasets
    Example: twiki window cut 2026-11 --kafka --datasets datasets

    With --json: {"window", "version", "folder", "counts", "pages_touched", "unread",
    "labels_fetched"}
    """
    from twiki.cli.sources import beside, contents_for
    from twiki.engine import find_window, reading
    from twiki.errors import UsageError
    from twiki.records import Policy
    from twiki.times import to_ms
    from twiki.windows import cut as core
    from twiki.windows.dataset import Run

    chosen = settings(config)
    if kafka:
        from twiki.cli.cluster import cut_cluster

        cut_cluster(
            chosen,
            name,
            datasets,
            corrections=corrections,
            beside=lambda source: beside(corpus, tokenizer, source, empty=allow_empty_probes),
            labels=labels,
            as_json=as_json,
        )
        return
    with opened(state, reader=True) as store, counting(f"cut {name}") as progress:
        engine = reading(store, chosen)
        window = find_window(engine, name)
        if window == engine.open_window:
            raise UsageError(f"window {name} is still open: close it first, or let the stream run")
        reconciled = engine.progress.reconciled.get(to_ms(window.start))
        known = None if corrections or reconciled else to_ms(window.start)
        policy = Policy(chosen.windows.policy)
        pins = window if policy is Policy.DUMP and reconciled else None
        with contents_for(chosen, needed=labels) as contents:
            report = core.cut(
                engine.as_of(known=known, pins=pins),
                window,
                chosen,
                datasets,
                run=Run(engine="stream", policy=policy),
                corrects="late events" if corrections else "",
                beside=beside(
                    corpus, tokenizer, contents if labels else None, empty=allow_empty_probes
                ),
                progress=progress,
            )
    say(f"{report.folder}: {report.counts['sentences']:,} diff sentences")
    if as_json:
        give(report)


def reconcile(
    name: Name,
    articles: Annotated[list[Path], typer.Option("--articles", help="The dump at its end.")],
    state: State = STATE,
    entities: Annotated[
        list[Path] | None, typer.Option("--entities", help="Wikidata's JSON dump.")
    ] = None,
    page_props: Annotated[
        list[Path] | None,
        typer.Option("--page-props", help="page_props.sql.gz: articles of entities without link."),
    ] = None,
    api_page_props: ApiPageProps = False,
    redirects: Redirects = None,
    datasets: Datasets = DATASETS,
    policy: Annotated[
        str | None, typer.Option(help="boundary or dump: which text stands for the boundary.")
    ] = None,
    fetch: Annotated[
        bool, typer.Option(help="Ask the API for revisions and labels that neither side has.")
    ] = True,
    corpus: Corpus = None,
    tokenizer: Tokens = None,
    allow_empty_probes: AllowEmpty = False,
    kafka: Kafka = False,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Hold a closed window against the official dump, repair the state, write the dataset.

    Example: twiki window reconcile 2026-11 --state state --articles dumps/enwiki/20261201
    --entities dumps/wikidata-20261202-all.json.gz

    With --json: {"window", "version", "folder", "counts", "pages_touched", "unread",
    "labels_fetched", "reconcile": {"policy", "pages": {"in_dump", "had", "completeness",
    "classes", …}, "entities": {…},
    "damaged_lines", "damaged": [place, …]}}
    """
    import msgspec

    from twiki.cli.sources import beside, contents_for, described, page_props_of, totals
    from twiki.dumps import layout
    from twiki.engine import Engine, find_window, reading
    from twiki.errors import UsageError
    from twiki.records import Policy
    from twiki.windows.publishing import reconcile_and_cut

    if kafka and (page_props or api_page_props or redirects):
        raise UsageError("--page-props and --redirects go with a state folder, not with --kafka")
    chosen = settings(config, windows__policy=policy)
    files = layout.expand(articles)
    items = layout.expand(entities or [], "entities")
    sources = described(files, items)
    trainings = InTurn(chosen, config)
    if kafka:
        from twiki.cli.cluster import reconcile_cluster

        written = reconcile_cluster(
            chosen,
            name,
            files,
            items,
            datasets,
            sources=sources,
            fetch=fetch,
            beside=lambda source: beside(corpus, tokenizer, source, empty=allow_empty_probes),
            as_json=as_json,
        )
        trainings.told("reconciled", written)
        if not trainings.finish():
            raise typer.Exit(1)
        return
    bars = totals(files, items)
    with opened(state) as store, counting(f"reconcile {name}", bars) as progress:
        reading(store, chosen)
        engine = Engine.open(store, chosen)
        with (
            contents_for(chosen, needed=fetch) as contents,
            contents_for(chosen, needed=api_page_props) as links,
        ):
            report, cut_report = reconcile_and_cut(
                engine,
                find_window(engine, name),
                files,
                items,
                datasets,
                policy=Policy(chosen.windows.policy),
                sources=sources,
                contents=contents,
                page_props=page_props_of(page_props, links),
                redirects=redirects or (),
                beside=beside(
                    corpus, tokenizer, contents if fetch else None, empty=allow_empty_probes
                ),
                progress=progress,
            )
    pages = report.pages
    say(f"{cut_report.folder}: {pages.had:,} of {pages.in_dump:,} pages of the dump were known")
    for place in report.damaged:
        say(f"passed over: {place}")
    trainings.told("reconciled", cut_report.folder)
    if as_json:
        told: dict[str, Any] = msgspec.to_builtins(cut_report, enc_hook=str)
        give({**told, "reconcile": report.report()})
    if not trainings.finish():
        raise typer.Exit(1)


def withdraw(
    state: State, datasets: Datasets = DATASETS, config: Config = None, as_json: Json = False
) -> None:
    """Give every dataset that holds text hidden since a version without it (L21).

    `twiki run` does it by itself, within a minute. The older versions are marked withdrawn in
    the index; their folders stay for you to delete.

    Example: twiki window withdraw --state state --datasets datasets

    With --json: {"withdrawn": [{"folder", "revisions": [revision id, …]}, …]}
    """
    from twiki.engine import Engine, reading
    from twiki.windows.correcting import withhold_published

    chosen = settings(config)
    with opened(state) as store:
        reading(store, chosen)
        made = withhold_published(Engine.open(store, chosen), datasets)
    for folder, hidden in made:
        say(f"{folder}: without {len(hidden)} hidden revisions")
    if not made:
        say("no dataset holds text that was hidden since")
    if as_json:
        rows = [{"folder": folder, "revisions": [one.rev for one in h]} for folder, h in made]
        give({"withdrawn": rows})


def _row(engine: "Engine", window: "Window") -> dict[str, Any]:
    from twiki.times import to_ms

    policy = engine.progress.reconciled.get(to_ms(window.start))
    status = "reconciled" if policy else "closed"
    if window == engine.open_window:
        status = "open"
    late = sum(1 for event in engine.late_events() if event.window_start == to_ms(window.start))
    return {
        "window": window.name,
        "start": window.start,
        "end": window.end,
        "status": status,
        "policy": policy,
        "late": late,
    }
