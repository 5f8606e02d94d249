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
    for offset, text, start, end in spans(dump):
        yield offset, text[start:end]


def spans(dump: DumpFile) -> Iterator[tuple[int, bytes, int, int]]:
    """Yield each line where it lies: its offset, a piece of text, and from where to where in it.

    Who looks at a line's ends alone saves copying it. Raises DumpError as :func:`lines`.
    """
    offset = 0
    parts: list[bytes] = []
    held = 0
    for chunk in dump.chunks():
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            if parts:
                parts.append(chunk[start:end])
                line = b"".join(parts)
                parts, held = [], 0
                yield offset, line, 0, len(line)
                offset += len(line) + 1
            else:
                yield offset, chunk, start, end
                offset += end - start + 1
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
        line = b"".join(parts)
        yield offset, line, 0, len(line)
