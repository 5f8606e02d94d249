"""Reports against the evaluations on disk: two presets in one folder of runs."""

import dataclasses
import json
import math
import shutil

import pytest
from small_studies import make, windows

from trainer import collected, files, months, report, study
from trainer.runs import Runs

OBJECT = ("extrinsic", "changed", "object", "perplexity")


@pytest.fixture(scope="module")
def both(world, tmp_path_factory):
    """Diff and LoRA as recommended, Diff as in the paper, each with its own Initial."""
    root = tmp_path_factory.mktemp("both") / "runs"
    for preset, names in (("recommended", ("diff", "lora")), ("paper", ("diff",))):
        plan = make(world, root, *names, preset=preset)
        # Another rate, or both Initials would have the same weights.
        initial = {"lr": 1e-3} if preset == "paper" else {}
        settings = {"initial": {**plan.method_changes["initial"], **initial}}
        study.run(dataclasses.replace(plan, method_changes=settings), windows(world))
    return root


@pytest.fixture(scope="module")
def rendered(both, tmp_path_factory):
    out = tmp_path_factory.mktemp("report") / "r"
    return out, report.render(Runs(both), out)


def on_disk(root, label, trained, on, *path):
    """A figure as the file of the evaluation has it."""
    found = files.read_json(
        root / "tiny" / trained / "v1" / label / "evaluations" / f"{on}-v1" / "evaluation.json"
    )
    for name in path:
        found = found[name]
    return found


def table(content, name):
    return next(t for t in content["tables"] if t["id"] == name)


def figure(content, name):
    return next(f for f in content["figures"] if f["id"] == name)


def row(table, *start):
    (found,) = [r for r in table["rows"] if tuple(r[: len(start)]) == start]
    return dict(zip(table["columns"][len(start) :], found[len(start) :], strict=True))


def test_each_preset_has_its_own_initial_in_rows_of_their_own(both, rendered):
    facts = table(rendered[1], "table-3")
    labels = [r[1] for r in facts["rows"] if r[0] == "2026-10"]
    assert labels == ["initial", "initial-paper", "diff", "diff-paper", "lora"]
    shown = {}
    for label in ("initial", "initial-paper"):
        shown[label] = row(facts, "2026-10", label)
        assert shown[label]["changed"] == on_disk(both, label, "initial", "2026-10", *OBJECT)
        costs = files.read_json(both / "tiny" / "initial" / "v1" / label / "run.json")["costs"]
        assert shown[label]["seconds"] == costs["seconds"]
    assert shown["initial"]["changed"] != shown["initial-paper"]["changed"]


@pytest.mark.parametrize(
    ("label", "initial"),
    [("diff", "initial"), ("lora", "initial"), ("diff-paper", "initial-paper")],
)
def test_relative_figures_are_against_the_initial_of_the_same_preset(
    both, rendered, label, initial
):
    content = rendered[1]
    for part, column in (("diffset", "diffset"), ("nondiff", "non-diffset")):
        path = ("intrinsic", part, "all", "perplexity")
        own = on_disk(both, label, "2026-10", "2026-10", *path)
        base = on_disk(both, initial, "initial", "2026-10", *path)
        texts = row(table(content, "table-4"), "2026-10", label)
        assert texts[column] == own
        assert texts[f"relative {column}"] == pytest.approx(own / base, rel=1e-12)
        drawn = figure(content, "figure-2")
        values = next(r for r in drawn["rows"] if r["name"] == f"{column}, all")["values"]
        assert values[drawn["columns"].index(label)] == texts[f"relative {column}"]


def test_forward_transfer_is_against_the_initial_of_the_same_preset(both, rendered):
    data = collected.collect(Runs(both).all())
    before = on_disk(both, "diff-paper", "2026-09", "2026-10", *OBJECT)
    base = on_disk(both, "initial-paper", "initial", "2026-10", *OBJECT)
    forward = months.transfer(data, "diff-paper", data.windows)[2]
    assert forward == pytest.approx(math.log(before / base))
    assert row(table(rendered[1], "table-8"), "diff-paper")["forward"] == forward


