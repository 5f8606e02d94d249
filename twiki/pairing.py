"""Which new sentence replaced which lost one: best match nearby, one to one.

Candidates of a new sentence are the lost sentences of paragraphs that share a sentence with
its own, and those that stood about where it stands. Their number is bounded, so a page that
is rewritten whole costs no more than its length.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from twiki.similarity import bag, likeness

THRESHOLD = 0.5
"""Likeness from which a sentence counts as the other's update."""
CONTEXT = 0.1
"""Added for the same sentence before it, and again for after."""
FLOOR = 0.3
REACH = 6
"""How many blocks apart, after alignment, the two may stand."""
NEAREST = 12
"""Candidates looked at on either side, and among paragraphs that share a sentence."""


class Place(NamedTuple):
    """A sentence and where it stands."""

    block: int
    paragraph: int
    text: str
    key: str


def pair(
    gained: Sequence[Place],
    gained_keys: Sequence[int],
    lost: Sequence[Place],
    lost_keys: Sequence[int],
    shared: Sequence[tuple[int, int]],
) -> dict[int, int]:
    """Index in ``gained`` → index in ``lost``, for those of the keys that make a pair.

    ``shared`` are the equal blocks, (old index, new index).
    """
    if not gained_keys or not lost_keys:
        return {}
    where = _aligned([lost[i].block for i in lost_keys], shared)
    order = sorted(range(len(lost_keys)), key=lambda k: (where[k], lost_keys[k]))
    positions = [where[k] for k in order]
    kin = _kin(gained, lost, set(lost_keys))
    bags: dict[int, frozenset[str]] = {i: bag(lost[i].text) for i in lost_keys}
    distance_of = dict(zip(lost_keys, where, strict=True))
    scored: list[tuple[float, int, int, int]] = []
    for i in gained_keys:
        place = gained[i]
        own = bag(place.text)
        near = (lost_keys[order[k]] for k in _nearest(positions, place.block))
        related = kin.get((place.block, place.paragraph), ())
        for j in dict.fromkeys((*near, *related)):
            score = likeness(own, bags[j])
            if score < FLOOR:
                continue
            score += CONTEXT * _context(gained, i, lost, j)
            if score >= THRESHOLD:
                scored.append((-score, abs(distance_of[j] - place.block), i, j))
    scored.sort()
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for _, _, i, j in scored:
        if i not in pairs and j not in taken:
            pairs[i] = j
            taken.add(j)
    return pairs


def _aligned(blocks: Sequence[int], shared: Sequence[tuple[int, int]]) -> list[int]:
    """Where each old block would stand in the new text, judged by the equal block before it."""
    partners = sorted(shared)
    olds = [old for old, _ in partners]
    out = []
    for block in blocks:
        k = bisect_left(olds, block) - 1
        out.append(block if k < 0 else partners[k][1] + block - partners[k][0])
    return out


def _nearest(positions: Sequence[int], block: int) -> Iterator[int]:
    """Indices of the sorted ``positions`` around ``block``: bounded in reach and number."""
    middle = bisect_left(positions, block)
    for k in range(middle, min(middle + NEAREST, len(positions))):
        if positions[k] - block > REACH:
            break
        yield k
    for k in range(middle - 1, max(middle - 1 - NEAREST, -1), -1):
        if block - positions[k] > REACH:
            break
        yield k


def _kin(
    gained: Sequence[Place], lost: Sequence[Place], wanted: set[int]
) -> dict[tuple[int, int], list[int]]:
    """New paragraph → lost sentences of old paragraphs that share a sentence with it."""
    holders: dict[str, tuple[int, int]] = {}
    members: dict[tuple[int, int], list[int]] = {}
    for j, place in enumerate(lost):
        old = (place.block, place.paragraph)
        holders.setdefault(place.key, old)
        if j in wanted and len(members.setdefault(old, [])) < NEAREST:
            members[old].append(j)
    out: dict[tuple[int, int], list[int]] = {}
    for place in gained:
        found = holders.get(place.key)
        related = out.setdefault((place.block, place.paragraph), [])
        if found is not None and len(related) < NEAREST:
            related.extend(members.get(found, ()))
    return out


def _context(gained: Sequence[Place], i: int, lost: Sequence[Place], j: int) -> int:
    """How many of the two neighbours are the same sentence.

    Standing first or last in the paragraph counts too, beside a neighbour that is the same.
    """
    pairs = [(_neighbour(gained, i, step), _neighbour(lost, j, step)) for step in (-1, 1)]
    same = sum(one == other for one, other in pairs)
    beside = any(other is not None and one == other for one, other in pairs)
    return same if beside else 0


def _neighbour(places: Sequence[Place], index: int, step: int) -> str | None:
    other = index + step
    if 0 <= other < len(places) and places[other][:2] == places[index][:2]:
        return places[other].key
    return None
