"""What the soak says of its rounds; the rounds themselves are the faults of test_service_faults."""

import inspect

import pytest

from stream import bench_soak
from stream.soak_round import Outcome
from twiki.cli.benches import BENCHES


def outcome(**fields):
    made = Outcome(rounds=3, sent=3000, applied=2900, seconds=100.0, **fields)
    made.ends["killed"] = 210
    made.rejected["categorize"] = 7
    return made


def figures(minutes=20, **fields):
    return {one.figure: one for one in bench_soak.figures(outcome(**fields), minutes)}


def test_a_clean_soak_meets_every_budget():
    found = figures()
    assert all(one.met is not False for one in found.values())
    assert found["kill -9"].met
    assert found["events a second"].value == 30.0
    assert found["rejected: categorize"].value == 7


@pytest.mark.parametrize(("field", "name"), [("lost", "lost"), ("wrong", "wrong in state")])
def test_one_record_lost_or_wrong_misses_the_budget(field, name):
    assert figures(**{field: 1})[name].met is False


def test_a_short_soak_has_no_budget_of_kills():
    assert figures(minutes=1)["kill -9"].met is None
    made = Outcome(rounds=1)
    made.ends["killed"] = 3
    full = {one.figure: one for one in bench_soak.figures(made, 20)}
    assert full["kill -9"].met is False


def test_it_is_a_benchmark_with_minutes_and_seed():
    assert BENCHES["soak"].module == "stream.bench_soak"
    assert {"minutes", "seed"} <= inspect.signature(bench_soak.run).parameters.keys()
