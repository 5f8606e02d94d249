"""``{{convert}}`` and ``{{cvt}}``: a measure and what it is in other units, as readers see it.

``{{convert|5|km|mi}}`` → ``5 kilometres (3.1 mi)``, ``{{cvt|6|to|8|ft}}`` →
``6 to 8 ft (1.8 to 2.4 m)``. Units are the table ``units.toml``; a unit that it lacks is
shown as the editor wrote it, without conversion. The rounding is the template's own: as
precise as the input, or two significant digits, whichever is more.
"""

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import msgspec

from twiki.text.names import spelled

_NUMBER = re.compile(r"([-−–+~±]?)(\d[\d,]*(?:\.\d+)?|\.\d+)(?:e([-+]?\d{1,2}))?")
_FRACTION = re.compile(r"([-−–]?)(?:(\d{1,6})\s*[+\s]\s*)?(\d{1,6})\s*(?:/|//|⁄)\s*(\d{1,6})")
_PRECISION = re.compile(r"[-−]?\d{1,2}")

_RANGES = {
    "-": ("–", "–"), "–": ("–", "–"), "to": (" to ", " to "), "to(-)": (" to ", "–"),
    "and": (" and ", " and "), "and(-)": (" and ", "–"), "or": (" or ", " or "),
    "x": (" by ", " × "), "×": (" by ", " × "), "*": (" by ", " × "), "xx": (" × ", " × "),
    "by": (" by ", " by "), "by(x)": (" by ", " × "), "+": (" + ", " + "),
    "+/-": (" ± ", " ± "), "±": (" ± ", " ± "), "+-": (" ± ", " ± "), "&": (" & ", " & "),
    ",": (", ", ", "), "to about": (" to about ", " to about "),
}  # fmt: skip
"""Word between two numbers → what stands there with unit names, and with symbols."""
_REPEATED = frozenset(("x", "×", "*", "by(x)"))
"""Ranges that repeat the symbol: 5 m × 10 m."""

MAX_NUMBERS, MAX_UNIT = 8, 60
"""Bounds of one call: numbers in a row, characters of a unit."""

