"""Proper nouns: spans of characters, tokens that touch them, tags that are kept."""

import pytest
from trainer_world import sentences

from trainer import files, intrinsic, model, pos, tokenizer
from twiki.errors import TrainerError


def spans_of(text, *words):
    return [(text.index(w), text.index(w) + len(w)) for w in words]


def flagged(words, text, *proper):
    ids, offsets = tokenizer.encode_offsets(words, [text])[0]
    flags = pos.proper(text, offsets, spans_of(text, *proper))
    return [words.decode([i]) for i, flag in zip(ids, flags, strict=True) if flag]


@pytest.fixture(scope="module")
def words():
    return tokenizer.train_bpe([*sentences(0), "Tim Cook of Apple Inc. in São Paulo don’t 😀"], 500)


def test_a_token_with_the_space_before_a_proper_noun_counts(words):
    text = "head Tim Cook of Apple"
    assert "".join(flagged(words, text, "Tim", "Cook", "Apple")).split() == ["Tim", "Cook", "Apple"]


def test_the_space_alone_does_not_count(words):
    text = "a  Tim"
    assert "".join(flagged(words, text, "Tim")).strip() == "Tim"
    assert not any(pos.proper("a b", [(1, 2)], [(0, 3)]))


def test_all_tokens_of_one_character_share_its_flag():
    words = tokenizer.train_bpe(["plain text"], 260)
    text = "x 😀 y"
    ids, offsets = tokenizer.encode_offsets(words, [text])[0]
    flags = pos.proper(text, offsets, [(2, 3)])
    assert sum(flags) == 4
    assert len(ids) > 6


@pytest.mark.parametrize(
    ("text", "spans", "expected"),
    [
        # Tokens as this vocabulary cuts them, each with its flag; a byte of a character is one.
        ("Ada’t b", [(0, 5)], [("Ada", 1), ("’", 1), ("t", 1), (" ", 0), ("b", 0)]),
        ("Ada’t b", [(0, 3)], [("Ada", 1), ("’", 0), ("t", 0), (" ", 0), ("b", 0)]),
        (
            "Tim\u00a0Cook",
            [(0, 8)],
            [("Tim", 1), ("\u00a0", 0), ("\u00a0", 0), ("C", 1), ("ook", 1)],
        ),
        (
            "a\u00a0Tim",
            [(2, 5)],
            [("a", 0), ("\u00a0", 0), ("\u00a0", 0), ("Tim", 1)],
        ),
        (
            "Ada\n\nBern",
            [(0, 3), (5, 9)],
            [("Ada", 1), ("\n", 0), ("\n", 0), ("B", 1), ("er", 1), ("n", 1)],
        ),
        (
            "Ada\n\nBern",
            [(0, 9)],
            [("Ada", 1), ("\n", 0), ("\n", 0), ("B", 1), ("er", 1), ("n", 1)],
        ),
        ("😀 Ada 😀", [(2, 5)], [("😀", 0), ("😀", 0), (" Ada", 1), (" 😀", 0)]),
        ("😀 Ada 😀", [(0, 1), (6, 7)], [("😀", 1), ("😀", 1), (" Ada", 0), (" 😀", 1)]),
        ("", [], []),
        ("\n", [(0, 1)], [("\n", 0)]),
    ],
)
def test_the_flags_of_hard_texts(words, text, spans, expected):
    _, offsets = tokenizer.encode_offsets(words, [text])[0]
    flags = pos.proper(text, offsets, spans)
    found = [(text[a:b], int(flag)) for (a, b), flag in zip(offsets, flags, strict=True)]
    assert found == expected


def test_tags_are_kept_and_made_anew_for_another_tagger_or_text(tmp_path):
    asked = []

    def tag(texts):
        asked.append(list(texts))
        return [[(0, 1)] for _ in texts]

    one = pos.Tagger("one 1.0", tag)
    assert pos.cached(one, ["Ada"], tmp_path, "d") == [[(0, 1)]]
    assert pos.cached(one, ["Ada"], tmp_path, "d") == [[(0, 1)]]
    assert len(asked) == 1
    pos.cached(pos.Tagger("one 1.1", tag), ["Ada"], tmp_path, "d")
    pos.cached(one, ["Ada"], tmp_path, "e")
    assert len(asked) == 3
    pos.cached(one, ["Ada"], None, "d")
    assert len(asked) == 4


