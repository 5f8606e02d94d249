"""A recording: what the source told and what the API gave, as zstd JSON lines.

::

    {"twiki_record":1}
    {"change":{"wiki":"enwiki","kind":"edit",…}}
    {"revision":{"change":{…},"content":"…"}}

Each flush ends a zstd frame, so a kill costs at most what came after the last one. Appending
goes on in a new frame.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import zstandard

from stream.events import Canary, Rejected
from twiki.closing import Closing
from twiki.errors import SourceError
from twiki.records import Change, Revision

VERSION = 1
FLUSH_LINES = 1000
MAX_LINE = 256 << 20

Recordable = Change | Canary | Rejected | Revision


class Line(msgspec.Struct, omit_defaults=True):
    """One line: exactly one member is set."""

    twiki_record: int | None = None
    change: Change | None = None
    canary: Canary | None = None
    rejected: Rejected | None = None
    revision: Revision | None = None


_MEMBERS = {Change: "change", Canary: "canary", Rejected: "rejected", Revision: "revision"}
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Line)


class Recorder(Closing):
    """Writes a recording; an existing one is continued."""

    def __init__(self, path: Path, *, flush_lines: int = FLUSH_LINES) -> None:
        self._file = path.open("ab")
        self._flush_lines = flush_lines
        self._lines: list[bytes] = []
        if self._file.tell() == 0:
            self._lines.append(_encoder.encode(Line(twiki_record=VERSION)))

    def write(self, item: Recordable) -> None:
        """Add one item."""
        self._lines.append(_encoder.encode({_MEMBERS[type(item)]: item}))
        if len(self._lines) >= self._flush_lines:
            self.flush()

    def flush(self) -> None:
        """Write what is held, as a frame of its own."""
        if self._lines:
            self._file.write(zstandard.ZstdCompressor().compress(b"\n".join(self._lines) + b"\n"))
            self._file.flush()
            self._lines.clear()

    def close(self) -> None:
        """Flush and close."""
        self.flush()
        self._file.close()


def read_lines(lines: Iterable[bytes], name: str) -> Iterator[Recordable]:
    """The items of a recording's lines.

    Raises:
        SourceError: a line that is no item, or a recording of another version.
    """
    for number, line in enumerate(lines, 1):
        try:
            read = _decoder.decode(line)
        except msgspec.DecodeError as error:
            raise SourceError(f"{name}, line {number}: no line of a recording: {error}") from error
        if read.twiki_record not in (None, VERSION):
            raise SourceError(
                f"{name}: a recording of version {read.twiki_record}, this program reads {VERSION}"
            )
        item = read.change or read.canary or read.rejected or read.revision
        if item is not None:
            yield item
