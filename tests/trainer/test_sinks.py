"""Where figures go besides the JSON log, and what is said where that cannot be."""

import json
import sys
from types import ModuleType, SimpleNamespace

import pytest
from small_runs import KillError, kill_after, settings

from trainer import files, sinks, train
from trainer.sinks import JsonLines, StepReport
from trainer.train import Inputs
from twiki.errors import TrainerError


def test_an_unknown_sink_is_an_error(tmp_path, tiny_model, september):
    with pytest.raises(TrainerError, match="sink 'paper' does not exist"):
        train.run(settings(), Inputs(tiny_model, september), tmp_path / "o", sinks=("paper",))


def test_a_sink_whose_package_is_missing_is_named(tmp_path, tiny_model, september, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(TrainerError, match=r"twiki\[sinks\]"):
        train.run(settings(), Inputs(tiny_model, september), tmp_path / "o", sinks=("wandb",))


def test_sinks_are_known_to_be_there_before_anything_is_trained(monkeypatch):
    sinks.check(("tensorboard", "wandb"))
    with pytest.raises(TrainerError, match="'tensorbord' does not exist; there are tensorboard"):
        sinks.check(("tensorbord",))
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(TrainerError, match="sink tensorboard: pip install"):
        sinks.check(("tensorboard",))


@pytest.fixture
def wandb(monkeypatch):
    """A module that keeps what W&B would be told."""
    told = SimpleNamespace(init={}, steps=[], finished=0)

    def finish():
        told.finished += 1

    def init(**given):
        told.init = given
        log = lambda figures, step: told.steps.append((step, figures))  # noqa: E731
        return SimpleNamespace(log=log, finish=finish)

    module = ModuleType("wandb")
    module.init = init
    monkeypatch.setitem(sys.modules, "wandb", module)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    return told


def test_wandb_gets_settings_and_every_step_and_sends_nothing(
    tmp_path, tiny_model, september, wandb
):
    given = Inputs(tiny_model, september)
    train.run(settings(steps=3), given, tmp_path / "o", sinks=("wandb",))
    assert wandb.init["mode"] == "offline"
    assert wandb.init["config"]["lr"] == 3e-3
    assert [step for step, _ in wandb.steps] == [0, 1, 2]
    assert wandb.steps[0][1]["loss"] > 0
    assert wandb.finished == 1


def test_wandb_goes_online_when_its_environment_says_so(
    tmp_path, tiny_model, september, wandb, monkeypatch
):
    monkeypatch.setenv("WANDB_MODE", "online")
    given = Inputs(tiny_model, september)
    with pytest.raises(KillError):
        train.run(settings(steps=3), given, tmp_path / "o", sinks=("wandb",), observe=kill_after(2))
    assert wandb.init["mode"] == "online"
    assert wandb.finished == 1


def test_the_real_wandb_keeps_a_run_on_disk(tmp_path, tiny_model, september, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setenv("WANDB_SILENT", "true")
    given = Inputs(tiny_model, september)
    train.run(settings(steps=3), given, tmp_path / "o", sinks=("wandb",))
    (kept,) = (tmp_path / "o" / "wandb").glob("offline-run-*/run-*.wandb")
    # Its records are protobuf: names stand in them as they are, once a step at least.
    assert kept.read_bytes().count(b"grad_norm") >= 3


def test_a_resumed_run_goes_on_in_its_wandb_run(tmp_path, tiny_model, september, wandb):
    cut, given = settings(checkpoint_every=2, steps=5), Inputs(tiny_model, september)
    with pytest.raises(KillError):
        train.run(cut, given, tmp_path / "o", sinks=("wandb",), observe=kill_after(4))
    name = wandb.init["id"]
    train.run(cut, given, tmp_path / "o", sinks=("wandb",))
    assert (wandb.init["id"], wandb.init["resume"]) == (name, "allow")
    assert [step for step, _ in wandb.steps] == [0, 1, 2, 2, 3, 4]
    train.run(settings(steps=1), given, tmp_path / "other", sinks=("wandb",))
    assert wandb.init["id"] != name


def test_the_real_wandb_keeps_both_parts_of_a_resumed_run_under_one_name(
    tmp_path, tiny_model, september, monkeypatch
):
    pytest.importorskip("wandb")
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setenv("WANDB_SILENT", "true")
    cut, given = settings(checkpoint_every=2, steps=5), Inputs(tiny_model, september)
    with pytest.raises(KillError):
        train.run(cut, given, tmp_path / "o", sinks=("wandb",), observe=kill_after(4))
    train.run(cut, given, tmp_path / "o", sinks=("wandb",))
    name = files.read_json(tmp_path / "o" / "wandb.json")["id"]
    parts = list((tmp_path / "o" / "wandb").glob("offline-run-*/run-*.wandb"))
    assert [part.name for part in parts] == [f"run-{name}.wandb"] * 2


def test_the_real_tensorboard_reads_every_step(tmp_path, tiny_model, september):
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    given = Inputs(tiny_model, september)
    train.run(settings(steps=2), given, tmp_path / "o", sinks=("tensorboard",))
    read = events.EventAccumulator(str(tmp_path / "o" / "tensorboard"))
    read.Reload()
    assert set(read.Tags()["scalars"]) == {"loss", "lr", "grad_norm", "tokens_per_second"}
    lines = (tmp_path / "o" / "log.jsonl").read_text().splitlines()
    logged = [(e["step"], e["loss"]) for e in map(json.loads, lines)]
    shown = [(e.step, e.value) for e in read.Scalars("loss")]
    assert shown == [(step, pytest.approx(loss, rel=1e-6)) for step, loss in logged]
    assert [step for step, _ in shown] == [0, 1]


def test_the_real_tensorboard_shows_each_step_of_a_resumed_run_once(
    tmp_path, tiny_model, september
):
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    cut, given = settings(checkpoint_every=2, steps=5), Inputs(tiny_model, september)
    for step in (2, 4):  # before the first checkpoint, and after it
        with pytest.raises(KillError):
            train.run(cut, given, tmp_path / "o", sinks=("tensorboard",), observe=kill_after(step))
    train.run(cut, given, tmp_path / "o", sinks=("tensorboard",))
    read = events.EventAccumulator(str(tmp_path / "o" / "tensorboard"))
    read.Reload()
    assert [e.step for e in read.Scalars("loss")] == [0, 1, 2, 3, 4]


# --- the JSON log ---------------------------------------------------------------------------------


def report(step):
    return StepReport(
        step=step,
        steps=9,
        loss=1.5,
        loss_old=None,
        lr=1e-3,
        grad_norm=float("inf"),
        skipped=True,
        tokens=8,
        tokens_per_second=1.0,
        mfu=None,
        memory_bytes=1,
    )


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_log_drops_what_comes_again_and_what_a_kill_left_half_written(tmp_path):
    path = tmp_path / "o" / "log.jsonl"
    log = JsonLines(path, 0)
    for step in range(4):
        log.write(report(step))
    log.close()
    with path.open("a") as file:
        file.write('{"step": 1, "lo')
    log = JsonLines(path, 3)
    assert [line["step"] for line in lines(path)] == [0, 1, 2]
    log.write(report(3))
    log.close()
    assert [line["step"] for line in lines(path)] == [0, 1, 2, 3]
    assert lines(path)[3]["grad_norm"] is None
    assert list(path.parent.iterdir()) == [path]


def test_a_kill_while_the_log_is_cut_loses_no_line(tmp_path, monkeypatch):
    path = tmp_path / "log.jsonl"
    log = JsonLines(path, 0)
    for step in range(4):
        log.write(report(step))
    log.close()
    before = path.read_bytes()

    def killed(*_):
        raise KillError

    # At its last moment, when all is written but the name.
    monkeypatch.setattr(type(path), "replace", killed)
    with pytest.raises(KillError):
        JsonLines(path, 2)
    assert path.read_bytes() == before
    monkeypatch.undo()
    JsonLines(path, 2).close()
    assert [line["step"] for line in lines(path)] == [0, 1]
