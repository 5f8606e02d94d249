"""Dump files as they lie on a disk: opened, verified.

``verify`` hashes a file once and compares with the checksum given or with the one published
beside it (``SHA256SUMS``, ``*sha1sums.txt``, ``*md5sums.txt``, ``<file>.sha256|.sha1|.md5``,
``dumpstatus.json``). A file for which none is known is not refused but recorded as such::

    source = verify(Path("dumps/enwiki-20261101-pages-articles1.xml-p1p41242.bz2"))
    source.verified_by          # "sha1", or "unverified"
    with open_dump(source.path) as dump: ...
"""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from twiki.dumps.compression import DumpFile, open_dump
from twiki.dumps.layout import expand
from twiki.errors import ChecksumError, DumpError
from twiki.records import Record

__all__ = ["DumpFile", "SourceFile", "Verified", "expand", "open_dump", "published", "verify"]

Verified = Literal["sha256", "sha1", "md5", "unverified"]
_BY_LENGTH: dict[int, Verified] = {64: "sha256", 40: "sha1", 32: "md5"}
_STRENGTH: dict[Verified, int] = {"sha256": 3, "sha1": 2, "md5": 1, "unverified": 0}
_LISTS = ("*SHA256SUMS*", "*sha256sums*.txt", "*sha1sums*.txt", "*md5sums*.txt")
_LIST_BYTES = 64 << 20
_LINE = re.compile(r"^([0-9A-Fa-f]{32,64}) [ *]?(.+)$")
_BLOCK = 4 << 20


class SourceFile(Record, frozen=True, kw_only=True):
    """A file that a run read, as its manifest names it."""

    path: Path
    bytes: int
    sha256: str
    verified_by: Verified
    """Kind of the published checksum that it matches."""


class _StatusFile(msgspec.Struct):
    sha1: str | None = None
    md5: str | None = None


class _StatusJob(msgspec.Struct):
    files: dict[str, _StatusFile] = msgspec.field(default_factory=dict)


class _Status(msgspec.Struct):
    jobs: dict[str, _StatusJob] = msgspec.field(default_factory=dict)


def verify(path: Path, checksum: str | None = None) -> SourceFile:
    """Hash ``path`` and hold it against ``checksum`` (hex) or what is published beside it.

    Raises:
        ChecksumError: they differ.
        DumpError: the file cannot be read, or ``checksum`` is none of SHA-256, SHA-1, MD5.
    """
    expected = _normal(checksum) if checksum else published(path)
    if checksum and expected is None:
        raise DumpError(f"{path}: expected a SHA-256, SHA-1 or MD5 in hex, found {checksum!r}")
    kind = _BY_LENGTH[len(expected)] if expected else "unverified"
    size, found = _hash(path, kind)
    if expected and found[kind] != expected:
        raise ChecksumError(
            f"{path}: expected {kind} {expected}, found {found[kind]} over {size:,} bytes. "
            "The file is damaged or of another run: fetch it again.",
        )
    return SourceFile(path=path, bytes=size, sha256=found["sha256"], verified_by=kind)


def published(path: Path) -> str | None:
    """Return the strongest checksum that stands beside ``path`` for it, in lower-case hex."""
    found = [
        digest
        for name in dict.fromkeys((path.name, path.resolve().name))
        for digest in _beside(path.parent, name)
    ]
    return max(found, key=lambda digest: _STRENGTH[_BY_LENGTH[len(digest)]], default=None)


def _beside(folder: Path, name: str) -> Iterator[str]:
    """Every checksum that the lists of ``folder`` give for ``name``."""
    for suffix in ("sha256", "sha1", "md5"):
        own = folder / f"{name}.{suffix}"
        if own.is_file() and (words := _text(own).split()) and (digest := _normal(words[0])):
            yield digest
    yield from _listed(folder, name)
    status = folder / "dumpstatus.json"
    if status.is_file():
        for job in _status(status).jobs.values():
            file = job.files.get(name)
            for value in (file.sha1, file.md5) if file else ():
                if value and (digest := _normal(value)):
                    yield digest


def _listed(folder: Path, name: str) -> Iterator[str]:
    for pattern in _LISTS:
        for listing in sorted(folder.glob(pattern)):
            for line in _text(listing).splitlines():
                match = _LINE.match(line.strip())
                if match and Path(match[2]).name == name and (digest := _normal(match[1])):
                    yield digest


def _status(path: Path) -> _Status:
    try:
        return msgspec.json.decode(_text(path), type=_Status)
    except msgspec.DecodeError as error:
        raise DumpError(f"{path}: cannot be read as a dump's status: {error}") from error


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LIST_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise DumpError(f"{path}: cannot be read: {error.strerror}") from error


def _normal(checksum: str) -> str | None:
    digest = checksum.strip().rpartition(":")[2].lower()
    hexadecimal = re.fullmatch(r"[0-9a-f]+", digest)
    return digest if hexadecimal and len(digest) in _BY_LENGTH else None


def _hash(path: Path, kind: Verified) -> tuple[int, dict[str, str]]:
    kinds = {"sha256"} | ({kind} if kind != "unverified" else set())
    digests = {name: hashlib.new(name, usedforsecurity=False) for name in sorted(kinds)}
    size = 0
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                size += len(block)
                for digest in digests.values():
                    digest.update(block)
    except OSError as error:
        raise DumpError(f"{path}: cannot be read: {error.strerror}") from error
    return size, {name: digest.hexdigest() for name, digest in digests.items()}
