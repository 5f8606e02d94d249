from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wikitext import paragraph, sentence, soup

from twiki.config import TextConfig
from twiki.diff import diff, diff_plain
from twiki.records import Diff, ParagraphKind, SentenceKind
from twiki.similarity import cosmetic
from twiki.text import sentences
from twiki.text.blocks import split
from twiki.text.clean import Cleaner
from twiki.text.siteinfo import SiteInfo

CLEAN = Cleaner(SiteInfo.english(), TextConfig()).block
PLAIN = st.lists(paragraph, max_size=6)


def kinds(found):
    return [(s.kind.value, s.text, s.replaced) for s in found.sentences]


def wiki(old, new):
    return diff(None if old is None else split(old), split(new), CLEAN)


def counts(paragraphs):
    return Counter(sentences.key(s) for p in paragraphs for s in sentences.segment(p))


def counts_of_page(text):
    return Counter(
        sentences.key(s)
        for block in split(text)
        for p in CLEAN(block).paragraphs
        if p.kind is not ParagraphKind.HEADING
        for s in p.sentences
    )


# --- laws -----------------------------------------------------------------------------------


@given(PLAIN)
def test_a_text_does_not_differ_from_itself(text):
    assert diff_plain(text, text) == Diff()


@given(soup)
def test_a_page_does_not_differ_from_itself(text):
    assert wiki(text, text) == Diff()


@given(PLAIN, PLAIN)
def test_old_less_what_it_lost_and_what_was_replaced_plus_what_is_new_is_new(old, new):
    found = diff_plain(old, new)
    rebuilt = counts(old)
    rebuilt.subtract(map(sentences.key, found.removed))
    rebuilt.subtract(sentences.key(s.replaced) for s in found.sentences if s.replaced)
    rebuilt.update(sentences.key(s.text) for s in found.sentences)
    assert +rebuilt == counts(new)
    assert not -rebuilt


@given(soup, soup, soup)
def test_the_same_law_holds_for_wikitext(head, one, other):
    old, new = head + "\n\n" + one, head + "\n\n" + other
    found = wiki(old, new)
    rebuilt = counts_of_page(old)
    rebuilt.subtract(map(sentences.key, found.removed))
    rebuilt.subtract(sentences.key(s.replaced) for s in found.sentences if s.replaced)
    rebuilt.update(sentences.key(s.text) for s in found.sentences)
    assert +rebuilt == counts_of_page(new)


@given(st.permutations(["A b.", "C d. E f.", "G h.", "I j.", "C d."]))
def test_moved_paragraphs_are_not_new(order):
    assert diff_plain(["A b.", "C d. E f.", "G h.", "I j.", "C d."], order) == Diff()


@given(PLAIN, PLAIN)
def test_a_diff_is_always_the_same_and_replaces_each_sentence_once(old, new):
    found = diff_plain(old, new)
    assert found == diff_plain(list(old), list(new))
    replaced = Counter(sentences.key(s.replaced) for s in found.sentences if s.replaced)
    assert not replaced - counts(old)
    for s in found.sentences:
        assert (s.replaced is not None) == (s.kind is SentenceKind.UPDATED)


@given(PLAIN, sentence, st.integers(0, 6))
def test_nothing_is_lost_at_the_first_or_last_line(text, added, where):
    new = [*text[:where], added, *text[where:]]
    assert [s.text for s in diff_plain(text, new).sentences] in ([added], [])
    assert bool(diff_plain(text, new).sentences) == (counts(new) != counts(text))


# --- kinds ----------------------------------------------------------------------------------


def test_a_new_article_gives_all_its_sentences():
    assert kinds(wiki(None, "Ants bite. Cows dig.\n== H ==\nAnts bite.")) == [
        ("new_article", "Ants bite.", None),
        ("new_article", "Cows dig.", None),
        ("new_article", "Ants bite.", None),
    ]
    assert wiki(None, "") == Diff()


def test_a_blank_article_that_is_filled_gives_added_sentences():
    assert kinds(diff([], ["A b."], CLEAN)) == [("added", "A b.", None)]


def test_an_update_names_the_sentence_it_replaced():
    old = "The mayor is Bob Hill. It has 5,000 people. It lies north.\n\nTrains stop here."
    new = (
        "The mayor is Ann Lee. It has 5,200 people. It lies north.\n\nTrains stop here. Buses too."
    )
    found = wiki(old, new)
    assert kinds(found) == [
        ("updated", "The mayor is Ann Lee.", "The mayor is Bob Hill."),
        ("updated", "It has 5,200 people.", "It has 5,000 people."),
        ("added", "Buses too.", None),
    ]
    assert found.removed == ()
    assert [(s.block, s.paragraph) for s in found.sentences] == [(0, 0), (0, 0), (1, 0)]


