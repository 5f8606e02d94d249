r"""Wikitext → blocks: runs that can be cleaned alone, and that concatenate to the text.

A block ends at a blank line, before and after a heading, and before a list item, wherever no
template, link, table, comment or tag is open. An opener that is never closed opens nothing
(MediaWiki shows it as text), except a comment, which hides the rest of the page. Example::

    split("A.\n\n* b {{c|\n\n}}\n* d")  ->  ["A.\n\n", "* b {{c|\n\n}}\n", "* d"]

:func:`resplit` splits an edited text at the cost of the edit; it equals ``split(new)``.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise

from twiki.text.nesting import scan, shuts


def split(text: str) -> list[str]:
    """Blocks of a page, in order; ``"".join(split(text)) == text``. Linear time."""
    return _cut(text, scan(text).cuts)


def resplit(blocks: Sequence[str], new: str) -> list[str]:
    """``split(new)``, given the blocks of a similar text: only what differs is scanned.

    Unchanged blocks come back as the same objects.
    """
    old = "".join(blocks)
    head, tail = _common(old, new)
    ends = list(accumulate(map(len, blocks)))
    # Two unchanged blocks on either side go into the scan: whether a block starts where it
    # does depends on the line before and the line after.
    first = max(bisect_right(ends, head) - 2, 0)
    last = min(bisect_right(ends, len(old) - tail - 1) + 3, len(blocks))
    start = ends[first - 1] if first else 0
    stop = ends[last - 1] if last else 0
    before, after = old[start:stop], new[start : len(new) - len(old) + stop]
    cuts, _, loose = scan(after)
    # An edit that is closed in itself, before and after, leaves the rest as it was.
    whole = len(before) == len(old)
    if loose or (not whole and (scan(before).loose or shuts(before, after, old, stop))):
        return split(new)
    return [*blocks[:first], *_cut(after, cuts), *blocks[last:]]


def _common(old: str, new: str) -> tuple[int, int]:
    """Lengths of the common prefix and suffix, which do not overlap in either text."""
    low, high = 0, min(len(old), len(new))
    room = high
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    head, low, high = low, 0, room - low
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle : len(old) - low] == new[len(new) - middle : len(new) - low]:
            low = middle
        else:
            high = middle - 1
    return head, low


def _cut(text: str, cuts: list[int]) -> list[str]:
    return [text[a:b] for a, b in pairwise((0, *cuts, len(text))) if a < b]
