"""Where figures go besides the JSON log, and what is said where that cannot be."""

import json
import sys
from types import ModuleType, SimpleNamespace

import pytest
from small_runs import KillError, kill_after, settings

from trainer import train
from trainer.train import Inputs
from twiki.errors import TrainerError


def test_an_unknown_sink_is_an_error(tmp_path, tiny_model, september):
    with pytest.raises(TrainerError, match="sink 'paper' does not exist"):
        train.run(settings(), Inputs(tiny_model, september), tmp_path / "o", sinks=("paper",))


def test_a_sink_whose_package_is_missing_is_named(tmp_path, tiny_model, september, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(TrainerError, match=r"twiki\[sinks\]"):
        train.run(settings(), Inputs(tiny_model, september), tmp_path / "o", sinks=("wandb",))


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
