"""The benchmarks of entities and probes in a tiny form: they run, and say what they must."""

import gzip
import json

from twiki.bench import entities, items, probes
from twiki.entities import decode


def test_the_figures_of_entities_are_those_that_have_budgets():
    figures = {f.figure: f for f in entities.run(40, 60, 120, 1)}
    assert figures["entity edits through the engine"].budget == 3000
    for count in ("60", "120"):
        gunzip = figures[f"dump of {count} entities reconciled, peer: gunzip"]
        isal = figures[f"dump of {count} entities reconciled, peer: isal"]
        assert (gunzip.budget, isal.budget) == (1.5, 3.0)
        assert gunzip.ratio > 0
        assert isal.ratio > 0
        assert figures[f"dump of {count} entities reconciled: repaired"].value > 0


def test_a_generated_dump_is_the_same_every_time_and_can_be_read():
    dump = b"".join(items.lines(50, edited_share=0.5))
    assert dump == b"".join(items.lines(50, edited_share=0.5))
    entities_of = json.loads(dump)
    assert [e["id"] for e in entities_of] == [f"Q{n}" for n in range(1, 51)]
    assert len({e["lastrevid"] for e in entities_of}) == 50
    assert {decode(json.dumps(e)).sitelink is None for e in entities_of} == {True, False}


def test_later_entities_have_the_body_of_earlier_ones_under_their_own_id():
    *_, last, _ = items.lines(items._BODIES + 1)
    again = json.loads(last)
    assert (again["id"], again["lastrevid"]) == ("Q2001", 1_000_002_001)
    assert b'"Q1"' not in last


def test_the_dump_is_about_as_compressible_as_wikidatas_own():
    dump = b"".join(items.lines(300))
    assert 5 < len(dump) / len(gzip.compress(dump)) < 10


def test_the_probes_of_the_bench_are_kept_but_for_those_without_evidence():
    made = probes.probes(900)
    assert made.candidates == 900
    assert made.dropped["no_evidence"] == 100
