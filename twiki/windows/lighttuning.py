"""The facts of the paper's light-tuning: a few hundred that teach the form, not the answers.

They come from candidates that only a cap kept out of the probes, and overlap no probe: neither
its subject with its relation nor its texts. The shares of relations are those of the probes, as
far as the candidates allow; what lacks is left out, so there may be fewer than asked for.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from twiki.facts import text_hash
from twiki.records import Probe, Record
from twiki.windows.probes import ProbeSet


class LightTuning(Record, frozen=True):
    """The two files, each sorted by subject, relation and object id."""

    changed: tuple[Probe, ...]
    unchanged: tuple[Probe, ...]


def choose(changed: ProbeSet, unchanged: ProbeSet, n: int, window: str) -> LightTuning:
    """At most ``n`` facts of each category, chosen by a hash of fact and ``window``."""
    probes = [*changed.probes, *unchanged.probes]
    questions = {(probe.subject, probe.relation) for probe in probes}
    return LightTuning(
        changed=_draw(_free(changed.spare, questions), changed.probes, n, window),
        unchanged=_draw(_free(unchanged.spare, questions), unchanged.probes, n, window),
    )


def _free(pool: Iterable[Probe], questions: set[tuple[str, str]]) -> list[Probe]:
    return [probe for probe in pool if (probe.subject, probe.relation) not in questions]


def _draw(pool: Sequence[Probe], probes: Sequence[Probe], n: int, window: str) -> tuple[Probe, ...]:
    by_relation: dict[str, list[Probe]] = defaultdict(list)
    for probe in pool:
        by_relation[probe.change.fact.relation].append(probe)
    chosen: list[Probe] = []
    for relation, quota in _quotas(probes, n).items():
        group = sorted(by_relation.get(relation, ()), key=lambda probe: _rank(probe, window))
        chosen += group[:quota]
    return tuple(sorted(chosen, key=_key))


def _quotas(probes: Sequence[Probe], n: int) -> dict[str, int]:
    """``n`` divided in the proportions of the probes' relations, largest remainders first."""
    counts = Counter(probe.change.fact.relation for probe in probes)
    total = sum(counts.values())
    quotas = {relation: n * count // total for relation, count in counts.items()}
    remainders = sorted(counts, key=lambda relation: (-(n * counts[relation] % total), relation))
    for relation in remainders[: n - sum(quotas.values())]:
        quotas[relation] += 1
    return quotas


def _rank(probe: Probe, window: str) -> tuple[int, tuple[str, str, str]]:
    return text_hash(*_key(probe), window, "lighttuning"), _key(probe)


def _key(probe: Probe) -> tuple[str, str, str]:
    fact = probe.change.fact
    return (fact.subject, fact.relation, fact.object)
