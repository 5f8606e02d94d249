"""A set of page and entity ids in a bit each: 80 million pages are 10 MB."""

from twiki.state.layout import Id

_GROW = 1 << 16


class Seen:
    """Page ids, and entity ids by letter and number; whatever else is kept as it is.

    It is asked for every line of a dump and for every record of the state.
    """

    def __init__(self) -> None:
        self._bits: dict[str, bytearray] = {}
        self._odd: set[Id] = set()

    def add(self, key: Id) -> None:
        """Put ``key`` into the set."""
        if isinstance(key, str):
            family, digits = key[:1], key[1:]
            number = int(digits) if _is_number(digits) else _LARGEST
        else:
            family, number = "", key
        if number >= _LARGEST:
            self._odd.add(key)
            return
        bits = self._bits.get(family)
        if bits is None:
            bits = self._bits[family] = bytearray(_GROW)
        place = number >> 3
        if place >= len(bits):
            bits.extend(bytes(place - len(bits) + _GROW))
        bits[place] |= 1 << (number & 7)

    def __contains__(self, key: Id) -> bool:
        if isinstance(key, str):
            family, digits = key[:1], key[1:]
            number = int(digits) if _is_number(digits) else _LARGEST
        else:
            family, number = "", key
        if number >= _LARGEST:
            return key in self._odd
        bits = self._bits.get(family, b"")
        place = number >> 3
        return place < len(bits) and bits[place] >> (number & 7) & 1 == 1


_LARGEST = 1 << 32
"""Above this an id would cost more memory in bits than as itself."""


def _is_number(digits: str) -> bool:
    return digits.isdecimal() and digits.isascii() and digits[0] != "0"
