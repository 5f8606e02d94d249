"""The tiny world's folders, and models of random weights."""

from pathlib import Path

import pytest
import torch
from trainer_world import SHAPE, rows, sentences, write_dataset, write_folder
from transformers import LlamaConfig, LlamaForCausalLM

from trainer import model, tokenizer

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "corpus"
    return write_folder(folder, {"part-00000": rows(sentences(0))}, window="2026-09-01")


@pytest.fixture(scope="session")
def september(tmp_path_factory) -> Path:
    return write_dataset(tmp_path_factory.mktemp("ds") / "2026-09", 1, "2026-09")


@pytest.fixture(scope="session")
def october(tmp_path_factory) -> Path:
    return write_dataset(tmp_path_factory.mktemp("ds") / "2026-10", 2, "2026-10")


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory) -> Path:
    texts = [t for shift in range(3) for t in sentences(shift)]
    return model.small_model(texts, tmp_path_factory.mktemp("model") / "tiny", shape=SHAPE)


@pytest.fixture(scope="session")
def llama_model(tmp_path_factory, tiny_model) -> Path:
    """The same tokenizer with a Llama of random weights, four heads sharing two keys."""
    words = tokenizer.load(tiny_model)
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        bos_token_id=words.bos_token_id,
        eos_token_id=words.eos_token_id,
        tie_word_embeddings=False,
    )
    folder = tmp_path_factory.mktemp("model") / "llama"
    model.save(model.LanguageModel(LlamaForCausalLM(config), words, "llama"), folder)
    return folder


@pytest.fixture(scope="session")
def world(tmp_path_factory) -> Path:
    """Datasets in the layout of the system, and corpora as of each window's end."""
    root = tmp_path_factory.mktemp("world")
    for number, month in enumerate(("2026-09", "2026-10")):
        write_dataset(root / "datasets" / "tiny" / month / "v1", number + 1, month)
        write_folder(root / "corpora" / month, {"p": rows(sentences(number + 1))}, window=month)
    write_folder(root / "corpora" / "first", {"p": rows(sentences(0))})
    texts = sentences(0) + sentences(1) + sentences(2)
    model.small_model(texts, root / "start", shape=SHAPE)
    return root
