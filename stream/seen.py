"""Repetitions: the same event twice, and two events that tell the same change.

The source repeats events (same ``meta.id``), and recentchange and page_change both announce
an edit. The ledger makes repetition harmless; this saves the second fetch. Bounded memory::

    seen = Seen(100_000)
    seen.first(change)      # True
    seen.first(change)      # False
"""

from collections.abc import Hashable

from stream.kinds import TEXT_KINDS
from twiki.records import Change


class Seen:
    """The last ``limit`` to ``2 * limit`` changes, forgotten in two generations."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._young: set[Hashable] = set()
        self._old: set[Hashable] = set()

    def first(self, change: Change) -> bool:
        """Whether nothing equal was seen; it is from now on."""
        repeated = bool(change.event_id) and self._known(change.event_id)
        key = change_key(change)
        if key is not None:
            repeated = self._known(key) or repeated
        return not repeated

    def forget(self, change: Change) -> None:
        """Let the next account of the same change count as the first."""
        key = change_key(change)
        self._young.discard(key)
        self._old.discard(key)

    def _known(self, key: Hashable) -> bool:
        if key in self._young:
            return True
        known = key in self._old
        self._young.add(key)
        if len(self._young) >= 2 * self._limit:  # two keys a change
            self._old, self._young = self._young, set()
        return known


def change_key(change: Change) -> Hashable | None:
    """By what two events count as one change; None when this one tells too little.

    A revision is created once, but a page can be deleted at the same revision again and again.
    """
    if change.kind in TEXT_KINDS:
        return (change.wiki, change.rev_id, change.kind) if change.rev_id else None
    revisions = change.rev_ids or change.rev_id
    return (change.wiki, change.kind, change.title, revisions, change.effective_time)
