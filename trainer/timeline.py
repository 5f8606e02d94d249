"""Datasets in order of time: those of a wiki, those before one, and whether some are in order."""

from collections.abc import Sequence
from pathlib import Path

from trainer import dataset, files
from twiki.errors import DatasetError


def datasets(root: Path) -> list[Path]:
    """The current version of every window below ``<root>/<window>/v<version>``, by time."""
    found = []
    for window in root.iterdir():
        versions = [p for p in window.glob("v*") if (p / "manifest.json").exists()]
        index = window / "index.json"
        number = files.read_json(index).get("current") if index.exists() else None
        if number is not None:
            versions = [p for p in versions if p.name == f"v{number}"]
        if versions:
            found.append(max(versions, key=lambda p: int(p.name.removeprefix("v"))))
    return sorted(found, key=_start)


def earlier(path: Path) -> list[Path]:
    """Datasets of the windows before that of ``path``, oldest first, the current version each.

    ``path`` is ``<root>/<wiki>/<window>/v<version>``, as is what is found; beside a folder that
    lies elsewhere nothing is looked for.
    """
    path = path.resolve()
    data = dataset.open_folder(path, verify=False).data
    if [path.parent.parent.name, path.parent.name] != [data.get("wiki"), data.get("window")]:
        return []
    start = _start(path)
    found = [(_start(current), current) for current in datasets(path.parent.parent)]
    return [other for begins, other in sorted(found) if begins < start]


def check_order(paths: Sequence[Path]) -> None:
    """Whether datasets are of one wiki and each later than the one before.

    Raises:
        DatasetError: they are not, or there is none.
    """
    if not paths:
        raise DatasetError("a study needs at least one window")
    if len({dataset.open_folder(path, verify=False).data.get("wiki") for path in paths}) != 1:
        raise DatasetError("the windows of a study must be of one wiki")
    starts = [_start(path) for path in paths]
    if starts != sorted(set(starts)):
        raise DatasetError(f"windows must be in order of time, found {', '.join(starts)}")


def _start(path: Path) -> str:
    data = dataset.open_folder(path, verify=False).data
    return str(data.get("start") or data.get("window"))
