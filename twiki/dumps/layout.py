"""Which files make up a dump: a folder, a pattern or single names to a list in order.

Two layouts are known:

* the classic run, ``enwiki-20261101-pages-articles3.xml-p151574p311329.bz2``: parts in the
  order of their first page, else one recombined file, else the multistream twins;
* the content export, ``enwiki-2026-11-01-p1p41242.xml.bz2``: complete only when
  ``SHA256SUMS`` and ``_SUCCESS`` lie beside it and every file listed is there.

What is named one by one is taken as it is; only a *folder* is held to being complete.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from twiki.errors import DumpError
from twiki.records import Record

Kind = Literal["articles", "current", "history", "entities"]

_CLASSIC = re.compile(
    r"(?P<wiki>\w+?)-(?P<run>\d{8}|latest)-pages-(?P<job>articles|meta-current|meta-history)"
    r"(?P<twin>-multistream)?(?P<part>\d*)\.xml(?:-p(?P<first>\d+)p(?P<last>\d+))?"
    r"(?:\.(?:bz2|gz|xz|zst))?",
)
_CONTENT = re.compile(
    r"(?P<wiki>\w+?)-(?P<run>\d{4}-\d{2}-\d{2})-p(?P<first>\d+)p(?P<last>\d+)"
    r"(?:r\d+r\d+)?\.xml(?:\.(?:bz2|gz|xz|zst))?",
)
_ENTITIES = re.compile(
    r"(?:(?P<wiki>\w+?)-)?(?P<run>\d{8}|latest)-all\.json(?:\.(?P<suffix>gz|bz2|xz|zst))?",
)
_JOBS: dict[Kind, str] = {
    "articles": "articles",
    "current": "meta-current",
    "history": "meta-history",
}
_SUMS = re.compile(r"^[0-9a-fA-F]{32,64} [ *]?(.+)$", re.MULTILINE)


class Part(Record, frozen=True, kw_only=True):
    """One file of a dump and the pages that it says it holds."""

    path: Path
    wiki: str
    run: str
    first: int | None = None
    last: int | None = None
    twin: bool = False
    """Of the multistream set, which repeats the plain one."""


def expand(names: Iterable[Path | str], kind: Kind = "articles") -> list[Path]:
    """Return the files that ``names`` stand for, those of one folder or pattern in page order.

    Raises:
        DumpError: nothing matches, a folder holds several runs, or its run is incomplete.
    """
    files: list[Path] = []
    for name in names:
        path = Path(name)
        if path.is_dir():
            files += entity_dump(path) if kind == "entities" else folder(path, kind)
        elif path.exists():
            files.append(path)
        elif any(sign in str(path) for sign in "*?["):
            files += _matching(path)
        else:
            raise DumpError(f"{path}: there is no such file or folder")
    return list(dict.fromkeys(files))


def folder(path: Path, kind: Kind = "articles") -> list[Path]:
    """Return the complete run of ``kind`` in a folder, in page order."""
    names = sorted(file for file in path.iterdir() if file.is_file())
    content = [part for file in names if (part := _content(file))]
    classic = [part for file in names if (part := _classic(file, kind))]
    if content:
        return _files(path, _content_run(path, content))
    if (path / "SHA256SUMS").exists() and not classic:
        raise DumpError(f"{path}: SHA256SUMS is there, but none of the dump's files")
    if not classic:
        raise DumpError(f"{path}: expected a dump of pages ({kind}), found none")
    return _files(path, _classic_run(path, classic, kind))


def entity_dump(path: Path) -> list[Path]:
    """Return the one entity dump in a folder; gzip, which is faster, before bzip2."""
    found: dict[str, list[Path]] = {}
    for file in sorted(path.iterdir()):
        if match := _ENTITIES.fullmatch(file.name):
            found.setdefault(match["run"], []).append(file)
    if not found:
        raise DumpError(f"{path}: expected an entity dump (…-all.json.gz), found none")
    if len(found) > 1:
        raise DumpError(f"{path}: holds entity dumps of {', '.join(found)}: name one file")
    (files,) = found.values()
    return [min(files, key=lambda file: (not file.name.endswith(".gz"), file.name))]


def _matching(pattern: Path) -> list[Path]:
    parent = Path(pattern.anchor) if pattern.anchor else Path()
    relative = str(pattern.relative_to(parent)) if pattern.anchor else str(pattern)
    found = [file for file in sorted(parent.glob(relative)) if file.is_file()]
    if not found:
        raise DumpError(f"{pattern}: no file matches")
    return sorted(found, key=_page_order)


def _page_order(file: Path) -> tuple[int, int, str]:
    match = re.search(r"-p(\d+)p(\d+)", file.name)
    return (int(match[1]), int(match[2]), file.name) if match else (0, 0, file.name)


def _content(file: Path) -> Part | None:
    match = _CONTENT.fullmatch(file.name)
    if match is None:
        return None
    return Part(
        path=file,
        wiki=match["wiki"],
        run=match["run"],
        first=int(match["first"]),
        last=int(match["last"]),
    )


def _classic(file: Path, kind: Kind) -> Part | None:
    match = _CLASSIC.fullmatch(file.name)
    if match is None or match["job"] != _JOBS.get(kind):
        return None
    return Part(
        path=file,
        wiki=match["wiki"],
        run=match["run"],
        first=int(match["first"]) if match["first"] else None,
        last=int(match["last"]) if match["last"] else None,
        twin=bool(match["twin"]),
    )


def _content_run(path: Path, parts: list[Part]) -> list[Part]:
    for mark in ("SHA256SUMS", "_SUCCESS"):
        if not (path / mark).exists():
            raise DumpError(
                f"{path}: the export is incomplete: {mark} is missing. Wait until it is "
                "published, and fetch it with the files.",
            )
    listed = {
        Path(name).name
        for name in _SUMS.findall((path / "SHA256SUMS").read_text("utf-8", "replace"))
        if _CONTENT.fullmatch(Path(name).name)
    }
    if missing := sorted(listed - {part.path.name for part in parts}):
        raise DumpError(
            f"{path}: SHA256SUMS names {len(listed)} files, {len(missing)} of them are missing: "
            f"{', '.join(missing[:3])}",
        )
    return parts


def _classic_run(path: Path, parts: list[Part], kind: Kind) -> list[Part]:
    split = [part for part in parts if part.first is not None and not part.twin]
    whole = [part for part in parts if part.first is None and not part.twin]
    twins = [part for part in parts if part.twin]
    if whole:
        return whole
    chosen = split or [part for part in twins if part.first is None] or twins
    if kind != "history":
        _gapless(path, chosen)
    return chosen


def _gapless(path: Path, parts: list[Part]) -> None:
    """Refuse a hole between parts: its pages would look like deleted ones."""
    before: Part | None = None
    for part in sorted(parts, key=lambda part: part.first or 0):
        if before and before.last and part.first and part.first > before.last + 1:
            raise DumpError(
                f"{path}: a part is missing: pages {before.last + 1:,} to {part.first - 1:,} lie "
                f"between {before.path.name} and {part.path.name}",
            )
        before = part


def _files(path: Path, parts: list[Part]) -> list[Path]:
    runs = sorted({(part.wiki, part.run) for part in parts})
    if len(runs) > 1:
        named = ", ".join(f"{wiki} {run}" for wiki, run in runs)
        raise DumpError(f"{path}: holds several dumps: {named}. Name the files of one.")
    ordered = sorted(parts, key=lambda part: (part.first or 0, part.path.name))
    seen: dict[str, Path] = {}
    for part in ordered:
        # The same part in two compressions counts once.
        seen.setdefault(re.sub(r"\.(bz2|gz|xz|zst)$", "", part.path.name), part.path)
    return list(seen.values())