def test_a_tagger_that_is_not_there_is_an_error_only_when_asked_for(tmp_path):
    for find in (pos.spacy_tagger, pos.tagger_name):
        with pytest.raises(TrainerError, match="tagger no_such_model"):
            find("no_such_model")
        with pytest.raises(TrainerError, match=r"meta\.json"):
            find(str(tmp_path))


@pytest.fixture(scope="module")
def spacy_tagger():
    tagger = pos.spacy_tagger()
    if tagger is None:
        pytest.skip("no spaCy model for English is installed")
    return tagger


def test_spacy_finds_proper_nouns_and_names_itself(spacy_tagger):
    text = "Tim Cook leads Apple.\nHe lives in Brazil."
    found = [text[a:b] for a, b in spacy_tagger.tag([text])[0]]
    assert found == ["Tim", "Cook", "Apple", "Brazil"]
    assert "spacy-" in spacy_tagger.name
    assert pos.tagger_name() == spacy_tagger.name
    assert spacy_tagger.tag([""]) == [[]]


def test_long_documents_are_tagged_in_pieces_with_right_offsets(spacy_tagger, monkeypatch):
    monkeypatch.setattr(pos, "_PIECE", 50)
    text = "It rained.\n" * 30 + "Brazil won."
    assert len(pos._pieces(text)) > 5
    assert [text[a:b] for a, b in spacy_tagger.tag([text])[0]][-1:] == ["Brazil"]


def test_proper_noun_perplexity_sums_the_flagged_tokens_alone(tiny_model):
    language = model.load(tiny_model)
    text = "Ada lives in Aldorp."
    spans = [spans_of(text, "Ada", "Aldorp"), []]
    found = intrinsic.score(language, [text, "Bo moved."], spans, length=32)
    both = intrinsic.score(language, [text, "Bo moved."], [[(0, 99)], [(0, 99)]], length=32)
    assert 0 < found.proper.tokens[0] < found.all.tokens[0]
    # A document without a proper noun counts nothing, and is no NaN.
    assert found.proper.tokens[1] == 0
    assert found.proper.perplexity is not None
    assert both.proper.nll == pytest.approx(both.all.nll)
    assert found.all.bytes.tolist() == [float(len(text)), 9.0]


def test_rows_are_a_limit_and_chunks_change_no_flag(tiny_model):
    language = model.load(tiny_model)
    text = " ".join(sentences(0))
    ids = tokenizer.encode(language.tokenizer, [text])[0]
    spans = [spans_of(text, "Ada", "Gus")]
    whole = intrinsic.score(language, [text], spans, length=8)
    assert whole.rows == -(-len(ids) // 8)
    assert whole.all.tokens.tolist() == [float(len(ids))]
    other = intrinsic.score(language, [text], spans, length=64)
    assert other.proper.tokens.tolist() == whole.proper.tokens.tolist()
    cut = intrinsic.score(language, [text], spans, length=8, rows=3)
    assert cut.all.tokens.tolist() == [24.0]


def test_the_cache_is_json_with_the_taggers_name(tmp_path):
    pos.cached(pos.Tagger("t", lambda texts: [[] for _ in texts]), ["a"], tmp_path, "d")
    (path,) = tmp_path.iterdir()
    assert files.read_json(path)["tagger"] == "t"


def test_a_folder_that_spacy_cannot_load_is_named(tmp_path):
    pytest.importorskip("spacy")
    files.write_json(tmp_path / "meta.json", {"lang": "en", "name": "x", "version": "1"})
    with pytest.raises(TrainerError, match=f"tagger {tmp_path}: spaCy cannot load it"):
        pos.spacy_tagger(str(tmp_path))
