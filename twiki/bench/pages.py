"""Generated pages of wikitext, and the edits that people make to them, for benchmarks.

Lengths, and markup by the thousand characters, are those of 106 articles of English Wikipedia
of 2016 (median 42 KB of wikitext; a block of 430 characters, 15 references, 56 links, 18
templates, 9 list items and 4 headings in 10,000 characters, a quarter of them in references).
Everything follows from a seed: the same page comes out every time.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

MEDIAN, SHORTEST, LONGEST = 42_000, 400, 190_000
_SPREAD = 1.0
"""Standard deviation of the lengths' logarithm: with the ends cut it gives the sample's mean."""
_SYLLABLES = ("ba", "ren", "to", "mi", "sal", "ve", "dor", "ka", "lin", "esh", "ur", "gan", "po")
_WORDS = tuple(
    a + b + c for a in _SYLLABLES for b in _SYLLABLES for c in ("", "n", "ter", "ly", "ed")
)
_SMALL = ("the", "of", "and", "in", "to", "a", "was", "is", "for", "as", "on", "with", "by", "at")
_SECTION_PARAGRAPHS = 4
_POOL = 15_000
_LISTS, _CALLS, _ITALICS, _REFERENCES = 0.1, 0.2, 0.1, 0.33
"""Share of paragraphs that are lists; of sentences with a template, italics, a reference."""
_TEMPLATES = ("{{convert|%d|km}}", "{{circa|%d}}", "{{nowrap|%d men}}", "{{lang|fr|mot %d}}")


class Kind(StrEnum):
    """What an edit does."""

    WORD = "one word"
    SENTENCE = "one sentence"
    PARAGRAPH = "a new paragraph"
    REFERENCE = "a reference"
    INFOBOX = "an infobox value"
    REVERT = "a revert"
    REWRITE = "a rewrite"
    """Of a section: every sentence of it is another one."""


@dataclass(frozen=True)
class Page:
    """A page as its parts: an infobox, then headings, lists and paragraphs of sentences."""

    infobox: tuple[int, ...]
    parts: tuple[tuple[str, ...], ...]

    @property
    def text(self) -> str:
        """Its wikitext."""
        fields = "".join(f"| field_{n} = {value} [[Town {n}]]\n" for n, value in _fields(self))
        box = f"{{{{Infobox settlement\n{fields}}}}}\n" if fields else ""
        body = "\n\n".join(" ".join(sentences) for sentences in self.parts)
        return f"{box}{body}\n\n[[Category:Made up]]\n"


def _fields(page: Page) -> list[tuple[int, int]]:
    return list(enumerate(page.infobox))


def lengths(count: int, seed: int) -> list[int]:
    """``count`` lengths of pages, characters of wikitext: the sample's distribution."""
    draw = random.Random(seed)
    sizes = (draw.lognormvariate(math.log(MEDIAN), _SPREAD) for _ in range(count))
    return [int(min(max(size, SHORTEST), LONGEST)) for size in sizes]


def page(length: int, seed: int | str) -> Page:
    """A page of about ``length`` characters."""
    draw = random.Random(f"page {seed}")
    fields = min(12, length // 400)
    parts: list[tuple[str, ...]] = []
    written = fields * 40
    while written < length or not parts:
        if len(parts) % (_SECTION_PARAGRAPHS + 1) == _SECTION_PARAGRAPHS:
            parts.append((f"== {_word(draw).title()} {_word(draw)} ==",))
        elif parts and draw.random() < _LISTS:
            items = [f"* [[{_word(draw).title()}]], {_prose(draw, 8)}" for _ in range(5)]
            parts.append(("\n".join(items),))
        else:
            room = max(1, min(draw.randint(2, 6), (length - written) // 150))
            parts.append(tuple(draw.choices(_pool(), k=room)))
        written += sum(map(len, parts[-1])) + len(parts[-1]) + 1
    return Page(tuple(draw.randrange(10**6) for _ in range(fields)), tuple(parts))


@cache
def _pool() -> tuple[str, ...]:
    """Sentences that pages are made of: more than repeat within a block of bzip2."""
    draw = random.Random(_POOL)
    return tuple(sentence(draw) for _ in range(_POOL))


def sentence(draw: random.Random) -> str:
    """One sentence: about 20 words with a link or two, a reference after every third."""
    words = _prose(draw, draw.randint(12, 26)).split(" ")
    for _ in range(draw.randrange(3)):
        at = draw.randrange(len(words))
        words[at] = f"[[{_word(draw).title()} {_word(draw)}|{words[at]}]]"
    if draw.random() < _CALLS:
        words.append(draw.choice(_TEMPLATES) % draw.randint(1, 999))
    if draw.random() < _ITALICS:
        words[0] = f"''{words[0]}''"
    text = f"{words[0].capitalize()} {' '.join(words[1:])} in {draw.randint(1200, 2026)}."
    return text + (reference(draw) if draw.random() < _REFERENCES else "")


def reference(draw: random.Random) -> str:
    """A footnote that cites something on the web."""
    return (
        f"<ref>{{{{cite web|url=http://example.org/{draw.randrange(10**8)}|title={_prose(draw, 6)}"
        f"|last={_word(draw)}|date={draw.randint(1990, 2026)}|publisher={_prose(draw, 2)}"
        f"|access-date=1 May {draw.randint(2005, 2026)}}}}}</ref>"
    )


def edited(old: Page, kind: Kind, seed: int | str, before: Page | None = None) -> Page:
    """``old`` after an edit; a revert brings ``before`` back, where there is one."""
    draw = random.Random(f"edit {seed}")
    prose = [n for n, part in enumerate(old.parts) if not part[0].startswith(("=", "*"))]
    at = draw.choice(prose)
    part = list(old.parts[at])
    which = draw.randrange(len(part))
    if kind is Kind.REVERT:
        return old if before is None else before
    if kind is Kind.INFOBOX and old.infobox:
        values = list(old.infobox)
        values[draw.randrange(len(values))] = draw.randrange(10**6)
        return replace(old, infobox=tuple(values))
    if kind is Kind.REWRITE:
        section = range(at, min(at + _SECTION_PARAGRAPHS, len(old.parts)))
        return _with(old, {n: _rewritten(old.parts[n], draw) for n in section})
    if kind is Kind.PARAGRAPH:
        new = tuple(sentence(draw) for _ in range(3))
        return replace(old, parts=(*old.parts[:at], new, *old.parts[at:]))
    if kind is Kind.SENTENCE:
        part[which] = sentence(draw)
    elif kind is Kind.REFERENCE:
        part[which] += reference(draw)
    else:
        part[which] = f"{_word(draw).title()} {part[which]}"
    return _with(old, {at: tuple(part)})


def _rewritten(part: Sequence[str], draw: random.Random) -> tuple[str, ...]:
    if part[0].startswith(("=", "*")):
        return tuple(part)
    return tuple(sentence(draw) for _ in part)


def _with(old: Page, parts: dict[int, tuple[str, ...]]) -> Page:
    return replace(old, parts=tuple(parts.get(n, part) for n, part in enumerate(old.parts)))


def _prose(draw: random.Random, count: int) -> str:
    return " ".join(
        w
        for pair in zip(draw.choices(_SMALL, k=count), draw.choices(_WORDS, k=count), strict=True)
        for w in pair
    )[: count * 7].rstrip()


def _word(draw: random.Random) -> str:
    return draw.choice(_WORDS)
