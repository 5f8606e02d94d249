"""Trainings of the service: each dataset version once, whatever becomes of it."""

import subprocess
import sys

import msgspec
import pytest

from stream import metrics as names
from stream.metrics import Metrics
from stream.settings import Settings
from twiki.cli.trainings import FOLDER, Note, Trainings
from twiki.errors import ConfigError

ASKED = Settings(trainer={"on": "cut", "on_close": ["diff"]})
PROGRAM = (
    "import sys, pathlib; told = pathlib.Path(sys.argv[1]).parent / 'told.txt'; "
    "told.write_text(told.read_text() + 'x' if told.exists() else 'x'); sys.exit({code})"
)


@pytest.fixture
def dataset(tmp_path):
    folder = tmp_path / "datasets" / "enwiki" / "2026-11" / "v1"
    folder.mkdir(parents=True)
    return folder


def trainings(tmp_path, code=0, chosen=ASKED, **how):
    config = tmp_path / "twiki.toml"
    config.touch()
    program = (sys.executable, "-c", PROGRAM.format(code=code))
    return Trainings(tmp_path, chosen, config, how.get("metrics", Metrics()), program=program)


def finish(made):
    made.finish(lambda: False)


def times(dataset):
    path = dataset.parent / "told.txt"
    return len(path.read_text()) if path.exists() else 0


def note(tmp_path):
    (path,) = (tmp_path / FOLDER).glob("*.json")
    return msgspec.json.decode(path.read_bytes(), type=Note)


@pytest.mark.parametrize(("code", "end"), [(0, "done"), (3, "failed")])
def test_a_version_is_trained_on_once(tmp_path, dataset, code, end):
    metrics = Metrics()
    for _ in range(2):
        with trainings(tmp_path, code, metrics=metrics) as made:
            made.told("cut", dataset)
            finish(made)
            finish(made)
    assert times(dataset) == 1
    assert (note(tmp_path).status, note(tmp_path).code) == (end, code)
    assert metrics.labels(names.TRAININGS) == {end: 1}


def test_only_the_event_that_was_asked_for_starts_one(tmp_path, dataset):
    with trainings(tmp_path) as made:
        made.told("reconciled", dataset)
        finish(made)
    assert times(dataset) == 0
    with trainings(tmp_path, chosen=Settings()) as made:
        made.told("cut", dataset)
        finish(made)
    assert times(dataset) == 0


def test_a_training_that_a_restart_cut_short_is_taken_up_again(tmp_path, dataset):
    sleeper = (sys.executable, "-c", "import time; time.sleep(60)")
    config = tmp_path / "twiki.toml"
    config.touch()
    with Trainings(tmp_path, ASKED, config, Metrics(), program=sleeper) as made:
        made.told("cut", dataset)
        made.tick()
    assert note(tmp_path).status == "running"
    with trainings(tmp_path) as made:
        finish(made)
    assert (times(dataset), note(tmp_path).status) == (1, "done")


def test_a_section_without_a_settings_file_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="--config"):
        Trainings(tmp_path, ASKED, None, Metrics())


def test_torch_stays_out_of_the_service():
    script = "import sys, twiki.cli.run, stream.runner; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=100
    )
    assert done.stdout.strip() == "False"
