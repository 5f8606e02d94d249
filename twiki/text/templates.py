"""Which templates carry prose, and what they say: the table in ``templates.toml``.

A rule names templates and says what becomes of them::

    [[rule]]
    names = "ill | interlanguage link"
    text = "{lt|1}"

    [[rule]]
    names = "reign | r."
    text = "r. {1}[–{2}]"

``{lt|1}`` is the first of these parameters that is not empty, ``{0}`` the call's own name,
``{*}`` all unnamed ones joined by ``", "`` (``{*:;}`` by ``";"``, ``{2*}`` from the second
on). A part in square brackets stands only when all its parameters do. A backslash takes the
next character as it is. ``code`` instead of ``text`` names a function of
:mod:`twiki.text.codes`; ``drop = true`` means known to carry no prose: dropped without being
counted. A name that ends in ``*`` is a prefix, one that starts with it a suffix. ``wikis``
limits a rule to languages or wikis (``["de", "enwiki"]``); a later rule wins. Names are
compared without case, with spaces for underscores; one of three capitals (``FRA``) as it is.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import msgspec

from twiki.errors import ConfigError
from twiki.text.codes import CODES
from twiki.text.values import Expansion, Parameters, unnamed

_PART = re.compile(
    r"\\(.)|(\[)|(\])|\{(\d*)\*(?::([^{}]*))?\}|\{([^{}]+)\}|([^\\\[\]{}]+)", re.DOTALL
)


_CODE = re.compile(r"[A-Z]{3}")
_SEEN = 20_000
"""Names whose answer is remembered."""


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[[rule]]`` of a table."""

    names: str
    text: str | None = None
    code: str | None = None
    drop: bool = False
    wikis: tuple[str, ...] = ()


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rule: tuple[Rule, ...] = ()


class Table:
    """The rules that hold for one wiki."""

    def __init__(self, rules: tuple[Rule, ...], *, language: str, wiki: str) -> None:
        self._exact: dict[str, Expansion | None] = {}
        self._cased: dict[str, Expansion | None] = {}
        self._affixes: dict[tuple[str, bool], Expansion | None] = {}
        for rule in rules:
            if rule.wikis and not {language, wiki} & set(rule.wikis):
                continue
            expansion = _expansion(rule)
            for written in rule.names.split("|"):
                name = fold(written)
                if _CODE.fullmatch(written.strip()):
                    self._cased[written.strip()] = expansion
                elif name.endswith("*") and len(name) > 1:
                    self._affixes[name[:-1], True] = expansion
                elif name.startswith("*") and len(name) > 1:
                    self._affixes[name[1:], False] = expansion
                elif name:
                    self._exact[name] = expansion
        ordered = sorted(self._affixes, key=lambda affix: (-len(affix[0]), affix))
        self._prefixes = [text for text, prefix in ordered if prefix]
        self._suffixes = [text for text, prefix in ordered if not prefix]
        self._seen: dict[str, tuple[bool, Expansion | None]] = {}

    def find(self, name: str) -> tuple[bool, Expansion | None]:
        """Whether the table knows ``name``, and how it expands: None, to nothing."""
        found = self._seen.get(name)
        if found is None:
            if len(self._seen) >= _SEEN:
                self._seen.clear()
            found = self._seen[name] = self._find(name)
        return found

    def _find(self, written: str) -> tuple[bool, Expansion | None]:
        if written in self._cased:
            return True, self._cased[written]
        name = fold(written)
        if name in self._exact:
            return True, self._exact[name]
        for affixes, matches, prefix in (
            (self._prefixes, name.startswith, True),
            (self._suffixes, name.endswith, False),
        ):
            for affix in affixes:
                if matches(affix):
                    return True, self._affixes[affix, prefix]
        return False, None


def fold(name: str) -> str:
    """Form in which names of templates are compared."""
    return " ".join(name.replace("_", " ").split()).casefold()


def load(*, language: str, wiki: str, extra: Path | None = None) -> Table:
    """The built-in table for a wiki, with the rules of the TOML file ``extra`` over it.

    Raises:
        ConfigError: ``extra`` cannot be read or holds a wrong rule.
    """
    rules = _built_in()
    if extra is not None:
        try:
            rules += _parse(extra.read_bytes())
        except (OSError, msgspec.DecodeError, ValueError) as error:
            raise ConfigError(f"{extra}: no table of templates: {error}") from error
    return Table(rules, language=language, wiki=wiki)


@lru_cache(maxsize=1)
def _built_in() -> tuple[Rule, ...]:
    return _parse(files("twiki.text").joinpath("templates.toml").read_bytes())


def _parse(content: bytes) -> tuple[Rule, ...]:
    rules = msgspec.toml.decode(content, type=_File).rule
    for rule in rules:
        if (rule.text is not None) + (rule.code is not None) + rule.drop != 1:
            raise ValueError(f"rule {rule.names[:40]!r}: give one of text, code, drop")
        _expansion(rule)
    return rules


def _expansion(rule: Rule) -> Expansion | None:
    if rule.drop:
        return None
    if rule.code is not None:
        if rule.code not in CODES:
            raise ValueError(f"rule {rule.names[:40]!r}: {rule.code!r} is none of {sorted(CODES)}")
        return CODES[rule.code]
    return pattern(rule.text or "")


_Part = Callable[[Parameters], str | None]
"""A piece of a pattern; None: its parameter is missing."""


@lru_cache(maxsize=1024)
def pattern(source: str) -> Expansion:
    """Compile the ``text`` of a rule.

    Raises:
        ValueError: a bracket or brace is not closed.
    """
    groups: list[list[_Part]] = [[]]
    position = 0
    while position < len(source):
        match = _PART.match(source, position)
        if match is None:
            raise ValueError(f"pattern {source!r}: unexpected {source[position:][:10]!r}")
        position = match.end()
        if match[2]:
            groups.append([])
        elif match[3]:
            if len(groups) == 1:
                raise ValueError(f"pattern {source!r}: ] without [")
            part = _optional(groups.pop())
            groups[-1].append(part)
        elif match[6]:
            groups[-1].append(_first([name.strip() for name in match[6].split("|")]))
        elif match[4] is not None:
            groups[-1].append(_joined(int(match[4] or 1), ", " if match[5] is None else match[5]))
        else:
            groups[-1].append(_constant(match[1] or match[7]))
    if len(groups) != 1:
        raise ValueError(f"pattern {source!r}: [ without ]")
    parts = groups[0]
    return lambda parameters: "".join(part(parameters) or "" for part in parts)


def _constant(text: str) -> _Part:
    return lambda _: text


def _first(names: list[str]) -> _Part:
    def value(parameters: Parameters) -> str | None:
        return next((v for name in names if (v := parameters.get(name, ""))), None)

    return value


def _joined(first: int, separator: str) -> _Part:
    def value(parameters: Parameters) -> str | None:
        return separator.join(unnamed(parameters, first)) or None

    return value


def _optional(parts: list[_Part]) -> _Part:
    def value(parameters: Parameters) -> str | None:
        filled = [part(parameters) for part in parts]
        return "" if None in filled else "".join(f for f in filled if f)

    return value
