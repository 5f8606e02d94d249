"""Trainings of a command: what the settings ask for, one after the other."""

import sys

import pytest

from stream.settings import Settings
from twiki.cli.training import InTurn
from twiki.errors import ConfigError

ASKED = Settings(trainer={"on": "cut", "on_close": ["diff"]})
PROGRAM = (
    "import sys, pathlib; path = pathlib.Path(sys.argv[3]); busy = path / 'busy'; "
    "busy.touch(exist_ok=False); told = path / 'told.txt'; before = told.read_text() "
    "if told.exists() else ''; told.write_text(before + sys.argv[1] + ' '); busy.unlink(); "
    "sys.exit(3 if sys.argv[1] == 'bad' else 0)"
)
"""Fails if another one is at it."""


def in_turn(tmp_path, chosen=ASKED):
    return InTurn(chosen, tmp_path, program=(sys.executable, "-c", PROGRAM))


def told(tmp_path):
    path = tmp_path / "told.txt"
    return path.read_text().split() if path.exists() else []


def test_windows_that_close_together_are_trained_on_one_after_the_other(tmp_path):
    trainings = in_turn(tmp_path)
    for name in ("2026-08", "2026-09", "2026-10"):
        trainings.told("cut", name)
    assert trainings.finish()
    assert told(tmp_path) == ["2026-08", "2026-09", "2026-10"]


def test_a_failure_is_told_at_the_end_and_the_next_still_trains(tmp_path):
    trainings = in_turn(tmp_path)
    for name in ("bad", "2026-10"):
        trainings.told("cut", name)
    assert not trainings.finish()
    assert told(tmp_path) == ["bad", "2026-10"]
    assert not trainings.finish()


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGTERM)", "sys.exit(130)"])
def test_one_that_is_asked_to_end_is_the_last(tmp_path, capsys, end):
    program = (sys.executable, "-c", f"import os, signal, sys; {end}")
    trainings = InTurn(ASKED, tmp_path / "twiki.toml", program=program)
    for name in ("2026-08", "2026-09"):
        trainings.told("cut", name)
    assert not trainings.finish()
    assert f"not started: twiki train 2026-09 --config {tmp_path}" in capsys.readouterr().err


def test_where_the_command_fails_it_says_what_was_not_started(tmp_path, capsys):
    trainings = in_turn(tmp_path)
    with trainings:
        for name in ("2026-08", "2026-09"):
            trainings.told("cut", name)
    trainings.__exit__(OSError, OSError("disk"), None)
    assert "not started: twiki train 2026-09" in capsys.readouterr().err
    assert trainings.finish()


@pytest.mark.parametrize(
    "chosen", [Settings(), Settings(trainer={"on": "reconciled", "on_close": ["diff"]})]
)
def test_what_the_settings_do_not_ask_for_is_not_trained(tmp_path, chosen):
    trainings = in_turn(tmp_path, chosen)
    trainings.told("cut", "2026-10")
    assert trainings.finish()
    assert told(tmp_path) == []


def test_without_a_settings_file_nothing_is_trained(tmp_path):
    trainings = InTurn(ASKED, None, program=("no-such-program",))
    trainings.told("cut", "2026-10")
    assert trainings.finish()


def test_a_section_that_cannot_be_used_is_named(tmp_path):
    with pytest.raises(ConfigError, match="dif"):
        in_turn(tmp_path, Settings(trainer={"on_close": ["dif"]})).told("cut", tmp_path)
