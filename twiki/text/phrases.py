"""Templates whose text is computed from words: languages, ships, lists, signs.

The same form as :mod:`twiki.text.values`: parameters in, text out; ``"0"`` is the name that
the template was called by.
"""

import re

from twiki.text.measures import amount
from twiki.text.names import COUNTRIES, LANGUAGES, spelled
from twiki.text.values import YES as _YES
from twiki.text.values import Parameters, country, language, ship, unnamed

_PAIR = 2


def named_language(parameters: Parameters) -> str:
    """``{{lang-ru|Москва}}`` → ``Russian: Москва``."""
    code = parameters["0"].partition("-")[2].strip()
    shifted = {str(i + 2): value for i, value in enumerate(unnamed(parameters))}
    named = {
        key: parameters[key] for key in ("label", "translit", "lit", "links") if key in parameters
    }
    return language({"1": code, **shifted, **named})


def named_pronunciation(parameters: Parameters) -> str:
    """``{{IPA-fr|paʁi}}`` → ``French pronunciation: [paʁi]``."""
    label = LANGUAGES.get(parameters["0"].partition("-")[2].strip().casefold(), "")
    sound = parameters.get("1", "")
    shown = sound if sound[:1] in ("[", "/") else f"[{sound}]"
    return f"{label} pronunciation: {shown}" if label and sound else shown


def chinese(parameters: Parameters) -> str:
    """``{{zh|s=北京|p=Běijīng}}`` → ``Chinese: 北京; pinyin: Běijīng``."""
    labels = {
        "c": "Chinese", "s": "simplified Chinese", "t": "traditional Chinese", "p": "pinyin",
        "w": "Wade–Giles", "j": "Jyutping", "y": "Cantonese Yale", "poj": "Pe̍h-ōe-jī",
        "l": "lit.", "hangul": "Korean", "hanja": "Hanja", "rr": "RR", "mr": "MR",
    }  # fmt: skip
    shown = [f"{label}: {parameters[key]}" for key, label in labels.items() if parameters.get(key)]
    return "; ".join(shown) or ", ".join(unnamed(parameters))


def nihongo(parameters: Parameters) -> str:
    """``{{nihongo|Tokyo|東京|Tōkyō}}`` → ``Tokyo (東京, Tōkyō)``."""
    inside = ", ".join(p for n in "234" if (p := parameters.get(n, "")))
    shown = [parameters.get("1", ""), inside and f"({inside})", parameters.get("5", "")]
    return " ".join(part for part in shown if part)


def respelling(parameters: Parameters) -> str:
    """``{{respell|LUN|dən}}`` → ``LUN-dən``."""
    shown = ""
    for part in unnamed(parameters):
        shown += " " if part == "_" else f"-{part}" if shown and shown[-1] != " " else part
    return shown


def music(parameters: Parameters) -> str:
    """``{{music|flat}}`` → ``♭``."""
    signs = {"flat": "♭", "b": "♭", "sharp": "♯", "#": "♯", "natural": "♮", "n": "♮",
             "doublesharp": "𝄪", "doubleflat": "𝄫"}  # fmt: skip
    name = parameters.get("1", "")
    return signs.get(name.casefold(), parameters.get("2", name))


def percentage(parameters: Parameters) -> str:
    """``{{percentage|1|4}}`` → ``25%``."""
    part, whole = amount(parameters.get("1", "")), amount(parameters.get("2", ""))
    if part is None or whole is None or not whole.value:
        return parameters.get("1", "")
    digits = parameters.get("3", "0")
    decimals = int(digits) if digits in ("0", "1", "2", "3", "4") else 0
    return f"{100 * part.value / whole.value:.{decimals}f}%"


def sterling(parameters: Parameters) -> str:
    """``{{£sd|l=3|s=2|d=6}}`` → ``£3 2s 6d``."""
    pounds, shillings, pence = (parameters.get(key, "") for key in "lsd")
    parts = (pounds and f"£{pounds}", shillings and f"{shillings}s", pence and f"{pence}d")
    return " ".join(part for part in parts if part)


