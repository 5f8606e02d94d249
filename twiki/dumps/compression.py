"""A dump file as chunks of decompressed bytes, whatever it is compressed with.

::

    with open_dump(Path("enwiki-20261101-pages-articles1.xml-p1p41242.bz2")) as dump:
        for chunk in dump.chunks():
            ...
            progress.update(completed=dump.position, total=dump.total)

The first bytes decide, never the name: an error page saved as ``.bz2`` is refused. Streams of
bzip2, members of gzip and frames of zstd that follow one another are one text. bzip2 is
decompressed on all cores, everything else in a thread of its own, so that a reader's work
hides behind it. Damage is a :class:`~twiki.errors.DumpError`; a cut exactly between two
streams cannot be seen here, which is why every reader requires its closing mark.
"""

import lzma
import queue
import threading
import zlib
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import rapidgzip
import zstandard
from isal import igzip

from twiki.closing import Closing
from twiki.errors import DumpError

CHUNK = 1 << 20
"""Bytes of decompressed text a chunk: large enough that a Python loop over chunks is free."""
_AHEAD = 4
"""Chunks that may wait between the decompressing thread and the reader."""
_XZ_INPUT = 1 << 18
_ZSTD_INPUT = 1 << 12
"""A zstd block expands at most 32,768-fold, so one step makes at most 128 MB."""
_GZIP_INPUT = 4 << 20
_GZIP_CHUNK = 4 << 20
"""Few and large steps: after each the thread waits for its turn while the reader computes."""
_GzipReader: Callable[..., Any] = igzip._IGzipReader  # noqa: SLF001 - of IGzipFile the only fixed size
_HTML = (b"<!doctype html", b"<html", b"<head")
_TEXT = (b"<", b"[", b"{", b"\0<", b"<\0", b"\xff\xfe", b"\xfe\xff", b"--", b"/*", b"INSERT")
_BOM = b"\xef\xbb\xbf"


