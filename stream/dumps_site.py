"""The dumps site: which runs there are, which of them are complete, and their files.

::

    site = DumpsSite("https://dumps.wikimedia.org", downloads)
    run = site.newest("enwiki", Layout.CLASSIC)
    site.get(run, Path("dumps/enwiki-20261101"))

A run is complete when the job that makes the wanted files is done (``dumpstatus.json``), for
the content export when ``SHA256SUMS`` and ``_SUCCESS`` are there, for the entity dump when its
list of checksums names it. ``get`` writes these marks last, beside the files, so that a reader
of the folder can check the same (:mod:`twiki.dumps.files`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Literal

import msgspec

from stream.download import Downloads, Progress, RemoteFile
from twiki.dumps.files import SourceFile
from twiki.dumps.layout import Kind
from twiki.errors import SourceError
from twiki.records import Record

SITE = "https://dumps.wikimedia.org"
_LOOKED_AT = 12
"""Runs that ``newest`` looks at before it gives up."""
_HREF = re.compile(r"href=[\"'][^\"']*?(\d{8}|\d{4}-\d\d-\d\d)/?[\"']")
_SUM = re.compile(r"^([0-9a-fA-F]{32,64}) [ *]?(\S+)\s*$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z0-9_][\w.+=-]*")
_WIKI = re.compile(r"[a-z][a-z0-9_]*")
_JOBS: dict[Kind, tuple[str, ...]] = {
    "articles": ("articlesdump", "articlesdumprecombine", "articlesmultistreamdump"),
    "current": ("metacurrentdump", "metacurrentdumprecombine"),
    "history": ("metahistorybz2dump",),
}
Tables = Literal["none", "too", "only"]
_TABLES: dict[Tables, tuple[str, ...]] = {
    "none": (),
    "too": ("pagepropstable", "redirecttable"),
    "only": ("pagetable", "pagepropstable", "redirecttable"),
}
"""Beside the texts; alone, with the titles, for a repository, whose texts nobody wants."""
_EXPORTS: dict[Kind, str] = {
    "articles": "mediawiki_content_current",
    "current": "mediawiki_content_current",
    "history": "mediawiki_content_history",
}


class Layout(StrEnum):
    """The three shapes of a run on the site."""

    CLASSIC = "classic"
    CONTENT = "content"
    ENTITIES = "entities"


class Run(Record, frozen=True, kw_only=True):
    """A dump of one day. ``missing`` says why it is not complete; "": it is."""

    wiki: str
    date: str
    layout: Layout
    missing: str = ""
    files: tuple[RemoteFile, ...] = ()
    marks: tuple[tuple[str, bytes], ...] = ()
    """Small files that prove it complete: name and content."""

    @property
    def complete(self) -> bool:
        """Whether all of it is there."""
        return not self.missing

    @property
    def size(self) -> int | None:
        """Bytes of all files, None where the site does not say."""
        sizes = [file.size for file in self.files]
        return None if None in sizes else sum(size or 0 for size in sizes)


class _File(msgspec.Struct):
    size: int | None = None
    sha1: str | None = None
    md5: str | None = None


class _Job(msgspec.Struct):
    status: str = ""
    files: dict[str, _File] = msgspec.field(default_factory=dict)


class _Status(msgspec.Struct):
    jobs: dict[str, _Job] = msgspec.field(default_factory=dict)


class DumpsSite:
    """A site laid out as dumps.wikimedia.org."""

    def __init__(self, url: str, downloads: Downloads) -> None:
        self._url = url.rstrip("/")
        self._downloads = downloads

    def dates(self, wiki: str, layout: Layout, kind: Kind = "articles") -> list[str]:
        """Return the days of all runs, newest first, as ``YYYYMMDD``.

        Raises:
            SourceError: the site cannot be read.
        """
        listing = self._downloads.small(f"{self._folder(wiki, layout, kind)}/")
        found = _HREF.findall((listing or b"").decode("utf-8", "replace"))
        return sorted({date.replace("-", "") for date in found}, reverse=True)

    def run(
        self,
        wiki: str,
        date: str,
        layout: Layout,
        kind: Kind = "articles",
        *,
        tables: Tables = "none",
    ) -> Run:
        """Return the run of ``date``, complete or not.

        Raises:
            SourceError: the site cannot be read.
        """
        folder = self._folder(wiki, layout, kind)
        if layout is Layout.CLASSIC:
            return self._classic(wiki, date, f"{folder}/{date}", kind, tables=tables)
        if layout is Layout.CONTENT:
            day = f"{date[:4]}-{date[4:6]}-{date[6:]}"
            return self._content(wiki, date, f"{folder}/{day}/xml/bzip2")
        return self._entities(wiki, date, f"{folder}/{date}")

    def newest(
        self,
        wiki: str,
        layout: Layout,
        kind: Kind = "articles",
        *,
        tables: Tables = "none",
    ) -> Run:
        """Return the newest run that is complete.

        Raises:
            SourceError: there is none, or the site cannot be read.
        """
        passed = []
        for date in self.dates(wiki, layout, kind)[:_LOOKED_AT]:
            run = self.run(wiki, date, layout, kind, tables=tables)
            if run.complete:
                return run
            passed.append(f"{date} ({run.missing})")
        looked = ", ".join(passed) or "no run at all"
        raise SourceError(f"{self._folder(wiki, layout, kind)}: no complete run: {looked}")

    def get(self, run: Run, folder: Path, progress: Progress | None = None) -> list[SourceFile]:
        """Fetch all files of ``run`` into ``folder``, then the marks that it is complete.

        Raises:
            SourceError: ``run`` is not complete, or a file cannot be had.
            DumpError: a file is not what is published about it, or the disk has no room.
        """
        if not run.complete:
            raise SourceError(f"{run.wiki} {run.date} is not complete: {run.missing}")
        sources = self._downloads.files(run.files, folder, progress)
        for name, content in run.marks:
            (folder / name).write_bytes(content)
        return sources

    def _folder(self, wiki: str, layout: Layout, kind: Kind) -> str:
        if not _WIKI.fullmatch(wiki):
            raise SourceError(f"{wiki!r} is not the name of a wiki, such as enwiki")
        if layout is Layout.CLASSIC:
            return f"{self._url}/{wiki}"
        if layout is Layout.CONTENT:
            return f"{self._url}/other/{_EXPORTS[kind]}/{wiki}"
        return f"{self._url}/{wiki}/entities"

    def _classic(self, wiki: str, date: str, folder: str, kind: Kind, *, tables: Tables) -> Run:
        name = "dumpstatus.json"
        body = self._downloads.small(f"{folder}/{name}")
        run = Run(wiki=wiki, date=date, layout=Layout.CLASSIC)
        if body is None:
            return _lacking(run, f"no {name}")
        try:
            jobs = msgspec.json.decode(body, type=_Status).jobs
        except msgspec.DecodeError as error:
            raise SourceError(f"{folder}/{name}: cannot be read: {error}") from error
        texts = () if tables == "only" else (_job(jobs, _JOBS[kind]),)
        wanted = [*texts, *_TABLES[tables]]
        for job in wanted:
            status = jobs[job].status if job in jobs else "missing"
            if status != "done":
                return _lacking(run, f"{job} is {status}")
        files = [
            RemoteFile(
                name=name,
                url=f"{folder}/{name}",
                size=file.size,
                checksum=file.sha1 or file.md5,
            )
            for job in wanted
            for name, file in _sorted(jobs[job].files)
        ]
        return _holding(run, files, ((name, body),))

    def _content(self, wiki: str, date: str, folder: str) -> Run:
        run = Run(wiki=wiki, date=date, layout=Layout.CONTENT)
        marks: list[tuple[str, bytes]] = []
        for name in ("SHA256SUMS", "_SUCCESS"):
            body = self._downloads.small(f"{folder}/{name}")
            if body is None:
                return _lacking(run, f"no {name}")
            marks.append((name, body))
        return _holding(run, _listed(folder, marks[0][1], ".xml"), tuple(marks))

    def _entities(self, wiki: str, date: str, folder: str) -> Run:
        run = Run(wiki=wiki, date=date, layout=Layout.ENTITIES)
        stem = f"{wiki.removesuffix('wiki')}-{date}"
        for kind in ("sha1", "md5"):
            name = f"{stem}-{kind}sums.txt"
            body = self._downloads.small(f"{folder}/{name}")
            if body is None:
                continue
            # gzip is decompressed ten times as fast as bzip2.
            for suffix in ("gz", "bz2"):
                files = _listed(folder, body, f"{stem}-all.json.{suffix}")
                if files:
                    return _holding(run, files, ((name, body),))
        return _lacking(run, f"no list of checksums names {stem}-all.json.gz")


def _job(jobs: dict[str, _Job], names: Sequence[str]) -> str:
    """The first job of ``names`` that is done; else the first that there is."""
    present = [name for name in names if name in jobs]
    done = [name for name in present if jobs[name].status == "done"]
    return next(iter([*done, *present, *names]))


def _sorted(files: dict[str, _File]) -> Iterator[tuple[str, _File]]:
    for name in sorted(files):
        if "-index" not in name:
            yield name, files[name]


def _listed(folder: str, sums: bytes, holding: str) -> list[RemoteFile]:
    return [
        RemoteFile(name=name, url=f"{folder}/{name}", checksum=digest)
        for digest, path in _SUM.findall(sums.decode("utf-8", "replace"))
        if holding in (name := path.rpartition("/")[2])
    ]


def _lacking(run: Run, missing: str) -> Run:
    return msgspec.structs.replace(run, missing=missing)


def _holding(
    run: Run,
    files: Iterable[RemoteFile],
    marks: tuple[tuple[str, bytes], ...],
) -> Run:
    held = tuple(files)
    for file in held:
        # Names become paths here, so nothing of a path may be in them.
        if not _NAME.fullmatch(file.name):
            raise SourceError(f"{file.url}: {file.name!r} is no name of a dump's file")
    if not held:
        return _lacking(run, "no files are listed")
    return msgspec.structs.replace(run, files=held, marks=marks)
