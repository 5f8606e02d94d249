import json

import pytest

from twiki.errors import OutputExists
from twiki.windows import harness


@pytest.fixture
def tasks(tmp_path):
    harness.write("2026-11", tmp_path / "harness")
    return tmp_path / "harness"


def test_a_window_has_a_group_of_tasks():
    assert harness.group("2026-11") == "twiki_2026_11"
    assert harness.group("20261101-20261115") == "twiki_20261101_20261115"
    names = harness.files("2026-11")
    probes = {f"{category}{form}" for category in ("changed", "unchanged", "removed") for form in ("", "_cloze", "_text", "_f1")}  # fmt: skip # noqa: E501
    for task in {*probes, "diffset", "nondiffset"}:
        assert f"twiki_2026_11_{task}.yaml" in names
        assert f"  - twiki_2026_11_{task}\n" in names["twiki_2026_11.yaml"]


def test_the_files_are_the_same_every_time():
    assert harness.files("2026-11") == harness.files("2026-11")


def test_the_files_say_where_the_data_is(tasks):
    assert json.loads((tasks / "harness.json").read_text()) == {"data": ".."}


def test_a_folder_that_exists_is_not_written_over(tasks):
    with pytest.raises(OutputExists):
        harness.write("2026-11", tasks)


@pytest.mark.parametrize(
    ("answer", "golds", "f1", "exact"),
    [
        ("The Hague", ["Hague"], 1.0, 1.0),
        ("in The Hague", ["Hague"], 2 / 3, 0.0),
        ("Paris", ["Rome", "Paris"], 1.0, 1.0),
        ("Oslo", ["Rome"], 0.0, 0.0),
        ("", ["Rome"], 0.0, 0.0),
        ("a", ["the"], 1.0, 1.0),
    ],
)
def test_an_answer_is_scored_against_every_gold_object(answer, golds, f1, exact, tasks):
    scores = answer_scores(tasks)({"object": golds[0], "object_labels": golds}, [answer])
    assert scores == {"f1": pytest.approx(f1), "exact_match": exact}


def answer_scores(folder):
    """The function as the harness finds it: in the written file."""
    scope = {"__file__": str(folder / "harness_tasks.py"), "__name__": "written"}
    exec((folder / "harness_tasks.py").read_text(), scope)  # noqa: S102 - our own file
    return scope["answer_scores"]
