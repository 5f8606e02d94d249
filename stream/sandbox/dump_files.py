"""A dump run as files in a folder, laid out as on the dumps site, the same bytes each time.

::

    enwiki/20261201/enwiki-20261201-pages-articles1.xml-p1p57.bz2 …
                    enwiki-20261201-{page_props,redirect}.sql.gz
                    md5sums.txt  sha1sums.txt  dumpstatus.json
    other/mediawiki_content_current/enwiki/2026-12-01/xml/bzip2/enwiki-2026-12-01-p1p57.xml.bz2
                    SHA256SUMS  _SUCCESS
    wikidatawiki/entities/20261201/wikidata-20261201-all.json.gz
                    wikidata-20261201-md5sums.txt  wikidata-20261201-sha1sums.txt

The pages of a run are read over days: each is as it was at its own moment after the boundary.
"""

import bz2
import gzip
import hashlib
import lzma
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from stream.sandbox import dump_sql, dump_xml
from stream.sandbox.api_entities import content, page_data
from stream.sandbox.model import ENWIKI, DumpPage, WikiWorld
from twiki.records import Record

PARTS = 3
"""Number of pages-articles files of a run."""
PAGES_A_STREAM = 100
"""Pages in one bz2 stream: a reader of the first stream only sees no page at all."""
SHARDS = 4
ENTITIES_A_MEMBER = 100
TABLES_AFTER = timedelta(hours=1)
"""Tables are dumped so long after the boundary, long before most pages."""


class DumpSet(Record, frozen=True):
    """The files of one boundary that a bootstrap or a reconcile reads."""

    boundary: datetime
    articles: tuple[Path, ...]
    """All parts of pages-articles, in order of page id."""
    content_current: tuple[Path, ...]
    """The same pages in the newer layout."""
    entities: Path
    page_props: Path
    redirects: Path


def write_dumps(world: WikiWorld, boundary: datetime, folder: Path) -> DumpSet:
    """Write the dump run of ``boundary`` under ``folder``."""
    day = f"{boundary:%Y%m%d}"
    done = world.dump_complete(boundary)
    pages = world.dump_pages(boundary)
    run = folder / ENWIKI / day
    run.mkdir(parents=True, exist_ok=True)
    articles = tuple(_article_parts(pages, run, f"{ENWIKI}-{day}-pages-articles"))
    tables_at = boundary + TABLES_AFTER
    listed = list(world.pages(ENWIKI, tables_at))
    page_props = run / f"{ENWIKI}-{day}-page_props.sql.gz"
    redirects = run / f"{ENWIKI}-{day}-redirect.sql.gz"
    for path, name, rows in (
        (page_props, "page_props", dump_sql.page_props(listed)),
        (redirects, "redirect", dump_sql.redirects(listed)),
    ):
        path.write_bytes(_member(dump_sql.table(name, rows, tables_at)))
    _sums(run, "md5", run / "md5sums.txt", (*articles, page_props, redirects))
    _sums(run, "sha1", run / "sha1sums.txt", (*articles, page_props, redirects))
    status = _status(
        done,
        {"articlesdump": articles, "pagepropstable": (page_props,), "redirecttable": (redirects,)},
    )
    (run / "dumpstatus.json").write_bytes(msgspec.json.format(msgspec.json.encode(status)))
    return DumpSet(
        boundary=boundary,
        articles=articles,
        content_current=_content_current(pages, boundary, folder),
        entities=_entities(world.dump_entities(boundary), day, folder),
        page_props=page_props,
        redirects=redirects,
    )


def write_history(world: WikiWorld, path: Path, *, wiki: str = ENWIKI) -> None:
    """Write every live page of the end of the world with its history: pages-meta-history.

    The suffix of ``path`` decides: ``.bz2``, ``.gz``, ``.xz``, else plain XML.
    """
    pieces = [dump_xml.header(wiki)]
    for page in world.pages(wiki):
        views = (world.revision(wiki, rev_id) for rev_id in page.revisions)
        pieces.append(dump_xml.page(page, (view for view in views if view is not None)))
    text = "".join([*pieces, dump_xml.FOOTER]).encode()
    if path.suffix == ".bz2":
        text = bz2.compress(text)
    elif path.suffix == ".gz":
        text = gzip.compress(text, mtime=0)
    elif path.suffix == ".xz":
        text = lzma.compress(text)
    path.write_bytes(text)


