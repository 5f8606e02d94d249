"""Where commands get what they use beside the state: tokenizers, contents, labels."""

import pytest

from stream.embedded import NoContents
from stream.settings import Settings
from twiki.cli.sources import beside, contents_for, token_counter
from twiki.errors import ConfigError

TEXTS = ["The capital of Italy is Rome.", "Ada Lovelace was born in London."]


@pytest.fixture
def folder(tmp_path):
    """A tokenizer as ``save_pretrained`` leaves it, with a mark before every text."""
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(unk_token="[?]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    trainer = tokenizers.trainers.WordLevelTrainer(special_tokens=["[?]", "[START]"])
    made.train_from_iterator(TEXTS, trainer)
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="[START] $A", special_tokens=[("[START]", made.token_to_id("[START]"))]
    )
    made.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def test_tokens_are_counted_by_a_folder_without_the_marks_around_a_text(folder):
    count = token_counter(str(folder))
    assert count("The capital of Italy is Rome.") == 7
    assert count("Nobody knows these words") == 4
    assert count("") == 0


@pytest.mark.parametrize("content", [None, "{", '{"model": {"type": "none"}}'])
def test_a_folder_without_a_tokenizer_is_named(tmp_path, content):
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ConfigError, match=f"tokenizer {tmp_path}: cannot be read"):
        token_counter(str(tmp_path))


def test_what_is_neither_a_folder_nor_a_name_is_named():
    with pytest.raises(ConfigError, match="tokenizer no/such/folder: cannot be read"):
        token_counter("no/such/folder")


def test_a_cut_gets_the_counter_under_the_name_that_was_given(folder):
    made = beside(None, str(folder))
    assert made.tokenizer is not None
    assert (made.tokenizer("is Rome"), made.tokenizer_name) == (2, str(folder))
    assert (made.labels, made.corpus, made.require_probes) == (None, None, True)
    assert beside(None, None, empty=True).tokenizer is None


def test_without_the_network_nothing_is_asked_for_labels():
    with contents_for(Settings(), needed=False) as contents:
        assert isinstance(contents, NoContents)
        assert beside(None, None, contents).labels is None
    with contents_for(Settings(), needed=True) as contents:
        assert beside(None, None, contents).labels is contents
