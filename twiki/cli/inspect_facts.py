"""``twiki inspect facts`` and ``twiki inspect quality``: the facts part, on files."""

import csv
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twiki.cli.common import Config
from twiki.errors import DatasetError, DumpError, UsageError

if TYPE_CHECKING:
    from twiki.config import CoreConfig, WikiConfig
    from twiki.records import Entity, FactChange
    from twiki.windows.quality import Row

_MAX_BYTES = 64 << 20
"""Wikibase refuses entities above a few megabytes; what is larger is another kind of file."""
_NONE = "-"


def commands(inspect: typer.Typer) -> None:
    """Add the commands to ``twiki inspect``."""
    inspect.command("facts")(facts)
    inspect.command("quality")(quality)


def facts(
    old: Annotated[str, typer.Argument(help="Entity JSON or EntityData answer; '-' for none.")],
    new: Annotated[str, typer.Argument(help="The same entity later.")],
    as_of: Annotated[
        str | None,
        typer.Option(help="ISO time; adds 'current': whether a fact may still hold then."),
    ] = None,
    redirect: Annotated[
        list[str] | None,
        typer.Option(metavar="FROM=TO", help="An item that was merged into another (repeatable)."),
    ] = None,
    literal: Annotated[
        list[str] | None,
        typer.Option(help="Data type whose values are facts (repeatable; replaces the default)."),
    ] = None,
    config: Config = None,
) -> None:
    """Compare two revisions of an entity: changed, unchanged and removed facts as JSON.

    Example: twiki inspect facts Q42-january.json Q42-february.json
    """
    from twiki import facts as algorithm

    core = _settings(config)
    literals = tuple(literal) if literal else core.facts.literals
    before, after = _entity(old, literals, core.wiki), _entity(new, literals, core.wiki)
    if before and after and before.id != after.id:
        raise UsageError(
            f"{old} is {before.id} and {new} is {after.id}: give two revisions of one entity"
        )
    end = _time(as_of) if as_of else None
    merged = _redirects(redirect or ())
    changes = algorithm.compare(before, after, lambda identifier: _target(merged, identifier))
    groups: dict[str, list[dict[str, Any]]] = {"changed": [], "unchanged": [], "removed": []}
    for change in changes:
        changed = change.fact_class in algorithm.CHANGED
        groups["changed" if changed else change.fact_class.value].append(_row(change, end))
    typer.echo(json.dumps(groups, ensure_ascii=False))


def quality(
    file: Annotated[Path, typer.Argument(help="CSV with the columns Subject, Relation, Object.")],
    window: Annotated[str, typer.Option(help="Name that salts the hash caps choose by.")] = "",
    rows: Annotated[
        bool,
        typer.Option(help="Add 'broken' (rows that break a rule, from 1) and 'over' (shares)."),
    ] = False,
    config: Config = None,
) -> None:
    """Apply quality control to a table, without alignment; prints counts and shares as JSON.

    Example: twiki inspect quality probes_changed.csv
    """
    from twiki.windows import quality as rules

    limits = _settings(config).quality
    table = list(_table(file))
    labelled = [row for row in table if not rules.no_label(row, limits)]
    kept = rules.check(labelled, limits, window)
    dropped = {**kept.dropped, rules.NO_LABEL: len(table) - len(labelled)}
    result: dict[str, Any] = {
        "rows": len(table),
        "kept": len(kept.kept),
        "dropped": dropped,
        "shares": rules.shares([labelled[index] for index in kept.kept]),
    }
    if rows:
        review = rules.review(table, limits)
        result["broken"] = {
            rule: [index + 1 for index in found] for rule, found in review.broken.items()
        }
        result["over"] = review.over
    typer.echo(json.dumps(result, ensure_ascii=False))


def _settings(config: Path | None) -> "CoreConfig":
    from twiki.cli.common import settings
    from twiki.config import CoreConfig

    return settings(config) if config else CoreConfig()


def _entity(name: str, literals: tuple[str, ...], wiki: "WikiConfig") -> "Entity | None":
    from twiki.entities import BadEntity, decode

    if name == _NONE:
        return None
    content = _read(Path(name))
    try:
        return decode(content, wiki=wiki.name, languages=wiki.languages, literals=literals)
    except BadEntity as error:
        raise DumpError(
            f"{name}: expected the JSON of one item or property, or an EntityData answer with "
            f"it; found {error}"
        ) from error


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    if len(content) > _MAX_BYTES:
        raise DumpError(f"{path}: expected one entity, found more than {_MAX_BYTES >> 20} MiB")
    return content


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--as-of {text}: expected an ISO time such as 2026-11-30") from error
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


def _redirects(pairs: Sequence[str]) -> dict[str, str]:
    merged: dict[str, str] = {}
    for pair in pairs:
        source, separator, target = pair.partition("=")
        if not (separator and source and target):
            raise UsageError(f"--redirect {pair}: expected FROM=TO, for example Q10=Q77")
        merged[source] = target
    return merged


def _target(merged: dict[str, str], identifier: str) -> str:
    for _ in merged:  # as many steps as there are redirects: a circle ends too
        identifier = merged.get(identifier, identifier)
    return identifier


def _row(change: "FactChange", end: datetime | None) -> dict[str, Any]:
    from twiki.facts import current

    row: dict[str, Any] = {
        "subject": change.fact.subject,
        "relation": change.fact.relation,
        "object": change.fact.object,
        "class": change.fact_class.value,
        "previous_objects": list(change.previous_objects),
    }
    if end is not None:
        row["current"] = current(change.fact, end)
    return row


def _table(path: Path) -> "Iterator[Row]":
    """Rows as strings: "None" and "NA" are words like any other."""
    from twiki.windows.quality import COLUMNS, Row

    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = [name.strip().casefold() for name in next(reader, [])]
            missing = [name for name in COLUMNS if name.casefold() not in header]
            if missing:
                raise DatasetError(
                    f"{path}: expected the columns {', '.join(COLUMNS)}; "
                    f"{', '.join(missing)} not found in: {', '.join(header)[:200]}"
                )
            places = [header.index(name.casefold()) for name in COLUMNS]
            for record in reader:
                if not record:
                    continue
                if len(record) <= max(places):
                    raise DatasetError(
                        f"{path}: line {reader.line_num}: expected {len(header)} fields, "
                        f"found {len(record)}"
                    )
                subject, relation, obj = (record[place] for place in places)
                yield Row(
                    subject=subject, relation=relation, object=obj, key=(subject, relation, obj)
                )
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DatasetError(f"{path}: expected CSV in UTF-8: {error}") from error
