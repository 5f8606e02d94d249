"""When a window closes: each method once, from its run of the window before, none passed over."""

import dataclasses
import shutil

import pyarrow.parquet as pq
import pytest
from small_studies import INITIAL, QUICK, make, windows
from trainer_world import write_dataset

from trainer import files, section, study, timeline
from trainer.study_plan import WindowData
from twiki.errors import TrainerError, TwikiError


def closed(config, path, **more):
    """What ``twiki train DATASET --config`` does when a window closes."""
    before = [section.window_data(p, config) for p in timeline.earlier(path)]
    plan = dataclasses.replace(section.make_study(config), **more)
    return study.run(plan, [section.window_data(path, config)], before=before)


def test_when_a_window_closes_each_method_trains_once(world, tmp_path):
    config = section.read_section(
        {
            "on_close": ["diff", "kadapter"],
            "start": str(world / "start"),
            "corpus": str(world / "corpora" / "first"),
            "runs": str(tmp_path / "runs"),
            "parts": ["extrinsic"],
            "settings": QUICK,
            "initial_settings": INITIAL,
        }
    )
    copied = tmp_path / "datasets" / "tiny"
    shutil.copytree(world / "datasets/tiny", copied)
    first, second = (copied / month / "v1" for month in ("2026-09", "2026-10"))
    closed(config, first)
    runs = closed(config, second)
    assert [r.key.label for r in runs] == ["initial", "diff", "kadapter"]
    for run in runs[1:]:
        assert f"2026-09/v1/{run.key.label}" in run.record["inputs"]["start"]
        assert list(run.evaluations()) == ["2026-10-v1"]
    steps = []
    closed(config, second, observe=lambda key, _: steps.append(key))
    assert steps == []
    # Another version of the window is trained anew, from the same models.
    shutil.copytree(second, second.parent / "v2")
    manifest = files.read_json(second.parent / "v2" / "manifest.json")
    manifest["data"]["version"] = 2
    files.write_json(second.parent / "v2" / "manifest.json", manifest)
    again = closed(config, second.parent / "v2", observe=lambda key, _: steps.append(key))
    assert {key.version for key in steps} == {2}
    assert again[1].record["inputs"]["start"] == runs[1].record["inputs"]["start"]


def test_earlier_windows_are_found_beside_a_dataset_and_nowhere_else(world, tmp_path):
    first, second = (w.dataset for w in windows(world))
    assert timeline.earlier(first) == []
    assert timeline.earlier(second) == [first.resolve()]
    lonely = tmp_path / "somewhere" / "else"
    shutil.copytree(second, lonely)
    shutil.copytree(first, tmp_path / "somewhere" / "2026-09" / "v1")
    assert timeline.earlier(lonely) == []


def test_the_window_before_is_reviewed_and_gone_on_from(world, tmp_path):
    plan = make(world, tmp_path / "runs", "mixreview", "merge")
    first, second = windows(world)
    study.run(plan, [first], measure=False)
    for run in study.run(plan, [second], before=[first], measure=False)[1:]:
        assert run.record["inputs"]["start"].endswith(f"2026-09/v1/{run.key.label}/model")
        reviewed = run.record["inputs"]["review"]
        assert (str(first.dataset) in reviewed) == (run.key.label == "mixreview")


@pytest.fixture
def three(world, tmp_path):
    """The tiny wiki's months and one more."""
    copied = tmp_path / "datasets" / "tiny"
    shutil.copytree(world / "datasets/tiny", copied)
    write_dataset(copied / "2026-11" / "v1", 1, "2026-11")
    found = timeline.datasets(copied)
    return [WindowData(path) for path in found]


def starts(runs):
    """The window that each run went on from, by its own."""
    return {r.key.window: r.record["inputs"]["start"].split("/")[-4] for r in runs}


@pytest.mark.parametrize("failed", [0, 1])
def test_a_window_that_failed_is_made_up_for_by_the_next(world, tmp_path, three, failed):
    def kill(key, step):
        if key.window == three[failed].dataset.parent.name and step.step == 1:
            raise KeyboardInterrupt

    plan = make(world, tmp_path / "runs", "diff", "kadapter")
    for number in range(failed):
        study.run(plan, [three[number]], before=three[:number], measure=False)
    killed = dataclasses.replace(plan, observe=kill)
    with pytest.raises(KeyboardInterrupt):
        study.run(killed, [three[failed]], before=three[:failed], measure=False)
    done = study.run(plan, three[2:], before=three[:2], measure=False)
    diff = [r for r in plan.runs.all() if r.key.label == "diff"]
    expected = {"2026-09": "initial", "2026-10": "2026-09", "2026-11": "2026-10"}
    assert starts(diff) == expected
    # kadapter never began: it starts with the window that is asked for.
    begun = [r.key.window for r in done if r.key.label == "kadapter"]
    assert begun == (["2026-11"] if failed == 0 else ["2026-10", "2026-11"])


