"""Server-sent events: bytes of one connection → frames, nothing kept beyond its end.

``sseclient-py`` parses; we hand it whole events only, so that what a cut leaves behind (a
partial event *and its id*) is never dispatched, and an event above the size limit costs no
memory. The parser is given Latin-1, which maps bytes to characters one to one: U+2028 or a bad
byte inside an event stays what it was, and the JSON decoder judges it as UTF-8.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sseclient import SSEClient

OVERSIZE = "oversize"
"""Event name under which the head of a too large event comes out."""

_BYTES = "latin-1"


class Frame(NamedTuple):
    """One event as it stood on the wire."""

    event: str
    id: str
    data: bytes


def frames(chunks: Iterable[bytes], *, max_bytes: int, head_bytes: int) -> Iterator[Frame]:
    """The events in ``chunks``; of one above ``max_bytes`` its first ``head_bytes`` bytes.

    The last event counts only when its blank line came through.
    """
    client = SSEClient(_blocks(chunks, max_bytes, head_bytes), char_enc=_BYTES)
    for event in client.events():
        yield Frame(event.event, event.id or "", event.data.encode(_BYTES))


def _blocks(chunks: Iterable[bytes], max_bytes: int, head_bytes: int) -> Iterator[bytes]:
    """Cut the stream behind blank lines; what has none is kept back."""
    held = bytearray()
    head = b""
    for chunk in chunks:
        searched = max(0, len(held) - 3)
        held += chunk
        if head:
            # Skipping: the end of the oversize event is the first blank line.
            start = _first_end(held, searched)
            if start < 0:
                del held[: max(0, len(held) - 3)]
                continue
            # A later "event:" field wins.
            yield head + b"\nevent: " + OVERSIZE.encode() + b"\n\n"
            head = b""
            del held[:start]
            searched = 0
        end = _last_end(held, searched)
        if end > 0:
            yield bytes(held[:end])
            del held[:end]
        if len(held) > max_bytes:
            head = bytes(held[:head_bytes]).rstrip(b"\r\n")
            del held[: max(0, len(held) - 3)]


_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")


def _last_end(held: bytearray, searched: int) -> int:
    return max(at + len(end) if (at := held.rfind(end, searched)) >= 0 else -1 for end in _ENDS)


def _first_end(held: bytearray, searched: int) -> int:
    found = [at + len(end) for end in _ENDS if (at := held.find(end, searched)) >= 0]
    return min(found, default=-1)
