"""A set of page and entity ids in a bit each: 80 million pages are 10 MB."""

from twiki.state.layout import Id

_GROW = 1 << 16


class Seen:
    """Page ids, and entity ids by letter and number; whatever else is kept as it is."""

    def __init__(self) -> None:
        self._bits: dict[str, bytearray] = {}
        self._odd: set[Id] = set()

    def add(self, key: Id) -> None:
        """Put ``key`` into the set."""
        family, number = _split(key)
        if number is None:
            self._odd.add(key)
            return
        bits = self._bits.get(family)
        if bits is None:
            bits = self._bits[family] = bytearray(_GROW)
        if number >> 3 >= len(bits):
            bits.extend(bytes((number >> 3) - len(bits) + _GROW))
        bits[number >> 3] |= 1 << (number & 7)

    def __contains__(self, key: Id) -> bool:
        family, number = _split(key)
        if number is None:
            return key in self._odd
        bits = self._bits.get(family, b"")
        return number >> 3 < len(bits) and bool(bits[number >> 3] & 1 << (number & 7))


_LARGEST = 1 << 32
"""Above this an id would cost more memory in bits than as itself."""


def _split(key: Id) -> tuple[str, int | None]:
    if isinstance(key, int):
        return "", key if key < _LARGEST else None
    digits = key[1:]
    if not (digits.isdecimal() and digits.isascii()) or digits.startswith("0"):
        return key[:1], None
    number = int(digits)
    return key[:1], number if number < _LARGEST else None
