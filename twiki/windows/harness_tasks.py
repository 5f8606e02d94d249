"""Loads a dataset's Parquet files for lm-evaluation-harness; its tasks name these functions.

This file is written beside the task files and stands alone: it knows nothing of the program
that made the dataset. Data is found relative to it, so the folder may be moved as a whole.
"""

import json
import re
import string
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DATA = HERE / json.loads((HERE / "harness.json").read_text("utf-8"))["data"]


def dataset(part: str, *, prompted: bool = False, **_: object) -> dict[str, Any]:
    """Give the rows of one Parquet file as the split ``test``."""
    import datasets  # noqa: PLC0415 - the harness brings it; reading this file needs only Python

    rows = datasets.load_dataset(
        "parquet", data_files={"test": str(DATA / f"{part}.parquet")}, split="test"
    )
    return {"test": with_prompts(rows) if prompted else rows}


def with_prompts(rows: Any) -> Any:  # noqa: ANN401 - a datasets.Dataset
    """Keep the rows whose relation has a prompt: columns ``cloze`` and ``question``."""
    return rows.filter(lambda row: row["cloze"] is not None)


def answer_scores(doc: dict[str, Any], results: list[str]) -> dict[str, float]:
    """Score a generated answer against every gold object: best token F1, and exact match."""
    answer = normalised(results[0])
    golds = [normalised(gold) for gold in [doc["object"], *doc.get("object_labels", ())]]
    return {
        "f1": max(token_f1(answer, gold) for gold in golds),
        "exact_match": float(answer in golds),
    }


def normalised(text: str) -> list[str]:
    """Lower case, without punctuation and articles, as SQuAD compares answers."""
    text = "".join(each for each in text.lower() if each not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def token_f1(answer: list[str], gold: list[str]) -> float:
    """Harmonic mean of the precision and recall of the words of ``answer``."""
    shared = sum((Counter(answer) & Counter(gold)).values())
    if not shared:
        return float(answer == gold)
    precision, recall = shared / len(answer), shared / len(gold)
    return 2 * precision * recall / (precision + recall)
