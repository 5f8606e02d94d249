"""The state as programs use it: pages, entities, indexes, on any key-value store.

Reading gives :class:`~twiki.apply.Subject`; writing goes through :class:`Batch`, which
collects what several revisions changed and lands as **one** write (L16), together with
whatever the engine adds to it: outbox, position, counters.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from twiki.state import codec, layout
from twiki.state.codec import Held
from twiki.state.kv import KeyValues
from twiki.state.layout import Id
from twiki.state.subject import Subject

if TYPE_CHECKING:
    from twiki.apply import Applied

T = TypeVar("T")


class Store:
    """Pages and entities by key, and the indexes that a cut walks."""

    def __init__(self, kv: KeyValues) -> None:
        self.kv = kv

    # --- records ---

    def held(self, key: Id) -> Held | None:
        """The ledger record of a page or entity, or None."""
        return self.held_at(layout.record(key))

    def held_at(self, record: bytes) -> Held | None:
        """The ledger record at the key that :func:`twiki.state.layout.record` gives, or None."""
        data = self.kv.get(record)
        return None if data is None else codec.decode_held(data)

    def content(self, key: Id, rev: int) -> bytes | None:
        """Stored bytes of a revision's content."""
        return self.kv.get(layout.content(key, rev))

    def pages(self, after: int = -1) -> Iterator[tuple[int, Held]]:
        """All pages in the order of their ids."""
        start = layout.record(after) if after >= 0 else b""
        for key, value in self.kv.scan(layout.PAGE, start):
            yield int.from_bytes(key[1:], "big"), codec.decode_held(value)

    def entities(self) -> Iterator[tuple[str, Held]]:
        """All entities in the order of their ids as text."""
        for key, value in self.kv.scan(layout.ENTITY):
            yield key[1:].decode(), codec.decode_held(value)

    def article_of(self, entity_id: str, boundary_ms: int) -> int | None:
        """The page about an entity, by the ``page_props`` of that boundary."""
        data = self.kv.get(layout.article(boundary_ms, entity_id))
        return None if data is None else int.from_bytes(data, "big")

    # --- indexes ---

    def touched_pages(self, window_ms: int) -> Iterator[int]:
        """Pages touched in the window that starts at ``window_ms``, ascending."""
        prefix = layout.TOUCHED + layout.number(window_ms) + layout.PAGE
        return (int.from_bytes(key[-8:], "big") for key, _ in self.kv.scan(prefix))

    def touched_entities(self, window_ms: int) -> Iterator[str]:
        """Entities touched in the window, in the order of their ids as text."""
        prefix = layout.TOUCHED + layout.number(window_ms) + layout.ENTITY
        return (key[len(prefix) :].decode() for key, _ in self.kv.scan(prefix))

    def pages_titled(self, title: str) -> list[int]:
        """Pages that bear or bore ``title`` at some time."""
        prefix = layout.title_prefix(title)
        return [int.from_bytes(key[-8:], "big") for key, _ in self.kv.scan(prefix)]

    def pages_by_hash(self) -> Iterator[int]:
        """Pages that are or were articles, in the order of their hash."""
        return (int.from_bytes(key[-8:], "big") for key, _ in self.kv.scan(layout.HASH))

    def sampled_entities(self) -> Iterator[str]:
        """Entities that have or had a fact chosen by L13."""
        return (key[1:].decode() for key, _ in self.kv.scan(layout.SAMPLED))

    def needs(self, after: bytes = b"") -> Iterator[tuple[Id, int]]:
        """Revisions whose content is to be fetched by id, those behind the mark ``after``."""
        return (layout.parse_need(key) for key, _ in self.kv.scan(layout.NEED, after))

    # --- records of the engine ---

    def meta(self, name: str, kind: type[T]) -> T | None:
        """The engine's record ``name``, or None."""
        data = self.kv.get(layout.META + name.encode())
        return None if data is None else codec.decode(data, kind)

    def close(self) -> None:
        """Release the store."""
        self.kv.close()


class Batch:
    """Changes to the store that land together. Reads through it see what it holds."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._puts: dict[bytes, bytes] = {}
        self._deletes: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._puts) + len(self._deletes)

    def put(self, key: bytes, value: bytes) -> None:
        """Set ``key``."""
        self._puts[key] = value
        self._deletes.discard(key)

    def delete(self, key: bytes) -> None:
        """Remove ``key``."""
        self._puts.pop(key, None)
        self._deletes.add(key)

    def get(self, key: bytes) -> bytes | None:
        """The value at ``key`` as it will be."""
        if key in self._puts:
            return self._puts[key]
        return None if key in self._deletes else self._store.kv.get(key)

    def keys(self, prefix: bytes) -> list[bytes]:
        """The keys under ``prefix`` as they will be, in order."""
        held = {key for key, _ in self._store.kv.scan(prefix)} - self._deletes
        return sorted(held | {key for key in self._puts if key.startswith(prefix)})

    def put_meta(self, name: str, value: object) -> None:
        """Set the engine's record ``name``."""
        self.put(layout.META + name.encode(), codec.encode(value))

    def subject(self, key: Id) -> Subject:
        """A page or entity, empty where it is not held."""
        data = self.get(layout.record(key))
        held = Held() if data is None else codec.decode_held(data)
        return Subject(key, held, lambda rev: self.get(layout.content(key, rev)))

    def update(self, key: Id, before: Held, applied: "Applied") -> None:
        """Take over what :func:`twiki.apply.apply` made of a page or entity."""
        if not applied.changed:
            return
        held = applied.held
        self.put(layout.record(key), codec.encode(held))
        for rev in applied.drops:
            self.delete(layout.content(key, rev))
        for rev, data in applied.puts.items():
            self.put(layout.content(key, rev), data)
        self._needs(key, before, held)
        for start in applied.touched:
            self.put(layout.touched(start, key), b"")
        if not isinstance(key, int):
            if applied.sampled:
                self.put(layout.SAMPLED + key.encode(), b"")
            return
        for text in applied.titles:
            self.put(layout.title(text, key), b"")
        if held.bases and not before.bases:
            self.put(layout.HASH + layout.page_hash(key) + layout.number(key), b"")

    def _needs(self, key: Id, before: Held, held: Held) -> None:
        for rev in set(before.needs) - set(held.needs):
            self.delete(layout.need(key, rev))
        for rev in set(held.needs) - set(before.needs):
            self.put(layout.need(key, rev), b"")

    def commit(self, *, sync: bool = False) -> None:
        """Write all of it at once, and begin anew."""
        self._store.kv.write(self._puts.items(), self._deletes, sync=sync)
        self._puts.clear()
        self._deletes.clear()
