"""What a model knows of a window: every figure, as one function of (model, dataset).

``evaluation.json`` holds sums and figures, ``facts.parquet`` the sums of each fact, by which
models are compared fact by fact. A null stands where there was nothing to score, a text
(``"inf"``, ``"nan"``) where a model that diverged has no finite figure.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from trainer import (
    answers,
    dataset,
    files,
    intrinsic,
    lighttuning,
    model,
    nonfinite,
    pos,
    probes,
    tokenizer,
)
from trainer.device import versions
from trainer.lighttuning import LightTuning
from trainer.scores import Scores, averages
from twiki.errors import DatasetError, TrainerError

Part = Literal["extrinsic", "intrinsic", "generation", "lighttuning"]
PARTS: tuple[Part, ...] = ("extrinsic", "intrinsic", "generation", "lighttuning")
CATEGORIES = ("changed", "unchanged")
SCHEMA = 2
"""Raised when a figure changes its meaning: what was measured before is then measured anew."""


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings:
    """What is measured and how."""

    parts: tuple[Part, ...] = ("extrinsic", "intrinsic")
    batch: int = 32
    """Facts a forward pass, and rows of text, of these at most 16. No figure depends on it, but
    for light-tuned answers of a model with dropout."""
    sequence: int = 512
    rows: int = 10_000
    """Rows of ``sequence`` tokens of each text part."""
    tagger: str | None = None
    """spaCy model or folder; None: an installed one, ``""``: no proper nouns."""
    samples: int = 1000
    """Bootstrap samples."""
    reference: bool = True
    """Also the figure that the paper's published code would print; it doubles the time."""
    seed: int = 0
    bf16: bool = False
    lighttuning: LightTuning = dataclasses.field(default_factory=LightTuning)