_COMPOUNDS = {
    "ftin": ("ft", "in"),
    "stlb": ("st", "lb"),
    "lboz": ("lb", "oz"),
    "ydft": ("yd", "ft"),
}
_JOINS = {
    "or": (" or ", ""), "comma": (", ", ""), "slash": (" / ", ""), "/": (" / ", ""),
    "semicolon": ("; ", ""), "sqbr": (" [", "]"), "br": (" ", ""), "br()": (" (", ")"),
    "table": (" ", ""), "tablecen": (" ", ""),
}  # fmt: skip


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``units.toml``. ``value``: in the base unit of its ``kind``."""

    name: str
    symbol: str
    value: float
    out: str
    plural: str = ""
    us: str = ""
    zero: float = 0.0
    kind: str = ""

    def called(self, *, plural: bool, american: bool) -> str:
        """Its name, with the plural on its first noun (miles per hour, inches of mercury)."""
        name = self.us if american and self.us else self.name
        if not plural:
            return name
        if self.plural:
            return self.plural
        for link in (" per ", " of "):
            head, found, tail = name.partition(link)
            if found:
                return f"{head}s{link}{tail}"
        return f"{name}s"


class Amount(NamedTuple):
    """A number as shown, its value, and the decimals it is precise to (negative: zeros)."""

    shown: str
    value: float
    decimals: int


@lru_cache(maxsize=1)
def units() -> dict[str, Unit]:
    """Code or alias → unit."""
    table = msgspec.toml.decode(files("twiki.text").joinpath("units.toml").read_bytes())
    aliases = table.pop("alias")
    found = {
        code: msgspec.structs.replace(msgspec.convert(fields, Unit), kind=kind)
        for kind, group in table.items()
        for code, fields in group.items()
    }
    return found | {alias: found[code] for alias, code in aliases.items()}


def amount(text: str) -> Amount | None:
    """Read a number as editors write it: ``1300``, ``-5.50``, ``5+1/2``; None: it is none."""
    text = text.strip()
    if fraction := _FRACTION.fullmatch(text):
        sign, whole, over, under = fraction.groups("")
        if not int(under):
            return None
        value = int(whole or 0) + int(over) / int(under)
        shown = f"{'−' if sign else ''}{whole + ' ' if whole else ''}{over}/{under}"
        return Amount(shown, -value if sign else value, max(len(under) - 1, 0))
    number = _NUMBER.fullmatch(text)
    if number is None:
        return None
    sign, digits, power = number.groups("")
    digits = digits.replace(",", "")
    whole, _, decimals = digits.partition(".")
    value = float(f"{digits}e{power or 0}")
    if math.isinf(value):
        return None
    zeros = len(whole) - len(whole.rstrip("0")) if whole.strip("0") else 0
    sign = "−" if sign in "-−–" and sign else sign
    shown = f"{sign}{_grouped(whole)}{'.' + decimals if decimals else ''}"
    shown += f"×10^{power}" if power else ""
    return Amount(shown, -value if sign == "−" else value, len(decimals) or -zeros)


def _grouped(whole: str) -> str:
    return f"{int(whole):,}" if len(whole) > 3 and not whole.startswith("0") else whole  # noqa: PLR2004 digits of a group


def convert(parameters: Mapping[str, str]) -> str:
    """Text of ``{{convert}}``."""
    return _Call(parameters, symbols=parameters.get("abbr", "") in ("on", "in", "values")).text()


def cvt(parameters: Mapping[str, str]) -> str:
    """Text of ``{{cvt}}``: the same with symbols."""
    return _Call(parameters, symbols=parameters.get("abbr", "") not in ("off", "none")).text()


class _Call:
    """One call: numbers, unit, units to convert to, what the named parameters ask for."""

    def __init__(self, parameters: Mapping[str, str], *, symbols: bool) -> None:
        self.named = parameters
        self.flipped = "flip" in (parameters.get("order"), parameters.get("disp"))
        self.symbols = symbols or self.flipped
        self.named_outputs = (self.flipped and not symbols) or (
            parameters.get("abbr", "") in ("off", "none", "in")
            or (parameters.get("disp") == "or" and not symbols)
        )
        self.amounts: list[Amount] = []
        self.words: list[str] = []
        self.compound: list[tuple[Amount, str]] = []
        self.code = ""
        self.rest: list[str] = []
        self._read(parameters)

    def _read(self, parameters: Mapping[str, str]) -> None:
        values: list[str] = []
        while (value := parameters.get(str(len(values) + 1))) is not None:
            values.append(value)
        position = 0
        while position < 2 * MAX_NUMBERS and (
            number := amount(values[position]) if position < len(values) else None
        ):
            self.amounts.append(number)
            word = values[position + 1] if position + 1 < len(values) else ""
            follows = values[position + 2] if position + 2 < len(values) else ""
            if word not in _RANGES or not amount(follows):
                break
            self.words.append(word)
            position += 2
        self.words = self.words[: max(len(self.amounts) - 1, 0)]
        self.code = values[position + 1] if position + 1 < len(values) else ""
        position += 2
        while len(self.amounts) == 1 and self._smaller(values[position : position + 2]):
            self.compound.append(
                (amount(values[position]) or self.amounts[0], values[position + 1])
            )
            position += 2
        self.rest = values[position:]

    def _smaller(self, pair: list[str]) -> bool:
        """Whether ``pair`` continues the measure: ``6|ft`` is followed by ``2|in``."""
        last = units().get(self.compound[-1][1] if self.compound else self.code)
        if len(pair) != 2 or last is None or amount(pair[0]) is None:  # noqa: PLR2004 a pair
            return False
        other = units().get(pair[1])
        return other is not None and other.kind == last.kind and other.value < last.value

    def text(self) -> str:
        if not self.amounts or len(self.code) > MAX_UNIT:
            return " ".join(value for value in (self.code, *self.rest) if value)
        disp = self.named.get("disp", "")
        rest = list(self.rest)
        unit = units().get(self.code)
        targets = rest.pop(0) if rest and not _PRECISION.fullmatch(rest[0]) else ""
        precision = rest.pop(0) if rest and _PRECISION.fullmatch(rest[0]) else ""
        given = self._given(unit, rest[0] if rest else "")
        outputs = self._outputs(unit, targets, precision)
        if disp in ("out", "output only", "number", "output number only") and outputs:
            return "; ".join(outputs)
        if not outputs:
            return given
        if self.flipped:
            given, outputs = outputs[0], [given, *outputs[1:]]
        opening, closing = _JOINS.get(disp, (" (", ")"))
        return f"{given}{opening}{'; '.join(outputs)}{closing}"

    def _given(self, unit: Unit | None, extra: str) -> str:
        numbers = [a.shown for a in self.amounts]
        if (spell := self.named.get("spell", "")) and len(numbers) == 1:
            words = spelled(numbers[0])
            numbers = [words.capitalize() if spell[:1].isupper() else words]
        adjective = self.named.get("adj", "")
        use_symbol = self.symbols or unit is None or unit.name.startswith(("°", "K", "per "))
        if unit is None:
            called = self.code
        elif use_symbol:
            called = unit.symbol
        else:
            plural = not adjective.startswith(("on", "mid")) and (
                len(numbers) > 1 or abs(self.amounts[0].value) != 1
            )
            called = unit.called(plural=plural, american=self.named.get("sp", "") == "us")
        if adjective == "pre" and extra:
            called = f"{extra} {called}"
        joint = "-" if adjective.startswith(("on", "mid")) and not use_symbol else " "
        shown = numbers[0]
        for number, word in zip(numbers[1:], self.words, strict=True):
            repeat = f"{joint}{called}" if use_symbol and word in _REPEATED else ""
            shown += repeat + _RANGES[word][use_symbol] + number
        shown += _attached(called, joint)
        for extent, code in self.compound:
            part = units()[code]
            plural = abs(extent.value) != 1
            called = part.symbol if use_symbol else part.called(plural=plural, american=False)
            shown += f" {extent.shown} {called}"
        return shown + extra if adjective.startswith("mid") else shown

    def _outputs(self, unit: Unit | None, targets: str, precision: str) -> list[str]:
        if unit is None:
            return []
        codes = [targets] if targets in units() or targets in _COMPOUNDS else targets.split()
        if not targets:
            codes = ["m"] if self.compound and unit.kind == "length" else unit.out.split()
        bare = self.named.get("disp") in ("number", "output number only")
        shown = (
            self._output(unit, code, precision, names=self.named_outputs, bare=bare)
            for code in codes
        )
        return [text for text in shown if text]

    def _output(self, unit: Unit, code: str, precision: str, *, names: bool, bare: bool) -> str:
        if code in _COMPOUNDS:
            return self._compound_output(unit, *_COMPOUNDS[code])
        target = units().get(code)
        if target is None or target.kind != unit.kind:
            return ""
        numbers = [self._converted(a, unit, target, precision) for a in self._inputs()]
        if bare:
            called, joint = "", ""
        elif names:
            plural = len(numbers) > 1 or numbers[0] not in ("1", "−1")
            american = self.named.get("sp", "") == "us"
            called, joint = target.called(plural=plural, american=american), " "
        else:
            called, joint = target.symbol, " "
        shown = numbers[0]
        for number, word in zip(numbers[1:], self.words, strict=True):
            repeat = f"{joint}{called}" if not names and word in _REPEATED else ""
            shown += repeat + _RANGES[word][not names] + number
        return shown + _attached(called, joint)

    def _inputs(self) -> list[Amount]:
        if not self.compound:
            return self.amounts
        # 6 ft 2 in is 74 in, in feet, as precise as its smallest part
        unit = units()[self.code]
        total = self.amounts[0].value
        for number, code in self.compound:
            total += number.value * units()[code].value / unit.value
        smallest, code = self.compound[-1]
        decimals = max(smallest.decimals, 0) + _shift(units()[code].value / unit.value)
        return [Amount("", total, max(decimals, 1) + 1)]

    def _converted(self, given: Amount, unit: Unit, target: Unit, precision: str) -> str:
        base = given.value * unit.value + unit.zero
        value = (base - target.zero) / target.value
        if precision:
            decimals = int(precision.replace("−", "-"))
        elif (digits := self.named.get("sigfig", "")).isdecimal() and 0 < len(digits) < 3:  # noqa: PLR2004
            decimals = int(digits) - 1 - _magnitude(value)
        elif (step := self.named.get("round", "")) in ("0.5", "5", "10", "25", "50"):
            return _rounded(round(value / float(step)) * float(step), 1 if step == "0.5" else 0)
        elif unit.kind == "temperature":
            decimals = max(given.decimals, 2 - _magnitude(base))
        else:
            shift = _shift(unit.value / target.value)
            decimals = max(given.decimals - shift, 1 - _magnitude(value))
        return _rounded(value, min(max(decimals, -15), 15))

    def _compound_output(self, unit: Unit, large: str, small: str) -> str:
        big, little = units()[large], units()[small]
        if big.kind != unit.kind:
            return ""
        per = round(big.value / little.value)
        shown = []
        for given in self._inputs():
            total = math.floor(abs(given.value) * unit.value / little.value + 0.5)
            shown.append(f"{total // per:,} {big.symbol} {total % per} {little.symbol}")
        return "–".join(shown)


def _attached(called: str, joint: str) -> str:
    return called if called.startswith("/") else f"{joint}{called}" if called else ""


def _magnitude(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value else 1


def _shift(factor: float) -> int:
    """Decimals that a conversion by ``factor`` takes away: none from 0.2 to 2."""
    return math.floor(math.log10(factor / 0.2) + 1e-9)


def _rounded(value: float, decimals: int) -> str:
    scale = 10.0**decimals
    rounded = math.floor(abs(value) * scale + 0.5) / scale
    sign = "−" if value < 0 and rounded else ""
    return f"{sign}{rounded:,.{max(decimals, 0)}f}"
