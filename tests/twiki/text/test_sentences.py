import pytest
from hypothesis import given
from hypothesis import strategies as st
from wikitext import paragraph

from twiki.text.sentences import key, segment

ANY = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=300)


@given(ANY | paragraph)
def test_sentences_hold_all_of_the_paragraph_but_white_space(text):
    sentences = segment(text)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert all(s == s.strip() for s in sentences)
    assert all(sentences)


@given(paragraph, paragraph)
def test_segmenting_is_repeatable(one, other):
    assert segment(one) == segment(one)
    assert segment(f"{one}\n{other}") == segment(f"{one} {other}")


@pytest.mark.parametrize(
    "marked",
    [
        "He was born c. 1900 in St. Louis, Missouri.|He died there.",
        "No. 5 was sold.|It met in No. 10 Downing Street.|That is a no.|He left.",
        "J. R. R. Tolkien wrote it.|C. S. Lewis read it.|George W. Bush won.",
        "The U.S. Army came.|He moved to the U.S.|In 1990 he left.",
        "She ran as a B.C. Marijuana Party candidate in 2005.|She lost.",
        "U.S. rate was 3.5 percent.|It rose by .5 points.",
        'He said "Go. Now." and left.|"Is it? Yes." he said.',
        "It was large (see Smith et al. 1990).|It ended.",
        "It is from ca. 460 BC, fl. 450 BC, r. 440–430 BC, b. 470 BC.|It stands.",
        "Yahoo! was founded in 1994.|Panic! at the Disco played.|Jeopardy! is a show.",
        "It opened at 9 a.m. Monday.|It closed at 5 p.m.|The crowd left.",
        "Vol. 3, pp. 5–7, ch. 2, ed. Smith.|It ends.",
        "Mt. Everest is high.|Ft. Worth is big.|Ste. Marie is small.",
        "1. First item.|2. Second item.",
        "Who won?|Alice did!|It was 2020.",
        "Louis XIV. was king.|World War I.|It began.",
        "He fell.|iPhone sales rose.|eBay fell.",
        "He works at Acme Inc. in London.|Acme Inc. was sold.",
        "Lehman v. Shaker was heard.|Roe v. Wade was decided.",
    ],
)
def test_boundaries_stand_where_a_reader_puts_them(marked):
    assert segment(marked.replace("|", " ")) == marked.split("|")


def test_long_quotations_are_cut_at_their_sentences():
    inside = "This is one of the sentences that stand in a rather long quotation of a speech."
    text = f'He said: "{inside} {inside} And it goes on for a while yet." Then he left.'
    assert segment(text) == [
        f'He said: "{inside}',
        inside,
        'And it goes on for a while yet."',
        "Then he left.",
    ]


def test_ordinals_of_other_languages_end_no_sentence():
    assert segment("Seit Ende des 18. Jahrhunderts gilt es. Es bleibt.", "de") == [
        "Seit Ende des 18. Jahrhunderts gilt es.",
        "Es bleibt.",
    ]
    assert segment("这是一。那是二。", "zh") == ["这是一。", "那是二。"]


def test_the_key_folds_white_space_and_unicode_form_and_nothing_else():
    assert key("caf\u0065\u0301  is\u00a0open") == key("café is open")
    assert key("It is 1.5.") != key("It is 15.")
    assert key("May") != key("may")


def test_a_name_of_the_letters_of_roman_numbers_is_a_name():
    text = "She is a Master of Arts. Liv leads a laboratory."
    assert segment(text) == ["She is a Master of Arts.", "Liv leads a laboratory."]
    assert segment("It is in vol. IV of the work.") == ["It is in vol. IV of the work."]
