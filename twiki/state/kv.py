"""The key-value store under the state: what we ask of one, and its twin in memory."""

import bisect
from collections.abc import Iterable, Iterator
from typing import Protocol


class KeyValues(Protocol):
    """Bytes to bytes, sorted by key, with atomic batches."""

    def get(self, key: bytes) -> bytes | None:
        """The value at ``key``, or None."""

    def scan(self, prefix: bytes, after: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Items whose key begins with ``prefix`` and is greater than ``after``, in order."""

    def write(
        self, puts: Iterable[tuple[bytes, bytes]], deletes: Iterable[bytes], *, sync: bool = False
    ) -> None:
        """Apply all or nothing: deletes, then puts. ``sync`` waits for the disk."""

    def close(self) -> None:
        """Release the store; using it afterwards is an error."""


class MemoryKeyValues:
    """The in-memory twin: for tests, and for batches small enough to hold."""

    def __init__(self) -> None:
        self._values: dict[bytes, bytes] = {}
        self._keys: list[bytes] | None = None

    def get(self, key: bytes) -> bytes | None:
        """The value at ``key``, or None."""
        return self._values.get(key)

    def scan(self, prefix: bytes, after: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Items under ``prefix`` after ``after``, as they were when the scan began."""
        if self._keys is None:
            self._keys = sorted(self._values)
        keys = self._keys
        first = (
            bisect.bisect_right(keys, after) if after > prefix else bisect.bisect_left(keys, prefix)
        )
        for index in range(first, len(keys)):
            key = keys[index]
            if not key.startswith(prefix):
                return
            if (value := self._values.get(key)) is not None:
                yield key, value

    def write(
        self, puts: Iterable[tuple[bytes, bytes]], deletes: Iterable[bytes], *, sync: bool = False
    ) -> None:
        """Apply deletes, then puts; memory has nothing to ``sync``."""
        del sync
        for key in deletes:
            self._values.pop(key, None)
        self._values.update(puts)
        self._keys = None

    def close(self) -> None:
        """Nothing to release."""
