"""``twiki train``, ``twiki evaluate``, ``twiki report`` as programs see them."""

import json

import pytest
import typer
from trainer_world import rows, sentences, write_dataset, write_folder
from typer.testing import CliRunner

from twiki.cli import train as command


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "--methods", "diff"], "give dataset folders"),
        (["train", "x", "--methods", "diff", "--set", "lr"], "expected name=value"),
        (["train", "x"], "no method"),
        (["train", "--methods", "diff", "--months", "2026-09"], "no folder"),
    ],
)
def test_wrong_use_is_a_usage_error(app, words, message):
    from twiki.errors import UsageError

    with pytest.raises(UsageError, match=message):
        run(app, *words)


@pytest.mark.parametrize("name", ["train", "evaluate", "report"])
def test_help_carries_an_example(app, name):
    assert f"Example: twiki {name}" in " ".join(run(app, name, "--help").stdout.split())
