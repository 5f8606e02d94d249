"""Hostile text made fit to be shown: escaped, bounded, isolated, nothing of it active.

Titles, sentences and labels come from the wiki, so anybody may have written them. In a page
they go through :func:`text` or :func:`segments`; links through :class:`Links`.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from markupsafe import Markup, escape

from twiki.config import WikiConfig

LIMIT = 4_000
"""Characters of one text that a page shows."""
_WORDS = 600
"""Words of a sentence above which no word-level difference is worked out."""
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Marks that turn the direction of what follows: shown by name, never obeyed."""


def plain(value: object, limit: int = LIMIT) -> str:
    """Bounded text without control characters; a cut is said, with the whole length."""
    whole = str(value)
    cut = whole if len(whole) <= limit else whole[: limit - 1]
    seen = "".join(c if c.isprintable() and c not in _BIDI else _named(c) for c in cut)
    return seen if cut is whole else f"{seen}… ({len(whole):,} characters)"


def text(value: object, limit: int = LIMIT) -> Markup:
    """The same as markup, its direction isolated from what stands beside it."""
    return Markup("<bdi>{}</bdi>").format(plain(value, limit))


def segments(old: str, new: str) -> Markup:
    """``new`` with what it gained over ``old`` as ``ins`` and what it lost as ``del``."""
    before, after = old.split(" "), new.split(" ")
    if max(len(before), len(after)) > _WORDS or max(len(old), len(new)) > LIMIT:
        return Markup("<del>{}</del> <ins>{}</ins>").format(text(old), text(new))
    parts: list[Markup] = []
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        lost, gained = plain(" ".join(before[a:b])), plain(" ".join(after[c:d]))
        if kind == "equal":
            parts.append(escape(gained))
            continue
        if lost:
            parts.append(Markup("<del>{}</del>").format(lost))
        if gained:
            parts.append(Markup("<ins>{}</ins>").format(gained))
    return Markup("<bdi>{}</bdi>").format(Markup(" ").join(parts))


def marked(sentence: str, words: Sequence[str]) -> Markup:
    """``sentence`` with the first occurrence of one of ``words`` marked."""
    shown = plain(sentence)
    for word in sorted({plain(word) for word in words if word.strip()}, key=len, reverse=True):
        at = shown.casefold().find(word.casefold())
        # Case folding may change lengths; then the place is not known and nothing is marked.
        if at >= 0 and len(shown.casefold()) == len(shown):
            end = at + len(word)
            return Markup("<bdi>{}<mark>{}</mark>{}</bdi>").format(
                shown[:at], shown[at:end], shown[end:]
            )
    return Markup("<bdi>{}</bdi>").format(shown)


def _named(character: str) -> str:
    if character in "\t\n\r\u00a0\u2028\u2029\u202f\u3000":
        return " "
    return f"⟨U+{ord(character):04X}⟩"


class Address(NamedTuple):
    """Where a link leads, and what it is called."""

    url: str
    name: str


class Links:
    """Links into the configured wikis, and to nowhere else; only ``https``."""

    def __init__(self, wiki: WikiConfig) -> None:
        self._bases = {
            name: base.rstrip("/")
            for name, base in ((wiki.name, wiki.url), (wiki.repository, wiki.repository_url))
            if _is_https(base)
        }
        self._repository = wiki.repository

    def revision(self, wiki: str, revision: int | None) -> str | None:
        """The page as of a revision."""
        return self._to(wiki, f"/w/index.php?oldid={revision:d}") if revision else None

    def difference(self, wiki: str, revision: int | None, old: int | None = None) -> str | None:
        """What a revision changed, against the one before or against ``old``."""
        if not revision:
            return None
        before = f"{old:d}" if old else "prev"
        return self._to(wiki, f"/w/index.php?diff={revision:d}&oldid={before}")

    def page(self, wiki: str, page_id: int | None) -> str | None:
        """The page of today."""
        return self._to(wiki, f"/?curid={page_id:d}") if page_id is not None else None

    def entity(self, entity: str) -> str | None:
        """An item or property in the repository."""
        if not (entity[:1] in ("Q", "P") and entity[1:].isascii() and entity[1:].isdigit()):
            return None
        name = f"Property:{entity}" if entity.startswith("P") else entity
        return self._to(self._repository, f"/wiki/{quote(name)}")

    def _to(self, wiki: str, rest: str) -> str | None:
        base = self._bases.get(wiki)
        return None if base is None else base + rest


def _is_https(base: str) -> bool:
    parts = urlsplit(base)
    return parts.scheme == "https" and bool(parts.hostname) and parts.username is None
