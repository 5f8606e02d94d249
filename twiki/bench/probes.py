"""Probes: alignment and quality control of a million candidate facts.

Four candidates a changed article, as in the published sets' months; eight diff sentences an
article, of which most are in ASCII and some not; one candidate in nine finds no evidence. One
process does it; its seconds are the processor's, so that neighbours on the machine do not count.
"""

import resource
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from time import process_time

from twiki.bench.figures import Figure, figure, seconds
from twiki.config import QualityConfig
from twiki.facts import text_hash
from twiki.records import Category, Fact, FactChange, FactClass, Window
from twiki.windows.probes import ArticleText, Candidate, ProbeSet, build

_CANDIDATES = 1_000_000
_BUDGET_SECONDS = 60.0
_A_ARTICLE = 4
_SENTENCES = 8
_OBJECTS = 5_000
_WINDOW = Window(
    start=datetime(2026, 11, 1, tzinfo=UTC), end=datetime(2026, 12, 1, tzinfo=UTC), name="2026-11"
)
_POOL = tuple(
    f"In {1900 + n % 126} the {'café' if n % 5 == 0 else 'museum'} number {n} opened near "
    f"Object {n % _OBJECTS}, and its first season drew {n * 37 % 9973} people from the region."
    for n in range(20_011)
)


class _Articles:
    """Articles whose sentences are picked from a pool, kept at hand as a cut keeps them."""

    def __init__(self) -> None:
        self.changed = lru_cache(256)(_article)
        self.live = self.changed


def _article(title: str) -> ArticleText:
    """Eight sentences; the objects named in them follow from the article's number."""
    number = int(title[8:])
    picked = [_POOL[_place(number, k)] for k in range(_SENTENCES)]
    return ArticleText(page_id=number, title=title, rev_id=number, sentences=picked)


def _place(number: int, k: int) -> int:
    return (number * 7919 + k * 104_729) % len(_POOL)


def candidates(count: int) -> Iterator[Candidate]:
    """``count`` candidates, four a subject, eight in nine of them with evidence."""
    for index in range(count):
        number, k = divmod(index, _A_ARTICLE)
        obj = _place(number, k) % _OBJECTS if index % 9 else _OBJECTS
        relation = text_hash(str(index)) % 97
        fact = Fact(subject=f"Q{number}", relation=f"P{relation}", object=f"Q{obj}")
        yield Candidate(
            change=FactChange(fact=fact, fact_class=FactClass.NEW_OBJECT),
            subject=f"Subject {number}",
            relation=f"relation {relation}",
            object=f"Object {obj}",
            sitelink=f"Article {number}",
            old_rev=1,
            new_rev=2,
            changed_at=_WINDOW.start,
        )


def probes(count: int) -> ProbeSet:
    """The Changed probes of ``count`` candidates."""
    return build(_WINDOW, candidates(count), Category.CHANGED, _Articles(), QualityConfig())


def run(count: int = _CANDIDATES) -> list[Figure]:
    """Time and memory of one run, candidates generated on the way."""
    made: list[ProbeSet] = []
    before = process_time()
    clock = seconds(lambda: made.append(probes(count)))
    taken = process_time() - before
    kept = len(made[0].probes)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        figure(
            f"alignment and quality control of {count:,} candidates",
            taken,
            "s",
            budget=_BUDGET_SECONDS * count / _CANDIDATES,
            better="less",
        ),
        figure("the same by the clock", clock, "s"),
        figure("probes kept", kept, "probes"),
        figure("peak memory", peak, "MiB"),
    ]
