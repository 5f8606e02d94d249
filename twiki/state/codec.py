"""State as versioned bytes.

Every value begins with one byte, :data:`VERSION`. Golden fixtures in
``tests/data/state`` hold values of each version that was ever released: they must decode
for ever, or be migrated by ``twiki state migrate``.
"""

from typing import TypeVar

import msgspec

from twiki.errors import StateCorrupt, StateVersionError
from twiki.records import Entity
from twiki.state.ledger import Entry

VERSION = 1
HEAD = bytes([VERSION])
"""The first byte of every value."""

T = TypeVar("T")


class Held(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What state holds of one page or entity, but for the contents themselves."""

    entries: tuple[Entry, ...] = ()
    bases: tuple[tuple[int, int], ...] = ()
    """(revision, revision that its stored bytes refer to or 0) for each content held."""
    shown: int = 0
    """The revision that the live feed told last; 0: no article was shown."""
    stood: int = 0
    """The revision at the open end."""
    stands: tuple[tuple[int, int], ...] = ()
    """(boundary, revision or 0): what stood at each kept boundary."""
    needs: tuple[int, ...] = ()
    """Revisions that stand at a boundary and whose content is not held: to be fetched."""

    @property
    def revs(self) -> tuple[int, ...]:
        """The revisions whose content is held."""
        return tuple(rev for rev, _ in self.bases)


_encoder = msgspec.msgpack.Encoder()
_held = msgspec.msgpack.Decoder(Held)
_entity = msgspec.msgpack.Decoder(Entity)


class _Depth(msgspec.Struct):
    """Of an entity no more than this: the rest is passed over, not built."""

    outline: bool = False


_depth = msgspec.msgpack.Decoder(_Depth)


def encode(value: object) -> bytes:
    """A record as bytes."""
    return HEAD + _encoder.encode(value)


def decode_held(data: bytes) -> Held:
    """The ledger record in ``data``."""
    if data[:1] == HEAD:  # read for every line of a dump: two calls less
        try:
            return _held.decode(memoryview(data)[1:])
        except msgspec.DecodeError as error:
            raise StateCorrupt(f"a state value cannot be read: {error}") from error
    return _decoded(_held, data)


def decode_entity(data: bytes) -> Entity:
    """The entity in ``data``."""
    return _decoded(_entity, data)


def is_outline(data: bytes) -> bool:
    """Whether the entity in ``data`` was kept without its statements."""
    return _decoded(_depth, data).outline


def decode(data: bytes, kind: type[T]) -> T:
    """The record of type ``kind`` in ``data``.

    Raises:
        StateVersionError: another version wrote it.
        StateCorrupt: the bytes are not a record of that type.
    """
    return _decoded(msgspec.msgpack.Decoder(kind), data)


def unwrapped(data: bytes) -> memoryview:
    """``data`` without its version byte.

    Raises:
        StateVersionError: another version wrote it.
    """
    if data[:1] != HEAD:
        raise StateVersionError(
            f"state value of version {data[0] if data else 'none'}, this program reads {VERSION}: "
            "run `twiki state migrate`, or bootstrap a new folder"
        )
    return memoryview(data)[1:]


def _decoded(decoder: msgspec.msgpack.Decoder[T], data: bytes) -> T:
    try:
        return decoder.decode(unwrapped(data))
    except msgspec.DecodeError as error:
        raise StateCorrupt(f"a state value cannot be read: {error}") from error
