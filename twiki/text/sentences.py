"""A cleaned paragraph → its sentences, and the key by which two of them are the same.

Segmentation sees one paragraph and nothing else (L4). sentencex does the work.
"""

import unicodedata

import sentencex


def key(sentence: str) -> str:
    """What two equal sentences share: NFC, white space folded. Case and digits stay."""
    if not sentence.isascii():
        sentence = unicodedata.normalize("NFC", sentence)
    return " ".join(sentence.split())


def segment(paragraph: str, language: str = "en") -> list[str]:
    """Sentences of a paragraph, in order, white space folded; none is empty."""
    text = " ".join(paragraph.split())
    if not text:
        return []
    return [s for part in sentencex.segment(language, text) if (s := part.strip())]
