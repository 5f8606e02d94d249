"""``twiki bootstrap``: a state from the dumps of a boundary."""

from pathlib import Path
from typing import Annotated

import typer

from twiki.cli.common import Config, Json, State, counting, give, opened, say, settings
from twiki.cli.window import ApiPageProps


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("bootstrap")(bootstrap)


def bootstrap(
    state: State,
    articles: Annotated[
        list[Path],
        typer.Option("--articles", help="pages-articles dump: files, parts, or a folder."),
    ],
    as_of: Annotated[
        str, typer.Option("--as-of", help="The boundary that the dumps stand for: a date.")
    ],
    entities: Annotated[
        list[Path] | None,
        typer.Option("--entities", help="Wikidata's JSON dump: a file or a folder."),
    ] = None,
    page_props: Annotated[
        list[Path] | None,
        typer.Option("--page-props", help="page_props.sql.gz: articles of entities without link."),
    ] = None,
    api_page_props: ApiPageProps = False,
    namespaces: Annotated[
        str | None, typer.Option(help="'all': every namespace holds articles.")
    ] = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Fill a state with the articles and entities of a boundary.

    A killed run is completed by running it again: what is held is skipped by revision id.

    Example: twiki bootstrap --articles enwiki-20261101-pages-articles*.bz2
    --entities wikidata-20261102-all.json.gz --as-of 2026-11-01 --state state

    With --json: {"pages", "redirects", "other_namespaces", "unreadable", "entities",
    "outlines", "not_entities", "damaged_lines", "damaged": [place, …]}
    """
    from twiki.cli.sources import contents_for, described, page_props_of, totals
    from twiki.dumps import layout
    from twiki.engine import Engine
    from twiki.windows import bootstrap as core
    from twiki.windows import calendar, fitting

    chosen = settings(config, wiki__namespaces=namespaces)
    boundary = calendar.moment(as_of)
    files = layout.expand(articles)
    items = layout.expand(entities or [], "entities")
    fitting.check(chosen.wiki.name, files, items)
    for source in described(files, items):
        say(f"{source['file']}: {source['verified_by']}")
    bars = totals(files, items)
    with opened(state, create=True) as store, counting("bootstrap", bars) as progress:
        engine = Engine.open(store, chosen, as_of=boundary)
        with contents_for(chosen, needed=api_page_props) as contents:
            props = page_props_of(page_props, contents)
            done = core.bootstrap(engine, files, items, page_props=props, progress=progress)
    say(f"{done.pages:,} pages ({done.redirects:,} redirects), {done.entities:,} entities")
    for place in done.damaged:
        say(f"passed over: {place}")
    if as_json:
        give(done)
