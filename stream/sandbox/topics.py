"""What the little world's articles are about: ``topics.toml`` as records."""

from pathlib import Path

import msgspec

from twiki.records import Record

METRE, MINUTE, CENTIMETRE = "Q11573", "Q7727", "Q174728"
UNITS = {METRE: "metre", MINUTE: "minute", CENTIMETRE: "centimetre"}

INSTANCE_OF, START_TIME, END_TIME, POINT_IN_TIME = "P31", "P580", "P582", "P585"
IMPORTED_FROM, RETRIEVED, VIAF = "P143", "P813", "P214"
ENGLISH_WIKIPEDIA = "Q328"
OTHER_PROPERTIES = {
    INSTANCE_OF: ("instance of", "wikibase-item"),
    START_TIME: ("start time", "time"),
    END_TIME: ("end time", "time"),
    POINT_IN_TIME: ("point in time", "time"),
    IMPORTED_FROM: ("imported from Wikimedia project", "wikibase-item"),
    RETRIEVED: ("retrieved", "time"),
    VIAF: ("VIAF cluster ID", "external-id"),
}
"""Properties that no sentence states: label and data type."""

_LITERALS = {
    "day": "time",
    "month": "time",
    "year": "time",
    "code": "string",
    "words": "monolingualtext",
}


class Relation(Record, frozen=True):
    """A property with the ways in which prose states it."""

    id: str
    label: str
    values: str
    """Where objects come from; see ``topics.toml``."""
    patterns: tuple[str, ...]

    @property
    def is_quantity(self) -> bool:
        """Whether ``values`` is a range of amounts."""
        return self.values[0].isdigit()

    def amounts(self) -> tuple[int, int, str]:
        """Lowest and highest amount, and the unit's id ("" for none)."""
        numbers, _, unit = self.values.partition(" ")
        low, _, high = numbers.partition("-")
        return int(low), int(high), unit

    @property
    def datatype(self) -> str:
        """Wikibase's name of its data type."""
        return "quantity" if self.is_quantity else _LITERALS.get(self.values, "wikibase-item")


class Kind(Record, frozen=True):
    """A kind of subject; names of persons and places have their own maker."""

    name: str
    class_id: str
    class_label: str
    pattern: str
    relations: tuple[Relation, ...]


class MadePool(Record, frozen=True):
    """A pool of objects with made names, ``share`` for each article of the world."""

    pattern: str
    share: float


class PoolClass(Record, frozen=True):
    """What the items of a pool are instances of."""

    id: str
    label: str


class Topics(Record, frozen=True):
    """The whole table."""

    kinds: tuple[Kind, ...]
    small_pools: dict[str, tuple[str, ...]]
    made_pools: dict[str, MadePool]
    pool_classes: dict[str, PoolClass]


TOPICS = msgspec.toml.decode(Path(__file__).with_name("topics.toml").read_bytes(), type=Topics)
