"""``twiki train``, ``twiki evaluate``, ``twiki report`` as programs see them."""

import io
import json
import re
from pathlib import Path

import pytest
import typer
from rich.console import Console
from torch.distributed.run import parse_args
from trainer_world import SHAPE, rows, sentences, write_dataset, write_folder
from typer.testing import CliRunner

from trainer import evaluate, files, model
from trainer.runs import Key
from trainer.sinks import StepReport
from twiki.cli import train as command
from twiki.errors import TrainerError


@pytest.fixture(scope="module")
def app():
    app = typer.Typer()
    command.register(app)
    return app


def run(app, *words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture(scope="module")
def trained(app, tmp_path_factory):
    root = tmp_path_factory.mktemp("command")
    write_dataset(root / "datasets" / "tiny" / "2026-09" / "v1", 1, "2026-09")
    write_dataset(root / "datasets" / "tiny" / "2026-10" / "v1", 2, "2026-10")
    write_folder(root / "corpus", {"p": rows(sentences(0))})
    answer = run(
        app,
        "train",
        *("--datasets", root / "datasets", "--wiki", "tiny", "--months", "2026-09..2026-10"),
        *("--methods", "diff", "--start", "small", "--corpus", root / "corpus"),
        *("--runs", root / "runs", "--set", "steps=2", "--set-initial", "steps=2"),
        *("--set", "sequence=32", "--set-initial", "sequence=32", "--device", "cpu", "--json"),
    )
    return root, answer


def test_train_gives_one_json_object_on_standard_output(trained):
    root, answer = trained
    assert answer.exit_code == 0
    found = json.loads(answer.stdout)["runs"]
    assert [r["key"]["label"] for r in found] == ["initial", "diff", "diff"]
    assert [r["key"]["window"] for r in found] == ["initial", "2026-09", "2026-10"]
    assert found[1]["costs"]["steps"] == 2
    assert "train tiny 2026-09 v1 diff" in answer.stderr
    assert (root / "runs" / "tiny" / "2026-10" / "v1" / "diff" / "model").is_dir()


def test_the_papers_values_hold_for_a_small_model_too(app, trained, tmp_path):
    root, _ = trained
    answer = run(
        app,
        *("train", root / "datasets/tiny/2026-09/v1", "--methods", "recadam"),
        *("--preset", "paper", "--start", "small", "--corpus", root / "corpus"),
        *("--runs", tmp_path, "--set", "steps=1", "--set-initial", "steps=1", "--no-evaluate"),
    )
    assert answer.exit_code == 0
    for run_folder in ("initial/v1/initial-paper", "2026-09/v1/recadam-paper"):
        used = files.read_json(tmp_path / "tiny" / run_folder / "run.json")["settings"]
        assert (used["sequence"], used["batch"], used["lr"], used["clip"]) == (128, 64, 1e-4, 0.1)


def test_evaluate_and_report_give_one_json_object_each(app, trained):
    root, _ = trained
    model = root / "runs/tiny/2026-10/v1/diff/model"
    answer = run(
        app, "evaluate", model, root / "datasets/tiny/2026-10/v1", "--tagger", "", "--json"
    )
    found = json.loads(answer.stdout)
    assert found["extrinsic"]["changed"]["object"]["instances"] == 7
    answer = run(app, "report", root / "runs", "--out", root / "report", "--json")
    found = json.loads(answer.stdout)
    assert found == {
        "report": str(root / "report" / "report.html"),
        "runs": 3,
        "windows": ["2026-09", "2026-10"],
    }
    assert (root / "report" / "report.md").exists()


def test_a_window_that_closes_goes_on_from_the_one_before(app, tmp_path):
    # As the service calls it: one dataset, and the settings file.
    for number, month in enumerate(("2026-09", "2026-10")):
        write_dataset(tmp_path / "datasets" / "tiny" / month / "v1", number + 1, month)
    corpus = write_folder(tmp_path / "corpus", {"p": rows(sentences(0))})
    texts = [t for shift in range(3) for t in sentences(shift)]
    model.small_model(texts, tmp_path / "start", shape=SHAPE)
    settings = tmp_path / "twiki.toml"
    settings.write_text(
        f"""
[trainer]
on_close = ["diff", "mixreview"]
start = "{tmp_path}/start"
corpus = "{corpus}"
runs = "{tmp_path}/runs"
parts = ["extrinsic"]
[trainer.settings]
sequence = 16
steps = 2
[trainer.initial_settings]
sequence = 16
steps = 2
"""
    )
    for month in ("2026-09", "2026-10"):
        folder = tmp_path / "datasets" / "tiny" / month / "v1"
        answer = run(app, "train", folder, "--config", settings, "--json")
        assert answer.exit_code == 0
    for label, reviewed in (("diff", 0), ("mixreview", 2)):
        record = files.read_json(tmp_path / "runs/tiny/2026-10/v1" / label / "run.json")
        assert record["inputs"]["start"] == f"{tmp_path}/runs/tiny/2026-09/v1/{label}/model"
        assert len(record["inputs"]["review"]) == reviewed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "--methods", "diff"], "give dataset folders"),
        (["train", "x", "--methods", "diff", "--set", "lr"], "expected name=value"),
        (["train", "x"], "no method"),
        (["train", "--methods", "diff", "--months", "2026-09"], "no folder"),
        (["train", "x", "--methods", "diff", "--parts", "intrinsic,all,f1"], "parts: f1 does not"),
    ],
)
def test_wrong_use_is_a_usage_error(app, words, message):
    from twiki.errors import UsageError

    with pytest.raises(UsageError, match=message):
        run(app, *words)


