"""Studies: each run once, from the right model, on the right text; reports of them."""

import dataclasses
import json
import re
import shutil
from xml.dom import minidom

import pytest
from small_studies import EVALUATION, QUICK, make, windows
from trainer_world import facts, rows, write_folder

from trainer import collected, dataset, files, model, months, report, study, timeline
from trainer.runs import Key, Runs
from trainer.study_plan import WindowData
from twiki.errors import ConfigError, DatasetError, TrainerError, TwikiError


@pytest.fixture(scope="module")
def finished(world, tmp_path_factory):
    root = tmp_path_factory.mktemp("study") / "runs"
    plan = make(world, root, "diff", "full", "mixreview", "kadapter", "recadam")
    return plan, study.run(plan, windows(world))


def test_every_method_starts_from_its_own_run_of_the_window_before(finished):
    plan, runs = finished
    by = {(r.key.window, r.key.label): r for r in runs}
    assert len(by) == 1 + 2 * 5
    initial = by["initial", "initial"]
    for label in plan.methods:
        first, second = by["2026-09", label], by["2026-10", label]
        assert first.record["inputs"]["start"] == str(initial.model)
        assert second.record["inputs"]["start"] == str(first.model)


def test_each_method_reads_its_text(finished, world):
    _, runs = finished
    read = {(r.key.window, r.key.label): r.record["inputs"] for r in runs}
    assert read["2026-10", "diff"]["data"].endswith("tiny/2026-10/v1")
    assert read["2026-10", "full"]["data"] == str(world / "corpora" / "2026-10")
    assert read["2026-10", "diff"]["review"] == []
    reviewed = [p.rpartition("/")[2] for p in read["2026-10", "mixreview"]["review"]]
    assert reviewed == ["first", "v1"]
    assert len(read["2026-09", "mixreview"]["review"]) == 1


def test_every_model_is_evaluated_on_every_window(finished):
    _, runs = finished
    assert all(sorted(r.evaluations()) == ["2026-09-v1", "2026-10-v1"] for r in runs)


def test_a_study_that_is_run_again_trains_nothing(finished, world):
    plan, runs = finished
    before = {r.key: (r.folder / "run.json").stat().st_mtime_ns for r in runs}
    steps = []
    again = study.run(
        dataclasses.replace(plan, observe=lambda key, _: steps.append(key)), windows(world)
    )
    assert steps == []
    assert {r.key: (r.folder / "run.json").stat().st_mtime_ns for r in again} == before


def test_a_killed_study_goes_on_where_it_was(finished, world, tmp_path):
    def kill(key, step):
        if key.window == "2026-10" and step.step == 1:
            raise KeyboardInterrupt

    plan = make(world, tmp_path / "runs", "diff", observe=kill)
    with pytest.raises(KeyboardInterrupt):
        study.run(plan, windows(world))
    done = study.run(dataclasses.replace(plan, observe=None), windows(world), measure=False)
    whole = {r.key: r for r in finished[1]}
    for run in done:
        name = "model.safetensors"
        assert files.sha256_of(run.model / name) == files.sha256_of(whole[run.key].model / name)


def test_two_processes_cannot_train_one_run(finished):
    plan, runs = finished
    lock = runs[0].folder / "lock"
    with (
        files.locked(lock),
        pytest.raises(TrainerError, match="another process"),
        files.locked(lock),
    ):
        pass
    assert plan.runs.find(Key("tiny", "2026-09", 1, "nothing")) is None


def test_a_failing_training_leaves_the_dataset_as_it_is(world, tmp_path):
    copied = tmp_path / "d" / "tiny" / "2026-09" / "v1"
    shutil.copytree(world / "datasets/tiny/2026-09/v1", copied)
    before = {p.name: files.sha256_of(p) for p in copied.iterdir()}
    plan = make(world, tmp_path / "runs", "full")
    with pytest.raises(TrainerError, match="trains on a corpus"):
        study.run(plan, [WindowData(copied)])
    assert {p.name: files.sha256_of(p) for p in copied.iterdir()} == before


def test_windows_must_be_in_order_and_of_one_wiki(world, tmp_path):
    plan = make(world, tmp_path / "runs", "diff")
    with pytest.raises(DatasetError, match="in order of time"):
        study.run(plan, windows(world)[::-1])
    with pytest.raises(DatasetError, match="at least one"):
        study.run(plan, [])


