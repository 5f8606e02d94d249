"""The published procedure re-expressed: its faults are part of it."""

import pytest

from twiki.bench import reference


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("A one.\nB two.\nC three.", "A one.\nB four.\nC three.", "B four"),
        ("A one.\nB two.", "A one.\nB two.\nNew last.", ""),
        ("A one.\nB two.", "New first.\nA one.\nB two.", ""),
        ("All old.", "All new.", ""),
        ("In.\nIt cost 1.5 million.\nOut.", "In.\nIt cost 15 million.\nOut.", ""),
        ("In.\nIt was 3.5 percent.\nOut.", "In.\nIt was 3.7 percent.\nOut.", "7 percent"),
    ],
    ids=["between", "last lost", "first lost", "rewrite lost", "number lost", "cut at the dot"],
)
def test_only_what_stands_between_common_lines_is_told(old, new, told):
    assert reference.difference(old, new) == told


def test_a_repeated_line_makes_a_difference_where_there_is_none():
    text = "A.\nAgain.\nB two.\nAgain.\nC."
    assert "B two" in reference.difference(text, text)


def test_new_pages_and_those_with_a_difference_count_as_changed():
    old = {1: "A.\nB.\nC.", 2: "A.\nB.\nC."}
    new = {1: "A.\nB.\nC.", 2: "A.\nX.\nC.", 3: "New."}
    assert reference.changed(old, new) == {2, 3}
