"""Names that computed templates need: months, numbers, languages, countries. English."""

from importlib.resources import files

import msgspec

_MONTHS = (  # noqa: SIM905
    "January February March April May June July August September October November December"
).split()
MONTHS = (
    {str(number): name for number, name in enumerate(_MONTHS, 1)}
    | {name.casefold(): name for name in _MONTHS}
    | {name[:3].casefold(): name for name in _MONTHS}
)
"""Number, name or first three letters of a month → its name."""


_TABLES: dict[str, dict[str, str]] = msgspec.toml.decode(
    files("twiki.text").joinpath("names.toml").read_bytes()
)
LANGUAGES = _TABLES["languages"]
"""Language code → name before the text of ``{{langx}}``."""
COUNTRIES = _TABLES["countries"]
"""Code of ``{{flag}}`` → country."""

_ONES = (  # noqa: SIM905
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    " fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905


def spelled(number: str) -> str:
    """A whole number up to 99 in words; any other stays as it is."""
    if not number.isdecimal() or len(number) > 2:  # noqa: PLR2004 digits
        return number
    value = int(number)
    if value < len(_ONES):
        return _ONES[value]
    tens, ones = divmod(value, 10)
    return _TENS[tens - 2] + (f"-{_ONES[ones]}" if ones else "")
