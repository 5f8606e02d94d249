"""The past through the same door: recordings, transcripts and histories as items.

::

    for item in open_replay(Path("month.jsonl.zst"), settings):    # Change | Canary | …
        engine.take([item])

What the file is, its first bytes say: a recording of ours, an SSE transcript, events as JSON
lines, a MediaWiki dump, a tar of EntityData; a folder holds EntityData. All but folders may be
compressed.
"""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from stream.events import Canary, Decoded, Decoder, NamespaceOf, Reason, Rejected, english_namespace
from stream.history import dump_revisions, folder_revisions, tar_revisions
from stream.record import read_lines
from stream.settings import Settings
from stream.sse import OVERSIZE, frames
from twiki.dumps.compression import DumpFile, open_dump
from twiki.errors import DumpError, SourceError
from twiki.records import Change, Revision

log = logging.getLogger(__name__)

Item = Change | Canary | Rejected | Revision

HEAD = 512
_SSE = (b":", b"event:", b"id:", b"data:", b"retry:")
_TAR = slice(257, 262)


def open_replay(
    path: Path, settings: Settings | None = None, namespace_of: NamespaceOf = english_namespace
) -> Iterator[Item]:
    """What ``path`` recorded, in its order (histories: by time).

    Raises:
        SourceError: it cannot be opened or is nothing known here.
        DumpError: it is damaged; raised where the damage lies.
    """
    settings = settings or Settings()
    if path.is_dir():
        return folder_revisions(path, settings.wiki)
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise SourceError(f"{path}: cannot be opened: {error.strerror}") from error
    decoder = Decoder(settings.wiki, settings.stream, namespace_of)
    if head.startswith(_SSE) or head[_TAR] == b"ustar":
        # The dump reader knows neither without compression.
        return _plain(path, head, settings, decoder)
    with open_dump(path) as dump:
        head = dump.read(HEAD)
    if head.lstrip().startswith(b"<"):
        return dump_revisions(path, settings.wiki)
    return _opened(path, head, settings, decoder)


def _plain(path: Path, head: bytes, settings: Settings, decoder: Decoder) -> Iterator[Item]:
    with path.open("rb") as file:
        if head.startswith(_SSE):
            yield from _transcript(iter(lambda: file.read(1 << 20), b""), settings, decoder)
        else:
            yield from tar_revisions(_Plain(path, file), settings.wiki)


class _Plain:
    """An open file with its path, as the tar reader wants it."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self._file = file

    def read(self, size: int = -1) -> bytes:
        """The next ``size`` bytes."""
        return self._file.read(size)


def _opened(path: Path, head: bytes, settings: Settings, decoder: Decoder) -> Iterator[Item]:
    with open_dump(path) as dump:
        if head[_TAR] == b"ustar":
            yield from tar_revisions(dump, settings.wiki)
        elif head.startswith(_SSE):
            yield from _transcript(dump.chunks(), settings, decoder)
        elif head.startswith(b'{"twiki_record"'):
            yield from read_lines(_whole_lines(dump), str(path))
        elif head.lstrip().startswith(b"{"):
            for line in _lines(dump.chunks()):
                yield decoder.decode(line)
        else:
            raise SourceError(
                f"{path}: expected a recording, an SSE transcript, events as JSON lines, a "
                f"MediaWiki dump or a tar of EntityData; found {head[:20]!r}"
            )


def _transcript(chunks: Iterable[bytes], settings: Settings, decoder: Decoder) -> Iterator[Decoded]:
    stream = settings.stream

    def ended() -> Iterator[bytes]:
        yield from chunks
        yield b"\n\n"  # a saved transcript may lack its last blank line

    for frame in frames(ended(), max_bytes=stream.max_event_bytes, head_bytes=stream.max_raw_bytes):
        if frame.event == OVERSIZE:
            yield decoder.unreadable(Reason.TOO_LARGE, "cut off", frame.data, frame.id)
        elif frame.event == "error":
            yield Rejected(reason=Reason.SERVER_ERROR, detail=repr(frame.data[:200]))
        else:
            yield decoder.decode(frame.data, frame.id)


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line for line in whole if line.strip())
    if rest.strip():
        yield rest


def _whole_lines(dump: DumpFile) -> Iterator[bytes]:
    """Lines of a recording; one whose writer was killed ends with its last whole line."""
    rest = b""
    try:
        for chunk in dump.chunks():
            *whole, rest = (rest + chunk).split(b"\n")
            yield from whole
    except DumpError as error:
        if not isinstance(error.__cause__, EOFError):
            raise
        log.warning("event=recording_cut path=%s detail=%r", dump.path, str(error.__cause__))