def test_a_window_left_out_is_made_up_for(world, tmp_path, three):
    plan = make(world, tmp_path / "runs", "diff")
    study.run(plan, three[:1], measure=False)
    done = study.run(plan, three[2:], before=three[:2], measure=False)
    assert starts(done[1:]) == {"2026-10": "2026-09", "2026-11": "2026-10"}


def test_a_window_made_up_for_is_measured_on_its_own_facts_too(world, tmp_path, three):
    plan = make(world, tmp_path / "runs", "diff")
    study.run(plan, three[:1], measure=False)
    done = study.run(plan, three[2:], before=three[:2])
    measured = {r.key.window: list(r.evaluations()) for r in done}
    assert measured["2026-10"] == ["2026-10-v1", "2026-11-v1"]
    assert measured["2026-11"] == ["2026-11-v1"]


def test_a_gap_that_was_passed_over_stays_one(world, tmp_path, three):
    plan = make(world, tmp_path / "runs", "diff")
    study.run(plan, [three[0], three[2]], measure=False)
    steps = []
    again = dataclasses.replace(plan, observe=lambda key, _: steps.append(key))
    study.run(again, three[2:], before=three[:2], measure=False)
    assert steps == []


def test_a_quiet_month_and_a_method_on_whole_corpora_owe_nothing(world, tmp_path, three):
    corpora = [WindowData(w.dataset, world / "corpora" / "2026-10") for w in three]
    plan = make(world, tmp_path / "runs", "diff", "full")
    study.run(plan, corpora[:1], measure=False)
    manifest = files.read_json(three[1].dataset / "manifest.json")
    part = three[1].dataset / "diffset.parquet"
    pq.write_table(pq.read_table(part).slice(0, 0), part)
    known = {"bytes": part.stat().st_size, "sha256": files.sha256_of(part)}
    manifest["data"]["files"]["diffset.parquet"] = known
    files.write_json(three[1].dataset / "manifest.json", manifest)
    done = study.run(plan, corpora[2:], before=three[:2], measure=False)
    assert [(r.key.window, r.key.label) for r in done[1:]] == [
        ("2026-11", "diff"),
        ("2026-11", "full"),
    ]


def test_what_is_made_up_for_is_checked_before_any_training(world, tmp_path, three):
    plan = make(world, tmp_path / "runs", "diff")
    study.run(plan, three[:1], measure=False)
    (three[1].dataset / "diffset.parquet").write_bytes(b"")
    with pytest.raises(TwikiError, match="diffset"):
        study.run(plan, three[2:], before=three[:2], measure=False)
    assert {r.key.window for r in plan.runs.all()} == {"initial", "2026-09"}


def test_a_method_that_fails_rests_and_the_others_go_on(world, tmp_path, three):
    def fail(key, _step):
        if (key.label, key.window) == ("lora", "2026-10"):
            raise TrainerError("it diverged")

    told = []
    plan = make(world, tmp_path / "runs", "lora", "diff", observe=fail, tell=told.append)
    changed = {**plan.changes, "lora.rank": 2}
    with pytest.raises(TrainerError, match="lora: it diverged"):
        study.run(dataclasses.replace(plan, changes=changed), three)
    found = {(r.key.label, r.key.window) for r in plan.runs.all("tiny")}
    assert {window for label, window in found if label == "diff"} == {
        "2026-09",
        "2026-10",
        "2026-11",
    }
    assert {window for label, window in found if label == "lora"} == {"2026-09"}
    assert any("lora failed on" in text for text in told)
    last = next(r for r in plan.runs.all() if (r.key.label, r.key.window) == ("diff", "2026-11"))
    assert len(last.evaluations()) == 3


def test_of_several_processes_a_failing_one_ends_all(world, tmp_path, three, monkeypatch):
    def fail(_key, _step):
        raise TrainerError("it diverged")

    plan = make(world, tmp_path / "runs", "diff", "merge", observe=fail)
    monkeypatch.setattr(study.threads, "several", lambda: True)
    given = dataclasses.replace(plan, initial=world / "start")
    with pytest.raises(TrainerError, match="^it diverged"):
        study.run(given, three[:1])
    assert not plan.runs.begun("tiny", "2026-09", "merge")
