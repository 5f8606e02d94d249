"""A model that diverged: its figures go through every file and chart as what they are."""

import json
import math
import shutil
from pathlib import Path
from xml.dom import minidom

import numpy as np
import pytest
import torch
import typer
from small_studies import EVALUATION, make, windows
from typer.testing import CliRunner

from trainer import charts, collected, evaluate, files, model, nonfinite, report, study
from trainer.charts import Series
from trainer.runs import Runs
from trainer.scores import Scores, averages, exp, log_ratio
from twiki.cli import train as command

INF, NAN = math.inf, math.nan


def broken(source: Path, folder: Path, how: str) -> Path:
    """A copy of a model whose perplexity overflows, or whose weights are no numbers."""
    language = model.load(source)
    with torch.no_grad():
        norm = language.module.transformer.ln_f
        norm.weight.fill_(NAN if how == "nan" else 1e6)
    model.save(language, folder)
    return folder


def strictly(text):
    def refuse(name):
        raise ValueError(name)

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("how", ["inf", "nan"])
def test_every_part_is_measured_and_kept_as_text(tmp_path, tiny_model, september, how):
    folder = broken(tiny_model, tmp_path / "model", how)
    out = tmp_path / "e"
    found = evaluate.run(folder, september, EVALUATION, out)
    assert strictly((out / "evaluation.json").read_text()) == found
    facts = found["extrinsic"]["changed"]
    for name in ("perplexity", "low", "high", "per_instance"):
        assert facts["object"][name] == how
    assert facts["reference_batch_mean"] == how
    assert found["extrinsic"]["average"]["object"] == {"arithmetic": how, "geometric": how}
    assert found["intrinsic"]["diffset"]["all"]["perplexity"] == how
    assert found["generation"]["changed"]["facts"] == 7
    assert evaluate.run(folder, september, EVALUATION, out) == found
    scores = evaluate.fact_scores(out, "changed")
    assert nonfinite.to_json(scores.perplexity) == how


@pytest.fixture(scope="module")
def diverged(world, tmp_path_factory):
    """A study of which Diff's last model overflowed and LoRA's is no number."""
    root = tmp_path_factory.mktemp("diverged") / "runs"
    study.run(make(world, root, "diff", "lora"), windows(world))
    for label, how in (("diff", "inf"), ("lora", "nan")):
        run = Runs(root).folder(Runs(root).newest("tiny", "2026-10", label).key)
        other = broken(run / "model", run / "broken", how)
        shutil.rmtree(run / "evaluations")
        for window in windows(world):
            name = f"{window.dataset.parent.name}-v1"
            evaluate.run(other, window.dataset, EVALUATION, run / "evaluations" / name)
        record = files.read_json(run / "run.json")
        record["costs"]["final_loss"] = NAN
        (run / "run.json").write_text(json.dumps(record))
    return root


def test_a_report_shows_it_in_every_form(diverged, tmp_path):
    content = report.render(Runs(diverged), tmp_path)
    assert strictly((tmp_path / "report.json").read_text()) == content
    facts = next(t for t in content["tables"] if t["id"] == "table-3")
    at = facts["columns"].index("changed")
    last = {r[1]: r for r in facts["rows"] if r[0] == "2026-10"}
    assert [last[m][at] for m in ("diff", "lora")] == ["inf", "nan"]
    assert last["diff"][at + 1] == "∞ to ∞"
    assert 1 < last["initial"][at] < INF
    text = next(t for t in content["tables"] if t["id"] == "table-4")
    relative = text["columns"].index("relative diffset")
    assert [r[relative] for r in text["rows"] if r[:2] == ["2026-10", "diff"]] == ["inf"]
    markdown = (tmp_path / "report.md").read_text()
    (line,) = [
        x
        for x in markdown.partition("## Table 3")[2].partition("## ")[0].splitlines()
        if x.startswith("| 2026-10 | diff |")
    ]
    assert "| ∞ | ∞ to ∞ | ∞ | ∞ to ∞ | ∞ | ∞ |" in line
    page = (tmp_path / "report.html").read_text()
    assert "<td >∞</td>" in page
    for part in page.split("<figure")[1:]:
        svg = part[part.index("<svg") : part.index("</svg>") + 6]
        minidom.parseString(svg)  # noqa: S318 - our own text
        drawn = part.partition('"')[2].partition('"')[0]
        assert ("∞: infinite" in svg) == (drawn != "figure-5")
        assert ("×: not a number" in svg) == (drawn != "figure-5")
    assert [r["costs"]["final_loss"] for r in content["runs"]].count("nan") == 2


