import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wikitext import PIECES, calm, soup

from twiki.text.blocks import resplit, split
from twiki.text.nesting import scan


@given(soup)
def test_blocks_concatenate_to_the_text(text):
    blocks = split(text)
    assert "".join(blocks) == text
    assert all(blocks)


@settings(max_examples=300)
@given(soup | calm, soup | calm, soup | calm, soup | calm)
def test_splitting_around_an_edit_equals_splitting_the_whole(head, old, new, tail):
    before, after = head + old + tail, head + new + tail
    assert resplit(split(before), after) == split(after)


@settings(max_examples=300)
@given(calm, st.sampled_from(PIECES), calm, calm, st.sampled_from(PIECES), calm)
def test_loose_ends_far_from_the_edit_are_seen(head, loose, old, new, other, tail):
    """The edit itself is closed as it should be; what stands around it is not."""
    for before, after in ((old, new), (new, old)):
        page = [head, loose, "", "\n\nA.\n\nB.\n\n", before, "\n\nC.\n\nD.\n\n", other, tail]
        edited = [*page[:4], after, *page[5:]]
        assert resplit(split("".join(page)), "".join(edited)) == split("".join(edited))


@settings(max_examples=200)
@given(st.data(), st.lists(soup | calm, min_size=3, max_size=8))
def test_splitting_around_an_edit_of_a_long_page_equals_splitting_the_whole(data, parts):
    page = "\n\n".join(parts)
    start = data.draw(st.integers(0, len(page)))
    end = data.draw(st.integers(start, min(start + 20, len(page))))
    after = page[:start] + data.draw(soup) + page[end:]
    assert resplit(split(page), after) == split(after)


def test_a_tag_left_open_before_the_edit_closes_when_the_edit_lets_it():
    around = "<ref>a\n\nA.\n\nB.\n\n{}\n\nC.\n\nD.\n\n</ref>"
    old, new = around.format("<ref>b</ref>"), around.format("<!-- -->")
    assert len(split(old)) > 1
    assert split(new) == [new]
    assert resplit(split(old), new) == split(new)
    assert resplit(split(new), old) == split(old)


def test_a_reference_that_is_never_closed_does_not_take_the_next_one():
    assert split("<ref>a\n\nB.<ref>c</ref>\n\nD.") == ["<ref>a\n\n", "B.<ref>c</ref>\n\n", "D."]


def test_untouched_blocks_come_back_as_the_same_objects():
    blocks = split("\n\n".join(f"Paragraph {n} [[x]]." for n in range(50)))
    edited = resplit(blocks, "".join(blocks).replace("25", "twenty-five"))
    assert sum(a is b for a, b in zip(blocks, edited, strict=True)) >= 44


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("A.\n\nB.", ["A.\n\n", "B."]),
        ("A.\n \t\n\nB.", ["A.\n \t\n\n", "B."]),
        ("A\nB", ["A\nB"]),
        ("\n\nA", ["\n\n", "A"]),
        ("* a\n* b\n# c", ["* a\n", "* b\n", "# c"]),
        ("== H ==\nA", ["== H ==\n", "A"]),
        ("A\n== H ==\n\nB", ["A\n", "== H ==\n\n", "B"]),
        ("A\n= not a heading\nB", ["A\n= not a heading\nB"]),
        ("A\n== H == <!-- c -->\nB", ["A\n", "== H == <!-- c -->\n", "B"]),
        ("{{a|\n\n* b\n}}\n\nB", ["{{a|\n\n* b\n}}\n\n", "B"]),
        ("{{a|{{b|\n\n}}\n\n}}\n\nB", ["{{a|{{b|\n\n}}\n\n}}\n\n", "B"]),
        ("{{a\n\n[[b}}\n\nB", ["{{a\n\n[[b}}\n\n", "B"]),
        ("[[File:a.jpg|b\n\nc]]\n\nB", ["[[File:a.jpg|b\n\nc]]\n\n", "B"]),
        ("{|\n|a\n\n|}\n\nB", ["{|\n|a\n\n|}\n\n", "B"]),
        (":{|\n|a\n{|\n\n|}\n\n|}\n\nB", [":{|\n|a\n{|\n\n|}\n\n|}\n\n", "B"]),
        ("<ref>a\n\n}}</ref>\n\nB", ["<ref>a\n\n}}</ref>\n\n", "B"]),
        ("<ref name=a/>\n\nB</ref>", ["<ref name=a/>\n\n", "B</ref>"]),
        ("<!-- {{a\n\n-->b\n\nc", ["<!-- {{a\n\n-->b\n\n", "c"]),
        ("<nowiki>{{</nowiki>\n\nB}}", ["<nowiki>{{</nowiki>\n\n", "B}}"]),
        ("<math>\n\n\\{</math>\n\nB", ["<math>\n\n\\{</math>\n\n", "B"]),
        (
            "<gallery>\na.jpg|[[b\n\n</gallery>\n\nB",
            ["<gallery>\na.jpg|[[b\n\n</gallery>\n\n", "B"],
        ),
        ("<TABLE><tr>\n\n</tr></TABLE>\n\nB", ["<TABLE><tr>\n\n</tr></TABLE>\n\n", "B"]),
        ("{{{1|\n\n}}}\n\nB", ["{{{1|\n\n}}}\n\n", "B"]),
        # unbalanced: what is never closed opens nothing
        ("{{a\n\nB", ["{{a\n\n", "B"]),
        ("}} A\n\n{{b|\n\n}}", ["}} A\n\n", "{{b|\n\n}}"]),
        ("{{a}} }} {{ {{b}}\n\n}}\n\nc", ["{{a}} }} {{ {{b}}\n\n}}\n\n", "c"]),
        ("[[a\n\nb]]\n\nc", ["[[a\n\n", "b]]\n\n", "c"]),
        ("<ref>a\n\nB", ["<ref>a\n\n", "B"]),
        ("{|\n|a\n\nB", ["{|\n|a\n\n", "B"]),
        ("A\n\n<!-- b\n\nc", ["A\n\n", "<!-- b\n\nc"]),
        ("", []),
    ],
)
def test_blocks_end_where_nothing_is_open(text, blocks):
    assert split(text) == blocks


def test_the_inner_construct_does_not_hide_the_outer():
    assert scan("a [[b|{{c|{{d}}}}]] {{e\n}}").spans == [(1, 2, 19), (0, 20, 26)]


@pytest.mark.parametrize(
    "piece", ["{{a|", "[[", "<ref>", "<!--", "{|\n", "=a=\n", "}}", "\n\n", "<table>", "*", "='"]
)
def test_half_a_megabyte_of_anything_is_split_in_linear_time(piece):
    text = piece * (500_000 // len(piece))
    start = time.perf_counter()
    assert "".join(split(text)) == text
    assert time.perf_counter() - start < 10
