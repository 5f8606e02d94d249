"""One request to the action API: its parameters, read as MediaWiki reads them."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from stream.sandbox.view import View

MAX_VALUES = 50
"""Values of a multi-value parameter without the right ``apihighlimits``."""

MAX_DIGITS = 18
"""Longer numbers name nothing and would cost time to read."""

Answer = dict[str, Any]


class ApiError(Exception):
    """An answer with ``error`` instead of a result."""

    def __init__(self, code: str, info: str, **more: object) -> None:
        super().__init__(info)
        self.code = code
        self.info = info
        self.more = more


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request: the world as it stands, the wiki, the parameters."""

    view: View
    wiki: str
    parameters: Mapping[str, str]

    @property
    def version_2(self) -> bool:
        """``formatversion=2``: booleans are true or left out, lists are lists."""
        return self.parameters.get("formatversion", "1") in ("2", "latest")

    def flags(self, **values: bool) -> Answer:
        """Boolean members: in version 1 the true ones as empty texts, the others left out."""
        if self.version_2:
            return dict(values)
        return {name: "" for name, value in values.items() if value}

    def text_key(self) -> str:
        """The key of an element's own text."""
        return "content" if self.version_2 else "*"

    def values(self, name: str, default: str = "") -> tuple[str, ...]:
        """A multi-value parameter, ``a|b|c`` or with U+001F in front and between.

        Raises:
            ApiError: more than 50 values.
        """
        given = self.parameters.get(name, default)
        if given.startswith("\x1f"):
            parts = given[1:].split("\x1f")
        else:
            parts = given.split("|") if given else []
        result = tuple(dict.fromkeys(parts))
        if len(result) > MAX_VALUES:
            raise ApiError(
                "toomanyvalues",
                f'Too many values supplied for parameter "{name}". The limit is {MAX_VALUES}.',
                parameter=name,
                limit=MAX_VALUES,
                lowlimit=MAX_VALUES,
                highlimit=500,
            )
        return result

    def integers(self, name: str) -> tuple[int, ...]:
        """A multi-value parameter of whole numbers.

        Raises:
            ApiError: a value is none.
        """
        return tuple(self._integer(name, value) for value in self.values(name))

    def integer(self, name: str) -> int | None:
        """A parameter that is one whole number."""
        value = self.parameters.get(name)
        return None if value is None else self._integer(name, value)

    def _integer(self, name: str, value: str) -> int:
        digits = value.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= MAX_DIGITS):
            raise ApiError("badinteger", f'Invalid value "{value}" for integer parameter "{name}".')
        return int(value)

    def limit(self, name: str, *, default: int, most: int) -> int:
        """A limit parameter: a number, or ``max``.

        Raises:
            ApiError: it is no number or below 1.
        """
        value = self.parameters.get(name, str(default))
        if value == "max":
            return most
        number = self._integer(name, value)
        if number < 1:
            raise ApiError("badinteger", f'"{name}" may not be less than 1 (set to {number}).')
        return min(number, most)

    def one_of(self, name: str, allowed: Iterable[str], default: str) -> str:
        """A parameter with a fixed set of values.

        Raises:
            ApiError: another value.
        """
        value = self.parameters.get(name, default)
        if value not in tuple(allowed):
            raise ApiError("badvalue", f'Unrecognized value for parameter "{name}": {value}.')
        return value
