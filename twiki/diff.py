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
    """Pairs of equal blocks (old index, new index), first to first, and what is left."""
    waiting: dict[str, list[int]] = {}
    for index in range(len(old) - 1, -1, -1):
        waiting.setdefault(old[index], []).append(index)
    shared: list[tuple[int, int]] = []
    new_rest: list[int] = []
    for index, block in enumerate(new):
        if partners := waiting.get(block):
            shared.append((partners.pop(), index))
        else:
            new_rest.append(index)
    old_rest = sorted(index for partners in waiting.values() for index in partners)
    return shared, old_rest, new_rest


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
