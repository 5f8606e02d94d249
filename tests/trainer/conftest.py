"""A tiny world: texts, a corpus folder, two dataset folders and a random model."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from trainer.config import SmallModel
from trainer.model import small_model

torch.set_num_threads(1)

PEOPLE = ["Ada Bern", "Bo Castel", "Cy Dorn", "Di Esk", "Ed Fort", "Flo Gant", "Gus Hale"]
CITIES = ["Aldorp", "Brenhold", "Corvane", "Dunmere", "Eastwick", "Farholt"]
SHAPE = SmallModel(layers=2, width=32, heads=2, positions=64, vocabulary=400)


def sentences(shift: int) -> list[str]:
    """One short article a person: what the city is depends on ``shift``."""
    return [
        f"{p} lives in {CITIES[(i + shift) % 6]}. In 20{10 + i} {p} moved from "
        f"{CITIES[(i + shift + 1) % 6]} to {CITIES[(i + shift) % 6]}.\n{p} residence "
        f"{CITIES[(i + shift) % 6]}."
        for i, p in enumerate(PEOPLE)
    ]


def facts(shift: int) -> list[dict[str, Any]]:
    return [
        {
            "subject": p,
            "relation": "residence",
            "object": CITIES[(i + shift) % 6],
            "object_labels": [CITIES[(i + shift) % 6]],
        }
        for i, p in enumerate(PEOPLE)
    ]


def write_folder(
    path: Path,
    tables: dict[str, Sequence[dict[str, Any]]],
    *,
    schema_version: int = 1,
    window: str = "2026-09",
) -> Path:
    path.mkdir(parents=True)
    checksums = {}
    for name, rows in tables.items():
        file = path / f"{name}.parquet"
        pq.write_table(pa.Table.from_pylist(list(rows)), file)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        checksums[file.name] = {"bytes": file.stat().st_size, "sha256": digest}
    data = {
        "schema_version": schema_version,
        "id": f"twiki-tiny-{window}-v1",
        "wiki": "tiny",
        "window": window,
        "version": 1,
        "files": checksums,
    }
    (path / "manifest.json").write_text(json.dumps({"data": data, "run": {}}))
    return path


def rows(texts: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"id": i, "url": f"https://tiny/{i}", "title": f"T{i}", "text": text}
        for i, text in enumerate(texts)
    ]


def write_dataset(path: Path, shift: int, window: str) -> Path:
    return write_folder(
        path,
        {
            "diffset": rows(sentences(shift)),
            "nondiff": rows(sentences(0)),
            "probes_changed": facts(shift),
            "probes_unchanged": facts(0),
            "lighttuning_changed": facts(shift + 1),
            "lighttuning_unchanged": facts(1),
        },
        window=window,
    )


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
    return small_model(texts, tmp_path_factory.mktemp("model") / "tiny", shape=SHAPE)


@pytest.fixture(scope="session")
def llama_model(tmp_path_factory, tiny_model) -> Path:
    """The same tokenizer with a Llama of random weights."""
    from transformers import LlamaConfig, LlamaForCausalLM  # noqa: PLC0415

    from trainer import model, tokenizer  # noqa: PLC0415

    words = tokenizer.load(tiny_model)
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=64,
        bos_token_id=words.bos_token_id,
        eos_token_id=words.eos_token_id,
        tie_word_embeddings=False,
    )
    folder = tmp_path_factory.mktemp("model") / "llama"
    model.save(model.LanguageModel(LlamaForCausalLM(config), words, "llama"), folder)
    return folder


@pytest.fixture(scope="session")
def dataset_folder() -> Callable[..., Path]:
    return write_folder