def test_a_removed_sentence_is_told_once_for_each_time_it_is_gone():
    assert diff_plain(
        ["Ants bite. Cows dig. Ants bite. Eels flee. Ants bite."], ["Ants bite. Cows dig."]
    ).removed == (
        "Ants bite.",
        "Eels flee.",
        "Ants bite.",
    )


def test_the_last_occurrences_of_a_repeated_sentence_are_the_new_ones():
    found = diff_plain(
        ["Ants bite.", "Cows dig."],
        ["Ants bite.", "Cows dig.", "Elks yawn.", "Ants bite. Ants bite."],
    )
    assert [(s.text, s.block) for s in found.sentences] == [
        ("Elks yawn.", 2),
        ("Ants bite.", 3),
        ("Ants bite.", 3),
    ]


def test_an_update_in_a_moved_paragraph_finds_its_sentence():
    far = [f"Filler number {n} stands alone here." for n in range(60)]
    old = ["The town has 900 people. It has a castle on a hill.", *far]
    new = [*far, "The town has 950 people. It has a castle on a hill."]
    assert kinds(diff_plain(old, new)) == [
        ("updated", "The town has 950 people.", "The town has 900 people.")
    ]


def test_unlike_sentences_are_added_and_removed():
    found = diff_plain(["Trains stop here every hour."], ["A castle crowns that hill."])
    assert kinds(found) == [("added", "A castle crowns that hill.", None)]
    assert found.removed == ("Trains stop here every hour.",)


def test_each_old_sentence_is_replaced_by_its_best_match():
    old = ["Ann won 3 gold medals in Oslo in 1990. Ann won 5 silver medals in Rome in 1994."]
    new = ["Ann won 6 silver medals in Rome in 1994. Ann won 4 gold medals in Oslo in 1990."]
    assert [(s.text[8:9], s.replaced[8:9]) for s in diff_plain(old, new).sentences] == [
        ("6", "5"),
        ("4", "3"),
    ]


def test_headings_markup_references_and_white_space_make_no_difference():
    old = "== Old ==\nA [[b|c]] d. E f."
    new = "== New ==\n'''A''' c  d.<ref>g 5</ref>\nE&nbsp;f.\n\n{{infobox|h=6}}\n[[Category:I]]"
    assert wiki(old, new) == Diff()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("It is red, white and blue.", "It is red, white, and blue.", True),
        ('He said "no".', "He said “no”.", True),
        ("In 1990–91 it rose.", "In 1990-91 it rose.", True),
        ("It has 1,000 men.", "It has 1000 men.", True),
        ("It cost 1.5 million.", "It cost 15 million.", False),
        ("Temp was -5 C.", "Temp was 5 C.", False),
        ("It won 3-1.", "It won 31.", False),
        ("It cost $5.", "It cost €5.", False),
        ("It rose 5%.", "It rose 5.", False),
        ("In May it fell.", "In may it fell.", False),
    ],
)
def test_a_cosmetic_update_has_the_same_words_and_numbers(one, other, same):
    assert cosmetic(one, other) is same
    (found,) = diff_plain([one], [other]).sentences
    assert found.kind is SentenceKind.UPDATED
    assert found.cosmetic is same


def test_a_rewrite_of_a_long_page_is_paired_in_bounded_time():
    old = [f"Sentence {n} says that the town number {n} has {n * 7} people." for n in range(3000)]
    new = [f"Line {n} tells that a village called {n} holds {n * 9} folk." for n in range(3000)]
    found = diff_plain(old, new)
    assert len(found.sentences) == 3000


@given(
    st.lists(st.sampled_from(["Ants bite.", "Cows dig.", "Eels flee.", "Hens lay."]), max_size=12),
    st.lists(st.sampled_from(["Ants bite.", "Cows dig.", "Eels flee.", "Hens lay."]), max_size=12),
)
def test_equal_blocks_go_first_to_first_whatever_the_ends_share(old, new):
    budget = Counter(old)
    expected = []
    for index, block in enumerate(new):
        if budget[block] > 0:
            budget[block] -= 1
        else:
            expected.append((block, index))
    assert [(s.text, s.block) for s in diff_plain(old, new).sentences] == expected


def test_of_a_repeated_item_the_last_is_new_whatever_white_space_ends_it():
    old = ["* An item\n", "* Another\n\n", "After.\n"]
    new = ["* An item\n", "* Another\n", "* Another\n\n", "After.\n"]
    (found,) = diff(old, new, CLEAN).sentences
    assert (found.text, found.block) == ("Another", 2)
