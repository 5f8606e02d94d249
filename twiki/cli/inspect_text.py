"""``twiki inspect clean`` and ``twiki inspect diff``: the text part, on files."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twiki.cli.common import Config, console, settings
from twiki.errors import CleanError, UsageError

if TYPE_CHECKING:
    from twiki.records import Paragraph
    from twiki.text.guard import Guard


def commands(inspect: typer.Typer) -> None:
    """Add the commands to ``twiki inspect``."""
    inspect.command("clean")(clean)
    inspect.command("diff")(diff)


def clean(
    files: Annotated[
        list[Path], typer.Argument(exists=True, dir_okay=False, help="Pages as wikitext, UTF-8.")
    ],
    config: Config = None,
) -> None:
    """Clean pages of wikitext: a JSON line a file, with paragraphs and dropped templates.

    Example: twiki inspect clean article.wikitext | jq -r '.paragraphs[].sentences[]'
    """
    from collections import Counter

    failed = False
    with _guard(config) as guard:
        for path in files:
            dropped: Counter[str] = Counter()
            paragraphs: list[Paragraph] = []
            try:
                blocks = guard.article(_read(path))
            except CleanError as error:  # the other files go on
                console().print(f"{path}: {error}", markup=False, highlight=False)
                failed = True
                continue
            for cleaned in blocks:
                dropped.update(dict(cleaned.dropped))
                paragraphs += cleaned.paragraphs
            _print(
                {
                    "file": str(path),
                    "paragraphs": [
                        {"kind": p.kind.value, "sentences": p.sentences} for p in paragraphs
                    ],
                    "dropped_templates": dict(sorted(dropped.items())),
                }
            )
    if failed:
        raise typer.Exit(1)


def diff(
    old: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="Empty: a new article.")],
    new: Annotated[Path, typer.Argument(exists=True, dir_okay=False)],
    plain: Annotated[
        bool, typer.Option("--plain", help="The files are cleaned text, a paragraph a line.")
    ] = False,
    cosmetic: Annotated[
        bool, typer.Option("--cosmetic", help="Add 'cosmetic': only punctuation differs.")
    ] = False,
    config: Config = None,
) -> None:
    """Compare two texts of an article: new, updated and removed sentences as JSON.

    Example: twiki inspect diff january.wikitext february.wikitext
    """
    from twiki import diff as algorithm
    from twiki.text.blocks import resplit, split

    before, after = _read(old), _read(new)
    if plain:
        found = algorithm.diff_plain(
            before.split("\n") if before.strip() else None, after.split("\n")
        )
    else:
        blocks = split(before) if before.strip() else None
        newer = split(after) if blocks is None else resplit(blocks, after)
        with _guard(config) as guard:
            found = algorithm.diff(blocks, newer, guard.block)
    _print(
        {
            "sentences": [
                {"kind": s.kind.value, "text": s.text, "replaced": s.replaced}
                | ({"cosmetic": s.cosmetic} if cosmetic else {})
                for s in found.sentences
            ],
            "removed": found.removed,
        }
    )


def _guard(config: Path | None) -> "Guard":
    from twiki.text.guard import Guard
    from twiki.text.siteinfo import SiteInfo

    chosen = settings(config)
    saved = chosen.wiki.siteinfo
    site = SiteInfo.from_json(saved.read_bytes()) if saved else SiteInfo.english()
    return Guard(site, chosen.text, chosen.wiki.name)


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig", "replace").replace("\r\n", "\n")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error


def _print(answer: dict[str, object]) -> None:
    typer.echo(json.dumps(answer, ensure_ascii=False))
