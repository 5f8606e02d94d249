import pytest
from hypothesis import given
from hypothesis import strategies as st

from twiki.windows.matching import Passage, find_words, fold


def holds(sentence, label, **more):
    return Passage([sentence], **more).evidence([fold(label, **more)]) is not None


@pytest.mark.parametrize(
    ("sentence", "label"),
    [
        ("She lives in the US now.", "US"),
        ("He moved to New\u00a0York.", "New York"),
        ("He moved to New York.", "New\u202fYork"),
        ("Obama's house", "Obama"),
        ("A New York-based paper", "New York"),
        ("a Franco–German treaty", "Franco-German"),
        ("It is in Washington, D.C., today.", "Washington, D.C."),
        ("It uses C++.", "C++"),
        ("It was named 'Rock \"n\" Roll'", 'Rock "n" Roll'),
        ("Straße", "STRASSE"),
        ("Beyonce\u0301 sang", "Beyoncé"),
        ("A Geo\u00adgraphy lesson", "geography"),
        ("born in 1999.", "1999"),
        ("On 21 March 1999, he won.", "March 1999"),
        ("He scored 5, then 6.", "5"),
        ("museum US", "us"),
        ("東京都は日本の首都です", "日本"),
        ("เขาอยู่กรุงเทพมหานครและ", "กรุงเทพ"),
    ],
)  # fmt: skip
def test_a_label_stands_as_whole_words(sentence, label):
    assert holds(sentence, label)


@pytest.mark.parametrize(
    ("sentence", "label"),
    [
        ("the museum opened", "US"),
        ("a house", "us"),
        ("3.5 percent", "5"),
        ("5.3 percent", "5"),
        ("1,234 people", "234"),
        ("12345", "234"),
        ("snake_case", "snake"),
        ("C++20", "C++"),
        ("Yahoo!Japan", "Yahoo!"),
        ("काम", "क"),
        ("one sentence ends.", "sentence ends. The"),
        ("Beyoncé", "Beyonce"),
        ("people’s", "people's"),
        ("anything", ""),
    ],
)
def test_a_label_inside_a_word_or_number_does_not_count(sentence, label):
    assert not holds(sentence, label)


def test_diacritics_are_folded_on_demand():
    for sentence, label in [
        ("Beyoncé", "Beyonce"),
        ("Lodz", "Łódź"),
        ("Søren", "Soren"),
        ("people’s", "people's"),
    ]:
        assert not holds(sentence, label)
        assert holds(sentence, label, diacritics=True)


def test_evidence_is_the_first_sentence_as_it_was_written():
    passage = Passage(["A museum.", "In the US\u00a0and elsewhere.", "The US again."])
    assert passage.evidence(["us"]) == "In the US\u00a0and elsewhere."
    assert passage.evidence(["us", "museum"]) == "A museum."
    assert passage.evidence(["nowhere"]) is None
    assert passage.evidence([]) is None
    assert Passage([]).evidence(["us"]) is None


def test_a_label_never_reaches_over_two_sentences():
    assert Passage(["He saw New", "York today."]).evidence(["new york"]) is None


@given(st.text())
def test_folding_twice_is_folding_once(text):
    assert fold(fold(text)) == fold(text)
    plain = fold(text, diacritics=True)
    assert "\n" not in plain


@given(
    st.lists(
        st.sampled_from(["a", "b", "c,", "1", ".", "é", "ß", "Straße", "New-York"]), min_size=1
    )
)
def test_every_run_of_whole_words_is_found(words):
    text = fold(" ".join(words))
    for start in range(len(words)):
        assert find_words(text, fold(" ".join(words[start:]))) >= 0
