"""Templates, links, tables, comments and raw tags → text; the first half of cleaning.

:class:`Expander` works from the outside in, so that what is dropped (an infobox, a table) is
never looked into. Depth is bounded: deeper than ``MAX_DEPTH`` a construct is dropped.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal

from twiki.text.functions import expand_function
from twiki.text.inline import GONE, NOTE, literal, seamed
from twiki.text.nesting import COMMENT, LINK, TAG, TEMPLATE, scan
from twiki.text.siteinfo import CATEGORY, FILE, SiteInfo
from twiki.text.templates import Table

MAX_DEPTH = 20
_NOTHING = f"{GONE}{NOTE} \t\n"

_LEAF = re.compile(
    r"\{\{([^{}\[\]<>\n]++)\}\}|\[\[([^{}\[\]<>\n]++)\]\]|<ref(?:\s[^<>\n]*+)?(?<=/)>",
    re.IGNORECASE,
)
_PARTS = re.compile(r"<([a-z]++)([^<>]*)>(.*)</[a-z]+[^<>]*>\Z", re.IGNORECASE | re.DOTALL)
_MEDIA = re.compile(
    r"\.(?:jpe?g|png|gif|svg|tiff?|webp|og[gav]|webm|mp[34]|pdf|djvu)\s*\Z", re.IGNORECASE
)
"""A file, whatever its namespace is called on this wiki."""
_REST_OF_LINE = re.compile(r"[ \t]*\n")
_SUBST = re.compile(r"\s*(?:safesubst|subst)\s*:", re.IGNORECASE)
_INLINE = re.compile(r"\binline\b", re.IGNORECASE)


class Expander:
    """Expands the markup of one wiki; ``unknown`` counts the templates it had to drop."""

    def __init__(
        self, site: SiteInfo, table: Table, *, math: Literal["tex", "drop"], unknown: Counter[str]
    ) -> None:
        self.site = site
        self.table = table
        self.math = math
        self.unknown = unknown

    def expand(self, text: str, depth: int = 0) -> str:
        """Text with templates, links, tables, comments and raw tags replaced."""
        if "{" not in text and "[" not in text and "<" not in text:
            return text
        spans = scan(text).spans
        if not spans:
            return self._leaves(text, depth)
        out: list[str] = []
        position = 0
        for kind, start, end in spans:
            # a comment before it may have swallowed the rest of its line
            start = max(start, position)  # noqa: PLW2901
            out.append(self._leaves(text[position:start], depth))
            if kind == COMMENT:
                alone = not out[-1].rstrip(" \t") or out[-1].rstrip(" \t").endswith("\n")
                line = _REST_OF_LINE.match(text, end) if alone else None
                end = line.end() if line else end  # noqa: PLW2901
            elif kind == TEMPLATE:
                if text.startswith("{", start + 2) and text.startswith("}", end):
                    out.append(self._parameter(text[start + 3 : end - 2], depth))
                    end += 1  # noqa: PLW2901
                else:
                    out.append(self._template(text[start + 2 : end - 2], depth))
            elif kind == LINK:
                out.append(self._link(text[start + 2 : end - 2], depth))
            elif kind == TAG:
                out.append(self._tag(text[start:end], depth))
            else:
                out.append(f"\n\n{GONE}\n\n" if "\n" in text[start:end] else GONE)
            position = end
        out.append(self._leaves(text[position:], depth))
        return "".join(out)

    def _leaves(self, text: str, depth: int) -> str:
        if "{{" not in text and "[[" not in text and "<" not in text:
            return text

        def replace(match: re.Match[str]) -> str:
            if match[1] is not None:
                return self._call(match[1].split("|"), depth)
            return NOTE if match[2] is None else self._simple_link(match[2])

        return _LEAF.sub(replace, text)

    # --- links ----------------------------------------------------------------------------

    def _simple_link(self, inner: str) -> str:
        target, pipe, label = inner.partition("|")
        return self._shown(target, label if pipe else None)

    def _link(self, inner: str, depth: int) -> str:
        target, pipe, label = inner.partition("|")
        if "{{" in target or "<" in target:
            inner = self.expand(inner, depth + 1) if depth < MAX_DEPTH else ""
            target, pipe, label = inner.partition("|")
            return self._shown(target, label if pipe else None)
        if self._hides(target):
            return GONE
        if depth >= MAX_DEPTH:
            return GONE
        return self._shown(target, self.expand(label, depth + 1) if pipe else None)

    def _hides(self, target: str) -> bool:
        """Whether a link puts nothing into the text: images, categories, interlanguage."""
        if ":" not in target:
            return False
        prefix = target.partition(":")[0].strip(" _\t\u200e\u200f").casefold()
        if not prefix:
            return False
        space = self.site.names.get(prefix.replace("_", " "))
        if space is None:
            return prefix in self.site.languages or _MEDIA.search(target) is not None
        return space in (FILE, CATEGORY)

    def _shown(self, target: str, label: str | None) -> str:
        if ":" in target and self._hides(target):
            return GONE
        if label is not None and label.strip():
            return seamed(label)
        shown = target.strip().removeprefix(":").lstrip()
        if label is not None:  # [[Foo (bar)|]]: the pipe trick
            shown = re.sub(r"\s*\([^()]*\)\Z", "", shown.partition(":")[2] or shown)
        return shown

    # --- tags -----------------------------------------------------------------------------

    def _tag(self, source: str, depth: int) -> str:
        parts = _PARTS.match(source)
        if parts is None:  # self-closing
            return NOTE
        name, attributes, content = parts[1].lower(), parts[2], parts[3]
        code = name in ("source", "syntaxhighlight") and _INLINE.search(attributes)
        if name == "nowiki" or code:
            return literal(content)
        if name in ("math", "chem", "ce"):
            return NOTE if self.math == "drop" else literal(" ".join(content.split()))
        if name in ("poem", "phonos") and depth < MAX_DEPTH:
            return self.expand(content, depth + 1)
        silent = name in ("ref", "section", "templatestyles", "indicator", "includeonly")
        return NOTE if silent else GONE

    # --- templates ------------------------------------------------------------------------

    def _parameter(self, inner: str, depth: int) -> str:
        """``{{{name|default}}}`` outside a template shows its default."""
        arguments = split_arguments(inner)
        if len(arguments) < 2 or depth >= MAX_DEPTH:  # noqa: PLR2004
            return GONE
        return self.expand(arguments[1], depth + 1)

    def _template(self, inner: str, depth: int) -> str:
        name = inner.partition("|")[0].strip()
        if depth >= MAX_DEPTH:
            self.unknown[" ".join(name.split())[:80]] += 1
            return GONE
        if (plain := _plain_name(name)) and self.table.find(plain) == (True, None):
            return GONE  # the common case, an infobox or a citation: its parameters stay unread
        return self._call(split_arguments(inner), depth)

    def _call(self, arguments: list[str], depth: int) -> str:
        name = arguments[0]
        if "<" in name or "{" in name or "[" in name:
            name = self.expand(name, depth + 1)
        name = _SUBST.sub("", name.replace(GONE, "").replace(NOTE, "")).strip()
        if ":" in name:
            shown = expand_function(
                name, arguments, lambda a: self.expand(a, depth + 1).strip(), self.site
            )
            if shown is not None:
                return shown
        short = self._short_name(name)
        known, expansion = self.table.find(short)
        if expansion is not None:
            return seamed(expansion(Parameters(self, short, arguments, depth))) or GONE
        if not known and short:
            word = short.partition(":")[0] if short.startswith("#") else short
            self.unknown[" ".join(word.replace("_", " ").split())[:80]] += 1
        return GONE

    def _short_name(self, name: str) -> str:
        prefix, colon, rest = name.partition(":")
        if colon and self.site.names.get(prefix.strip().casefold()) == 10:  # noqa: PLR2004
            return rest.strip()
        return name


class Parameters(Mapping[str, str]):
    """The parameters of one call, its name under ``0``; each is expanded when asked for."""

    def __init__(self, expander: Expander, name: str, arguments: list[str], depth: int) -> None:
        self._expander = expander
        self._depth = depth
        self._raw: dict[str, str] = {"0": name}
        self._shown: dict[str, str] = {}
        number = 0
        for argument in arguments[1:]:
            name, equals = _name_of(argument)
            if equals < 0:
                number += 1
                self._raw[str(number)] = argument
            else:
                self._raw[name] = argument[equals + 1 :]

    def __getitem__(self, name: str) -> str:
        value = self._shown.get(name)
        if value is None:
            value = self._expander.expand(self._raw[name], self._depth + 1)
            self._shown[name] = value = value.strip() if value.strip(_NOTHING) else ""
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)


def _plain_name(name: str) -> str:
    return name if name and not any(c in name for c in "{[<:") else ""


def _mask(text: str) -> str:
    """``text`` with all that is nested in it blanked out, same length."""
    if "{{" in text or "[[" in text or "<" in text:
        out = []
        position = 0
        for _, start, end in scan(text).spans:
            out.append(text[position:start])
            out.append("\0" * (end - start))
            position = end
        out.append(text[position:])
        text = _LEAF.sub(lambda m: "\0" * len(m[0]), "".join(out))
    return text


def split_arguments(inner: str) -> list[str]:
    """A call's name and arguments: split at the bars that no inner markup encloses."""
    mask = _mask(inner)
    if mask is inner:
        return inner.split("|")
    arguments = []
    position = 0
    for part in mask.split("|"):
        arguments.append(inner[position : position + len(part)])
        position += len(part) + 1
    return arguments


def _name_of(argument: str) -> tuple[str, int]:
    """Name of a named argument and where its ``=`` stands; -1: it is unnamed."""
    if "=" not in argument:
        return "", -1
    equals = _mask(argument).find("=")
    return argument[: max(equals, 0)].strip(), equals