def test_parts_stand_in_their_own_order():
    assert command._parts("lighttuning,extrinsic") == ("extrinsic", "lighttuning")
    assert command._parts("all") == evaluate.PARTS


def test_sinks_and_tagger_reach_the_study(app, trained):
    root, _ = trained
    words = ("train", root / "datasets/tiny/2026-09/v1", "--methods", "diff", "--initial", "x")
    with pytest.raises(TrainerError, match="tagger no_such_tagger"):
        run(app, *words, "--runs", root / "other", "--tagger", "no_such_tagger")
    initial = root / "runs/tiny/initial/v1/initial/model"
    words = (*words[:-1], initial, "--runs", root / "other", "--set", "sequence=32")
    with pytest.raises(TrainerError, match="sink 'paper' does not exist"):
        run(app, *words, "--sinks", "paper", "--device", "cpu")


@pytest.mark.parametrize("source", ["help", "guide"])
def test_torchrun_takes_the_command_as_it_is_shown(source):
    # Without the dashes it would take --start for the beginning of its own --start-method.
    guide = Path(__file__).parents[2] / "docs" / "training.md"
    text = command.train.__doc__ if source == "help" else guide.read_text()
    (shown,) = re.findall(r"torchrun\s+(--nproc[^…]*twiki train)", text)
    asked = parse_args([*shown.split(), "dataset", "--start", "small"])
    assert asked.training_script == "twiki"
    assert asked.training_script_args == ["train", "dataset", "--start", "small"]


def test_of_several_processes_the_first_speaks(app, trained, tmp_path, monkeypatch):
    root, _ = trained
    words = ("train", root / "datasets/tiny/2026-09/v1", "--methods", "diff", "--no-evaluate")
    initial = root / "runs/tiny/initial/v1/initial/model"
    words += ("--initial", initial, "--runs", tmp_path / "runs", "--device", "cpu")
    words += ("--set", "sequence=32", "--set", "steps=1", "--json")
    assert json.loads(run(app, *words).stdout)["runs"]
    monkeypatch.setenv("RANK", "1")
    answer = run(app, *words)
    assert (answer.exit_code, answer.stdout, answer.stderr) == (0, "", "")


def test_a_terminal_shows_each_run_as_a_bar(monkeypatch):
    screen = Console(file=io.StringIO(), force_terminal=True, width=120)
    monkeypatch.setattr("twiki.cli.common.console", lambda: screen)
    step = StepReport(
        step=4,
        steps=10,
        loss=1.25,
        loss_old=None,
        lr=1e-3,
        grad_norm=1.0,
        skipped=False,
        tokens=640,
        tokens_per_second=1234.0,
        mfu=None,
        memory_bytes=1,
    )
    with command._steps() as (observe, tell):
        tell("train tiny")
        observe(Key("tiny", "2026-09", 1, "diff"), step)
    shown = screen.file.getvalue()
    assert "train tiny" in shown
    assert "tiny 2026-09 v1 diff" in shown
    assert "5/10" in shown
    assert "loss 1.250  1,234 tokens/s" in shown


@pytest.mark.parametrize("name", ["train", "evaluate", "report"])
def test_help_carries_an_example(app, name):
    assert f"Example: twiki {name}" in " ".join(run(app, name, "--help").stdout.split())
