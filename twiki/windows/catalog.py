"""A collection of datasets that others may take: what ``twiki publish`` keeps in order.

A collection is laid out like a root of datasets, so every command reads it, and adds a
catalogue and a card over all windows::

    catalog.json · README.md · CITATION.cff
    <wiki>/<window>/index.json
    <wiki>/<window>/v<version>/…

It holds one wiki. Everything here is a function of the catalogue before and the dataset added.
"""

from datetime import datetime
from hashlib import sha256

import msgspec

from twiki.errors import DatasetError, OutputExists
from twiki.records import Record
from twiki.windows import manifest
from twiki.windows.calendar import dated_name, parse
from twiki.windows.card import config_entry, table, yaml_block
from twiki.windows.dataset import Dataset
from twiki.windows.schema import Part
from twiki.windows.versions import Index, Status, Version

NAME = "catalog.json"
FORMAT = "twiki-catalog"

_TEXT = """\
What changed in {wiki} and Wikidata, window by window: the text that each window added, the
facts that changed and a sample of those that did not, each with the sentence and revision that
state it. Made after TemporalWiki (Jang et al., EMNLP 2022). Text: CC BY-SA 4.0, by the authors
of the articles; facts: CC0, from Wikidata. Each window's own card tells its counts, its quality
control and how it came about; withdrawn versions held text that was hidden since."""


class Entry(Record, frozen=True, kw_only=True):
    """One version in the collection."""

    id: str
    window: str
    start: datetime
    end: datetime
    version: int
    counts: dict[str, int]
    sha256: str
    """Of its manifest."""
    status: Status = Status.CURRENT
    reason: str = ""

    @property
    def current(self) -> bool:
        """Whether it is the version of its window to use."""
        return self.status is Status.CURRENT


class Catalog(Record, frozen=True, kw_only=True):
    """All versions of a collection, by window and version."""

    wiki: str
    languages: tuple[str, ...]
    entries: tuple[Entry, ...] = ()
    format: str = FORMAT

    def windows(self) -> list[str]:
        """Return the names of the windows, newest first."""
        newest = {entry.window: (entry.end, entry.start) for entry in self.entries}
        return sorted(newest, key=lambda name: newest[name], reverse=True)

    def of(self, window: str) -> list[Entry]:
        """Return the versions of a window, oldest first."""
        return [entry for entry in self.entries if entry.window == window]


def decode(content: bytes | None, where: str) -> Catalog | None:
    """Read a catalogue; None: there is none yet.

    Raises:
        DatasetError: something else stands under its name.
    """
    if content is None:
        return None
    try:
        catalog = msgspec.json.decode(content, type=Catalog)
    except msgspec.DecodeError as error:
        raise DatasetError(f"{where}: expected a catalogue, found: {error}") from error
    if catalog.format != FORMAT:
        raise DatasetError(f"{where}: expected format {FORMAT!r}, found {catalog.format!r}")
    return catalog


def add(catalog: Catalog | None, dataset: Dataset, index: Index) -> Catalog:
    """Return the catalogue with the dataset, and the standing that ``index`` gives each version.

    ``index`` is that of the dataset's window where it comes from.

    Raises:
        DatasetError: another wiki's, or a withdrawn dataset.
        OutputExists: another dataset has its id.
    """
    data, run = dataset.manifest.data, dataset.manifest.run
    languages = tuple(code for code in data.settings["wiki"]["languages"] if code != "mul")
    catalog = catalog or Catalog(wiki=data.wiki, languages=languages)
    if catalog.wiki != data.wiki:
        raise DatasetError(
            f"{run.id}: expected a dataset of {catalog.wiki}, which this collection holds, "
            f"found one of {data.wiki}: publish it elsewhere"
        )
    standing = {version.version: version for version in index.versions}
    own = standing.get(run.version, Version(version=run.version, status=Status.CURRENT))
    if own.status is Status.WITHDRAWN:
        raise DatasetError(f"{run.id}: withdrawn, it must not be passed on: {own.reason}")
    entry = Entry(
        id=run.id,
        window=data.window,
        start=data.start,
        end=data.end,
        version=run.version,
        counts=data.counts,
        sha256=sha256(manifest.encode(dataset.manifest)).hexdigest(),
    )
    others = []
    for other in catalog.entries:
        if other.id != entry.id:
            others.append(other)
        elif other.sha256 != entry.sha256:
            raise OutputExists(f"{entry.id}: another dataset is published under this id")
    entries = [_standing(one, standing, data.window) for one in (*others, entry)]
    entries.sort(key=lambda one: (one.start, one.end, one.version))
    return msgspec.structs.replace(catalog, entries=tuple(entries))


def withdrawn(catalog: Catalog) -> list[str]:
    """Return the folders, in the collection, of the versions that must not be there."""
    return [folder(catalog, entry) for entry in catalog.entries if entry.status is Status.WITHDRAWN]


def folder(catalog: Catalog, entry: Entry) -> str:
    """Return the path of a version in the collection."""
    return f"{catalog.wiki}/{entry.window}/v{entry.version}"


def encode(catalog: Catalog) -> bytes:
    """Return ``catalog.json``."""
    return manifest.json_bytes(catalog)


def index(catalog: Catalog, window: str) -> Index:
    """Return the index of a window in the collection."""
    found = catalog.of(window)
    current = next((entry.version for entry in found if entry.current), None)
    listed = [Version(version=e.version, status=e.status, reason=e.reason) for e in found]
    return Index(current=current, versions=tuple(listed))


def card(catalog: Catalog) -> str:
    """Return the collection's card: a configuration for each part of each window in use."""
    configs: list[list[str]] = []
    rows: list[tuple[object, ...]] = []
    total = 0
    for name in catalog.windows():
        for entry in reversed(catalog.of(name)):
            place = folder(catalog, entry)
            shown = f"[{place}]({place}/README.md)" if entry.status is not Status.WITHDRAWN else ""
            counts = (entry.counts[part.value] for part in _COUNTED)
            rows.append((name, entry.version, entry.status.value, *counts, shown, f"`{entry.id}`"))
            if not entry.current:
                continue
            total += sum(entry.counts.values())
            for part in Part:
                config = f"{dated_name(parse(name))}_{part.value}"
                default = not configs
                configs.append(config_entry(config, part, f"{place}/{part.file}", default=default))
    title = f"TWiki {catalog.wiki}"
    header = ("window", "version", "", *(part.value for part in _COUNTED), "card", "id")
    front = yaml_block(pretty_name=title, languages=catalog.languages, rows=total, configs=configs)
    text = _TEXT.format(wiki=catalog.wiki)
    return "\n".join([front, f"# {title}\n", f"{text}\n", table(header, rows)])


_COUNTED = (Part.DIFFSET, Part.PROBES_CHANGED, Part.PROBES_UNCHANGED, Part.FACTS_REMOVED)


def _standing(entry: Entry, standing: dict[int, Version], window: str) -> Entry:
    version = standing.get(entry.version)
    if entry.window != window or version is None:
        return entry
    return msgspec.structs.replace(entry, status=version.status, reason=version.reason)