def run(
    model_dir: Path | str,
    dataset_dir: Path,
    settings: EvaluateSettings | None = None,
    out: Path | None = None,
    *,
    cache: Path | None = None,
    on: str = "cpu",
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Evaluate a model on a dataset; with ``out``, once: a finished result is read back.

    ``cache`` keeps the tags of proper nouns. ``progress`` is told each part as it begins.

    Raises:
        TrainerError: the model or the tagger cannot be loaded, or a batch does not fit the GPU.
        DatasetError: the dataset breaks its contract.
    """
    settings = settings or EvaluateSettings()
    folder = dataset.open_folder(dataset_dir)
    _probes_missing(folder, settings)
    shown = dataclasses.asdict(settings)
    fingerprint = {
        "model": model.weights_digest(model_dir),
        "data": folder.digest,
        "schema": str(SCHEMA),
        # Rows a forward pass change no figure: whoever lacks memory need not measure all again.
        "settings": files.sha256_text(
            repr(sorted((k, v) for k, v in shown.items() if k != "batch"))
        ),
    }
    if "intrinsic" in settings.parts and settings.tagger != "":
        # What is installed decides the tags, not what the settings call it.
        fingerprint["tagger"] = pos.tagger_name(settings.tagger) or ""
    if out and (out / "evaluation.json").exists():
        found = files.read_json(out / "evaluation.json")
        if found["fingerprint"] == fingerprint:
            return found
    with _memory_errors("the model alone: take another --device"):
        language = model.load(model_dir, device=on)
    tell = progress or (lambda _part: None)
    report: dict[str, Any] = {
        "schema": SCHEMA,
        "fingerprint": fingerprint,
        "model": str(model_dir),
        "parameters": model.parameter_count(language.module),
        "dataset": {k: folder.data.get(k) for k in (*dataset.IDENTITY, "counts")},
        "settings": shown,
        "tokenizer": tokenizer.digest(language.tokenizer),
        "versions": versions(),
    }
    facts: pa.Table | None = None
    for part in settings.parts:
        tell(part)
        with _memory_errors(_smaller(settings, part)):
            if part == "extrinsic":
                report[part], facts = _extrinsic(language, folder, settings)
            elif part == "intrinsic":
                report[part] = _intrinsic(language, folder, settings, cache)
            else:
                report[part] = _answers(language, folder, settings, tuned=part == "lighttuning")
    report = nonfinite.to_json(report)
    if out:
        with files.new_folder(out) as aside:
            if facts is not None:
                pq.write_table(facts, aside / "facts.parquet")
            files.write_json(aside / "evaluation.json", report)
    return report


def check(dataset_dir: Path, settings: EvaluateSettings) -> None:
    """Whether a dataset has what the evaluation asks for: to be known before any training.

    A part of probes without a row is a window without such facts: its figures are null. So are
    those of one category that has nothing to tune on, or of one part that holds no text.

    Raises:
        DatasetError: a part is missing, or both that one kind of figure needs are empty.
    """
    folder = dataset.open_folder(dataset_dir, verify=False)
    _probes_missing(folder, settings)
    if "intrinsic" in settings.parts:
        _missing(folder, _TEXTS)
        held = [part for part in _TEXTS if folder.has_text(part)]
        for part in held:
            next(folder.texts(part))
        if not held:
            raise DatasetError(
                f"{folder.path}: diffset.parquet and nondiff.parquet are empty: there is no text "
                "to measure; leave out part intrinsic"
            )
    if "lighttuning" in settings.parts:
        asked, tuned = (
            any(folder.has_text(f"{kind}_{c}") for c in CATEGORIES)
            for kind in ("probes", "lighttuning")
        )
        if asked and not tuned:
            raise DatasetError(
                f"{folder.path}: lighttuning_changed.parquet and lighttuning_unchanged.parquet "
                "are empty: there is nothing to tune on; leave out part lighttuning"
            )


def fact_scores(evaluation: Path, category: str, kind: str = "object") -> Scores:
    """The sums of each fact of a category, as an evaluation's folder keeps them."""
    table = pq.read_table(evaluation / "facts.parquet")
    rows = table.filter(pa.compute.equal(table["category"], category))
    columns = [rows[f"{kind}_{name}"].to_numpy() for name in ("nll", "tokens", "bytes")]
    return Scores(*(np.asarray(column, dtype=np.float64) for column in columns))


def _extrinsic(
    language: model.LanguageModel, folder: dataset.Folder, settings: EvaluateSettings
) -> tuple[dict[str, Any], pa.Table]:
    """Facts: object-only as the headline, the whole string as the paper's, theirs beside."""
    out: dict[str, Any] = {}
    tables = []
    for category in CATEGORIES:
        rows = folder.probes(category)
        found = probes.score(language, rows, batch=settings.batch, bf16=settings.bf16)
        out[category] = {
            kind: scores.summary(samples=settings.samples, seed=settings.seed)
            for kind, scores in (("object", found.object), ("whole", found.whole))
        }
        out[category]["reference_batch_mean"] = (
            probes.reference_batch_mean(language, rows, rows=settings.batch)
            if settings.reference
            else None
        )
        columns: dict[str, Any] = {
            "category": [category] * len(rows),
            "subject": [r.subject for r in rows],
            "relation": [r.relation for r in rows],
            "object": [r.object for r in rows],
        }
        for kind, scores in (("object", found.object), ("whole", found.whole)):
            columns |= {
                f"{kind}_{name}": getattr(scores, name) for name in ("nll", "tokens", "bytes")
            }
        tables.append(pa.table(columns, schema=_FACTS))
    out["average"] = {
        kind: averages(*(out[c][kind]["perplexity"] for c in CATEGORIES))
        for kind in ("object", "whole")
    }
    return out, pa.concat_tables(tables)


def _intrinsic(
    language: model.LanguageModel,
    folder: dataset.Folder,
    settings: EvaluateSettings,
    cache: Path | None,
) -> dict[str, Any]:
    tagger = None if settings.tagger == "" else pos.spacy_tagger(settings.tagger)
    most = getattr(language.module.config, "max_position_embeddings", None)
    length = min(settings.sequence, most) if isinstance(most, int) else settings.sequence
    out: dict[str, Any] = {"tagger": tagger.name if tagger else None, "sequence": length}
    for part in _TEXTS:
        if not folder.has_text(part):
            out[part] = None
            continue
        found = intrinsic.read(
            language,
            folder,
            part,
            tagger,
            cache,
            length=length,
            rows=settings.rows,
            batch=_rows(settings, "intrinsic"),
            seed=settings.seed,
            bf16=settings.bf16,
        )
        about = {"samples": settings.samples, "seed": settings.seed}
        out[part] = {
            "all": found.all.summary(**about),
            "proper_nouns": None if found.proper is None else found.proper.summary(**about),
            "rows": found.rows,
        }
    return out


def _answers(
    language: model.LanguageModel,
    folder: dataset.Folder,
    settings: EvaluateSettings,
    *,
    tuned: bool,
) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for category in CATEGORIES:
        rows = folder.probes(category)
        asked = language
        facts = folder.probes(category, lighttuning=True) if tuned else []
        if tuned and not facts:
            # The model as it is would pass for a light-tuned one.
            nothing = {**answers.measure([], []), "facts": len(rows)}
            out[category] = {**nothing, "tuned_on": 0, "note": "nothing to tune on"}
            continue
        if tuned:
            asked = lighttuning.tune(
                language,
                facts,
                settings.lighttuning,
                seed=settings.seed,
                rows=settings.batch,
                bf16=settings.bf16,
            )
        said = answers.generate(
            asked, [r.prompt for r in rows], batch=settings.batch, bf16=settings.bf16
        )
        out[category] = answers.measure(rows, said)
        if tuned:
            out[category]["tuned_on"] = len(facts)
    scored = [out[c]["f1"] for c in CATEGORIES]
    out["average_f1"] = None if None in scored else sum(scored) / len(scored)
    return out


def _rows(settings: EvaluateSettings, part: str) -> int:
    """Rows a forward pass of a part."""
    return min(settings.batch, intrinsic.BATCH) if part == "intrinsic" else settings.batch


def _smaller(settings: EvaluateSettings, part: str) -> str:
    """What to change when a part does not fit."""
    rows = _rows(settings, part)
    if rows == 1:
        return f"{part} with --batch 1: lower --sequence, or take another --device"
    return (
        f"{part} with {rows} rows a forward pass: give twiki evaluate --batch {rows // 2}, twiki "
        f"train --evaluation-batch {rows // 2}; the figures stay as they are"
    )


@contextlib.contextmanager
def _memory_errors(what: str) -> Iterator[None]:
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise TrainerError(f"out of GPU memory for {what}") from error


def _probes_missing(folder: dataset.Folder, settings: EvaluateSettings) -> None:
    """Fail before anything is measured where facts are asked for that are not there."""
    kinds = ["probes"] if {"extrinsic", "generation", "lighttuning"} & {*settings.parts} else []
    kinds += ["lighttuning"] if "lighttuning" in settings.parts else []
    _missing(folder, [f"{kind}_{category}" for kind in kinds for category in CATEGORIES])


def _missing(folder: dataset.Folder, parts: Sequence[str]) -> None:
    for part in parts:
        path = folder.path / f"{part}.parquet"
        if not path.exists():
            raise DatasetError(f"{path}: missing; the evaluation needs the part {part!r}")


_TEXTS = ("diffset", "nondiff")
_FACTS = pa.schema(
    [(name, pa.string()) for name in ("category", "subject", "relation", "object")]
    + [(f"{k}_{n}", pa.float64()) for k in ("object", "whole") for n in ("nll", "tokens", "bytes")]
)
