"""Small files and folders written whole or not at all, and their hashes."""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from twiki.errors import TrainerError


def sha256_of(path: Path) -> str:
    """sha256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_text(text: str) -> str:
    """sha256 of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def write_text(path: Path, text: str) -> None:
    """Write ``text`` in UTF-8, atomically and durably."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(path.name + ".tmp")
    with aside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
    _sync_folder(path.parent)


def write_json(path: Path, data: object) -> None:
    """Write ``data`` as JSON, atomically and durably."""
    write_text(path, json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        TrainerError: no file, or no JSON object in it.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TrainerError(f"{path}: cannot be read as JSON: {error}") from error
    if not isinstance(data, dict):
        raise TrainerError(f"{path}: expected a JSON object, found {type(data).__name__}")
    return data


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder that appears under its name only when the block ends well.

    Yields the folder aside. What an interrupted earlier try left there is removed first.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(path.name + ".tmp")
    if aside.exists():
        shutil.rmtree(aside)
    aside.mkdir()
    try:
        yield aside
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    for item in aside.rglob("*"):
        if item.is_file():
            with item.open("rb") as file:
                os.fsync(file.fileno())
    _sync_folder(aside)
    if path.exists():
        shutil.rmtree(path)
    aside.rename(path)
    _sync_folder(path.parent)


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock file ``path``; the system lets go of it when the process dies.

    ``wait``: until another process lets go of it, instead of failing.

    Raises:
        TrainerError: another process holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise TrainerError(
                f"{path}: another process works on this run; wait for it or stop it"
            ) from error
        yield


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
