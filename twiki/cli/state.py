"""``twiki state``: back up, restore, migrate, look into a state."""

from pathlib import Path
from typing import Annotated

import typer

from twiki.cli.common import DB, Config, Json, State, counting, give, opened, say, settings


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    states = typer.Typer(help="Back up, restore, migrate, look into a state.", no_args_is_help=True)
    states.command("backup")(backup)
    states.command("restore")(restore)
    states.command("migrate")(migrate)
    states.command("stats")(stats)
    app.add_typer(states, name="state")


def backup(
    state: State,
    out: Annotated[Path, typer.Option("--out", file_okay=False, help="Folder of the copy.")],
    as_json: Json = False,
) -> None:
    """Copy a state, with nobody at it or beside a live worker.

    Without a worker it costs seconds (files are linked); beside one everything is read once.

    Example: twiki state backup --state state --out backups/2026-11-05

    With --json: {"version", "wiki", "watermarks", "way"}; way is checkpoint or copy.
    """
    from twiki.state import backup as core

    with counting("backup") as progress:
        note = core.backup(state, out, lambda more: progress("records", more))
    say(f"{out}: {note.way} of the state of {note.wiki}")
    if as_json:
        give(note)


def restore(
    backup: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="The copy.")],
    state: State,
    as_json: Json = False,
) -> None:
    """Make a state of a backup; the stream then goes on where the backup stood.

    Example: twiki state restore backups/2026-11-05 --state state

    With --json: {"version", "wiki", "watermarks", "way"}
    """
    from twiki.state import backup as core

    note = core.restore(backup, state)
    say(f"{state}: state of {note.wiki} restored")
    if as_json:
        give(note)


def migrate(state: State, as_json: Json = False) -> None:
    """Bring a state to this program's version; an interrupted one is gone on with.

    Back it up first: there is no way back. Stop the worker.

    Example: twiki state migrate --state state

    With --json: {"versions": {version: values found}, "version": this program's}
    """
    from twiki.state import migrations
    from twiki.state.codec import VERSION
    from twiki.state.rocks import RocksKeyValues

    kv = RocksKeyValues(state / DB)
    try:
        with counting("migrate") as progress:
            found = migrations.migrate(kv, lambda more: progress("values", more))
    finally:
        kv.close()
    old = sum(n for version, n in found.items() if version != VERSION)
    say(f"{state}: {old:,} values brought to version {VERSION}")
    if as_json:
        give({"versions": {str(k): n for k, n in sorted(found.items())}, "version": VERSION})


def stats(state: State, config: Config = None, as_json: Json = False) -> None:
    """Count pages, entities and bytes by kind; beside a live worker too.

    Example: twiki state stats --state state

    With --json: {"wiki", "watermark", "windows": [name, …], "counts": {counter: n},
    "kinds": {kind: {"records", "bytes"}}, "disk_bytes"}
    """
    from twiki.engine import reading
    from twiki.state.sizes import sizes

    chosen = settings(config)
    with opened(state, reader=True) as store, counting("read") as progress:
        engine = reading(store, chosen)
        found = sizes(store, lambda more: progress("records", more))
        told = {
            "wiki": chosen.wiki.name,
            "watermark": engine.watermark,
            "windows": [window.name for window in engine.windows()],
            "counts": engine.counts,
            "kinds": found,
            "disk_bytes": sum(p.stat().st_size for p in (state / DB).iterdir() if p.is_file()),
        }
    for name, size in found.items():
        if size.records:
            say(f"{name:<24} {size.records:>14,}  {size.bytes:>16,} bytes")
    say(f"{'on disk':<24} {'':>14}  {told['disk_bytes']:>16,} bytes")
    if as_json:
        give(told)