def _article_parts(pages: Sequence[DumpPage], run: Path, stem: str) -> Iterator[Path]:
    for number, (name, part) in enumerate(_split(pages, PARTS), 1):
        path = run / f"{stem}{number}.xml-{name}.bz2"
        path.write_bytes(_multistream(part))
        yield path


def _split(pages: Sequence[DumpPage], parts: int) -> Iterator[tuple[str, Sequence[DumpPage]]]:
    """Runs of about equal length with their ranges of page ids, which leave no gap."""
    size = max(1, -(-len(pages) // parts))
    first = 1
    for at in range(0, max(1, len(pages)), size):
        part = pages[at : at + size]
        last = part[-1].page.page_id if part else first
        yield f"p{first}p{last}", part
        first = last + 1


def _multistream(pages: Sequence[DumpPage]) -> bytes:
    """Header, groups of pages and footer, each its own bz2 stream, one after the other."""
    texts = [dump_xml.header(ENWIKI)]
    for at in range(0, len(pages), PAGES_A_STREAM):
        group = pages[at : at + PAGES_A_STREAM]
        texts.append("".join(dump_xml.page(entry.page, [entry.revision]) for entry in group))
    return b"".join(bz2.compress(text.encode()) for text in [*texts, dump_xml.FOOTER])


def _content_current(
    pages: Sequence[DumpPage], boundary: datetime, folder: Path
) -> tuple[Path, ...]:
    """The newer layout, one file; complete only when SHA256SUMS and _SUCCESS stand beside it."""
    day = f"{boundary:%Y-%m-%d}"
    run = folder / "other" / "mediawiki_content_current" / ENWIKI / day / "xml" / "bzip2"
    run.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, part in _split(pages, 1):
        path = run / f"{ENWIKI}-{day}-{name}.xml.bz2"
        path.write_bytes(_multistream(part))
        paths.append(path)
    _sums(run, "sha256", run / "SHA256SUMS", paths)
    (run / "_SUCCESS").write_bytes(b"")
    return tuple(paths)


def _entities(pages: Sequence[DumpPage], day: str, folder: Path) -> Path:
    """The entity dump: brackets, batches and the commas between them are gzip members."""
    run = folder / "wikidatawiki" / "entities" / day
    run.mkdir(parents=True, exist_ok=True)
    path = run / f"wikidata-{day}-all.json.gz"
    batches = [_member(",\n".join(batch)) for batch in _batches(pages)]
    body = _member(",\n").join(batches)
    path.write_bytes(_member("[\n") + body + _member("\n]\n"))
    for algorithm in ("md5", "sha1"):
        _sums(run, algorithm, run / f"wikidata-{day}-{algorithm}sums.txt", (path,))
    return path


def _batches(pages: Sequence[DumpPage]) -> Iterator[list[str]]:
    """Lines shard by shard, so not by id. Redirects and what is hidden are skipped (3.4)."""
    for shard in range(SHARDS):
        lines = [
            _line(entry)
            for entry in pages
            if entry.page.page_id % SHARDS == shard
            and entry.page.redirect is None
            and entry.revision.text is not None
        ]
        for at in range(0, len(lines), ENTITIES_A_MEMBER):
            yield lines[at : at + ENTITIES_A_MEMBER]


def _line(entry: DumpPage) -> str:
    return msgspec.json.encode({**content(entry.revision), **page_data(entry.revision)}).decode()


def _member(text: str) -> bytes:
    """A gzip member without file name and time."""
    return gzip.compress(text.encode(), mtime=0)


def _sums(run: Path, algorithm: str, target: Path, paths: Iterable[Path]) -> None:
    lines = [f"{_digest(path, algorithm)}  {path.relative_to(run)}\n" for path in paths]
    target.write_text("".join(lines), encoding="utf-8")


def _digest(path: Path, algorithm: str) -> str:
    return hashlib.new(algorithm, path.read_bytes(), usedforsecurity=False).hexdigest()


def _status(done: datetime, jobs: dict[str, tuple[Path, ...]]) -> dict[str, object]:
    """``dumpstatus.json``: which job is done, and its files with size and checksums."""
    return {
        "version": "0.8",
        "jobs": {
            job: {
                "status": "done",
                "updated": f"{done:%Y-%m-%d %H:%M:%S}",
                "files": {path.name: _file_status(path) for path in paths},
            }
            for job, paths in jobs.items()
        },
    }


def _file_status(path: Path) -> dict[str, object]:
    return {
        "size": path.stat().st_size,
        "url": f"/{path.parent.parent.name}/{path.parent.name}/{path.name}",
        "md5": _digest(path, "md5"),
        "sha1": _digest(path, "sha1"),
    }
