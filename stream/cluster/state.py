"""State of one page or entity as one value, headed by the number of the last record applied.

::

    01 | generation, 4 bytes | offset, 8 bytes | msgpack of Kept

The number is the position of a record in its ``revisions-*`` partition; the generation counts
how often that topic was made anew, since offsets begin at 0 then. Numbers compare as bytes:
recovery and cut take the value with the **greatest number** of a key, not the last one, so
that a record which a zombie wrote late does no harm (ENGINE 5).
"""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from twiki.apply import Applied
from twiki.errors import StateCorrupt, StateVersionError
from twiki.state.codec import VERSION, Held
from twiki.state.subject import Subject

HEAD = bytes([VERSION])
_NUMBER = slice(1, 13)
_BODY = 13
PROGRESS = b"!progress"
"""Key of a partition's own record, beside those of its pages."""

T = TypeVar("T")


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """All that is held of one page or entity."""

    held: Held = Held()
    contents: dict[int, bytes] = {}
    """Revision → stored content, as :mod:`twiki.state.contents` made it."""
    sampled: bool = False
    """It has or had a fact that L13 chose."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """What one partition knows of time: which windows are closed, which reconciled.

    A window closes when its close has come through *every* partition of ``changes``.
    """

    first: int = 0
    """Oldest boundary kept, milliseconds."""
    closed: int = 0
    """End of the last window that has closed here."""
    waiting: dict[int, tuple[int, ...]] = {}
    """End of a window → partitions of ``changes`` whose close has come."""
    reconciled: dict[int, str] = {}
    """Start of a window → policy, kept until the window is released."""
    runs: dict[int, str] = {}
    """Start of a window → its last reconcile run."""


def number(generation: int, offset: int) -> bytes:
    """A record's number, in the order of time."""
    return generation.to_bytes(4, "big") + offset.to_bytes(8, "big")


def number_of(value: bytes | None) -> bytes:
    """The number of a stored value; empty, which is less than all, where there is none.

    Raises:
        StateVersionError: another version wrote it.
    """
    if value is None:
        return b""
    if value[:1] != HEAD:
        raise StateVersionError(
            f"state value of version {value[0] if value else 'none'}, this program reads {VERSION}:"
            " rebuild the changelog with this version (docs/cluster.md)"
        )
    return value[_NUMBER]


_encoder = msgspec.msgpack.Encoder()
_kept = msgspec.msgpack.Decoder(Kept)
_progress = msgspec.msgpack.Decoder(Progress)


def encode(at: bytes, value: Kept | Progress) -> bytes:
    """A value headed by the number of the record that made it."""
    return HEAD + at + _encoder.encode(value)


def decode_kept(value: bytes | None) -> Kept:
    """State of a page or entity; empty where there is none.

    Raises:
        StateCorrupt: the bytes are no such value.
    """
    return Kept() if value is None else _decoded(_kept, value)


def decode_progress(value: bytes | None) -> Progress:
    """A partition's own record; empty where there is none.

    Raises:
        StateCorrupt: the bytes are no such value.
    """
    return Progress() if value is None else _decoded(_progress, value)


def subject(key: int | str, kept: Kept) -> Subject:
    """The value as :func:`twiki.apply.apply` takes it."""
    return Subject(key, kept.held, kept.contents.get)


def updated(kept: Kept, applied: Applied) -> Kept:
    """What :func:`twiki.apply.apply` made of it."""
    contents = {rev: data for rev, data in kept.contents.items() if rev not in applied.drops}
    return Kept(applied.held, {**contents, **applied.puts}, kept.sampled or applied.sampled)


def greatest(values: Iterable[bytes | None]) -> bytes | None:
    """The value with the greatest number; of equal ones the first."""
    return max((value for value in values if value is not None), key=number_of, default=None)


def _decoded(decoder: msgspec.msgpack.Decoder[T], value: bytes) -> T:
    number_of(value)
    try:
        return decoder.decode(memoryview(value)[_BODY:])
    except msgspec.DecodeError as error:
        raise StateCorrupt(f"a state value cannot be read: {error}") from error
