"""Tokens once, rows without loss or leak, an order that (seed, epoch, step) alone decides."""

import numpy as np
import pytest
import torch
from trainer_world import sentences

from trainer import model, tokenizer
from trainer.data import (
    IGNORE,
    Batch,
    Mixture,
    document_mask,
    prepare,
    prepare_all,
    shuffled,
)
from trainer.dataset import open_folder
from trainer.train import row_losses
from twiki.errors import DatasetError


def make(tmp_path, words, texts, *, sequence=16, name="t"):
    return prepare(texts, words, tmp_path / name, text_digest=name, sequence=sequence)


@pytest.fixture
def words(tiny_model):
    return tokenizer.load(tiny_model)


def test_every_token_of_every_text_is_a_target_once_and_each_end_is_learned(tmp_path, words):
    texts = sentences(0)
    tokens = make(tmp_path, words, texts)
    targets = [t for i in range(tokens.rows) for t in tokens.row(i)[1].tolist() if t != IGNORE]
    end = words.eos_token_id
    expected = [t for ids in tokenizer.encode(words, texts) for t in [*ids, end]]
    assert targets == expected


def test_only_the_last_row_is_padded(tmp_path, words):
    tokens = make(tmp_path, words, sentences(0))
    filled = [(tokens.row(i)[1] != IGNORE).sum() for i in range(tokens.rows)]
    assert filled[:-1] == [16] * (tokens.rows - 1)
    assert 0 < filled[-1] <= 16


def test_each_document_starts_after_the_begin_token_at_position_zero(tmp_path, words):
    tokens = make(tmp_path, words, ["Ada lives.", "Bo moved.", "Cy"], sequence=64)
    ids, _, positions, segments = tokens.row(0)
    starts = np.flatnonzero(positions == 0)[:3]
    assert ids[starts].tolist() == [words.eos_token_id] * 3
    assert segments[starts].tolist() == [0, 1, 2]


def test_with_two_tokens_for_begin_and_end_no_begin_is_predicted(tmp_path, words):
    words.add_special_tokens({"bos_token": "<begin>"})
    tokens = make(tmp_path, words, ["Ada lives.", "Bo moved."], sequence=64)
    labels = tokens.row(0)[1]
    assert words.bos_token_id not in labels.tolist()
    assert (labels == words.eos_token_id).sum() == 2


def test_text_that_spells_the_end_token_does_not_end_there(tmp_path, words):
    tokens = make(tmp_path, words, ["before <|endoftext|> after"], sequence=64)
    labels = tokens.row(0)[1]
    assert (labels == words.eos_token_id).sum() == 1


def test_no_token_can_be_an_error_only_before_training(tmp_path, words):
    with pytest.raises(DatasetError, match="no token"):
        make(tmp_path, words, [])
    assert not (tmp_path / "t").exists()


def test_tokens_are_read_back_and_made_anew_for_another_text(tmp_path, words):
    first = make(tmp_path, words, sentences(0))
    before = (first.folder / "tokens.bin").stat().st_mtime_ns
    again = prepare(["no"], words, tmp_path / "t", text_digest="t", sequence=16)
    assert again.count == first.count
    assert (first.folder / "tokens.bin").stat().st_mtime_ns == before
    other = prepare(["Ada"], words, tmp_path / "t", text_digest="u", sequence=16)
    assert other.count < first.count


def test_tokens_of_another_tokenizer_are_made_anew(tmp_path, words):
    texts = sentences(0)
    other = tokenizer.train_bpe(texts, 300)
    first = make(tmp_path, words, texts)
    ids = np.fromfile(first.folder / "tokens.bin", first.header["dtype"])
    # The same text in the same folder: the tokenizer's hash alone tells them apart.
    again = make(tmp_path, other, texts)
    expected = [i for part in tokenizer.encode(other, texts) for i in [*part, other.eos_token_id]]
    made = np.fromfile(again.folder / "tokens.bin", again.header["dtype"])
    assert made.tolist() == [other.eos_token_id, *expected]
    assert made.tolist() != ids.tolist()
    assert again.header["tokenizer"] == tokenizer.digest(other) != tokenizer.digest(words)
    back = make(tmp_path, words, texts)
    assert np.fromfile(back.folder / "tokens.bin", back.header["dtype"]).tolist() == ids.tolist()


def test_tokenizers_that_share_a_cache_have_a_folder_each(tmp_path, words, corpus):
    other = tokenizer.train_bpe(sentences(0), 300)
    folders = [open_folder(corpus)]
    (one,) = prepare_all(folders, words, tmp_path / "cache", 16)
    (two,) = prepare_all(folders, other, tmp_path / "cache", 16)
    assert one.folder != two.folder
    assert one.header["tokenizer"] == tokenizer.digest(words)
    assert two.header["tokenizer"] == tokenizer.digest(other)
    assert one.count != two.count


def test_a_large_vocabulary_is_kept_in_four_bytes(tmp_path, words):
    last = f"<{(1 << 16) - len(words)}>"
    words.add_tokens([f"<{i}>" for i in range((1 << 16) - len(words) + 1)])
    tokens = make(tmp_path, words, [f"Ada {last}"], sequence=64)
    assert tokens.header["dtype"] == "uint32"
    assert 1 << 16 in tokens.row(0)[1].tolist()


