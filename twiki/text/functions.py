"""Parser functions and magic words that can be answered from the block alone.

``{{#if:…}}``, ``{{lc:…}}``, ``{{formatnum:…}}`` and the like. What depends on the page, on
other pages or on today (``{{PAGENAME}}``, ``{{#invoke:…}}``, ``{{CURRENTYEAR}}``) cannot be.
"""

from collections.abc import Callable

from twiki.text.inline import GONE, NOTE
from twiki.text.names import LANGUAGES
from twiki.text.siteinfo import SiteInfo
from twiki.text.values import number

_SILENT = frozenset(
    "defaultsort defaultsortkey defaultcategorysort displaytitle noexternallanglinks related seo"  # noqa: SIM905
    " section lst lsth".split()
)


def expand_function(  # noqa: C901, PLR0911, PLR0912 - one case a function, none nested
    name: str, arguments: list[str], show: Callable[[str], str], site: SiteInfo
) -> str | None:
    """Text of a parser function; None: ``name`` is none that can be answered.

    ``name`` is ``"lc: TEXT"``, ``arguments[1:]`` what follows between bars; ``show`` expands
    and strips an argument.
    """
    word, colon, first = name.partition(":")
    if not colon:
        return None
    word = word.strip().lower()
    word = site.functions.get(word, site.functions.get(word.lstrip("#"), word))
    rest = arguments[1:]

    def argument(index: int) -> str:
        return show(rest[index]) if index < len(rest) else ""

    first = first.strip()
    match word.lstrip("#"):
        case "if":
            return argument(0 if first.strip(f"{GONE}{NOTE} \n\t") else 1)
        case "ifeq":
            return argument(1 if _same(first, argument(0)) else 2)
        case "switch":
            return _switch(first, rest, show)
        case "iferror":
            return first if not rest else argument(1)
        case "ifexist":
            return argument(0)
        case "formatnum":
            return _localised(number({"1": first, "2": argument(0)}), site.language)
        case "lc":
            return first.lower()
        case "uc":
            return first.upper()
        case "lcfirst":
            return first[:1].lower() + first[1:]
        case "ucfirst":
            return first[:1].upper() + first[1:]
        case "plural":
            return argument(0 if first in ("1", "-1") else min(1, max(len(rest) - 1, 0)))
        case "gender":
            return argument(min(2, max(len(rest) - 1, 0)))
        case "language":
            return LANGUAGES.get(first.casefold(), first)
        case "tag":
            return NOTE if first.casefold() == "ref" else argument(0)
        case silent if silent in _SILENT:
            return NOTE
    return None


_COMMA_DECIMAL = {
    language: thousands
    for thousands, languages in (
        (".", "de nl es it pt id tr da el ro sl hr sr vi ca gl eu is"),
        ("\u00a0", "fr sv fi nb nn no cs sk pl ru uk bg hu et lv lt be hy kk"),
    )
    for language in languages.split()
}
"""Languages that write 1.234,5 or 1 234,5 → what they put between thousands."""


def _localised(shown: str, language: str) -> str:
    thousands = _COMMA_DECIMAL.get(language)
    if thousands is None:
        return shown
    return shown.translate({ord(","): thousands, ord("."): ","})


def _same(one: str, other: str) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return one == other


def _switch(subject: str, cases: list[str], show: Callable[[str], str]) -> str:
    matched = False
    default = ""
    for index, case in enumerate(cases):
        label, equals, result = case.partition("=")
        if not equals:
            if index == len(cases) - 1:
                return show(case)
            matched |= _same(show(label), subject)
            continue
        if matched or _same(show(label), subject):
            return show(result)
        if label.strip() == "#default":
            default = result
    return show(default)
