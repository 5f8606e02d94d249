"""Whether a sentence holds a label as whole words (L10).

Two texts are compared in folded form: Unicode NFC, case folded, every kind of white space (no-
break spaces too) as one space, every kind of dash as ``-``, invisible characters left out; with
``diacritics`` also accents, stroked letters and typographic apostrophes.

A match stands for whole words when no word runs on over its edge: ``US`` is not in
``museum``, and the number ``5`` is not in ``3.5`` or ``1,5``. In scripts that are written without
spaces every place is an edge.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
_DASH = re.compile(f"[{_DASHES}]")
_GONE = re.compile(f"[{_INVISIBLE}]")
_STROKED = str.maketrans(
    {
        "ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ŧ": "t", "ƀ": "b", "ɓ": "b",
        "ɖ": "d", "ɗ": "d", "þ": "th", "æ": "ae", "œ": "oe", "‘": "'", "’": "'", "ʼ": "'", "ʻ": "'",
        "′": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"',
    }
)  # fmt: skip
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
"""Thai and Lao, Burmese, Khmer, kana, Han."""


def fold(text: str, *, diacritics: bool = False) -> str:
    """The form in which texts are compared."""
    if text.isascii():
        return " ".join(text.lower().split())
    text = _GONE.sub("", _DASH.sub("-", text))
    text = " ".join(unicodedata.normalize("NFC", text).casefold().split())
    text = unicodedata.normalize("NFC", text)
    return _plain(text) if diacritics else text


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFD", text.translate(_STROKED))
    return unicodedata.normalize("NFC", "".join(c for c in text if not unicodedata.combining(c)))


@lru_cache(1 << 14)
def fold_label(label: str, *, diacritics: bool = False) -> str:
    """:func:`fold` of a label: few of them name most objects."""
    return fold(label, diacritics=diacritics)


def find_words(folded: str, label: str, start: int = 0) -> int:
    """Where folded ``label`` first stands as whole words in a folded text; -1 when nowhere."""
    if not label:
        return -1
    at = folded.find(label, start)
    while at >= 0:
        end = at + len(label)
        if _is_edge(folded, at - 1, -1, label[0]) and _is_edge(folded, end, 1, label[-1]):
            return at
        at = folded.find(label, at + 1)
    return -1


def _is_edge(text: str, place: int, step: int, inner: str) -> bool:
    """Whether a word ends between ``inner`` and its outer neighbour, the character at ``place``.

    ``step`` leads outwards: -1 at the label's start, 1 at its end.
    """
    if not 0 <= place < len(text):
        return True
    outer = text[place]
    if inner.isdigit() and outer in ".,":
        beyond = place + step
        return not (0 <= beyond < len(text) and text[beyond].isdigit())
    if not _is_word(outer):
        return True
    return bool(_UNSPACED.match(outer) or _UNSPACED.match(inner))


def _is_word(character: str) -> bool:
    return (
        character.isalnum()
        or character == "_"
        or (character > "\u02ff" and unicodedata.category(character)[0] == "M")
    )


class Passage:
    """Sentences of an article, folded once, to be searched for many labels."""

    def __init__(self, sentences: Sequence[str], *, diacritics: bool = False) -> None:
        """Read ``sentences`` once and fold them; evidence is given as it was written."""
        self._sentences = list(sentences)
        folded = [fold(sentence, diacritics=diacritics) for sentence in self._sentences]
        self._starts: list[int] = []
        at = 0
        for sentence in folded:
            self._starts.append(at)
            at += len(sentence) + 1
        # Folding leaves no line break inside a sentence, so no label reaches over one.
        self._text = "\n".join(folded)

    def evidence(self, labels: Sequence[str]) -> str | None:
        """The first sentence that holds one of the *folded* labels as whole words."""
        places = [at for label in labels if (at := find_words(self._text, label)) >= 0]
        if not places:
            return None
        return self._sentences[bisect_right(self._starts, min(places)) - 1]
