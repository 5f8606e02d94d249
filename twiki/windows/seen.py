"""A set of ledger records in a bit each: 80 million pages are 10 MB.

It is asked for every line of a dump and for every record of the state.
"""

from twiki.state import layout

_GROW = 1 << 16
_LARGEST = 1 << 30
"""Above this a number would cost more memory in bits than its key."""
_FAMILY = 2
"""Bytes of a record's key before its number: ``eQ`` of ``eQ42``."""
_ZERO = ord("0")


class Seen:
    """Keys of pages' records, or of entities'; whatever has no number is kept as it is."""

    def __init__(self, family: bytes) -> None:
        self._number = _of_page if family == layout.PAGE else _of_entity
        self._bits: dict[bytes, bytearray] = {}
        self._odd: set[bytes] = set()

    def add(self, record: bytes) -> None:
        """Put the record at the key ``record`` into the set."""
        number = self._number(record)
        if number >= _LARGEST:
            self._odd.add(record)
            return
        bits = self._bits.get(record[:_FAMILY])
        if bits is None:
            bits = self._bits[record[:_FAMILY]] = bytearray(_GROW)
        place = number >> 3
        if place >= len(bits):
            bits.extend(bytes(place - len(bits) + _GROW))
        bits[place] |= 1 << (number & 7)

    def __contains__(self, record: bytes) -> bool:
        number = self._number(record)
        if number >= _LARGEST:
            return record in self._odd
        bits = self._bits.get(record[:_FAMILY], b"")
        place = number >> 3
        return place < len(bits) and bits[place] >> (number & 7) & 1 == 1


def _of_page(record: bytes) -> int:
    return int.from_bytes(record[1:], "big")


def _of_entity(record: bytes) -> int:
    digits = record[_FAMILY:]
    return int(digits) if digits.isdigit() and digits[0] != _ZERO else _LARGEST
