"""The datasets under one folder, found by their ids.

A path is never built from what a request says: it is looked up in what a listing of the folder
found. Listings are cheap (a few files a window) and made anew at most every few seconds::

    library = Library(Path("datasets"))
    shelf = library.find("twiki-enwiki-2026-11-v1")     # None: there is no such dataset
"""

import threading
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from twiki.errors import DatasetError
from twiki.records import Record
from twiki.windows import manifest, versions
from twiki.windows.dataset import Dataset
from twiki.windows.schema import FACT_PARTS, Part
from twiki.windows.versions import Status, Version

_FRESH_SECONDS = 2.0
_RECONCILE = "reconcile.json"


class Shelved(Record, frozen=True, kw_only=True):
    """A dataset of the library: where it lies and how it stands."""

    id: str
    wiki: str
    window: str
    version: int
    status: Status
    reason: str
    folder: Path
    digest: str
    """SHA-256 of the manifest: what is derived from the dataset is good as long as it stays."""

    def open(self) -> Dataset:
        """The dataset; its files' sizes are checked.

        Raises:
            DatasetError: the folder breaks the contract.
        """
        return Dataset.open(self.folder)


class Listing(Record, frozen=True, kw_only=True):
    """What a look at the folder found."""

    shelves: dict[str, Shelved] = msgspec.field(default_factory=dict)
    problems: tuple[str, ...] = ()
    """Folders that hold no readable dataset, and why."""

    def window(self, wiki: str, window: str) -> list[Shelved]:
        """The versions of a window, oldest first."""
        return [s for s in self.shelves.values() if (s.wiki, s.window) == (wiki, window)]

    def current(self, wiki: str, window: str) -> Shelved | None:
        """The version of a window to use."""
        return next((s for s in self.window(wiki, window) if s.status is Status.CURRENT), None)

    def newest(self) -> Shelved | None:
        """The current version of the window that is last by name."""
        found = [s for s in self.shelves.values() if s.status is Status.CURRENT]
        return max(found, key=lambda s: (s.window, s.wiki), default=None)


class Library:
    """All datasets below ``root``. Threads may share it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = threading.Lock()
        self._listing = Listing()
        self._read_at = float("-inf")
        self._known: dict[Path, tuple[tuple[int, int], Shelved]] = {}
        self._opened: dict[str, Dataset] = {}
        self._json: dict[tuple[str, str], Any] = {}

    def listing(self) -> Listing:
        """What there is, at most a few seconds old."""
        with self._lock:
            if time.monotonic() - self._read_at > _FRESH_SECONDS:
                self._listing = self._look()
                self._read_at = time.monotonic()
            return self._listing

    def find(self, dataset_id: str) -> Shelved | None:
        """The dataset of that id, None where there is none."""
        return self.listing().shelves.get(dataset_id)

    def dataset(self, shelf: Shelved) -> Dataset:
        """The open dataset.

        Raises:
            DatasetError: the folder breaks the contract.
        """
        with self._lock:
            if shelf.digest not in self._opened:
                self._opened[shelf.digest] = shelf.open()
            return self._opened[shelf.digest]

    def stats(self, shelf: Shelved) -> dict[str, Any]:
        """The content of ``stats.json``."""
        found: dict[str, Any] = self._content(shelf, "stats.json")
        return found

    def reconcile(self, shelf: Shelved) -> dict[str, Any] | None:
        """What reconciling with a dump found; None where there was none."""
        found = self._content(shelf, _RECONCILE)
        return found if isinstance(found, dict) and found else None

    def text(self, shelf: Shelved, name: str) -> str:
        """A small text file of the dataset; empty where it has none of that name."""
        if name not in self.dataset(shelf).files():
            return ""
        return (shelf.folder / name).read_text(encoding="utf-8", errors="replace")

    def _content(self, shelf: Shelved, name: str) -> Any:  # noqa: ANN401 - JSON
        key = (shelf.digest, name)
        if key not in self._json:
            content = self.text(shelf, name)
            try:
                self._json[key] = msgspec.json.decode(content) if content else None
            except msgspec.DecodeError as error:
                raise DatasetError(
                    f"{shelf.folder / name}: expected JSON, found {error}"
                ) from error
        return self._json[key]

    def _look(self) -> Listing:
        shelves: dict[str, Shelved] = {}
        problems: list[str] = []
        if not self.root.is_dir():
            return Listing(problems=(f"{self.root}: no such folder",))
        for window in versions.windows(self.root):
            try:
                index = versions.read(window)
            except DatasetError as error:
                problems.append(str(error))
                continue
            for version in index.versions:
                folder = window / f"v{version.version}"
                try:
                    shelf = self._shelf(folder, version)
                except DatasetError as error:
                    problems.append(str(error))
                else:
                    shelves[shelf.id] = shelf
        return Listing(shelves=shelves, problems=tuple(problems))

    def _shelf(self, folder: Path, version: Version) -> Shelved:
        path = folder / manifest.NAME
        try:
            stat = path.stat()
        except OSError as error:
            raise DatasetError(f"{folder}: expected {manifest.NAME}, found none") from error
        stamp = (stat.st_mtime_ns, stat.st_size)
        known = self._known.get(folder)
        if known is not None and known[0] == stamp:
            shelf = known[1]
        else:
            content = manifest.read(folder)
            shelf = Shelved(
                id=content.run.id,
                wiki=content.data.wiki,
                window=content.data.window,
                version=content.run.version,
                status=version.status,
                reason=version.reason,
                folder=folder,
                digest=sha256(path.read_bytes()).hexdigest(),
            )
        shelf = msgspec.structs.replace(shelf, status=version.status, reason=version.reason)
        self._known[folder] = (stamp, shelf)
        return shelf


READABLE = (Part.DIFFSET, Part.SENTENCES, *FACT_PARTS, Part.NONDIFF, Part.TOMBSTONES)
"""Parts that can be paged through."""