def gauge(parameters: Parameters) -> str:
    """``{{track gauge|1435mm}}`` → ``1,435 mm``."""
    match = re.fullmatch(r"([\d.,]+)\s*(mm|cm|m|ft|in)", parameters.get("1", ""))
    if match is None:
        return parameters.get("1", "")
    number_ = amount(match[1])
    return f"{number_.shown if number_ else match[1]} {match[2]}"


def words(parameters: Parameters) -> str:
    """``{{spellnum|12}}`` → ``twelve``."""
    return spelled(parameters.get("1", ""))


def ordinal(parameters: Parameters) -> str:
    """``{{ordinal|22}}`` → ``22nd``."""
    digits = parameters.get("1", "")
    if not digits.isdecimal():
        return digits
    teen = digits[-2:-1] == "1"
    return digits + ("th" if teen else {"1": "st", "2": "nd", "3": "rd"}.get(digits[-1], "th"))


def joined(parameters: Parameters) -> str:
    """Unnamed parameters in a row: ``{{jct|US|20}}`` → ``US 20``."""
    return " ".join(unnamed(parameters))


def marriage(parameters: Parameters) -> str:
    """``{{marriage|Ann Lee|1950|1960|end=div}}`` → ``Ann Lee (m. 1950; div. 1960)``."""
    who, start, end = (parameters.get(n, "") for n in "123")
    reason = parameters.get("end") or parameters.get("reason") or ""
    known = {"div": "div.", "divorced": "div.", "died": "died", "d": "died", "ann": "ann."}
    until = end and f"{known.get(reason.strip('.').casefold(), 'end')} {end}"
    inside = "; ".join(part for part in (start and f"m. {start}", until) if part)
    return " ".join(part for part in (who, inside and f"({inside})") if part)


def named_ship(parameters: Parameters) -> str:
    """``{{HMS|Victory|1765}}`` → ``HMS Victory (1765)``."""
    shifted = {str(i + 2): parameters.get(str(i + 1), "") for i in range(3)}
    return ship({"1": parameters["0"].upper(), **shifted})


def force(parameters: Parameters) -> str:
    """``{{army|USA}}`` → ``United States Army``."""
    return f"{country(parameters)} {parameters['0'].title()}".strip()


def harvard(parameters: Parameters) -> str:
    """``{{harvtxt|Boolos|Jeffrey|1974}}`` → ``Boolos & Jeffrey (1974)``."""
    *authors, year = unnamed(parameters) or [""]
    names = parameters.get("last") or parameters.get("author") or ""
    if not authors:
        return names or year
    shown = " & ".join(part for part in (", ".join(authors[:-1]), authors[-1]) if part)
    return f"{shown} ({year})"


def nation(parameters: Parameters) -> str:
    """``{{FRA}}`` → ``France``."""
    return COUNTRIES.get(parameters["0"].upper(), "")


def enumeration(parameters: Parameters) -> str:
    """``{{enum|a|b|c}}`` → ``a, b, and c``."""
    parts = unnamed(parameters)
    if len(parts) <= _PAIR:
        return " and ".join(parts)
    return f"{', '.join(parts[:-1])}, and {parts[-1]}"


def items(parameters: Parameters) -> str:
    """A list given as parameters, or as list lines in one: each its own item."""
    shown = [p if p.lstrip()[:1] in ("*", "#", ":", ";") else f"* {p}" for p in unnamed(parameters)]
    content = parameters.get("content") or parameters.get("list") or ""
    return "\n" + "\n".join([*shown, content]) + "\n"


def sic(parameters: Parameters) -> str:
    """``{{sic|teh}}`` → ``teh [sic]``; hidden on request."""
    text = "".join(unnamed(parameters))
    if parameters.get("hide", "").casefold() in _YES or parameters.get("0", "") == "typo":
        return text
    shown = parameters.get("expected", "") and f"[sic: {parameters['expected']}]"
    return " ".join(part for part in (text, shown or "[sic]") if part)
