"""``manifest.json``: what a dataset folder holds, with a checksum of everything, itself too.

Part ``data`` is a function of the content and the settings alone: the same for every path by
which the content came (L19). Part ``run`` says how it came. The file is written last and read
first. Its bytes are canonical (:func:`encode`), so that any change of them is seen::

    {"format": "twiki-dataset", "data": {…}, "run": {…}, "sha256": {"data": …, "run": …}}
"""

from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from twiki.config import CoreConfig
from twiki.errors import ConfigError, DatasetError
from twiki.records import Policy, Record, Window
from twiki.windows.schema import SCHEMA_VERSION, Part

NAME = "manifest.json"
FORMAT = "twiki-dataset"


class FileEntry(Record, frozen=True, kw_only=True):
    """One file: its size and SHA-256 in hexadecimal."""

    bytes: int
    sha256: str


class Data(Record, frozen=True, kw_only=True):
    """What the dataset is."""

    schema_version: int
    wiki: str
    window: str
    start: datetime
    end: datetime
    settings: dict[str, Any]
    """The settings that shape the data (:func:`shaping`)."""
    counts: dict[str, int]
    """Rows of each part."""
    files: dict[str, FileEntry]
    """Every file but the manifest and those of ``run``, by path in the folder."""

    @property
    def interval(self) -> Window:
        """The window as a record."""
        return Window(start=self.start, end=self.end, name=self.window)


class Run(Record, frozen=True, kw_only=True):
    """How the content came; nothing in it may be needed to use the data.

    The version belongs here: by one path a window may need a correction, by another not.
    """

    engine: str
    """``stream``, ``replay``, ``dump pair`` or ``cluster``."""
    id: str = ""
    """Stable name of this version, e.g. ``twiki-enwiki-2026-11-v1``."""
    version: int = 0
    policy: Policy = Policy.BOUNDARY
    program: str = ""
    sources: tuple[dict[str, Any], ...] = ()
    """Dumps with checksums, streams with positions, as their readers describe them."""
    details: dict[str, Any] = msgspec.field(default_factory=dict)
    files: dict[str, FileEntry] = msgspec.field(default_factory=dict)
    """``README.md``, ``CITATION.cff`` and ``reconcile.json``, which tell of the run."""


class Manifest(Record, frozen=True, kw_only=True):
    """Both parts."""

    format: str
    data: Data
    run: Run
    sha256: dict[str, str]


def dataset_id(wiki: str, window: str, version: int) -> str:
    """Return the stable id of a version, fit for a file, a URL and a citation."""
    return f"twiki-{wiki}-{window}-v{version}"


def shaping(config: CoreConfig) -> dict[str, Any]:
    """Return the settings that change what a dataset holds; files stand as their SHA-256.

    Raises:
        ConfigError: a file named in the settings cannot be read.
    """
    everything = msgspec.to_builtins(config, enc_hook=str)
    wiki, text, windows = everything["wiki"], everything["text"], everything["windows"]
    return {
        "wiki": {
            "url": wiki["url"],
            "languages": wiki["languages"],
            "namespaces": wiki["namespaces"],
            "siteinfo_sha256": _digest(config.wiki.siteinfo),
        },
        "text": {**text, "templates": None, "templates_sha256": _digest(config.text.templates)},
        "facts": everything["facts"],
        "quality": everything["quality"],
        "windows": {name: windows[name] for name in ("lighttuning_facts", "nondiff_characters")},
    }


def make(data: Data, run: Run) -> Manifest:
    """Put the two parts together with their checksums."""
    checksums = {"data": _checksum(data), "run": _checksum(run)}
    return Manifest(format=FORMAT, data=data, run=run, sha256=checksums)


def encode(manifest: Manifest) -> bytes:
    """Return the canonical bytes: UTF-8 JSON, two spaces of indent, sorted maps."""
    return json_bytes(manifest)


def json_bytes(value: object) -> bytes:
    """Return ``value`` as the JSON of every file here: same value, same bytes."""
    return msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=2) + b"\n"


def read(folder: Path) -> Manifest:
    """Read and check the manifest of a dataset folder.

    Raises:
        DatasetError: no manifest, another format or schema version, or altered bytes.
    """
    path = folder / NAME
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DatasetError(
            f"{folder}: not a dataset: expected {NAME}, found {error.strerror}"
        ) from error
    head = _head(path, content)
    if head.get("format") != FORMAT:
        raise DatasetError(f"{path}: expected format {FORMAT!r}, found {head.get('format')!r}")
    version = (head.get("data") or {}).get("schema_version")
    if version != SCHEMA_VERSION:
        raise DatasetError(
            f"{path}: expected schema version {SCHEMA_VERSION}, found {version!r}: "
            "read it with the release that wrote it, or cut the window again"
        )
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
    except msgspec.ValidationError as error:
        raise DatasetError(f"{path}: not a manifest: {error}") from error
    for name, part in (("data", manifest.data), ("run", manifest.run)):
        expected, found = manifest.sha256.get(name), _checksum(part)
        if expected != found:
            raise DatasetError(f"{path}: altered: part {name} expected {expected}, found {found}")
    if encode(manifest) != content:
        raise DatasetError(f"{path}: altered: its bytes are not those that its content gives")
    return manifest


def entries(folder: Path, paths: Iterator[Path]) -> dict[str, FileEntry]:
    """Return size and SHA-256 of each of ``paths``, by its path in ``folder``."""
    return {path.relative_to(folder).as_posix(): entry(path) for path in sorted(paths)}


def entry(path: Path) -> FileEntry:
    """Return size and SHA-256 of one file, read in pieces."""
    digest, size = sha256(), 0
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
            size += len(piece)
    return FileEntry(bytes=size, sha256=digest.hexdigest())


def part_counts(rows: dict[Part, int]) -> dict[str, int]:
    """Return the rows of every part by its name, zero where there are none."""
    return {part.value: rows.get(part, 0) for part in Part}


def _head(path: Path, content: bytes) -> dict[str, Any]:
    try:
        head = msgspec.json.decode(content)
    except msgspec.DecodeError as error:
        raise DatasetError(f"{path}: expected JSON, found {error}") from error
    if not isinstance(head, dict) or not isinstance(head.get("data", {}), dict):
        raise DatasetError(f"{path}: expected a JSON object with an object 'data'")
    return head


def _checksum(part: Data | Run) -> str:
    return sha256(json_bytes(part)).hexdigest()


def _digest(path: Path | None) -> str | None:
    try:
        return None if path is None else entry(path).sha256
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