def test_without_an_initial_model_it_says_what_is_needed(world, tmp_path):
    plan = dataclasses.replace(make(world, tmp_path / "runs", "diff"), corpus=None)
    with pytest.raises(TrainerError, match="no initial model; give one"):
        study.run(plan, windows(world))
    given = dataclasses.replace(plan, initial=world / "start")
    (run,) = study.run(given, windows(world)[:1])
    assert run.record["inputs"]["start"] == str(world / "start")
    # What it started from is measured too, or nothing could be shown relative to it.
    content = report.render(plan.runs, tmp_path / "report")
    table = next(t for t in content["tables"] if t["id"] == "table-3")
    assert [row[1] for row in table["rows"]] == ["initial", "diff"]
    base = plan.runs.given("tiny")["2026-09-v1"]["extrinsic"]["changed"]["object"]["perplexity"]
    assert table["rows"][0][table["columns"].index("changed")] == base


def test_rows_longer_than_the_model_reads_are_refused_before_any_training(world, tmp_path):
    plan = make(world, tmp_path / "runs", "diff", "recadam")
    most = model.configuration(world / "start").max_position_embeddings
    long = {"diff": {}, "recadam": {"sequence": most + 1}}
    changed = dataclasses.replace(plan, method_changes={**plan.method_changes, **long})
    with pytest.raises(ConfigError, match=f"sequence {most + 1}: the model has {most} positions"):
        study.run(changed, windows(world))
    assert not plan.runs.all()


@pytest.mark.parametrize(
    ("names", "more", "message"),
    [
        (("diff", "full"), {}, "full trains on a corpus"),
        (("diff", "mixreview"), {"corpus": None, "initial": "x"}, "reviews the initial corpus"),
        (("diff", "recadam"), {"changes": {"recadam.gamma": 2e9}}, "stay below 2"),
        (
            ("diff",),
            {"method_changes": {"initial": {"lr": -1.0}}},
            "lr: expected a number above 0",
        ),
        (
            ("diff", "kadapter"),
            {"changes": {**QUICK, "kadapter.layers": (1, 11)}},
            "kadapter.layers",
        ),
        (
            ("diff", "lora"),
            {"changes": {**QUICK, "lora.rank": 2, "lora.targets": ("nope",)}},
            "nope",
        ),
        (
            ("diff",),
            {"evaluation": dataclasses.replace(EVALUATION, tagger="no_such_tagger")},
            "tagger no_such_tagger",
        ),
    ],
)
def test_what_will_fail_later_fails_before_anything_is_trained(
    world, tmp_path, names, more, message
):
    plan = dataclasses.replace(make(world, tmp_path / "runs", *names), **more)
    bare = [WindowData(w.dataset) for w in windows(world)]
    with pytest.raises(TwikiError, match=message):
        study.run(plan, bare)
    assert not (tmp_path / "runs").exists()


def test_a_dataset_without_what_is_measured_stops_the_study_before_the_first(world, tmp_path):
    good = windows(world)[0]
    bad = tmp_path / "d"
    write_folder(bad, {"diffset": rows(["A text."])}, window="2026-10")
    plan = make(world, tmp_path / "runs", "diff")
    with pytest.raises(DatasetError, match="probes_changed"):
        study.run(plan, [good, WindowData(bad)])
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("damage", ["checksum", "empty"])
def test_a_later_window_that_is_broken_stops_the_study_before_the_first(world, tmp_path, damage):
    good = windows(world)[0]
    if damage == "empty":
        bad = tmp_path / "d"
        write_folder(bad, {"diffset": rows([" "])}, window="2026-10")
    else:
        bad = shutil.copytree(windows(world)[1].dataset, tmp_path / "d")
        with (bad / "probes_changed.parquet").open("ab") as file:
            file.write(b"x")
    plan = make(world, tmp_path / "runs", "diff")
    with pytest.raises(DatasetError, match="the manifest says|holds no text"):
        study.run(plan, [good, WindowData(bad)])
    assert not (tmp_path / "runs").exists()


def test_the_current_version_of_a_window_counts(world, tmp_path):
    root = tmp_path / "tiny"
    for version in ("v1", "v2"):
        shutil.copytree(world / "datasets/tiny/2026-09/v1", root / "2026-09" / version)
    assert [p.name for p in timeline.datasets(root)] == ["v2"]
    (root / "2026-09" / "index.json").write_text(json.dumps({"current": 1}))
    assert [p.name for p in timeline.datasets(root)] == ["v1"]


# --- the report -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rendered(finished, tmp_path_factory):
    out = tmp_path_factory.mktemp("report") / "r"
    return out, report.render(finished[0].runs, out)


def test_the_report_is_one_page_with_every_table_and_figure(rendered):
    out, _ = rendered
    page = (out / "report.html").read_text()
    for number in range(1, 8):
        assert f"Table {number}:" in page
    for number in range(2, 6):
        assert f"Figure {number}" in page
    assert re.findall(r"(?:src|href)=\"(?!#)", page) == []
    assert "<script" not in page
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        minidom.parseString(svg)  # noqa: S318 - our own text


