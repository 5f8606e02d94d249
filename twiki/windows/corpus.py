"""The whole corpus as of a boundary: what Initial and Full train on, and Mix-review draws from.

::

    <out>/corpus-00000.parquet      id, url, title, text, sentences; articles by id
    <out>/manifest.json             counts, settings and the SHA-256 of each shard; written last

Shards hold a fixed number of articles, so that a killed run goes on with the first shard that
is not there; the same state gives the same bytes. Cleaning runs on all cores, memory is
bounded by the articles in flight.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from twiki import context as contexts
from twiki.config import CoreConfig
from twiki.errors import DatasetError, OutputExists
from twiki.facts import text_hash
from twiki.records import Article, Paragraph, ParagraphKind
from twiki.state.asof import AsOf
from twiki.times import to_ms
from twiki.windows import manifest
from twiki.windows.convert import article_url
from twiki.windows.schema import SCHEMA_VERSION
from twiki.windows.versions import write_aside

SHARD_ARTICLES = 20_000
_TASK_ARTICLES = 64
_SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("url", pa.string(), nullable=False),
        pa.field("title", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("sentences", pa.int32(), nullable=False),
    ]
)
Progress = Callable[[str, int], None]


class CorpusManifest(msgspec.Struct, kw_only=True):
    """What the folder holds."""

    format: str = "twiki-corpus"
    schema_version: int = SCHEMA_VERSION
    wiki: str
    as_of: datetime
    sample: int | None
    """At most so many articles, chosen by a hash of the page id; None: all."""
    settings: dict[str, Any]
    counts: dict[str, int] = {}
    """articles, sentences, words, bytes; unreadable: live articles whose text is hidden or
    not held, which are not in the corpus."""
    files: dict[str, manifest.FileEntry] = {}


class _Task(msgspec.Struct, frozen=True):
    """Articles for one worker: (id, title, blocks)."""

    articles: tuple[tuple[int, str, tuple[str, ...]], ...]


def write(
    state: AsOf,
    at: datetime,
    out: Path,
    config: CoreConfig,
    *,
    sample: int | None = None,
    workers: int | None = None,
    progress: Progress = lambda _stage, _more: None,
) -> CorpusManifest:
    """Write the cleaned text of every live article as of ``at``; resumes what a kill left.

    Raises:
        OutputExists: a finished corpus is there.
        DatasetError: what is there was begun with other settings.
    """
    made = CorpusManifest(
        wiki=config.wiki.name,
        as_of=at,
        sample=sample,
        settings={"text": msgspec.to_builtins(config.text, enc_hook=str)},
    )
    _begin(out, made)
    pages = _chosen(state, to_ms(at), sample)
    workers = workers or os.cpu_count() or 1
    with ProcessPoolExecutor(workers, initializer=_start_worker, initargs=(config,)) as pool:
        for number in range(len(pages) // SHARD_ARTICLES + 1):
            ids = pages[number * SHARD_ARTICLES : (number + 1) * SHARD_ARTICLES]
            path = out / f"corpus-{number:05d}.parquet"
            if ids and not path.exists():
                _write_shard(path, _rows(state, to_ms(at), ids, config, pool, workers))
            progress("articles", len(ids))
    return _finish(out, made, len(pages))


def _chosen(state: AsOf, at: int, sample: int | None) -> Sequence[int]:
    """Ids of the live articles, ascending."""
    live = (page for page, held in state.store.pages() if state.is_article(held, at))
    if sample is None:
        return list(live)
    return sorted(sorted(live, key=lambda page: (text_hash(str(page)), page))[:sample])


def _rows(
    state: AsOf,
    at: int,
    ids: Sequence[int],
    config: CoreConfig,
    pool: ProcessPoolExecutor,
    workers: int,
) -> Iterator[list[dict[str, Any]]]:
    """Cleaned articles in order; at most two tasks a worker are under way."""
    readings = (state.article(page, at).article for page in ids)
    articles = (a for a in readings if a is not None and a.blocks is not None)
    tasks = iter(lambda: _task(articles), None)
    under_way = [pool.submit(_clean, task) for task in islice(tasks, workers * 2)]
    while under_way:
        cleaned = under_way.pop(0).result()
        under_way += [pool.submit(_clean, task) for task in islice(tasks, 1)]
        yield [
            {
                "id": page,
                "url": article_url(config.wiki.url, page),
                "title": title,
                "text": text,
                "sentences": sentences,
            }
            for page, title, text, sentences in cleaned
            if text
        ]


def _task(articles: Iterator[Article]) -> _Task | None:
    taken = tuple((a.page_id, a.title, a.blocks or ()) for a in islice(articles, _TASK_ARTICLES))
    return _Task(taken) if taken else None


_context: contexts.Context | None = None


def _start_worker(config: CoreConfig) -> None:
    global _context  # noqa: PLW0603 - one cleaner a process: its caches are the point
    _context = contexts.build(config, ())


def _clean(task: _Task) -> list[tuple[int, str, str, int]]:
    if _context is None:
        raise RuntimeError("a worker cleans after _start_worker only")
    return [
        (page, title, *_text([p for block in blocks for p in _context.clean(block).paragraphs]))
        for page, title, blocks in task.articles
    ]


def _text(paragraphs: Sequence[Paragraph]) -> tuple[str, int]:
    """Paragraphs as lines, headings among them, and how many sentences are no headings."""
    text = "\n".join(" ".join(paragraph.sentences) for paragraph in paragraphs)
    prose = (p for p in paragraphs if p.kind is not ParagraphKind.HEADING)
    return text, sum(len(paragraph.sentences) for paragraph in prose)


def _write_shard(path: Path, batches: Iterator[list[dict[str, Any]]]) -> None:
    aside = path.with_name(f".{path.name}.partial")
    with pq.ParquetWriter(aside, _SCHEMA, compression="zstd") as writer:
        for rows in batches:
            writer.write_table(pa.Table.from_pylist(rows, _SCHEMA))
    aside.replace(path)


def _begin(out: Path, made: CorpusManifest) -> None:
    """Refuse a finished corpus, and one begun with other settings."""
    if (out / manifest.NAME).exists():
        raise OutputExists(f"{out}: there is a finished corpus already; choose another folder")
    out.mkdir(parents=True, exist_ok=True)
    begun, said = out / ".begun.json", manifest.json_bytes(made)
    if begun.exists() and begun.read_bytes() != said:
        raise DatasetError(f"{out}: begun with other settings; choose another folder")
    write_aside(begun, said)


def _finish(out: Path, made: CorpusManifest, live: int) -> CorpusManifest:
    counts: Counter[str] = Counter()
    for path in sorted(out.glob("corpus-*.parquet")):
        made.files[path.name] = manifest.entry(path)
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=["text", "sentences"]):
                texts = batch.column("text").to_pylist()
                counts["articles"] += len(texts)
                counts["sentences"] += sum(batch.column("sentences").to_pylist())
                counts["words"] += sum(len(text.split()) for text in texts)
                counts["bytes"] += sum(len(text.encode()) for text in texts)
    counts["unreadable"] = live - counts["articles"]
    made.counts = {name: counts[name] for name in _COUNTS}
    write_aside(out / manifest.NAME, manifest.json_bytes(made))
    (out / ".begun.json").unlink()
    return made


_COUNTS = ("articles", "sentences", "words", "bytes", "unreadable")
