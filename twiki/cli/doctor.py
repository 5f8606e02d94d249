"""``twiki doctor``: is a state, a dataset, the environment in order?"""

import importlib.util
from pathlib import Path
from typing import Annotated, Any

import typer

from twiki.cli.common import DB, Config, Json, give, opened, say, settings

_EXTRAS = {
    "trainer": ("torch", "transformers", "peft", "spacy"),
    "kafka": ("kafka", "faust"),
    "web": ("starlette", "uvicorn", "duckdb", "jinja2"),
    "publish": ("huggingface_hub",),
}


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("doctor")(doctor)


def doctor(
    state: Annotated[Path | None, typer.Option(file_okay=False, help="A state folder.")] = None,
    datasets: Annotated[
        list[Path] | None, typer.Option("--dataset", file_okay=False, help="A dataset folder.")
    ] = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Check a state, datasets and the environment; exit code 1 when something is wrong.

    Every ledger record of a state is decoded and every text it names is read.

    Example: twiki doctor --state state --dataset datasets/enwiki/2026-11

    With --json: {"ok", "environment": {"python", "extras": {name: missing packages},
    "contact"}, "state": {"wiki", "pages", "entities", "texts", "needs", "dead_letters",
    "problems"} or null, "datasets": [{"folder", "ok", "problem"}, …]}
    """
    chosen = settings(config)
    environment = _environment(bool(chosen.stream.contact))
    for name, missing in environment["extras"].items():
        say(f"extra [{name}]: {'installed' if not missing else 'lacks ' + ', '.join(missing)}")
    if not environment["contact"]:
        say("no contact: set TWIKI_CONTACT before reading from wikimedia.org")
    checked = None if state is None else _state(state, chosen)
    found = [_dataset(folder) for folder in datasets or []]
    problems = [] if checked is None else checked["problems"]
    for problem in problems:
        say(f"state: {problem}")
    for one in found:
        say(f"{one['folder']}: {'in order' if one['ok'] else one['problem']}")
    if checked is not None and not problems:
        say(f"state: {checked['pages']:,} pages and {checked['entities']:,} entities in order")
    ok = not problems and all(one["ok"] for one in found)
    if as_json:
        give({"ok": ok, "environment": environment, "state": checked, "datasets": found})
    raise typer.Exit(0 if ok else 1)


def _environment(contact: bool) -> dict[str, Any]:
    import platform

    extras = {
        name: [package for package in packages if importlib.util.find_spec(package) is None]
        for name, packages in _EXTRAS.items()
    }
    return {"python": platform.python_version(), "extras": extras, "contact": contact}


def _state(state: Path, chosen: Any) -> dict[str, Any]:  # noqa: ANN401 - the settings record
    from twiki.engine import reading
    from twiki.state.check import check

    with opened(state, reader=True) as store:
        engine = reading(store, chosen)
        found = check(store)
        letters = engine.progress.dead
    return {
        "wiki": engine.progress.wiki,
        "folder": state / DB,
        "pages": found.pages,
        "entities": found.entities,
        "texts": found.texts,
        "needs": found.needs,
        "dead_letters": letters,
        "problems": list(found.problems),
    }


def _dataset(folder: Path) -> dict[str, Any]:
    from twiki.errors import DatasetError
    from twiki.windows.dataset import Dataset

    try:
        Dataset.open(folder).verify()
    except DatasetError as error:
        return {"folder": folder, "ok": False, "problem": str(error)}
    return {"folder": folder, "ok": True, "problem": None}
