"""Versions of one window's dataset, and the index that says which one to use.

::

    <root>/<wiki>/<window>/index.json      {"current": 2, "versions": [{"version": 1, …}, …]}
    <root>/<wiki>/<window>/v1/             a dataset; never edited
    <root>/<wiki>/<window>/v2/

A dataset appears by renaming a finished folder, the index by renaming a finished file. A kill
between the two leaves a version without an entry: :func:`read` counts it as if it had been
entered, so the index can always be trusted.
"""

import os
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import msgspec

from twiki.errors import ConfigError, DatasetError
from twiki.records import Record
from twiki.windows.manifest import json_bytes

INDEX = "index.json"
_WIKI = re.compile(r"\w[\w-]*", re.ASCII)
_VERSION = re.compile(r"v([1-9]\d*)")


class Status(StrEnum):
    """What a reader should think of a version."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    """A correction made a newer one; this one still says what it said."""
    WITHDRAWN = "withdrawn"
    """It holds text that was hidden since (L21): do not use or pass on."""


class Version(Record, frozen=True, kw_only=True):
    """One version and its standing."""

    version: int
    status: Status
    reason: str = ""


class Index(Record, frozen=True, kw_only=True):
    """All versions of a window, oldest first; ``current`` None: there is none to use."""

    current: int | None = None
    versions: tuple[Version, ...] = ()


def window_folder(root: Path, wiki: str, window: str) -> Path:
    """Return the folder of a window's versions.

    Raises:
        ConfigError: the wiki's name is none, and would lead elsewhere.
    """
    if not _WIKI.fullmatch(wiki):
        raise ConfigError(f"wiki.name: {wiki!r}: expected letters, digits and _, e.g. enwiki")
    return root / wiki / window


def version_folder(root: Path, wiki: str, window: str, version: int) -> Path:
    """Return the folder of one version."""
    return window_folder(root, wiki, window) / f"v{version}"


def read(folder: Path) -> Index:
    """Read the index of a window's folder, completed by versions that stand there without entry.

    Raises:
        DatasetError: the index cannot be read, or its current version is gone.
    """
    return _completed(folder, _present(folder))


def enter(folder: Path, version: int, *, withdraw: bool = False, reason: str = "") -> Index:
    """Enter a version, which becomes current if it is the newest; write the index.

    ``withdraw``: the earlier ones hold text that must not be passed on; else they are
    superseded, where ``reason`` says why.
    """
    index = _completed(folder, [other for other in _present(folder) if other != version])
    standing = tuple(v for v in index.versions if v.version != version)
    index = _entered(Index(versions=standing), version, withdraw=withdraw, reason=reason)
    write_aside(folder / INDEX, json_bytes(index))
    return index


def folders(folder: Path) -> list[Path]:
    """Return the folders of all versions of a window, oldest first."""
    return [folder / f"v{version}" for version in _present(folder)]


def next_version(folder: Path) -> int:
    """Return the number for a new version of the window."""
    return max(_present(folder), default=0) + 1


def current(folder: Path) -> Path:
    """Return the folder of the version to use.

    Raises:
        DatasetError: there is none.
    """
    version = read(folder).current
    if version is None:
        raise DatasetError(f"{folder}: expected a current version, found none")
    return folder / f"v{version}"


def windows(root: Path) -> Iterator[Path]:
    """Yield the folders of windows under ``root``, by wiki and window name."""
    for wiki in sorted(path for path in root.iterdir() if path.is_dir()):
        for window in sorted(path for path in wiki.iterdir() if path.is_dir()):
            if (window / INDEX).exists() or _present(window):
                yield window


def write_aside(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old or the new one, and a crash leaves one."""
    aside = path.with_name(f".{path.name}.partial")
    with aside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Make a file's content, or the names in a folder, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _completed(folder: Path, present: list[int]) -> Index:
    path = folder / INDEX
    try:
        index = msgspec.json.decode(path.read_bytes(), type=Index)
    except FileNotFoundError:
        index = Index()
    except (OSError, msgspec.DecodeError) as error:
        raise DatasetError(f"{path}: expected an index of versions, found: {error}") from error
    if index.current is not None and not (folder / f"v{index.current}").is_dir():
        raise DatasetError(f"{path}: expected folder v{index.current} beside it, found none")
    for version in sorted(set(present) - {v.version for v in index.versions}):
        index = _entered(index, version, withdraw=False, reason="")
    return index


def _entered(index: Index, version: int, *, withdraw: bool, reason: str) -> Index:
    newest = max([version, *(v.version for v in index.versions)])
    older = Status.WITHDRAWN if withdraw else Status.SUPERSEDED
    entered = [Version(version=version, status=Status.CURRENT if version == newest else older)]
    for one in index.versions:
        demoted = one.version < version and (
            one.status is Status.CURRENT or (withdraw and one.status is Status.SUPERSEDED)
        )
        entered.append(
            Version(version=one.version, status=older, reason=reason) if demoted else one
        )
    in_order = tuple(sorted(entered, key=lambda v: v.version))
    return Index(
        current=next((v.version for v in in_order if v.status is Status.CURRENT), None),
        versions=in_order,
    )


def _present(folder: Path) -> list[int]:
    if not folder.is_dir():
        return []
    found = (_VERSION.fullmatch(path.name) for path in folder.iterdir() if path.is_dir())
    return sorted(int(match[1]) for match in found if match)
