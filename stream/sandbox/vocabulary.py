"""Names and words of the little world, made by a seeded generator and never repeated."""

from collections.abc import Callable
from random import Random

from stream.sandbox.items import Value

_ONSETS = (
    "B", "Br", "C", "D", "Dr", "F", "G", "Gr", "H", "J", "K", "Kl", "L", "M", "N", "P",
    "R", "S", "Sk", "St", "T", "Tr", "V", "W", "Y", "Z",
)  # fmt: skip
_VOWELS = ("a", "e", "i", "o", "u", "au", "ei", "ia", "o", "a", "á", "ö")
_MIDDLES = ("l", "r", "n", "m", "v", "lm", "nd", "rk", "st", "sk", "t", "d", "g", "rv", "nn")
_PLACES = ("a", "burg", "en", "ford", "holm", "ia", "ina", "mouth", "o", "stad", "ville", "wick")
_FAMILIES = ("ari", "berg", "dottir", "ek", "elli", "er", "ić", "ke", "man", "ov", "sen", "ström")
_GIVEN = (
    "Ada", "Alba", "Amir", "Anouk", "Bela", "Carmen", "Dario", "Edda", "Emre", "Fatou",
    "Greta", "Hana", "Idris", "Ines", "Jonas", "Kaito", "Lena", "Liv", "Malik", "Mira",
    "Nadia", "Nils", "Odile", "Omar", "Paula", "Quinn", "Rafael", "Runa", "Samir", "Sofia",
    "Tariq", "Tilda", "Ulla", "Viktor", "Wanda", "Yara", "Yusuf", "Zoë",
)  # fmt: skip
ADJECTIVES = (
    "bright", "broad", "busy", "calm", "careful", "colourful", "curious", "deep",
    "distant", "famous", "fertile", "fragile", "gentle", "grand", "hidden", "humble",
    "lively", "modest", "narrow", "noted", "popular", "proud", "quiet",
    "remote", "rough", "simple", "slow", "steep", "strange", "sunny", "wide",
)  # fmt: skip
NOUNS = (
    "bakery", "ballad", "bell tower", "canal", "carnival", "ceremony",
    "choir", "collection", "court", "dispute", "drought", "ferry", "festival",
    "flood", "forest", "garden", "harbour", "harvest", "journal", "lantern", "library",
    "market", "mill", "museum", "parade", "petition", "procession", "quarry",
    "railway", "regatta", "school", "shipyard", "statue", "storm", "theatre", "workshop",
)  # fmt: skip
TRADES = (
    "banking", "brewing", "cartography", "ceramics", "clockmaking", "dairy farming",
    "fishing", "forestry", "furniture", "glassmaking", "insurance", "lighting", "mining",
    "paper making", "printing", "robotics", "shipbuilding", "software", "steelmaking",
    "textiles", "tourism", "weaving",
)  # fmt: skip
_USERS = ("Marigold", "Tinker", "Lantern", "Quill", "Harbour", "Cinder", "Juniper", "Pebble")


class Vocabulary:
    """Draws names; each name once in a world."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._used: set[str] = set()
        self._users = tuple(f"{name} {rng.randrange(10, 99)}" for name in _USERS)

    def place(self) -> str:
        """A town, river, country: ``Velmora``."""
        return self._fresh(lambda: self._stem() + self._rng.choice(_PLACES))

    def person(self) -> str:
        """``Ada Velmström``."""
        return self._fresh(
            lambda: f"{self._rng.choice(_GIVEN)} {self._stem()}{self._rng.choice(_FAMILIES)}"
        )

    def named(self, pattern: str) -> str:
        """A name by a pattern with ``{place}``, ``{family}``, ``{adjective}``, ``{noun}``."""
        choice = self._rng.choice
        makers: dict[str, Callable[[], str]] = {
            "place": lambda: self._stem() + choice(_PLACES),
            "family": lambda: self._stem() + choice(_FAMILIES),
            "adjective": lambda: choice(ADJECTIVES).title(),
            "noun": lambda: choice(NOUNS).title(),
        }
        used = {name: make for name, make in makers.items() if f"{{{name}}}" in pattern}
        return self._fresh(lambda: pattern.format(**{name: make() for name, make in used.items()}))

    def word(self) -> str:
        """A made-up lower-case word of a foreign language."""
        return self._fresh(lambda: f"{self._stem().lower()}e")

    def code(self) -> str:
        """A postal code: ``KL 4821``."""
        rng = self._rng
        letters = "ABCDEFGHKLMNPRSTVWXZ"
        return self._fresh(
            lambda: f"{rng.choice(letters)}{rng.choice(letters)} {rng.randrange(1000, 9999)}"
        )

    def date(self, precision: int, first: int = 1900, last: int = 2025) -> Value:
        """A date of the given precision."""
        rng = self._rng
        day = (rng.randint(first, last), rng.randint(1, 12), rng.randint(1, 28))
        return Value("time", date=day, precision=precision)

    def amount(self, low: int, high: int, unit: str = "") -> Value:
        """A quantity."""
        return Value("quantity", str(self._rng.randint(low, high)), unit=unit)

    def user(self) -> str:
        """Somebody who edits."""
        return self._rng.choice(self._users)

    def _stem(self) -> str:
        rng = self._rng
        middle = "".join(
            rng.choice(_VOWELS) + rng.choice(_MIDDLES) for _ in range(rng.choice((1, 1, 2)))
        )
        return rng.choice(_ONSETS) + middle

    def _fresh(self, draw: Callable[[], str]) -> str:
        for _ in range(20):
            name = draw()
            if name.casefold() not in self._used:
                self._used.add(name.casefold())
                return name
        name = f"{draw()} {len(self._used)}"
        self._used.add(name.casefold())
        return name