@pytest.mark.parametrize("folder", ["tiny_model", "llama_model"])
def test_a_document_never_sees_another_in_its_row(folder, request):
    language = model.load(request.getfixturevalue(folder))
    torch.manual_seed(0)
    ids = torch.randint(0, 300, (1, 20))
    other = torch.cat([torch.randint(0, 300, (1, 10)), ids[:, 10:]], dim=1)
    segments = torch.tensor([[0] * 10 + [1] * 10])
    positions = torch.tensor([[*range(10), *range(10)]])

    def logits(row, **more):
        return model.forward(language.module, row, **more)[0, 10:]

    with torch.no_grad():
        packed = {"mask": document_mask(segments), "positions": positions}
        assert torch.equal(logits(ids, **packed), logits(other, **packed))
        alone = model.forward(language.module, ids[:, 10:])[0]
        assert torch.allclose(logits(ids, **packed), alone, atol=1e-6)
        # The leak that an all-ones mask brings, so that the test can see one.
        leaky = {"mask": torch.ones_like(ids), "positions": positions}
        assert not torch.allclose(logits(ids, **leaky), logits(other, **leaky), atol=1e-4)


def test_a_packed_row_loses_as_much_as_its_documents_alone(tmp_path, tiny_model, words):
    language = model.load(tiny_model)
    texts = ["Ada lives in Aldorp.", "Bo moved.", "Cy lives in Dunmere."]
    packed = make(tmp_path, words, texts, sequence=60)
    apart = [make(tmp_path, words, [t], sequence=60, name=t[:2]) for t in texts]

    def loss(tokens):
        mixture = Mixture(tokens, (), ratio=0, seed=0)
        batch = mixture.batch(np.array([[0, 0]]))
        with torch.no_grad():
            return float(row_losses(language.module, batch, mask="document").sum())

    assert loss(packed) == pytest.approx(sum(loss(t) for t in apart), rel=1e-5)


def test_every_epoch_has_every_row_once_in_another_order(tmp_path, words):
    tokens = make(tmp_path, words, sentences(0))
    mixture = Mixture(tokens, (), ratio=0, seed=3)
    n = tokens.rows
    first, second = mixture.rows(0, n)[:, 1], mixture.rows(n, 2 * n)[:, 1]
    assert sorted(first) == sorted(second) == list(range(n))
    assert first.tolist() != second.tolist()


def test_the_rows_of_a_step_do_not_depend_on_what_was_read_before(tmp_path, words):
    tokens = make(tmp_path, words, sentences(0))
    whole = Mixture(tokens, (), ratio=0, seed=3).rows(0, 40)
    for start in (7, 13, 26):
        assert (Mixture(tokens, (), ratio=0, seed=3).rows(start, 40) == whole[start:]).all()


def test_review_draws_the_ratio_from_all_old_text_without_repetition(tmp_path, words):
    new = make(tmp_path, words, sentences(0)[:2], name="new")
    old = [make(tmp_path, words, sentences(s), name=f"old{s}") for s in (1, 2)]
    mixture = Mixture(new, old, ratio=2.0, seed=5)
    rows = mixture.rows(0, mixture.epoch_rows)
    drawn = [tuple(r) for r in rows.tolist() if r[0]]
    assert len(drawn) == 2 * new.rows == len(set(drawn))
    assert {source for source, _ in drawn} == {1, 2}
    later = mixture.rows(mixture.epoch_rows, 2 * mixture.epoch_rows)
    assert {tuple(r) for r in later.tolist() if r[0]} != set(drawn)
    assert int(mixture.batch(rows).old.sum()) == len(drawn)


def test_a_pool_smaller_than_the_draw_is_gone_through_again(tmp_path, words):
    new = make(tmp_path, words, sentences(0), name="new")
    old = make(tmp_path, words, ["Ada lives."], name="old")
    mixture = Mixture(new, [old], ratio=2.0, seed=5)
    assert (mixture.rows(0, mixture.epoch_rows)[:, 0] == 1).sum() == 2 * new.rows


def test_shuffles_are_permutations_fixed_for_all_time():
    assert sorted(shuffled(1000, 1, 2)) == list(range(1000))
    assert shuffled(8, 0).tolist() == [1, 4, 5, 7, 6, 0, 3, 2]
    assert shuffled(8, 0).tolist() != shuffled(8, 1).tolist()


def test_batches_are_cut_by_rows():
    rows = torch.arange(8)[:, None].expand(8, 4)
    batch = Batch(rows, rows, rows, rows, torch.arange(8) > 3)
    part = batch.part(2, 5, "cpu")
    assert part.ids[:, 0].tolist() == [2, 3, 4]
    assert part.old.tolist() == [False, False, True]


def test_with_a_space_before_it_a_text_begins_with_the_token_that_the_word_is_elsewhere():
    texts = ["Ada met Ben. Ben met Ada."] * 20
    two = tokenizer.train_bpe(texts, 300)
    one = tokenizer.train_bpe(texts, 300, prefix_space=True)
    (first, *_), (again, *_) = (words("Ada met Ben")["input_ids"] for words in (two, one))
    within_two, within_one = (words("met Ada")["input_ids"][-1] for words in (two, one))
    assert first != within_two
    assert again == within_one
    (ids, spans) = tokenizer.encode_offsets(one, ["Ada met"])[0]
    assert ["Ada met"[a:b] for a, b in spans] == ["Ada", " met"]
    assert len(ids) == 2