def test_the_command_says_it(tmp_path, tiny_model, september):
    app = typer.Typer()
    command.register(app)
    folder = broken(tiny_model, tmp_path / "model", "inf")
    words = ["evaluate", str(folder), str(september), "--parts", "extrinsic", "--json"]
    answer = CliRunner().invoke(app, words, catch_exceptions=False)
    assert answer.exit_code == 0
    assert "changed: perplexity of objects inf" in answer.stderr
    assert strictly(answer.stdout)["extrinsic"]["changed"]["object"]["perplexity"] == "inf"


def test_an_infinite_bar_ends_at_the_top_and_one_without_number_is_a_cross():
    svg = charts.bars("t", "u", ["a", "b", "c"], [Series("s", [1.0, INF, NAN])], line=1.0)
    heights = [
        float(r.getAttribute("height"))
        for r in minidom.parseString(svg).getElementsByTagName("rect")  # noqa: S318 - our own text
        if r.getElementsByTagName("title")
    ]
    assert heights == [pytest.approx(240 / 1.08, abs=0.1), 240.0]
    assert ">∞</text>" in svg
    assert ">×</text>" in svg
    assert "s, b: ∞</title>" in svg
    assert "inf" not in svg.replace("infinite", "")


def test_an_infinite_point_is_at_the_top_and_one_without_number_left_out():
    series = [Series("s", [2.0, INF, NAN, 4.0], [1.0, INF, NAN, 3.0], [3.0, INF, NAN, INF])]
    svg = charts.lines("t", "u", list("abcd"), series)
    (path,) = minidom.parseString(svg).getElementsByTagName("polyline")  # noqa: S318 - our own text
    points = [float(p.split(",")[1]) for p in path.getAttribute("points").split()]
    assert len(points) == 3
    assert points[1] == 34.0
    assert svg.count("class='w'") + svg.count('class="w"') == 3
    assert "∞: infinite, beyond the axis" in svg
    assert "×: not a number" in svg


def test_a_grid_shows_what_is_infinite_darkest():
    svg = charts.heatmap("t", ["r"], list("abcd"), [[2.0, INF, NAN, None]])
    assert "rgb(8,48,107)" in svg
    assert ">∞</text>" in svg
    assert ">×</text>" in svg
    assert ">·</text>" in svg


@pytest.mark.parametrize("value", [INF, NAN, 1e304, 0.0])
def test_charts_of_one_extreme_value_are_drawn(value):
    rows = [Series("s", [value])]
    for svg in (
        charts.bars("t", "u", ["a"], rows, line=None),
        charts.lines("t", "u", ["a"], rows),
        charts.heatmap("t", ["r"], ["a"], [[value]]),
    ):
        minidom.parseString(svg)  # noqa: S318 - our own text
        assert "no data" not in svg
        assert "nan" not in svg
        assert len(svg) < 3000


@pytest.mark.parametrize(
    ("value", "text"),
    [(INF, "∞"), (-INF, "-∞"), (NAN, "nan"), (1e304, "1e+304"), (1234.5, "1,234.5"), (2.0, "2")],
)
def test_cells_and_texts_of_extreme_values(value, text):
    assert report.shown_cell(value) == text
    back = nonfinite.from_json(strictly(json.dumps(nonfinite.to_json({"a": [value]})))["a"][0])
    assert back == value or (math.isnan(back) and math.isnan(value))


def test_texts_that_are_no_numbers_stay_texts():
    data = collected.Collected((), (), (), (), {("a", "w", "w"): {"x": "inf", "y": "infinite"}})
    assert data.of("a", "w", "w", "x") == INF
    assert data.of("a", "w", "w", "y") == "infinite"


def test_intervals_hold_infinite_instances_and_say_when_there_is_no_number():
    ones = np.ones(40)
    partly = Scores(np.where(np.arange(40) < 39, 1.0, INF), ones, ones)
    low, high = partly.interval(samples=200)
    assert low == pytest.approx(math.e)
    assert high == INF
    none = Scores(np.full(40, NAN), ones, ones)
    assert all(map(math.isnan, none.interval(samples=20)))
    finite = Scores(ones, ones, ones)
    assert log_ratio(partly, finite, samples=50)[0] == INF
    assert all(map(math.isnan, log_ratio(partly, partly, samples=50)))


def test_averages_of_what_just_fits_a_float():
    assert averages(1e300, 1e302)["geometric"] == pytest.approx(1e301)
    assert averages(1e308, 1.5e308)["arithmetic"] == pytest.approx(1.25e308)
    assert averages(2.0, INF) == {"arithmetic": INF, "geometric": INF}
    assert exp(699.0) < INF == exp(700.0)
    assert math.isnan(exp(NAN))