def test_the_same_runs_give_the_same_bytes(finished, rendered, tmp_path):
    out, _ = rendered
    report.render(finished[0].runs, tmp_path / "again")
    for name in ("report.html", "report.json", "report.md"):
        assert (out / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_json_and_markdown_hold_the_same_figures(finished, rendered):
    out, content = rendered
    assert json.loads((out / "report.json").read_text()) == content
    table = next(t for t in content["tables"] if t["id"] == "table-3")
    row = next(r for r in table["rows"] if r[:2] == ["2026-10", "diff"])
    runs = {(r.key.window, r.key.label): r for r in finished[1]}
    measured = runs["2026-10", "diff"].evaluations()["2026-10-v1"]["extrinsic"]
    assert row[2] == measured["unchanged"]["object"]["perplexity"]
    assert row[4] == measured["changed"]["object"]["perplexity"]
    assert report.shown_cell(row[4]) in (out / "report.md").read_text()


def test_every_run_shows_preset_seed_cost_and_versions(rendered):
    _, content = rendered
    for run in content["runs"]:
        assert run["settings"]["preset"] == "recommended"
        assert run["settings"]["seed"] == 0
        assert run["costs"]["flops"] > 0
        assert run["versions"]["torch"]


def test_transfer_compares_the_last_model_with_those_before(finished):
    data = collected.collect(finished[1])
    assert data.windows == ("2026-09", "2026-10")
    forgetting, backward, forward = months.transfer(data, "diff", data.windows)
    unchanged = ("extrinsic", "unchanged", "object", "nll")
    last, first = (data.of("diff", w, "2026-10", *unchanged) for w in ("2026-10", "2026-09"))
    count = data.of("diff", "2026-10", "2026-10", *unchanged[:-1], "tokens")
    assert forgetting == pytest.approx((last - first) / count)
    at = ("extrinsic", "changed", "object", "nll")
    tokens = data.of("diff", "2026-09", "2026-09", "extrinsic", "changed", "object", "tokens")
    later = data.of("diff", "2026-10", "2026-09", *at)
    own = data.of("diff", "2026-09", "2026-09", *at)
    assert backward == pytest.approx((later - own) / tokens)
    before = data.of("diff", "2026-09", "2026-10", *at)
    initial = data.of("initial", "initial", "2026-10", *at)
    assert forward == pytest.approx((before - initial) / tokens)


def test_hostile_names_are_escaped_in_every_form(tmp_path):
    evil = "<script>alert(1)</script>|x"
    table = collected.Table("t", evil, evil, (evil,), ((evil,),))
    page = report.html(evil, evil, [table], [], [evil])
    assert "<script>" not in page
    text = report.markdown("t", "s", [table], [])
    assert "| \\<script\\>" in text
    from trainer import charts

    chart = charts.bars(evil, evil, [evil], [charts.Series(evil, [1.0])], line=None)
    assert "<script>" not in chart
    minidom.parseString(chart)  # noqa: S318 - our own text


def test_charts_without_values_say_so(tmp_path):
    from trainer import charts

    empty = [charts.Series("a", [None, None])]
    assert "no data" in charts.lines("t", "u", ["x", "y"], empty)
    assert "no data" in charts.bars("t", "u", ["x", "y"], empty, line=None)
    assert "no data" in charts.heatmap("t", ["r"], ["c"], [[None]])


def test_the_newest_version_of_a_window_is_shown(finished, tmp_path):
    run = next(r for r in finished[1] if (r.key.window, r.key.label) == ("2026-09", "diff"))
    copied = dataclasses.replace(run, folder=shutil.copytree(run.folder, tmp_path / "run"))
    found = run.evaluations()["2026-09-v1"]
    for version in (2, 10):
        other = copied.folder / "evaluations" / f"2026-09-v{version}"
        about = {**found["dataset"], "version": version}
        files.write_json(other / "evaluation.json", {**found, "dataset": about})
    data = collected.collect([copied])
    assert data.evaluations["diff", "2026-09", "2026-09"]["dataset"]["version"] == 10


def test_a_report_of_nothing_is_an_error(tmp_path):
    with pytest.raises(TrainerError, match="no finished run"):
        report.render(Runs(tmp_path), tmp_path / "out")


def test_facts_and_folders_agree(world):
    folder = dataset.open_folder(windows(world)[0].dataset)
    assert len(folder.probes("changed")) == len(facts(0))
    assert not folder.is_corpus
    assert dataset.open_folder(world / "corpora" / "first").is_corpus
