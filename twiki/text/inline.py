"""Inline markup → text: tags, quotes, external links, entities, and what a drop leaves.

All functions take and give one string. Two marks stand for what earlier steps dropped, so
that the space and punctuation around it can be mended: ``GONE`` for templates, images and
tables, ``NOTE`` for references, which hang on the text before them. ``SEAM`` keeps the quote
marks inside a link or template apart from those outside.
"""

import re
import sys
from html.entities import html5

GONE = "\x02"
NOTE = "\x03"
SEAM = "\x04"

_UNWANTED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064"
    "\u2066-\u206f\ufeff\ufffe\uffff]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_ENTITY = re.compile(r"&(?:#(\d{1,8})|#[xX]([0-9a-fA-F]{1,7})|([a-zA-Z][a-zA-Z0-9]{1,31}));")
_MARKUP = re.compile(r"[<>\[\]{}|'*#:;=_~!-]")

_BREAKS = frozenset(
    "p div center blockquote h1 h2 h3 h4 h5 h6 hr ul ol dl table caption thead tbody tfoot tr pre"  # noqa: SIM905
    " section article figure figcaption details summary noinclude onlyinclude gallery".split()
)
_ITEMS = frozenset(("li", "dt", "dd"))
_INLINE = frozenset(
    "abbr b bdi bdo big br cite code data del dfn em font i ins kbd link mark meta q rb rbc rp rt"  # noqa: SIM905
    " rtc ruby s samp small span strike strong sub sup td th time tt u var wbr ref references"
    " nowiki math chem ce includeonly poem source syntaxhighlight translate tvar languages"
    " phonos templatestyles".split()
)
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*+)((?:[\s/][^<>]*+)?)>")
_HIDDEN = re.compile(
    r"<(span|div)\s[^<>]*display:\s*none[^<>]*>[^<]*(?:<br\s*/?>[^<]*)*</\1\s*>", re.IGNORECASE
)
_RAISED = re.compile(r"(?<=[\w)])<sup\b[^<>]*>([^<>]*)</sup\s*>", re.IGNORECASE)
_SQUARES = {"2": "²", "3": "³"}
_EXPONENT = re.compile(r"[-−+–]?\d|[a-z][-−+–]\d")
_INTEGER = re.compile(r"[-−+–]?\d+")
_EXTERNAL = re.compile(
    r"\[((?:(?:https?|ftps?|ircs?|git|svn|gopher|telnet|nntp|worldwind):)?//|mailto:|news:|tel:)"
    r"([^\s\[\]<>\"]*)[^\S\n]*+((?:[^\[\]\n]|\[[^\[\]\n]*+\])*+)\]",
    re.IGNORECASE,
)
_QUOTES = re.compile(r"''+")
_ITALIC, _BOLD, _BOTH = 2, 3, 5
_LOOSE = re.compile(
    r"\[\[[^\[\]\n|]*\.(?i:jpe?g|png|gif|svg|tiff?|webp|og[gav]|webm)\s*\|[^\n]*|\{\{(?:[^{}\n|]*\|[^\n]*)?|\}\}+|\[\[(?:[^\[\]\n|]*\|)?|\]\]"
)


