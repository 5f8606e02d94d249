"""Names that differ from wiki to wiki: namespaces, redirect words, language prefixes.

``SiteInfo.from_json`` reads a saved answer of
``api.php?action=query&meta=siteinfo&siprop=general|namespaces|namespacealiases|magicwords|interwikimap``;
``SiteInfo.english()`` is what English Wikipedia answers. Example::

    SiteInfo.english().namespace_of("image:Flag.svg")  ->  (6, "Flag.svg")
"""

import re
import unicodedata
from functools import cached_property, lru_cache
from typing import Any, Self

import msgspec

from twiki.errors import ConfigError
from twiki.text import english

MEDIA, SPECIAL, MAIN, FILE, CATEGORY = -2, -1, 0, 6, 14

_SPACES = re.compile(r"[\s_\u200e\u200f\u202a-\u202e]+")
_TARGET = re.compile(r"\s*:?\s*\[\[\s*:?([^\[\]{}|\n]*)(?:\|[^\]]*)?\]\]")
_GEORGIAN = range(0x10D0, 0x1100)


class SiteInfo(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What the text part must know of a wiki.

    ``names`` maps every case-folded namespace name and alias to its id, ``functions`` every
    lower-cased alias of a magic word to its English name.
    """

    language: str
    namespaces: dict[int, str]
    names: dict[str, int]
    redirects: tuple[str, ...]
    languages: frozenset[str]
    interwikis: frozenset[str] = frozenset()
    functions: dict[str, str] = {}
    switches: frozenset[str] = frozenset()
    variants: tuple[str, ...] = ()
    keep_case: frozenset[int] = frozenset()
    """Namespaces whose titles may start with a small letter (Wiktionary)."""

    @classmethod
    def english(cls) -> Self:
        """The names of English Wikipedia."""
        return cls(
            language="en",
            namespaces=dict(english.NAMESPACES),
            names={n.casefold(): i for i, n in english.NAMESPACES.items() if n}
            | {n.casefold(): i for n, i in english.ALIASES.items()},
            redirects=("#REDIRECT",),
            languages=frozenset(english.LANGUAGES.split()),
            interwikis=frozenset(english.INTERWIKIS.split()),
            functions={},
            switches=frozenset(english.SWITCHES.split()),
        )

    @classmethod
    def from_json(cls, content: bytes) -> Self:
        """Read a siteinfo answer, with or without its ``query`` envelope.

        Raises:
            ConfigError: it is no such answer.
        """
        try:
            answer: Any = msgspec.json.decode(content)
            return cls._from_answer(answer.get("query", answer))
        except (msgspec.DecodeError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise ConfigError(
                f"siteinfo: expected the JSON of action=query&meta=siteinfo with general and "
                f"namespaces, found {type(error).__name__}: {error}"
            ) from error

    @classmethod
    def _from_answer(cls, query: dict[str, Any]) -> Self:
        general = query["general"]
        # formatversion=1 has the local name under "*", formatversion=2 under "name"
        spaces = {int(i): n for i, n in query["namespaces"].items()}
        names: dict[str, int] = {}
        for alias in query.get("namespacealiases", ()):
            names[str(alias.get("alias", alias.get("*"))).casefold()] = int(alias["id"])
        for i, space in spaces.items():
            for name in (space.get("canonical", ""), space.get("name", space.get("*", ""))):
                if name:
                    names[name.casefold()] = i
        words = {w["name"]: [str(a) for a in w["aliases"]] for w in query.get("magicwords", ())}
        links = query.get("interwikimap", ())
        language = str(general["lang"])
        base = cls.english()
        return cls(
            language=language,
            namespaces={i: s.get("name", s.get("*", "")) for i, s in spaces.items()},
            names=names,
            redirects=tuple(words.get("redirect", ())) or base.redirects,
            languages=frozenset(x["prefix"].casefold() for x in links if "language" in x)
            or base.languages,
            interwikis=frozenset(x["prefix"].casefold() for x in links if "language" not in x)
            or base.interwikis,
            functions={
                alias.rstrip(":").lower(): name for name, all_ in words.items() for alias in all_
            },
            switches=frozenset(
                alias.strip("_").upper()
                for all_ in words.values()
                for alias in all_
                if alias.startswith("__") and alias.endswith("__")
            )
            | base.switches,
            variants=tuple(query.get("languagevariants", {}).get(language, ())),
            keep_case=frozenset(i for i, s in spaces.items() if s.get("case") == "case-sensitive"),
        )

    def namespace_of(self, title: str) -> tuple[int, str]:
        """Namespace id of a title and what follows the prefix (the title itself in 0)."""
        title = _SPACES.sub(" ", title).strip(" ")
        if title.startswith(":"):
            title = title[1:].lstrip(" ")
        prefix, colon, rest = title.partition(":")
        if colon and (found := self.names.get(prefix.rstrip(" ").casefold())) is not None:
            return found, rest.lstrip(" ")
        return MAIN, title

    def normalise(self, title: str) -> str:
        """Display title: spaces, the wiki's own prefix, first letter, NFC; no fragment."""
        space, rest = self.namespace_of(unicodedata.normalize("NFC", title).partition("#")[0])
        rest = rest.strip(" ")
        if rest and space not in self.keep_case:
            rest = _upper(rest[0]) + rest[1:]
        prefix = self.namespaces.get(space, "")
        return f"{prefix}:{rest}" if prefix else rest

    @cached_property
    def redirect_pattern(self) -> re.Pattern[str]:
        """Matches the word that makes a page a redirect, at the start of the text."""
        words = sorted({*self.redirects, "#REDIRECT"}, key=lambda w: (-len(w), w))
        return re.compile(r"\s*(?:" + "|".join(map(re.escape, words)) + ")", re.IGNORECASE)


@lru_cache(maxsize=4096)
def _upper(letter: str) -> str:
    # MediaWiki keeps letters whose capital is another length (ß) and Georgian ones
    capital = letter.upper()
    return letter if len(capital) != 1 or ord(letter) in _GEORGIAN else capital


def redirect_end(text: str, site: SiteInfo) -> int:
    """Where the redirect line at the start of ``text`` ends; 0: there is none."""
    word = site.redirect_pattern.match(text)
    link = word and _TARGET.match(text, word.end())
    return link.end() if link else 0


def redirect_target(text: str, site: SiteInfo) -> str | None:
    """Display title that a redirect points to, without fragment; None: it is no redirect."""
    word = site.redirect_pattern.match(text)
    link = word and _TARGET.match(text, word.end())
    return (site.normalise(link[1]) or None) if link else None