class DumpFile(Closing):
    """An open dump: its text in chunks, and how far the file itself has been read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("rb")
            self.total = path.stat().st_size
        except OSError as error:
            raise DumpError(f"{path}: cannot be opened: {error.strerror}") from error
        self.position = 0
        """Bytes of the file read so far, of ``total``."""
        self.watch: Callable[[int], None] | None = None
        """Told how many more bytes of the file have been read, as chunks are taken."""
        self._told = 0
        try:
            self.format, source = _source(path, self._file)
        except DumpError:
            self._file.close()
            raise
        self._source = self._translated(source)
        self._chunks: Iterator[bytes] = self._source
        self._ahead: _ReadAhead | None = None
        if self.format in ("gzip", "xz", "zstd"):
            self._ahead = _ReadAhead(self._source)
            self._chunks = iter(self._ahead)
        self._rest = b""

    def chunks(self) -> Iterator[bytes]:
        """Yield the text from where it was left, in chunks of at most a few megabytes."""
        if self._rest:
            rest, self._rest = self._rest, b""
            yield rest
        for chunk in self._chunks:
            self._tell()
            yield chunk
        self._tell()
        if self._file.closed:
            raise ValueError(f"{self.path}: read after it was closed")

    def _tell(self) -> None:
        position = self.position
        if self.watch is not None and position > self._told:
            self.watch(position - self._told)
            self._told = position

    def read(self, size: int = -1) -> bytes:
        """Return the next ``size`` bytes of text, fewer only at its end; -1: all of them."""
        parts = [self._rest]
        held = len(self._rest)
        while size < 0 or held < size:
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            parts.append(chunk)
            held += len(chunk)
        text = b"".join(parts)
        if size < 0:
            self._rest = b""
            return text
        self._rest = text[size:]
        return text[:size]

    def close(self) -> None:
        """Stop decompressing and close the file."""
        self._tell()
        if self._ahead is not None:
            self._ahead.close()
        self._source.close()
        self._file.close()

    def _translated(
        self, source: Callable[["DumpFile"], Iterator[bytes]]
    ) -> Generator[bytes, None, None]:
        """Name the file and the place in every error of a decompressor."""
        try:
            yield from source(self)
        except (
            EOFError,
            OSError,
            RuntimeError,
            ValueError,
            zlib.error,
            lzma.LZMAError,
            zstandard.ZstdError,
        ) as error:
            raise DumpError(
                f"{self.path}: expected a whole {self.format} file, found damage near byte "
                f"{self.position:,} of {self.total:,} ({error}). Fetch it again.",
            ) from error


def open_dump(path: Path) -> DumpFile:
    """Open ``path`` for reading its decompressed text; use as a context manager.

    Raises:
        DumpError: it cannot be opened, is empty, an HTML page, or of no format known here.
    """
    return DumpFile(path)


class _ReadAhead:
    """Runs an iterator in a thread, a few items ahead of its reader."""

    def __init__(self, items: Iterator[bytes]) -> None:
        self._items = items
        self._queue: queue.Queue[bytes | DumpError | None] = queue.Queue(_AHEAD)
        self._finished = False
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="decompress", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for item in self._items:
                if not self._put(item):
                    return
            self._finished = True
        except DumpError as error:
            self._put(error)
        finally:
            self._put(None)

    def _put(self, item: bytes | DumpError | None) -> bool:
        while not self._stopped.is_set():
            try:
                self._queue.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def __iter__(self) -> Iterator[bytes]:
        while not self._stopped.is_set():
            item = self._queue.get()
            if isinstance(item, DumpError):
                raise item
            if item is not None:
                yield item
            elif self._finished:
                return
            else:
                raise RuntimeError("the decompressing thread died")

    def close(self) -> None:
        self._stopped.set()
        self._thread.join()


def _source(path: Path, file: BinaryIO) -> tuple[str, Callable[[DumpFile], Iterator[bytes]]]:
    head = file.read(1024)
    file.seek(0)
    if head.startswith(b"BZh"):
        return "bzip2", _bzip2
    if head.startswith(b"\x1f\x8b"):
        return "gzip", _gzip
    if head.startswith((b"\xfd7zXZ\0", b"\x5d\0\0")):
        return "xz", _xz
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return "zstd", _zstd
    text = head.removeprefix(_BOM).lstrip()
    if text[:32].lower().startswith(_HTML):
        raise DumpError(
            f"{path}: expected a dump, found an HTML page of {path.stat().st_size:,} bytes, "
            "probably a server's error message. Check the address and fetch it again.",
        )
    if text.startswith(_TEXT):
        return "plain", _plain
    if head.startswith(b"7z\xbc\xaf"):
        raise DumpError(f"{path}: 7z archives are not read. Unpack it first: 7z x {path.name}")
    found = f"bytes {head[:8].hex(' ')}" if head else "an empty file"
    raise DumpError(
        f"{path}: expected XML, JSON or SQL, plain or as bzip2, gzip, xz or zstd; found {found}. "
        "Fetch it again.",
    )


def _bzip2(dump: DumpFile) -> Iterator[bytes]:
    with rapidgzip.IndexedBzip2File(str(dump.path), parallelization=0) as reader:
        while chunk := reader.read(CHUNK):
            dump.position = min(reader.raw.bz2reader.tell_compressed() // 8, dump.total)
            yield chunk
    dump.position = dump.total


def _gzip(dump: DumpFile) -> Iterator[bytes]:
    return _members(dump, _GzipReader(dump._file, _GZIP_INPUT), _GZIP_CHUNK)  # noqa: SLF001


def _xz(dump: DumpFile) -> Iterator[bytes]:
    """Streams by hand: the standard library takes a damaged second stream for padding."""
    stream: lzma.LZMADecompressor | None = None
    data = b""
    while data := data or dump._file.read(_XZ_INPUT):  # noqa: SLF001
        dump.position = dump._file.tell()  # noqa: SLF001
        if stream is None:
            data = data.lstrip(b"\0")
            stream = lzma.LZMADecompressor() if data else None
        while stream is not None:
            if chunk := stream.decompress(data, CHUNK):
                yield chunk
            data = b""
            if stream.eof:
                data, stream = stream.unused_data, None
            elif stream.needs_input:
                break
    if stream is not None:
        raise EOFError("it ends inside a stream")


def _plain(dump: DumpFile) -> Iterator[bytes]:
    return _members(dump, dump._file)  # noqa: SLF001


def _members(
    dump: DumpFile,
    reader: Any,  # noqa: ANN401 (untyped readers)
    size: int = CHUNK,
) -> Iterator[bytes]:
    while chunk := reader.read(size):
        dump.position = dump._file.tell()  # noqa: SLF001
        yield chunk


def _zstd(dump: DumpFile) -> Iterator[bytes]:
    """Frames by hand: zstandard's stream reader takes a cut file for a whole one."""
    frame = None
    while data := dump._file.read(_ZSTD_INPUT):  # noqa: SLF001
        dump.position += len(data)
        while data:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            if chunk := frame.decompress(data):
                yield chunk
            data = b""
            if frame.eof:
                data, frame = frame.unused_data, None
    if frame is not None:
        raise EOFError("it ends inside a frame")