def clear(text: str) -> str:
    """Text without control and invisible characters; lone surrogates become U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    return _SURROGATE.sub("\ufffd", _UNWANTED.sub("", text))


def literal(text: str) -> str:
    """Text that later steps leave alone: its markup characters as entities."""
    return _MARKUP.sub(lambda m: f"&#{ord(m[0])};", text)


def decode(text: str) -> str:
    """Entities → characters, as MediaWiki reads them: the semicolon is required."""
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(match: re.Match[str]) -> str:
    if match[3]:
        return clear(html5.get(match[3] + ";", match[0]))
    code = int(match[1]) if match[1] else int(match[2], 16)
    return clear(chr(code)) if 0 < code <= sys.maxunicode else match[0]


def tags(text: str) -> str:
    """HTML tags → nothing, a space, a paragraph break or a list line."""
    if "<" not in text:
        return text
    if "none" in text:
        text = _HIDDEN.sub(GONE, text)
    if "<sup" in text:
        text = _RAISED.sub(_power, text)
    return _TAG.sub(_tag, text)


def _power(match: re.Match[str]) -> str:
    """10<sup>6</sup> must not read 106: a caret keeps the two apart."""
    value = match[1].strip()
    if value in _SQUARES and match.string[match.start() - 1].isalpha():
        return _SQUARES[value]
    if not _EXPONENT.match(value):
        return value
    return f"^{value}" if _INTEGER.fullmatch(value) else f"^({value})"


def _tag(match: re.Match[str]) -> str:
    name = match[2].lower()
    if name in _BREAKS:
        return "\n\n"
    if name in _ITEMS:
        return "\n" if match[1] else "\n* "
    if name == "br":
        return " "
    if name in ("td", "th"):
        return " "
    return "" if name in _INLINE else match[0]


def quotes(text: str) -> str:
    """Bold and italic marks → nothing; apostrophes that are no marks stay."""
    if "''" not in text:
        return text
    lines = [_line_quotes(line) if "''" in line else line for line in text.split("\n")]
    return "\n".join(lines).replace(SEAM, "")


def seamed(text: str) -> str:
    """Text that stands inside other text, its quote marks kept apart."""
    return f"{SEAM}{text}{SEAM}" if "''" in text else text


def _line_quotes(line: str) -> str:
    # MediaWiki's rule: a run of 4 is ' and bold, more than 5 is text and bold italic; with
    # bold and italic both unbalanced, one bold is really an apostrophe and italic.
    bold = italic = 0
    for run in _QUOTES.findall(line):
        length = len(run)
        italic += length == _ITALIC or length >= _BOTH
        bold += length != _ITALIC
    odd = bold % 2 and italic % 2
    spare = _spare_bold(line) if odd else -1

    def text_of(match: re.Match[str]) -> str:
        length = len(match[0])
        kept = 1 if length == _BOLD + 1 else max(length - _BOTH, 0)
        return "'" * (kept + (match.start() == spare))

    return _QUOTES.sub(text_of, line)


def _spare_bold(line: str) -> int:
    """Where the bold mark stands that MediaWiki reads as an apostrophe and italic."""
    after_word = after_space = -1
    for match in _QUOTES.finditer(line):
        if len(match[0]) not in (_BOLD, _BOLD + 1):
            continue
        before = line[: match.start()] + "'" * (len(match[0]) - _BOLD)
        if before[-1:] == " ":
            after_space = match.start() if after_space < 0 else after_space
        elif before[-2:-1] == " ":
            return match.start()
        elif after_word < 0:
            after_word = match.start()
    return after_word if after_word >= 0 else after_space


def external(text: str) -> str:
    """External links → their label; one without a label is a footnote number: dropped."""
    return _EXTERNAL.sub(lambda m: m[3] or NOTE, text) if "[" in text else text


def loose(text: str) -> str:
    """Marks that were never closed or opened → nothing."""
    if "{{" in text or "}}" in text or "[[" in text or "]]" in text:
        return _LOOSE.sub(lambda m: GONE if m[0][0] in "{}" else "", text)
    return text


_SEPARATORS = ",;:"
_GAP = re.compile(
    f"( ?\\()?([ {_SEPARATORS}]{{0,8}}+[{GONE}{NOTE}][ {_SEPARATORS}{GONE}{NOTE}]*+)(\\))?"
)


def mend(text: str) -> str:
    """White space folded, and the gaps closed that dropped things left.

    ``(; born`` becomes ``(born``, ``x , y`` becomes ``x, y``, ``()`` vanishes.
    """
    text = " ".join(text.split())
    if GONE in text or NOTE in text:
        text = _GAP.sub(_close_gap, text).strip()
    return text


def _close_gap(match: re.Match[str]) -> str:
    opening, run, closing = match.groups("")
    if opening:
        return "" if closing else opening
    if closing:
        return closing
    kept = ""
    for letter in run:
        if letter in _SEPARATORS and not kept.endswith(letter):
            kept += letter
    last = max(run.rfind(c) for c in _SEPARATORS) if kept else -1
    follow = match.string[match.end() : match.end() + 1]
    return kept + " " if " " in run[last + 1 :] and follow not in ".!?" else kept


_SWITCH = re.compile(r"__(\w+?)__")


def switches(text: str, names: frozenset[str]) -> str:
    """Behaviour switches (``__NOTOC__``) → nothing."""
    return _SWITCH.sub(lambda m: GONE if m[1].upper() in names else m[0], text)


_VARIANTS = re.compile(r"-\{([^{}]*)\}-")
_FLAGS = re.compile(r"\s*([A-Z](?:\s*;\s*[A-Z])*)\s*\|")
_CHOICE = re.compile(r"\s*([a-z]{2,3}(?:-[a-z]+)*)\s*:\s*(.*)", re.DOTALL)


def variants(text: str, codes: tuple[str, ...]) -> str:
    """Language conversion ``-{zh-hans:A;zh-hant:B}-`` → its first choice, hidden → nothing."""
    return _VARIANTS.sub(lambda m: _variant(m[1], codes), text)


def _variant(content: str, codes: tuple[str, ...]) -> str:
    flags = _FLAGS.match(content)
    if flags is not None:
        if set(flags[1]) & {"H", "T", "D"}:
            return GONE
        content = content[flags.end() :]
    for rule in content.split(";"):
        choice = _CHOICE.match(rule.partition("=>")[2] or rule)
        if choice is not None and choice[1] in codes:
            return choice[2].strip()
    return content
