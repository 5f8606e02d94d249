"""Evaluation as a function of (model, dataset), kept once it is done."""

import dataclasses
import json
import math

import pytest
from trainer_world import facts, rows, sentences, write_folder

from trainer import dataset, evaluate, files, intrinsic
from trainer.evaluate import EvaluateSettings, fact_scores
from twiki.errors import DatasetError

QUICK = EvaluateSettings(parts=evaluate.PARTS, samples=50, tagger="", rows=50)


def test_every_figure_is_there_and_json(tmp_path, tiny_model, september):
    found = evaluate.run(tiny_model, september, QUICK, tmp_path / "e")
    assert json.loads(json.dumps(found)) == found
    shown = found["extrinsic"]["changed"]["object"]
    assert shown["low"] < shown["perplexity"] < shown["high"]
    assert shown["perplexity"] == pytest.approx(math.exp(shown["nll"] / shown["tokens"]))
    averages = found["extrinsic"]["average"]["object"]
    assert averages["geometric"] <= averages["arithmetic"]
    assert found["intrinsic"]["diffset"]["all"]["perplexity"] > 1
    assert found["intrinsic"]["diffset"]["proper_nouns"] is None
    assert found["intrinsic"]["tagger"] is None
    assert found["lighttuning"]["changed"]["tuned_on"] == 7


def test_a_finished_evaluation_is_read_back_unless_something_changed(
    tmp_path, tiny_model, september, october
):
    told = []
    out = tmp_path / "e"
    one = evaluate.run(tiny_model, september, QUICK, out, progress=told.append)
    assert evaluate.run(tiny_model, september, QUICK, out, progress=told.append) == one
    assert told == list(evaluate.PARTS)
    evaluate.run(tiny_model, october, QUICK, out, progress=told.append)
    assert len(told) == 2 * len(evaluate.PARTS)


def test_no_figure_depends_on_the_batch_and_text_keeps_to_it(tiny_model, september, monkeypatch):
    found, sizes = [], []
    real = intrinsic.token_nll

    def token_nll(*given, batch, **more):
        sizes.append(batch)
        return real(*given, batch=batch, **more)

    monkeypatch.setattr(intrinsic, "token_nll", token_nll)
    for batch in (1, 64):
        settings = dataclasses.replace(QUICK, batch=batch, sequence=8)
        found.append(evaluate.run(tiny_model, september, settings))
    assert sizes == [1, 1, 16, 16]
    for part in ("extrinsic", "intrinsic", "generation", "lighttuning"):
        one, other = (list(leaves(f[part])) for f in found)
        assert one == pytest.approx(other, rel=1e-4)


def leaves(value):
    if isinstance(value, dict):
        for name in sorted(value):
            yield from leaves(value[name])
    elif isinstance(value, int | float):
        yield value


def test_the_sums_of_each_fact_give_the_figures(tmp_path, tiny_model, september):
    found = evaluate.run(tiny_model, september, QUICK, tmp_path / "e")
    for category in ("changed", "unchanged"):
        for kind in ("object", "whole"):
            scores = fact_scores(tmp_path / "e", category, kind)
            expected = found["extrinsic"][category][kind]["perplexity"]
            assert scores.perplexity == pytest.approx(expected)


def test_a_dataset_without_probes_or_text_gives_nulls_not_nan(tmp_path, tiny_model):
    schema = {"subject": "", "relation": "", "object": ""}
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = write_folder(tmp_path / "d", {"diffset": rows(sentences(0))})
    empty = pa.Table.from_pylist([schema]).slice(0, 0)
    manifest = json.loads((folder / "manifest.json").read_text())
    for name in ("probes_changed", "probes_unchanged"):
        pq.write_table(empty, folder / f"{name}.parquet")
        digest = files.sha256_of(folder / f"{name}.parquet")
        manifest["data"]["files"][f"{name}.parquet"] = {"bytes": 1, "sha256": digest}
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), folder / "nondiff.parquet")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    settings = EvaluateSettings(parts=("extrinsic", "intrinsic", "generation"), tagger="")
    found = evaluate.run(tiny_model, folder, settings)
    assert found["extrinsic"]["changed"]["object"]["perplexity"] is None
    assert found["extrinsic"]["average"]["object"]["geometric"] is None
    assert found["intrinsic"]["nondiff"] is None
    assert found["generation"]["average_f1"] is None
    assert "NaN" not in json.dumps(found)


def test_a_part_that_is_missing_is_named(tmp_path, tiny_model):
    folder = write_folder(tmp_path / "d", {"diffset": rows(sentences(0))})
    with pytest.raises(DatasetError, match=r"probes_changed\.parquet: missing"):
        evaluate.run(tiny_model, folder, QUICK)


def test_gold_answers_are_all_labels_of_the_relation(tmp_path):
    two = {**facts(0)[0], "object_labels": ["Aldorp", "Corvane"]}
    folder = write_folder(tmp_path / "d", {"diffset": rows(["x"]), "probes_changed": [two]})
    (probe,) = dataset.open_folder(folder).probes("changed")
    assert probe.golds == ("Aldorp", "Corvane")
    assert (probe.prompt, probe.text) == ("Ada Bern residence", "Ada Bern residence Aldorp")


def test_a_dataset_written_by_the_core_is_read(tmp_path):
    schema = pytest.importorskip("twiki.windows.schema")
    assert schema.SCHEMA_VERSION in dataset.SCHEMAS
    named = {part.value for part in schema.Part}
    assert {"diffset", "nondiff", "probes_changed", "probes_unchanged"} <= named
    assert {"lighttuning_changed", "lighttuning_unchanged"} <= named
    columns = schema.columns(schema.Part.PROBES_CHANGED)
    assert {"subject", "relation", "object", "object_labels"} <= columns.keys()
    assert "text" in schema.columns(schema.Part.DIFFSET)
    assert "text" in schema.columns(schema.Part.NONDIFF)
