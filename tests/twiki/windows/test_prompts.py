import tomllib
from importlib import resources

import pytest

from twiki.windows import kinds, prompts


def test_a_prompt_names_the_subject_and_leaves_the_object_for_the_end():
    assert prompts.prompt("P19", "Ada Lovelace") == prompts.Prompt(
        kind="place",
        cloze="Ada Lovelace was born in",
        question="Where was Ada Lovelace born?",
    )


def test_a_property_without_a_line_has_no_prompt_but_the_plain_form():
    assert prompts.prompt("P999999", "Ada Lovelace") is None
    assert prompts.plain("Ada Lovelace", "place of birth") == "Ada Lovelace place of birth"


def test_a_subject_with_braces_stays_as_it_is():
    assert prompts.prompt("P19", "{} {0}").cloze == "{} {0} was born in"


def test_the_table_covers_the_two_hundred_most_used_properties():
    assert len(prompts.table()) >= 200


@pytest.mark.parametrize(("relation", "template"), prompts.table().items())
def test_a_template_has_one_subject_and_a_known_kind(relation, template):
    assert relation[0] == "P"
    assert relation[1:].isdigit()
    assert template.cloze.count("{}") == template.question.count("{}") == 1
    assert template.kind in {*kinds.order(), "time", "quantity", "text"}
    assert template.question.endswith("?")
    assert template.cloze[-1].isalpha()
    assert template.cloze.split() == template.cloze.split(" ")


def test_no_wording_is_that_of_two_properties():
    clozes = [template.cloze for template in prompts.table().values()]
    assert [each for each in set(clozes) if clozes.count(each) > 1] == []


@pytest.mark.parametrize("relation", ["P569", "P570", "P577", "P1082", "P2044", "P2048", "P1476"])
def test_a_property_of_literals_says_which_kind_they_are(relation):
    assert prompts.table()[relation].kind in {"time", "quantity", "text"}


def test_properties_stand_in_order_and_once():
    text = resources.files("twiki.windows").joinpath("prompts.toml").read_text("utf-8")
    numbers = [int(relation[1:]) for relation in tomllib.loads(text)]
    assert numbers == sorted(set(numbers))
