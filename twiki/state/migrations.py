"""From one version of stored bytes to the next (``twiki state migrate``).

Every value carries its version in its first byte, so a migration that was interrupted is gone on
with by calling it again. A step takes one value of version n and gives it in version n + 1;
:data:`STEPS` holds all there are. Golden values of each version lie in ``tests/data/state``.

Version 0 was never released; it shows what a step is. Its ledger records were maps by name with
times in seconds; all else was as in version 1.
"""

from collections.abc import Callable

import msgspec

from twiki.errors import StateCorrupt, StateVersionError
from twiki.state import layout
from twiki.state.codec import VERSION, Held, encode
from twiki.state.kv import KeyValues
from twiki.state.ledger import Entry, EntryKind

Step = Callable[[bytes, bytes], bytes]
"""(key, body of version n) -> body of version n + 1; bodies are without the version byte."""
BATCH = 1000


class EntryOf0(msgspec.Struct, omit_defaults=True):
    """An entry of the ledger in version 0."""

    kind: int
    at: int
    """Seconds."""
    rev: int = 0
    parent: int | None = None
    written: int | None = None
    """The revision's own time, seconds."""
    title: str | None = None
    namespace: int | None = None
    redirect: bool | None = None
    new: bool = False


class HeldOf0(msgspec.Struct, omit_defaults=True):
    """A ledger record in version 0."""

    ledger: list[EntryOf0] = []
    texts: dict[int, int] = {}
    """Revision -> the one that its stored bytes refer to, or 0."""
    shown: int = 0
    stood: int = 0
    stands: list[tuple[int, int]] = []
    """(boundary in seconds, revision)."""
    needs: list[int] = []


def _from_0(key: bytes, body: bytes) -> bytes:
    if key[:1] not in (layout.PAGE, layout.ENTITY):
        return body
    old = msgspec.msgpack.decode(body, type=HeldOf0)
    held = Held(
        entries=tuple(
            Entry(
                kind=EntryKind(entry.kind),
                effective=entry.at * 1000,
                rev=entry.rev,
                parent=entry.parent,
                rev_ms=None if entry.written is None else entry.written * 1000,
                title=entry.title,
                namespace=entry.namespace,
                redirect=entry.redirect,
                created=entry.new,
            )
            for entry in old.ledger
        ),
        bases=tuple(sorted(old.texts.items())),
        shown=old.shown,
        stood=old.stood,
        stands=tuple((at * 1000, rev) for at, rev in old.stands),
        needs=tuple(old.needs),
    )
    return encode(held)[1:]


STEPS: dict[int, Step] = {0: _from_0}
"""By the version that a step begins with."""


def migrated(key: bytes, value: bytes) -> bytes:
    """The value in this program's version; index entries have none and stay.

    Raises:
        StateVersionError: no step leads from its version to ours.
        StateCorrupt: the value is not what its version says.
    """
    if not value:
        return value
    version, body = value[0], value[1:]
    while version != VERSION:
        step = STEPS.get(version)
        if step is None:
            raise StateVersionError(
                f"a state value of version {value[0]}, this program makes {VERSION} of "
                f"{', '.join(map(str, sorted(STEPS)))}: use a newer program"
            )
        try:
            body = step(key, body)
        except (msgspec.DecodeError, ValueError) as error:
            raise StateCorrupt(
                f"{key!r}: a state value of version {version} cannot be read: {error}"
            ) from error
        version += 1
    return bytes([version]) + body


def migrate(kv: KeyValues, progress: Callable[[int], None] = lambda _more: None) -> dict[int, int]:
    """Bring every value to this program's version; how many there were of each.

    Values are read to the end before anything is written, so that a state that cannot be
    migrated is left as it is.

    Raises:
        StateVersionError: no step leads from a value's version to ours.
        StateCorrupt: a value is not what its version says.
    """
    found: dict[int, int] = {}
    for key, value in kv.scan(b""):
        if value:
            found[value[0]] = found.get(value[0], 0) + 1
            migrated(key, value)
        progress(1)
    if set(found) <= {VERSION}:
        return found
    puts: list[tuple[bytes, bytes]] = []
    for key, value in kv.scan(b""):
        if value and value[0] != VERSION:
            puts.append((key, migrated(key, value)))
        if len(puts) == BATCH:
            kv.write(puts, [])
            puts.clear()
        progress(1)
    kv.write(puts, [], sync=True)
    return found
