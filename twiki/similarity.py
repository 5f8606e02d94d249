"""How alike two sentences are, by their words and numbers."""

import re

_WORD = re.compile(r"(?<![\w)])[-−+±]\d+(?:[.,:]\d+)*|\d+(?:[.,:]\d+)*|[^\W\d_]+|[$€£¥%°‰]")
_GROUPED = re.compile(r"[-−+±]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")


def words(sentence: str) -> list[str]:
    """Words and numbers in order. ``-5``, ``1.5`` and ``%`` are tokens, ``1,000`` is 1000."""
    return [
        w.replace(",", "") if "," in w and _GROUPED.fullmatch(w) else w
        for w in _WORD.findall(sentence)
    ]


def bag(sentence: str) -> frozenset[str]:
    """Its words without case; the n-th repetition of a word is a member of its own."""
    seen: dict[str, int] = {}
    out = []
    for word in words(sentence.casefold()):
        count = seen.get(word, 0)
        seen[word] = count + 1
        out.append(word if not count else f"{word} {count}")
    return frozenset(out)


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Dice's coefficient of two bags: 1.0 for the same words, 0.0 for none shared."""
    total = len(one) + len(other)
    return 2 * len(one & other) / total if total else 0.0


def cosmetic(one: str, other: str) -> bool:
    """Whether two sentences have the same words and numbers in the same order."""
    return words(one) == words(other)
