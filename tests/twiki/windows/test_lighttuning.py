from collections import Counter
from datetime import UTC, datetime

from twiki.records import Category, Fact, FactChange, FactClass, Probe
from twiki.windows.lighttuning import choose
from twiki.windows.probes import ProbeSet


def probe(subject, relation="r", obj="o"):
    fact = Fact(subject=subject, relation=relation, object=obj)
    return Probe(
        subject=subject,
        relation=relation,
        object=obj,
        change=FactChange(fact=fact, fact_class=FactClass.NEW_OBJECT),
        category=Category.CHANGED,
        page_id=1,
        page_title=subject,
        evidence="",
        evidence_rev=1,
        old_rev=None,
        new_rev=1,
        changed_at=datetime(2026, 11, 1, tzinfo=UTC),
    )


def probes(kept, spare=()):
    return ProbeSet(
        probes=tuple(kept), dropped={}, candidates=len(kept) + len(spare), spare=tuple(spare)
    )


EMPTY = probes([])


def test_the_shares_of_relations_are_those_of_the_probes():
    kept = [probe(f"K{n}", "r") for n in range(6)] + [probe(f"L{n}", "q") for n in range(3)]
    spare = [probe(f"S{n}", relation) for relation in "rqp" for n in range(50)]
    chosen = choose(probes(kept, spare), EMPTY, 12, "2026-11").changed
    assert Counter(each.relation for each in chosen) == {"r": 8, "q": 4}


def test_there_may_be_fewer_than_asked_for():
    kept = [probe("K", "r"), probe("L", "q")]
    chosen = choose(probes(kept, [probe("S", "r")]), EMPTY, 500, "2026-11")
    assert [each.subject for each in chosen.changed] == ["S"]
    assert chosen.unchanged == ()
    assert choose(EMPTY, EMPTY, 500, "2026-11").changed == ()


def test_no_question_of_a_probe_of_either_category_is_asked():
    changed = probes(
        [probe("K", "r")], [probe("K", "r", "other"), probe("U", "r"), probe("S", "r")]
    )
    unchanged = probes([probe("U", "r")])
    assert [each.subject for each in choose(changed, unchanged, 9, "2026-11").changed] == ["S"]


def test_the_choice_depends_on_the_window_and_not_on_the_order():
    kept, spare = [probe("K")], [probe(f"S{n}") for n in range(40)]
    november = choose(probes(kept, spare), EMPTY, 5, "2026-11").changed
    assert november == choose(probes(kept, spare[::-1]), EMPTY, 5, "2026-11").changed
    assert november != choose(probes(kept, spare), EMPTY, 5, "2026-12").changed
    assert list(november) == sorted(november, key=lambda each: each.subject)
