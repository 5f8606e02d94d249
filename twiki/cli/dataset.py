"""``twiki dataset``: check, compare and list dataset folders."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from twiki.windows.compare import Comparison

Folder = Annotated[Path, typer.Argument(exists=True, file_okay=False)]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    datasets = typer.Typer(help="Check, compare and list datasets.", no_args_is_help=True)
    datasets.command("verify")(verify)
    datasets.command("compare")(compare)
    datasets.command("list")(list_datasets)
    app.add_typer(datasets, name="dataset")


def verify(
    folders: Annotated[list[Path], typer.Argument(exists=True, file_okay=False)],
    as_json: Json = False,
) -> None:
    """Check datasets against their manifests: every byte, row, order and count.

    A folder is a version, a window (its current version) or a root (all versions under it).
    The first thing that is wrong ends the command with exit code 1.

    Example: twiki dataset verify datasets/enwiki/2026-11/v1

    With --json: {"verified": [{"folder", "id", "rows", "files"}, …]}
    """
    from twiki.windows.dataset import Dataset

    verified = []
    for folder in [version for given in folders for version in _versions(given)]:
        dataset = Dataset.open(folder)
        dataset.verify()
        rows, files = sum(dataset.counts.values()), len(dataset.files()) + 1
        verified.append(
            {"folder": str(dataset.folder), "id": dataset.id, "rows": rows, "files": files}
        )
        _say(f"{dataset.folder}: good: {files} files, {rows} rows")
    if as_json:
        _give({"verified": verified})


def compare(
    a: Folder,
    b: Folder,
    rows: Annotated[int, typer.Option(min=0, help="Rows to name in each part.")] = 20,
    check: Annotated[bool, typer.Option("--check", help="Exit code 1 if they differ.")] = False,
    as_json: Json = False,
) -> None:
    """Say what differs between two datasets: files, settings, numbers and rows.

    Example: twiki dataset compare datasets/enwiki/2026-11/v1 datasets/enwiki/2026-11/v2

    With --json: {"a", "b", "equal", "files": […], "settings": {name: [a, b]},
    "stats": {name: [a, b]}, "parts": {part: {"rows_a", "rows_b", "only_a", "only_b",
    "changed", "rows": [{"key", "where", "columns"}, …]}}}
    """
    from twiki.windows.compare import compare as compare_datasets
    from twiki.windows.dataset import Dataset

    comparison = compare_datasets(Dataset.open(a), Dataset.open(b), rows)
    if as_json:
        _give(comparison)
    else:
        _show(comparison)
    if check and not comparison.equal:
        raise typer.Exit(1)


def list_datasets(
    root: Annotated[Path, typer.Argument(exists=True, file_okay=False)] = Path("datasets"),
    as_json: Json = False,
) -> None:
    """List the datasets under a root, with the standing of every version.

    Example: twiki dataset list datasets

    With --json: {"datasets": [{"folder", "wiki", "window", "current",
    "versions": [{"version", "status", "reason"}, …]}, …]}
    """
    from twiki.windows import versions

    found = []
    for folder in versions.windows(root):
        index = versions.read(folder)
        found.append(
            {
                "folder": str(folder),
                "wiki": folder.parent.name,
                "window": folder.name,
                "current": index.current,
                "versions": index.versions,
            }
        )
        standing = ", ".join(f"v{v.version} {v.status}" for v in index.versions)
        _say(f"{folder.parent.name} {folder.name}: {standing}")
    if as_json:
        _give({"datasets": found})


def _versions(given: Path) -> list[Path]:
    from twiki.windows import manifest, versions

    if (given / manifest.NAME).exists() or (given / versions.INDEX).exists():
        return [given]
    found = [path for window in versions.windows(given) for path in versions.folders(window)]
    return found or [given]


def _show(comparison: "Comparison") -> None:
    _say(f"a: {comparison.a}\nb: {comparison.b}")
    if comparison.equal:
        _say("equal: every data file has the same bytes")
    for kind, values in (("setting", comparison.settings), ("stats", comparison.stats)):
        for name, (left, right) in values.items():
            _say(f"{kind} {name}: {left} | {right}")
    for name, part in comparison.parts.items():
        if part.equal and part.rows_a == part.rows_b:
            continue
        _say(
            f"{name}: {part.rows_a} rows | {part.rows_b} rows; only in a {part.only_a}, "
            f"only in b {part.only_b}, changed {part.changed}"
        )
        for row in part.rows:
            _say(f"  {row.where} {row.key} {' '.join(row.columns)}".rstrip())


def _say(line: str) -> None:
    from rich.console import Console

    printable = "".join(c if c.isprintable() or c == "\n" else "�" for c in line)
    Console(stderr=True).print(printable, markup=False, highlight=False, soft_wrap=True)


def _give(value: object) -> None:
    import msgspec

    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
