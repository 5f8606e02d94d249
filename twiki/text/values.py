"""Templates whose text is computed: fractions, values with errors, dates, ages.

Each function takes the parameters of a call, expanded, unnamed ones under ``"1"``, ``"2"`` …
and gives the text that stands in the article. None of them knows today's date: what depends
on it (the age of somebody alive) is left out. Numbers stay as the editor wrote them.
"""

import re
from collections.abc import Callable, Mapping

from twiki.text.names import COUNTRIES, LANGUAGES, MONTHS

Parameters = Mapping[str, str]
Expansion = Callable[[Parameters], str]
"""Expanded text of a call, given its parameters (unnamed ones under ``"1"``, ``"2"`` …)."""

_SHORT = re.compile(r"\d{1,4}")
YES = frozenset(("y", "yes", "true", "1", "on"))


def unnamed(parameters: Parameters, first: int = 1) -> list[str]:
    """The unnamed parameters from number ``first`` on that are not empty."""
    values = []
    number = first
    while (value := parameters.get(str(number))) is not None:
        values.append(value)
        number += 1
    return [v for v in values if v]


def fraction(parameters: Parameters) -> str:
    """``{{frac|1|2}}`` → ``1/2``, ``{{frac|3|1|2}}`` → ``3 1/2``."""
    parts = unnamed(parameters)
    if len(parts) == 1:
        return f"1/{parts[0]}"
    whole, over = parts[:-2], parts[-2:]
    return " ".join([*whole, "/".join(over)])


def value(parameters: Parameters) -> str:
    """``{{val|1.5|0.1|e=6|u=m}}`` → ``1.5±0.1×10^6 m``."""
    parts = unnamed(parameters)
    match parts:
        case []:
            out = ""
        case [one]:
            out = one
        case [one, error]:
            out = f"{one}±{error}"
        case [one, above, below, *_]:
            out = f"{one}+{above.lstrip('+')}/−{below.lstrip('-−')}"
    if power := parameters.get("e", ""):
        out += f"×10^{power}" if out else f"10^{power}"
    unit = parameters.get("u") or parameters.get("ul") or parameters.get("upl") or ""
    below = parameters.get("up") or parameters.get("upl") or ""
    if not unit and below:
        return f"{parameters.get('p', '')}{out}/{below}"
    end = parameters.get("end") or parameters.get("s") or ""
    if unit:
        unit = unit if unit in ("%", "°", "′", "″") else f" {unit}"
    return f"{parameters.get('p', '')}{out}{end}{unit}"


def number(parameters: Parameters) -> str:
    """``{{formatnum:1234567.8}}`` → ``1,234,567.8``; with ``R`` the separators go."""
    text = parameters.get("1", "").strip()
    if parameters.get("2", "").strip().upper() == "R":
        return text.replace(",", "")
    whole, dot, rest = text.partition(".")
    if parameters.get("2", "").strip() == "NOSEP" or not re.fullmatch(r"[-−+]?\d{4,}", whole):
        return text
    sign = whole[: len(whole) - len(whole.lstrip("-−+"))]
    return f"{sign}{int(whole[len(sign) :]):,}{dot}{rest}"


def _date(year: str, month: str = "", day: str = "", *, day_first: bool = False) -> str:
    name = MONTHS.get(month.lstrip("0").casefold(), month)
    day = day.lstrip("0")
    if not name:
        return year
    if not day:
        return f"{name} {year}".strip()
    return f"{day} {name} {year}".strip() if day_first else f"{name} {day}, {year}"


def date(parameters: Parameters) -> str:
    """``{{birth date|1952|3|11}}`` → ``March 11, 1952``; ``df=y`` puts the day first."""
    parts = [p for p in unnamed(parameters)[:6] if p]
    if not parts:
        return ""
    first = parameters.get("df", "").casefold() in YES
    if len(parts) == 1 or not parts[0].lstrip("-").isdigit():
        return parts[0]
    ymd = [p for p in parts if ":" not in p][:3]
    return _date(*ymd, day_first=first)


