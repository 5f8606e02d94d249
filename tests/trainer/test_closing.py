"""When a window closes: each method once, from its run of the window before, none passed over."""

import dataclasses
import shutil

import pytest
from small_studies import INITIAL, QUICK, make, windows
from trainer_world import write_dataset

from trainer import files, section, study
from trainer.study import WindowData
from twiki.errors import DatasetError, TrainerError


def closed(config, path, **more):
    """What ``twiki train DATASET --config`` does when a window closes."""
    before = [section.window_data(p, config) for p in study.earlier(path)]
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
    assert study.earlier(first) == []
    assert study.earlier(second) == [first.resolve()]
    lonely = tmp_path / "somewhere" / "else"
    shutil.copytree(second, lonely)
    shutil.copytree(first, tmp_path / "somewhere" / "2026-09" / "v1")
    assert study.earlier(lonely) == []


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
    found = study.datasets(copied)
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


def test_what_is_made_up_for_needs_its_text_too(world, tmp_path, three):
    plan = make(world, tmp_path / "runs", "full")
    study.run(plan, windows(world)[:1], measure=False)
    last = WindowData(three[2].dataset, world / "corpora" / "2026-10")
    with pytest.raises(TrainerError, match="2026-10/v1: full trains on a corpus"):
        study.run(plan, [last], before=three[:2], measure=False)
    diff = dataclasses.replace(plan, methods=("diff",))
    study.run(diff, three[:1], measure=False)
    (three[1].dataset / "diffset.parquet").write_bytes(b"")
    with pytest.raises(DatasetError, match="diffset"):
        study.run(diff, three[2:], before=three[:2], measure=False)
