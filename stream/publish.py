"""Giving datasets away: into a folder, or a dataset repository on the Hugging Face hub.

Both hold a collection (:mod:`twiki.windows.catalog`). What is to be done is worked out first,
as a :class:`Plan`, then done: in one commit on the hub (:mod:`stream.hub`); in a folder first
the dataset, aside and renamed, then the files that name it. Publishing again what is there
already changes nothing.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from twiki.errors import OutputExists, UsageError
from twiki.windows import catalog, manifest, versions
from twiki.windows.dataset import Dataset
from twiki.windows.writer import CITATION

Content = Path | bytes
"""A file to copy, or the bytes of one."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What publishing does to a collection."""

    id: str
    add: dict[str, Content]
    """Path in the collection → file. Empty: all of it is there already."""
    delete: tuple[str, ...]
    """Folders of withdrawn versions."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.add and not self.delete

    def files(self) -> list[dict[str, object]]:
        """Return path and bytes of every file to add."""
        return [{"path": path, "bytes": _size(what)} for path, what in sorted(self.add.items())]


class Target(Protocol):
    """Where a collection is."""

    def read(self, path: str) -> bytes | None:
        """Return a small file of the collection, None where there is none."""

    def folders(self, paths: list[str]) -> list[str]:
        """Return those of ``paths`` that are there."""

    def change(self, plan: Plan) -> str:
        """Carry out a plan and return where the result can be seen."""


def plan(dataset: Dataset, target: Target | None) -> Plan:
    """Work out what to do; the dataset is verified first. Without a target: to an empty one.

    Raises:
        DatasetError: the dataset is damaged, withdrawn, or of another wiki than the collection.
        OutputExists: another dataset is published under its id.
    """
    dataset.verify()
    before = catalog.decode(target.read(catalog.NAME) if target else None, catalog.NAME)
    after = catalog.add(before, dataset, versions.read(dataset.folder.parent))
    gone = catalog.withdrawn(after)
    delete = tuple(target.folders(gone)) if target else ()
    if before == after and not delete:
        return Plan(id=dataset.id, add={}, delete=())
    window = dataset.manifest.data.window
    own = f"{after.wiki}/{window}"
    add: dict[str, Content] = {
        catalog.NAME: catalog.encode(after),
        "README.md": catalog.card(after).encode(),
        f"{own}/{versions.INDEX}": manifest.json_bytes(catalog.index(after, window)),
    }
    if after.windows()[0] == window and catalog.index(after, window).current == _version(dataset):
        add[CITATION] = dataset.folder / CITATION
    if before is None or dataset.id not in {entry.id for entry in before.entries}:
        for name in (*dataset.files(), manifest.NAME):
            add[f"{own}/v{_version(dataset)}/{name}"] = dataset.folder / name
    return Plan(id=dataset.id, add=add, delete=delete)


class FolderTarget:
    """A collection in a folder of this machine."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes."""
        try:
            return (self._root / path).read_bytes()
        except FileNotFoundError:
            return None

    def folders(self, paths: list[str]) -> list[str]:
        """Return the folders that are there."""
        return [path for path in paths if (self._root / path).is_dir()]

    def change(self, plan: Plan) -> str:
        """Copy the dataset aside, rename it, then replace the files that name it."""
        files = {path: what for path, what in plan.add.items() if isinstance(what, Path)}
        listed = {path: what for path, what in plan.add.items() if isinstance(what, bytes)}
        self._copy({path: file for path, file in files.items() if path != CITATION})
        if CITATION in files:
            listed[CITATION] = files[CITATION].read_bytes()
        for path, content in sorted(listed.items()):
            versions.write_aside(self._root / path, content)
        for path in plan.delete:
            shutil.rmtree(self._root / path)
        return str(self._root)

    def _copy(self, files: Mapping[str, Path]) -> None:
        if not files:
            return
        place = "/".join(next(iter(files)).split("/")[:3])
        final = self._root / place
        if final.exists():  # a kill came between the rename and the catalogue, or it is not ours
            _same(final, files[f"{place}/{manifest.NAME}"])
            return
        aside = final.with_name(f".{final.name}.partial")
        shutil.rmtree(aside, ignore_errors=True)
        for path, source in files.items():
            copy = aside / path.removeprefix(f"{place}/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
            versions.sync(copy)
        aside.rename(final)
        versions.sync(final.parent)


def _same(final: Path, source: Path) -> None:
    there = final / manifest.NAME
    if final.resolve() == source.parent.resolve():
        raise UsageError(f"{final}: is the dataset itself: publish it into another folder")
    if not there.exists() or there.read_bytes() != source.read_bytes():
        raise OutputExists(f"{final}: exists already with other content, nothing was written")


def _version(dataset: Dataset) -> int:
    return dataset.manifest.run.version


def _size(what: Content) -> int:
    return what.stat().st_size if isinstance(what, Path) else len(what)