def life(parameters: Parameters) -> str:
    """``{{death date and age|2001|5|11|1952|3|11}}`` → ``May 11, 2001 (aged 49)``."""
    parts = unnamed(parameters)[:6]
    shown = date(
        {**{str(i + 1): p for i, p in enumerate(parts[:3])}, "df": parameters.get("df", "")}
    )
    years = age({str(i + 1): p for i, p in enumerate(parts[3:6] + parts[:3])})
    return f"{shown} (aged {years})" if years else shown


def age(parameters: Parameters) -> str:
    """``{{age|1952|3|11|2001|5|11}}`` → ``49``; with one date alone it depends on today: empty."""
    parts = unnamed(parameters)[:6]
    if len(parts) < len("ymdymd") or not all(_SHORT.fullmatch(p) for p in parts):
        return ""
    born, died = (tuple(int(p) for p in half) for half in (parts[:3], parts[3:]))
    return str(died[0] - born[0] - (died[1:] < born[1:]))


def as_of(parameters: Parameters) -> str:
    """``{{as of|2010|5}}`` → ``As of May 2010``; ``lc``, ``since``, ``bare``, ``alt`` as there."""
    if alt := parameters.get("alt", ""):
        return alt
    parts = unnamed(parameters)[:3]
    shown = _date(*parts, day_first=parameters.get("df", "") != "US") if parts else ""
    if parameters.get("bare", "").casefold() in YES:
        return shown + parameters.get("post", "")
    word = "Since" if parameters.get("since", "").casefold() in YES else "As of"
    if parameters.get("lc", "").casefold() in YES:
        word = word.lower()
    if parameters.get("pre", ""):
        word = f"{word} {parameters['pre']}"
    return f"{word} {shown}{parameters.get('post', '')}"


def language(parameters: Parameters) -> str:
    """``{{langx|ru|Москва|Moskva}}`` → ``Russian: Москва, Moskva``."""
    code, text = parameters.get("1", ""), parameters.get("2") or parameters.get("text") or ""
    label = LANGUAGES.get(code.casefold(), "")
    if parameters.get("label", "").casefold() in ("none", "no"):
        label = ""
    extra = [
        parameters.get("3") or parameters.get("translit") or "",
        parameters.get("4") or parameters.get("lit") or parameters.get("translation") or "",
    ]
    shown = ", ".join(p for p in (text, extra[0], extra[1] and f"lit. '{extra[1]}'") if p)
    return f"{label}: {shown}" if label and shown else shown


def last(parameters: Parameters) -> str:
    """``{{transliteration|ru|ISO|Moskva}}`` → ``Moskva``."""
    return unnamed(parameters)[-1] if unnamed(parameters) else ""


def pronunciation(parameters: Parameters) -> str:
    """``{{IPAc-en|ˈ|l|ʌ|n|d|ən}}`` → ``/ˈlʌndən/``."""
    sounds = "".join(unnamed(parameters)).replace("_", " ")
    return f"/{sounds}/" if sounds else ""


def ship(parameters: Parameters) -> str:
    """``{{ship|HMS|Victory|1765}}`` → ``HMS Victory (1765)``."""
    prefix, name = parameters.get("1", ""), parameters.get("2", "")
    mark, style = parameters.get("3", ""), parameters.get("4", "")
    if style == "2":
        return name
    shown = f"{prefix} {name}".strip()
    return f"{shown} ({mark})" if mark and not style else shown


def country(parameters: Parameters) -> str:
    """``{{flag|FRA}}`` → ``France``; a name stays as it is."""
    code = parameters.get("name") or parameters.get("1", "")
    return COUNTRIES.get(code, code)


def athlete(parameters: Parameters) -> str:
    """``{{flagathlete|Ann Lee|FRA}}`` → ``Ann Lee (FRA)``."""
    who, code = parameters.get("1", ""), parameters.get("2", "")
    return f"{who} ({code})" if code else who


def height(parameters: Parameters) -> str:
    """``{{height|ft=6|in=2}}`` → ``6 ft 2 in``, ``{{height|m=1.8}}`` → ``1.8 m``."""
    order = ("m", "cm", "ft", "in", "hand", "hands")
    return " ".join(f"{parameters[unit]} {unit}" for unit in order if parameters.get(unit))
