"""Lines of a dump's text with their byte offsets, memory bounded."""

from collections.abc import Iterator

from twiki.dumps.compression import DumpFile
from twiki.errors import DumpError

MAX_LINE = 256 << 20
"""Entities reach a few megabytes and INSERT lines 16; beyond this a file is not one of lines."""


def lines(dump: DumpFile) -> Iterator[tuple[int, bytes]]:
    r"""Yield each line without its ``\n`` and the offset of its first byte in the text.

    Raises:
        DumpError: a line is longer than ``MAX_LINE``, or the file is damaged.
    """
    offset = 0
    parts: list[bytes] = []
    held = 0
    for chunk in dump.chunks():
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            line = chunk[start:end]
            if parts:
                parts.append(line)
                line = b"".join(parts)
                parts, held = [], 0
            yield offset, line
            offset += len(line) + 1
            start = end + 1
        if start < len(chunk):
            parts.append(chunk[start:])
            held += len(chunk) - start
            if held > MAX_LINE:
                raise DumpError(
                    f"{dump.path}: the line at byte {offset:,} of the text is longer than "
                    f"{MAX_LINE:,} bytes: not a file of lines",
                )
    if parts:
        yield offset, b"".join(parts)
