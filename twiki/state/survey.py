"""Which revisions stand at the kept boundaries: what :mod:`twiki.apply` must hold.

A revision that arrives in order changes nothing before its own time, so what stood at the
earlier boundaries is remembered in the ledger record and not worked out again. Anything else
(an event out of order, a late one, a dump's pin) is worked out from the whole ledger.
"""

from collections.abc import Sequence

import msgspec

from twiki.context import Context
from twiki.state.codec import Held
from twiki.state.ledger import FOREVER, Entry, EntryKind, Standing, is_late, standing


class Survey(msgspec.Struct, frozen=True):
    """What stands where."""

    stands: tuple[tuple[int, int], ...]
    """(boundary, revision or 0) in order, to be remembered."""
    wanted: frozenset[int]
    """Revisions whose content is to be held, the versions of late windows included."""
    open: Standing | None
    """What stands at the open end."""


def survey(
    held: Held,
    ledger: Sequence[Entry],
    fresh: Sequence[Entry],
    context: Context,
    *,
    articles: bool,
) -> Survey:
    """Work out what stands after ``fresh`` was merged into ``held`` to give ``ledger``.

    ``articles``: only what is an article is wanted (pages); else all that stands (entities).
    """
    # Who did not know of a late event reads another revision up to where it became known.
    last = max((max(e.effective, e.epoch) for e in ledger), default=0)
    first = min((e.effective for e in fresh), default=0)
    pinned = {e.boundary for e in ledger if e.boundary is not None}
    plain = not pinned and not any(is_late(e) for e in ledger)
    # A text that is shown again is wanted again wherever it stands.
    shown = any(e.kind is EntryKind.VISIBILITY and e.visible for e in fresh)
    in_order = plain and not shown and bool(held.entries) and first >= held.entries[-1].effective
    remembered = dict(held.stands) if in_order else {}
    had = {*held.revs, *held.needs}
    stands: list[tuple[int, int]] = []
    wanted: set[int] = set()
    for index, at in enumerate(context.boundaries):
        if at > last and at not in pinned:
            continue
        if at <= first and at in remembered:
            rev = remembered[at]
            stands.append((at, rev))
            wanted.update({rev} & had)
            continue
        readings = _readings(ledger, at, context.boundaries[max(index - 1, 0)], pinned, plain)
        stands.append((at, readings[0].rev if readings[0] else 0))
        wanted.update(_wanted(readings, context, articles=articles))
    current = _advanced(held, fresh) if in_order else None
    if current is None:
        current = standing(ledger, FOREVER)
    wanted.update(_wanted([current], context, articles=articles))
    return Survey(tuple(stands), frozenset(wanted), current)


def _readings(
    ledger: Sequence[Entry], at: int, before: int, pinned: set[int], plain: bool
) -> list[Standing | None]:
    """What stands at ``at``: with all that is known first, then as the versions knew it."""
    readings = [standing(ledger, at)]
    if not plain:
        newest = max(e.epoch for e in ledger)
        readings += [standing(ledger, at, known=known) for known in (before, at) if known < newest]
    if at in pinned:
        readings.append(standing(ledger, at, pins=True))
    return readings


def _wanted(readings: Sequence[Standing | None], context: Context, *, articles: bool) -> set[int]:
    return {
        stood.rev
        for stood in readings
        if stood is not None
        and stood.rev
        and (not articles or context.is_article(stood.namespace, redirect=stood.redirect))
    }


def _advanced(held: Held, fresh: Sequence[Entry]) -> Standing | None:
    """The open end after a plain edit in order; None: ask the whole ledger."""
    if len(fresh) != 1 or not held.stood:
        return None
    entry = fresh[0]
    if entry.kind is not EntryKind.REVISION or entry.rev_ms is None or entry.title is None:
        return None
    stood = next((e for e in reversed(held.entries) if e.rev == held.stood), None)
    if stood is None or stood.rev_ms is None or entry.redirect is None:
        return None
    if entry.parent != stood.rev and (entry.rev_ms, entry.rev) <= (stood.rev_ms, stood.rev):
        return None
    if any(entry.rev in {e.parent, e.rev} for e in held.entries):
        return None
    return Standing(entry.rev, entry.rev_ms, entry.title, entry.namespace, entry.redirect)
