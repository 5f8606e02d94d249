r"""Two texts of an article → the sentences it gained and lost: Algorithm 1, net (L5, L6).

A sentence is new as often as its count in the article grew, whatever moved where. Equal
blocks are taken out before anything is cleaned, so a diff costs what the edit touched::

    diff(["A b.\\n\\n", "C d."], ["C d.\\n\\n", "A b. E f."], clean).sentences  ->  "E f.", added
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from twiki.pairing import Place, pair
from twiki.records import (
    CleanBlock,
    Diff,
    DiffSentence,
    Paragraph,
    ParagraphKind,
    SentenceKind,
)
from twiki.similarity import cosmetic
from twiki.text import sentences

_FEW = 8
"""Blocks up to which comparing each with a page's is cheaper than hashing the page."""


def diff(old: Sequence[str] | None, new: Sequence[str], clean: Callable[[str], CleanBlock]) -> Diff:
    """What ``new`` gained and lost against ``old``, both as blocks; None: a new article.

    Each sentence of ``Diff.sentences`` is ``new_article``, ``added``, or ``updated`` with the
    sentence it replaced; ``Diff.removed`` holds those lost that nothing replaced. Headings
    count as neither. Both are in reading order.
    """
    if old is None:
        return Diff(
            sentences=tuple(
                DiffSentence(
                    kind=SentenceKind.NEW_ARTICLE,
                    text=place.text,
                    block=place.block,
                    paragraph=place.paragraph,
                )
                for place in _places(enumerate(new), clean)
            )
        )
    shared, old_rest, new_rest = _take_out_equal(old, new)
    if not old_rest and not new_rest:
        return Diff()
    lost = _places(((i, old[i]) for i in old_rest), clean)
    gained = _places(((i, new[i]) for i in new_rest), clean)
    gained_keys, lost_keys = _surplus(gained, lost), _surplus(lost, gained)
    replaced = pair(gained, gained_keys, lost, lost_keys, shared)
    return Diff(
        sentences=tuple(_sentence(gained[i], lost, replaced.get(i)) for i in gained_keys),
        removed=tuple(lost[i].text for i in lost_keys if i not in frozenset(replaced.values())),
    )


def diff_plain(old: Sequence[str] | None, new: Sequence[str]) -> Diff:
    """The same for cleaned text, given as paragraphs."""
    return diff(old, new, _plain)


def _plain(paragraph: str) -> CleanBlock:
    cut = tuple(sentences.segment(paragraph))
    return CleanBlock(paragraphs=(Paragraph(kind=ParagraphKind.PROSE, sentences=cut),))


def _sentence(place: Place, lost: Sequence[Place], replaced: int | None) -> DiffSentence:
    before = None if replaced is None else lost[replaced].text
    return DiffSentence(
        kind=SentenceKind.ADDED if before is None else SentenceKind.UPDATED,
        text=place.text,
        replaced=before,
        block=place.block,
        paragraph=place.paragraph,
        cosmetic=before is not None and cosmetic(before, place.text),
    )


def _take_out_equal(
    old: Sequence[str], new: Sequence[str]
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Pairs of equal blocks (old index, new index), first to first, and what is left.

    White space at a block's end is no part of it: the last item of a list ends in an empty line,
    and is the same item when another follows it.
    Of the pairs at the beginning only the last is told, of those at the end none: nothing
    that is left stands between them.
    """
    room = min(len(old), len(new))
    head = _count_equal(zip(old, new, strict=False))
    tail = min(_count_equal(zip(reversed(old), reversed(new), strict=False)), room - head)
    ending = old[len(old) - tail :]
    waiting: dict[str, list[int]] = {}
    for index in range(len(old) - tail - 1, head - 1, -1):
        waiting.setdefault(old[index].rstrip(), []).append(index)
    middle = range(head, len(new) - tail)
    if tail and _share(ending, {*waiting, *(new[index].rstrip() for index in middle)}):
        # a block of the end stands in the middle too: pairs there go first to first as well
        middle = range(head, len(new))
        waiting = {}
        for index in range(len(old) - 1, head - 1, -1):
            waiting.setdefault(old[index].rstrip(), []).append(index)
    shared = [(head - 1, head - 1)] if head else []
    new_rest: list[int] = []
    for index in middle:
        if partners := waiting.get(new[index].rstrip()):
            shared.append((partners.pop(), index))
        else:
            new_rest.append(index)
    old_rest = sorted(index for partners in waiting.values() for index in partners)
    return shared, old_rest, new_rest


def _count_equal(pairs: Iterable[tuple[str, str]]) -> int:
    count = 0
    for one, other in pairs:
        if one is not other and one != other:
            break
        count += 1
    return count


def _share(ending: Sequence[str], middle: set[str]) -> bool:
    """Whether a block of the end stands in the middle, whatever white space ends it."""
    if len(middle) > _FEW:
        return not middle.isdisjoint(block.rstrip() for block in ending)
    return any(
        block.startswith(one) and block.rstrip() == one for one in middle for block in ending
    )


def _places(blocks: Iterable[tuple[int, str]], clean: Callable[[str], CleanBlock]) -> list[Place]:
    """The sentences of the blocks in reading order, headings aside."""
    return [
        Place(block, number, sentence, sentences.key(sentence))
        for block, text in blocks
        for number, paragraph in enumerate(clean(text).paragraphs)
        if paragraph.kind is not ParagraphKind.HEADING
        for sentence in paragraph.sentences
    ]


def _surplus(these: Sequence[Place], those: Sequence[Place]) -> list[int]:
    """Indices in ``these`` of the sentences it has more often: the last occurrences."""
    grown = Counter(place.key for place in these)
    grown.subtract(place.key for place in those)
    found: list[int] = []
    for index in range(len(these) - 1, -1, -1):
        key = these[index].key
        if grown[key] > 0:
            grown[key] -= 1
            found.append(index)
    return found[::-1]
