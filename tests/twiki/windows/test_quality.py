from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twiki.config import QualityConfig
from twiki.windows import quality

CONFIG = QualityConfig()
UNCAPPED = QualityConfig(subject_cap=1.0, relation_cap=1.0, object_cap=1.0)


def row(subject, relation="r", obj="o"):
    return quality.Row(subject=subject, relation=relation, object=obj, key=(subject, relation, obj))


def distinct(size, relations=40, objects=40):
    return [row(f"S{n}", f"R{n % relations}", f"O{n % objects}") for n in range(size)]


def check(rows, config=CONFIG, window="2026-11"):
    kept = quality.check(rows, config, window)
    return [rows[index] for index in kept.kept], kept.dropped


@pytest.mark.parametrize(
    ("subject", "obj", "broken"),
    [
        ("Apple Inc.", "apple", True),
        ("US", "museum", True),
        ("Grassmann", "Graßmann", True),
        ("New\u00a0York City", "New York", True),
        ("Rome", "Paris", False),
    ],
)
def test_neither_text_may_contain_the_other(subject, obj, broken):
    assert quality.substring(row(subject, obj=obj), CONFIG) is broken


def test_an_object_has_at_most_five_words():
    assert not quality.object_words(row("s", obj="one two three four five"), CONFIG)
    assert quality.object_words(row("s", obj="one two three four five six"), CONFIG)


def test_every_rule_is_counted_by_name_even_when_nothing_breaks_it():
    rows, dropped = check([row("Rome", "capital of", "Italy")])
    assert len(rows) == 1
    assert tuple(dropped) == quality.RULES
    assert set(dropped.values()) == {0}


def test_a_row_is_counted_under_the_first_rule_that_it_breaks():
    long = "one two three four five six"
    _, dropped = check([row(long, obj=long), row(long, obj=long)])
    assert (dropped["duplicate"], dropped["substring"], dropped["object_words"]) == (1, 1, 0)


def test_of_equal_texts_the_one_whose_ids_sort_first_stays():
    twins = [
        quality.Row(subject="s", relation="r", object="x", key=(identifier, "P1", "Q9"))
        for identifier in ("Q3", "Q1", "Q2")
    ]
    kept, dropped = check(twins)
    assert [each.key[0] for each in kept] == ["Q1"]
    assert dropped["duplicate"] == 2


def test_texts_are_compared_by_column_not_as_one_string():
    kept, _ = check([row("a b", "c", "d"), row("a", "b c", "d"), row("a", "b", "c d")], UNCAPPED)
    assert len(kept) == 3


def test_none_and_na_are_words():
    assert len(check([row("s", obj="None"), row("t", obj="NA")], UNCAPPED)[0]) == 2


def test_the_caps_hold_in_what_is_left():
    rows = [row(f"S{n}", "occupation", f"O{n % 97}") for n in range(700)]
    rows += [row("BIG", f"B{n}", f"P{n}") for n in range(10)]
    rows += [row(f"T{n}", f"R{n % 60}", f"N{n % 61}") for n in range(300)]
    kept, dropped = check(rows)
    shares = quality.shares(kept)
    assert max(shares["Subject"].values()) <= 0.01
    assert max(shares["Relation"].values()) <= 0.05
    assert max(shares["Object"].values()) <= 0.05
    assert len(kept) + sum(dropped.values()) == len(rows)
    assert 0 < sum(each.relation == "occupation" for each in kept) <= 0.05 * len(kept)


def test_one_object_cannot_fill_half_of_the_set():
    rows = [*distinct(500), *(row(f"X{n}", f"R{n % 40}", "human") for n in range(500))]
    kept, _ = check(rows)
    assert quality.shares(kept)["Object"].get("human", 0) <= 0.05


def test_in_a_small_set_one_row_of_each_value_stays():
    rows = [row(f"S{n}", f"R{n % 3}", f"O{n}") for n in range(10)]
    kept, dropped = check(rows)
    assert Counter(each.relation for each in kept) == {"R0": 1, "R1": 1, "R2": 1}
    assert dropped["relation_cap"] == 7


def test_which_rows_a_cap_takes_depends_on_the_window_and_not_on_their_order():
    rows = [row(f"S{n}", "r", f"O{n}") for n in range(50)]
    november, _ = check(rows, window="2026-11")
    assert november == check(rows[::-1], window="2026-11")[0]
    assert november != check(rows, window="2026-12")[0]


def test_a_cap_of_one_drops_nothing():
    rows = [row("s", "r", f"O{n}") for n in range(50)]
    assert check(rows, UNCAPPED)[0] == rows


def test_a_review_names_the_rows_and_the_values_over_a_cap():
    rows = [
        row("Rome", "r", "Italy"),
        row("Rome", "r", "Italy"),
        row("Rome", "r", "rome"),
        row("", "r", "x y"),
    ]
    review = quality.review(rows, CONFIG)
    assert review.broken == {
        "no_label": (3,),
        "duplicate": (1,),
        "substring": (2, 3),
        "object_words": (),
    }
    assert review.over["relation_cap"] == {"r": 1.0}
    assert review.over["object_cap"] == {"Italy": 0.5}


_ROWS = st.lists(
    st.builds(
        row,
        st.sampled_from(["A", "B", "C", "D", "E", "F"]),
        st.sampled_from(["r", "q", "p"]),
        st.sampled_from(["a b c d e f", "x", "y", "z", "A"]),
    ),
    max_size=60,
)
_CONFIGS = st.builds(
    QualityConfig,
    subject_cap=st.sampled_from([0.01, 0.2, 0.5, 1.0]),
    relation_cap=st.sampled_from([0.05, 0.3, 1.0]),
    object_cap=st.sampled_from([0.05, 0.3, 1.0]),
)


@given(_ROWS, _CONFIGS)
def test_what_is_left_keeps_every_rule_and_the_counts_add_up(rows, config):
    kept, dropped = check(rows, config)
    assert len(kept) + sum(dropped.values()) == len(rows)
    assert len({each.texts for each in kept}) == len(kept)
    for each in kept:
        assert not any(rule(each, config) for rule in quality.ROW_RULES)
    for cap in quality.caps(config):
        counts = Counter(each.texts[cap.column] for each in kept)
        assert all(count <= max(1, int(cap.share * len(kept))) for count in counts.values())


@given(_ROWS, _CONFIGS, st.randoms(use_true_random=False))
def test_the_order_of_rows_has_no_effect(rows, config, chance):
    before = check(rows, config)
    chance.shuffle(rows)
    after = check(rows, config)
    assert sorted(each.key for each in before[0]) == sorted(each.key for each in after[0])
    assert before[1] == after[1]


@given(_ROWS, _CONFIGS)
def test_quality_control_of_its_own_result_drops_nothing(rows, config):
    kept, _ = check(rows, config)
    assert check(kept, config)[0] == kept
