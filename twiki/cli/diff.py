"""``twiki diff``: the paper's procedure, a dataset from a pair of dumps."""

import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from twiki.cli.common import Config, Json, counting, give, opened, say, settings
from twiki.cli.window import AllowEmpty, Corpus, Redirects, Tokens

_PAIR = 2


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("diff")(diff)


def diff(
    articles: Annotated[
        list[Path], typer.Option("--articles", help="The older and the newer dump.")
    ],
    window: Annotated[
        str, typer.Option("--window", help="START..END: the boundaries the dumps stand for.")
    ],
    out: Annotated[Path, typer.Option("--out", file_okay=False, help="Folder of datasets.")],
    entities: Annotated[
        list[Path] | None,
        typer.Option("--entities", help="Wikidata's older and newer JSON dump."),
    ] = None,
    page_props: Annotated[
        list[Path] | None,
        typer.Option("--page-props", help="page_props.sql.gz: the older, the newer; for links."),
    ] = None,
    redirects: Redirects = None,
    namespaces: Annotated[
        str | None, typer.Option(help="'all': every namespace holds articles.")
    ] = None,
    corpus: Corpus = None,
    tokenizer: Tokens = None,
    allow_empty_probes: AllowEmpty = False,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Make a window's dataset from the dumps of its two boundaries, without a stream.

    A dump that has several parts is named by its folder or a quoted pattern. The texts are
    those of the dumps, also where they were read after the boundary (policy dump).

    Example: twiki diff --articles old.xml.bz2 new.xml.bz2 --entities old.json.gz new.json.gz
    --window 2026-10-01..2026-11-01 --out datasets

    With --json: {"window", "version", "folder", "counts", "pages_touched", "unread",
    "labels_fetched", "reconcile": {…}}
    """
    import msgspec

    from twiki.cli.sources import beside, described, totals
    from twiki.dumps import layout
    from twiki.engine import Engine
    from twiki.errors import OutputExists, UsageError
    from twiki.records import Policy
    from twiki.windows import calendar, versions
    from twiki.windows.bootstrap import bootstrap
    from twiki.windows.publishing import reconcile_and_cut

    chosen = settings(config, wiki__namespaces=namespaces, windows__policy="dump")
    span = calendar.parse(window)
    if len(articles) != _PAIR or (entities and len(entities) != _PAIR):
        raise UsageError("--articles and --entities each take two dumps: the older, the newer")
    props = page_props or []
    if props and len(props) != _PAIR:
        raise UsageError("--page-props takes two dumps: the older, the newer")
    texts = [layout.expand([name]) for name in articles]
    items = [layout.expand([name], "entities") for name in entities or []] or [[], []]
    old, new = zip(texts, items, strict=True)
    target = versions.window_folder(out, chosen.wiki.name, span.name)
    if target.exists() and any(target.glob("v*")):
        raise OutputExists(
            f"{target}: there is a dataset of this window already; choose another --out"
        )
    sources = (*described(*old), *described(*new))
    bars = totals(*((*older, *newer) for older, newer in zip(old, new, strict=True)))
    out.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".diff-", dir=out))
    try:
        with opened(work, create=True) as store, counting("diff", bars) as progress:
            engine = Engine.open(store, chosen, fixed=(span.start, span.end), passing=True)
            bootstrap(engine, *old, page_props=props[:1], progress=progress)
            engine.close(span)
            report, made = reconcile_and_cut(
                engine,
                span,
                *new,
                out,
                policy=Policy.DUMP,
                sources=sources,
                older=old[1],
                page_props=props[1:],
                redirects=redirects or (),
                beside=beside(corpus, tokenizer, empty=allow_empty_probes),
                progress=progress,
                source="dump pair",
            )
    finally:
        shutil.rmtree(work, ignore_errors=True)
    say(f"{made.folder}: {made.counts['sentences']:,} diff sentences")
    for place in report.damaged:
        say(f"passed over: {place}")
    if as_json:
        give({**msgspec.to_builtins(made, enc_hook=str), "reconcile": report.report()})
