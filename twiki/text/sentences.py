"""A cleaned paragraph → its sentences, and the key by which two of them are the same.

Segmentation sees one paragraph and nothing else (L4). sentencex finds the boundaries; the
joins below take those back that an encyclopedia gets wrong: ``Vol. 3``, ``Ft. Worth``,
``Panic! at the Disco``, ``1. First item``, a bracket left open. Example::

    segment("He was born c. 1900. See Vol. 3.")  ->  ["He was born c. 1900.", "See Vol. 3."]
"""

import re
import unicodedata
from itertools import pairwise

import sentencex

_NEEDS_NUMBER = frozenset(
    "no nos nr vol vols ch chs chap p pp fig figs eq eqs sec secs art arts op opp lit"  # noqa: SIM905
    " approx ca c cir reg mag app par para paras ver rev pt pts bk bks act sc col cols".split()
)
"""Abbreviations that end no sentence when a number follows."""
_NEEDS_WORD = frozenset(
    "ft ste mt mts sts pt st dr mr mrs ms prof gen gov sen rep lt sgt capt col maj adm"  # noqa: SIM905
    " cmdr cpl pvt rev hon fr msgr pres supt insp det messrs mme mlle vs cf viz eds ed trans"
    " repr".split()
)
"""Abbreviations that stand before a name, and end no sentence when one follows directly."""
_STARTERS = frozenset(
    "the a an he she it they we i you this that these those there his her its their our my"  # noqa: SIM905
    " your in on at by for from with after before during since until while when where as if"
    " although though because but and or so however also both some many most all each every"
    " one two three several other another no not what who why how which then thus later today"
    " now according despite".split()
)
"""Words that begin a sentence far more often than a name."""
_LINKS = frozenset(
    "the a an in on at by for from with after before during since until and or".split()  # noqa: SIM905
)
"""Those that, without a capital, go on with one: ``Who Are We? from 1955``."""
_AFTER_TIME = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday january february march april"  # noqa: SIM905
    " may june july august september october november december est edt cst cdt mst mdt pst pdt"
    " gmt utc bst cet eastern central pacific local".split()
)

_ORDINALS = frozenset(
    "de da nb nn no fi et is fo hu cs sk sl hr sr bs pl lv lt lb nds als bar eu hsb dsb".split()  # noqa: SIM905
)
"""Languages that write ordinal numbers with a full stop: ``18. Jahrhundert``."""
_ORDINAL = re.compile(r"(?:^|[\s(–-])\d{1,2}\.\Z")

_LAST_WORD = re.compile(r"(?:^|[\s(\[\"'“‘–—/-])([^\W\d_]+)\.\Z")
_FIRST_WORD = re.compile(r"[\s\"'“‘«(\[¿¡]*([^\W\d_]+)")
_FIRST_NUMBER = re.compile(r"[\s(]*[#\d]|\s*(?:[ivxlc]+|[IVXLC]+)\b")
_NUMBERING = re.compile(r"[(\[]?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)\]]\Z")
_TIME = re.compile(r"\b[ap]\.\s?m\.\Z")
_DOTTED = re.compile(r"\b(?:a|an)\s(?:[A-Z]\.){2,}\Z")
_REACH = 400
"""Longest stretch, in characters, over which an open bracket joins."""

_LONG = 150
"""Characters from which several sentences in one pair of quotes or brackets are cut apart."""
_INNER = re.compile(r"[.!?][\"”’»)\]]*\s[\"“‘«(\[]*[^\W\d_a-z]")
_OPENING = frozenset('"“„«([')
_UNQUOTED = str.maketrans(dict.fromkeys('"“”„«»()[]', " "))


def key(sentence: str) -> str:
    """What two equal sentences share: NFC, white space folded. Case and digits stay."""
    if not sentence.isascii():
        sentence = unicodedata.normalize("NFC", sentence)
    return " ".join(sentence.split())


def segment(paragraph: str, language: str = "en") -> list[str]:
    """Sentences of a paragraph, in order, white space folded; none is empty.

    They hold every character of it but white space.
    """
    text = " ".join(paragraph.split())
    if not text:
        return []
    parts = [part for long in sentencex.segment(language, text) for part in _inner(long, language)]
    if len(parts) == 1:
        return [text]
    out: list[str] = []
    start = 0
    depth = 0
    for number, (left, right) in enumerate(pairwise(parts), 1):
        depth = max(depth + left.count("(") - left.count(")"), 0)
        if depth and len(left) + len(right) < _REACH and right.count(")") > right.count("("):
            continue
        before = left.rstrip()
        ordinal = language in _ORDINALS and _ORDINAL.search(before[-6:]) is not None
        if not ordinal and not _joins(before, right):
            out.append("".join(parts[start:number]).strip())
            start, depth = number, 0
    out.append("".join(parts[start:]).strip())
    return [sentence for sentence in out if sentence]


def _inner(part: str, language: str) -> list[str]:
    """A part, cut at the ends of sentences inside its quotes and brackets when it is long.

    sentencex keeps quotes and brackets whole, up to a page of them.
    """
    if len(part) <= _LONG or _INNER.search(part) is None:
        return [part]
    out: list[str] = []
    start = position = 0
    for piece in sentencex.segment(language, part.translate(_UNQUOTED)):
        position += len(piece)
        end = position
        while end - 1 > start and part[end - 1] in _OPENING and part[end - 2] == " ":
            end -= 1
        if start < end and position < len(part):
            out.append(part[start:end])
            start = end
    return [*out, part[start:]]


def _joins(left: str, right: str) -> bool:
    """Whether the boundary between two parts is none."""
    if _NUMBERING.match(left) or not any(map(str.isalnum, right)):
        return True
    word = _FIRST_WORD.match(right)
    if word is not None and word[1][0].islower() and not word[1][1:2].isupper():
        # only in edited text: where sentences start with capitals, small letters go on
        begun = _FIRST_WORD.match(left)
        edited = begun is not None and begun[1][0].isupper()
        return edited and (left[-1] == "!" or word[1] not in _STARTERS or word[1] in _LINKS)
    last = _LAST_WORD.search(left[-24:])
    if last is not None:
        short = last[1].lower()
        if short in _NEEDS_NUMBER and _FIRST_NUMBER.match(right):
            return True
        if short in _NEEDS_WORD and word is not None and word[1].lower() not in _STARTERS:
            return True
    if word is None:
        return False
    first = word[1].lower()
    return (first in _AFTER_TIME and _TIME.search(left[-8:]) is not None) or (
        first not in _STARTERS and _DOTTED.search(left[-24:]) is not None
    )
