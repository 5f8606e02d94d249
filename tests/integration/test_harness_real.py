"""The task files under the real lm-evaluation-harness, with a model of a few thousand weights."""

import json
import math
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from twiki.windows import harness

PROBES = [
    ("Ada Lovelace", "place of birth", "London", ["London"], "Ada Lovelace was born in"),
    ("Italy", "capital", "Rome", ["Rome", "Roma"], "The capital of Italy is"),
    ("Water", "made of", "hydrogen", ["hydrogen", "oxygen"], None),
]
TEXTS = ["Ada Lovelace was born in London.", "The capital of Italy is Rome. It is old."]


@pytest.fixture
def dataset(tmp_path):
    folder = tmp_path / "dataset"
    folder.mkdir()
    names = ("subject", "relation", "object", "object_labels", "cloze")
    probes = pa.table(dict(zip(names, map(list, zip(*PROBES, strict=True)), strict=True)))
    for part in ("probes_changed", "probes_unchanged", "probes_removed"):
        pq.write_table(probes, folder / f"{part}.parquet")
    for part in ("diffset", "nondiff"):
        pq.write_table(pa.table({"text": TEXTS}), folder / f"{part}.parquet")
    harness.write("2026-11", folder / "harness")
    return folder


@pytest.fixture
def model(tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.ByteLevelBPETokenizer()
    words.train_from_iterator(TEXTS, vocab_size=300, special_tokens=["<|endoftext|>"])
    words.save(str(tmp_path / "tokenizer.json"))
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tmp_path / "tokenizer.json"),
        **dict.fromkeys(("bos_token", "eos_token", "pad_token"), "<|endoftext|>"),
    )
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_positions=64, n_embd=16, n_layer=1, n_head=2
    )
    folder = tmp_path / "model"
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.timeout(600)  # the harness takes half a minute to start on one busy core
def test_every_task_runs_and_gives_its_figures(dataset, model, tmp_path):
    pytest.importorskip("lm_eval")
    command = [
        *(sys.executable, "-m", "lm_eval", "--include_path", str(dataset / "harness")),
        *("--tasks", "twiki_2026_11", "--model", "hf", "--device", "cpu", "--batch_size", "4"),
        *("--model_args", f"pretrained={model}", "--output_path", str(tmp_path / "out")),
    ]
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(tmp_path / "home"),
        "OMP_NUM_THREADS": "1",
    }
    run = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-3000:]
    (report,) = (tmp_path / "out").rglob("results_*.json")
    results = json.loads(report.read_text())["results"]
    for category in ("changed", "unchanged", "removed"):
        for form in ("", "_cloze", "_text"):
            figures = results[f"twiki_2026_11_{category}{form}"]
            assert math.isfinite(figures["perplexity,none"])
            assert 0 <= figures["acc,none"] <= 1
        figures = results[f"twiki_2026_11_{category}_f1"]
        assert 0 <= figures["f1,none"] <= 1
        assert 0 <= figures["exact_match,none"] <= 1
    for text in ("diffset", "nondiffset"):
        assert results[f"twiki_2026_11_{text}"]["byte_perplexity,none"] > 1
    counts = json.loads(report.read_text())["n-samples"]
    assert counts["twiki_2026_11_changed"]["effective"] == 3
    assert counts["twiki_2026_11_changed_cloze"]["effective"] == 2