@pytest.mark.parametrize("category", ["changed", "unchanged"])
def test_the_grid_is_a_table_a_figure_and_the_evaluations(both, rendered, category):
    out, content = rendered
    grid = table(content, "table-10")
    assert grid["columns"] == ["facts", "method", "trained on", "2026-09", "2026-10"]
    models = [("initial", "initial"), ("initial-paper", "initial")]
    models += [(m, w) for m in ("diff", "diff-paper", "lora") for w in ("2026-09", "2026-10")]
    assert [tuple(r[1:3]) for r in grid["rows"] if r[0] == category] == models
    drawn = figure(content, f"figure-4-{category}")
    assert drawn["columns"] == ["2026-09", "2026-10"]
    for (label, trained), shown in zip(models, drawn["rows"], strict=True):
        name = label if trained == "initial" else f"{label} {trained}"
        path = ("extrinsic", category, "object", "perplexity")
        expected = [on_disk(both, label, trained, on, *path) for on in drawn["columns"]]
        assert (shown["name"], shown["values"]) == (name, expected)
        assert list(row(grid, category, label, trained).values()) == expected
    text = (out / "report.md").read_text()
    assert "## Every model on every window" in text
    value = on_disk(both, "lora", "2026-09", "2026-10", "extrinsic", category, *OBJECT[2:])
    assert f"| {category} | lora | 2026-09 |" in text
    assert f" {report.shown_cell(value)} |" in text


def test_the_data_of_every_figure_is_in_the_json(both, rendered):
    out, content = rendered
    page = (out / "report.html").read_text()
    ids = [f["id"] for f in content["figures"]]
    assert ids == [
        "figure-2",
        "figure-3-changed",
        "figure-3-unchanged",
        "figure-4-changed",
        "figure-4-unchanged",
        "figure-5",
    ]
    for shown in content["figures"]:
        assert f'<figure id="{shown["id"]}">' in page
        assert shown["rows"]
        for one in shown["rows"]:
            assert len(one["values"]) == len(shown["columns"])
    lines = figure(content, "figure-3-changed")
    diff = next(r for r in lines["rows"] if r["name"] == "diff")
    for name, key in (("values", "perplexity"), ("low", "low"), ("high", "high")):
        expected = [on_disk(both, "diff", w, w, *OBJECT[:3], key) for w in lines["columns"]]
        assert diff[name] == expected
    answers = figure(content, "figure-5")
    f1 = on_disk(both, "lora", "2026-10", "2026-10", "lighttuning", "changed", "f1")
    changed = next(r for r in answers["rows"] if r["name"] == "changed")
    assert changed["values"][answers["columns"].index("lora")] == f1


def test_captions_claim_the_papers_numbers_only_where_they_are(rendered):
    notes = {t["id"]: t["note"] for t in rendered[1]["tables"]}
    claimed = {name for name, note in notes.items() if "As the" in note and "paper's Table" in note}
    assert claimed == {"table-1", "table-2", "table-3"}
    captions = {f["id"]: f["caption"] for f in rendered[1]["figures"]}
    assert {name for name, c in captions.items() if "as the paper's" in c} == {"figure-2"}
    for said in (*notes.values(), *captions.values()):
        assert "paper" in said or "report's own" in said


def test_a_given_initial_stands_for_those_that_were_not_trained(both, tmp_path):
    root = shutil.copytree(both, tmp_path / "runs")
    # The recommended Initial is trained, the paper's is moved to where a given one is kept.
    (root / "tiny" / "initial" / "v1" / "initial-paper").rename(
        root / "tiny" / "initial" / "v1" / "given"
    )
    (root / "tiny" / "initial" / "v1" / "given" / "run.json").unlink()
    content = report.render(Runs(root), tmp_path / "report")
    facts = table(content, "table-3")
    for label, kept in (("initial", "initial"), ("initial-paper", "given")):
        expected = on_disk(root, kept, "initial", "2026-10", *OBJECT)
        assert row(facts, "2026-10", label)["changed"] == expected
    assert row(facts, "2026-10", "initial-paper")["seconds"] is None


def test_a_given_initial_does_not_hide_a_trained_one(both, tmp_path):
    root = shutil.copytree(both, tmp_path / "runs")
    initials = root / "tiny" / "initial" / "v1"
    shutil.copytree(initials / "initial-paper" / "evaluations", initials / "given" / "evaluations")
    facts = table(report.render(Runs(root), tmp_path / "report"), "table-3")
    expected = on_disk(root, "initial", "initial", "2026-10", *OBJECT)
    assert row(facts, "2026-10", "initial")["changed"] == expected


def test_two_infinite_perplexities_have_no_difference_and_no_ratio():
    assert collected.ratio(math.inf, math.inf) is None
    assert collected.ratio(2.0, math.inf) is None
    assert collected.ratio(math.inf, 2.0) == math.inf
    assert math.isnan(collected.ratio(math.nan, 2.0))
    assert months._minus(math.inf, math.inf) is None
    assert months._minus(math.inf, 2.0) == math.inf


def test_the_report_is_read_by_strict_parsers(rendered):
    def refuse(name):
        raise ValueError(name)

    text = (rendered[0] / "report.json").read_text()
    assert json.loads(text, parse_constant=refuse) == rendered[1]
