"""`twiki run` with a ``[trainer]`` section as its users write it: events to trained models."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stream.sandbox.dump_files import write_dumps
from stream.sandbox.rehearsal import settings_for
from stream.sandbox.server import SandboxServer
from stream.sandbox.world import World
from stream.settings import Settings
from trainer.runs import Runs
from twiki.cli.trainings import FOLDER
from twiki.engine import Engine
from twiki.state.rocks import RocksKeyValues
from twiki.state.store import Store
from twiki.windows import corpus
from twiki.windows.bootstrap import bootstrap
from twiki.windows.dataset import Dataset

pytest.importorskip("torch")

SETTINGS = """
[stream]
url = "{server.url}"
hosts = {{ enwiki = "{enwiki}", wikidatawiki = "{wikidata}" }}
requests_per_second = 10000.0
burst = 10000
backoff_seconds = 0.01
offsets_valid_seconds = {ever}
retention_seconds = {ever}

[facts]
unchanged_rate = 1.0

[service]
dumps_site = "{server.dumps_url}"
dump_poll_seconds = 0.2
port = 0
suppression_seconds = 0.2

[trainer]
on = "reconciled"
on_close = ["diff", "kadapter"]
start = "small"
corpus = "{root}/corpus"
runs = "{root}/runs"
parts = ["extrinsic"]

[trainer.settings]
steps = 4

[trainer.initial_settings]
steps = 4
"""


def test_a_window_that_closes_is_trained_on_by_each_method_once(tmp_path):
    world = World(21, articles=60, months=1)
    with SandboxServer(world, gated=True, grace=None) as server:
        base = settings_for(Settings(), server)
        store = Store(RocksKeyValues(tmp_path / "state" / "db", create=True))
        engine = Engine.open(store, base, as_of=world.boundaries[0])
        dumps = write_dumps(world, world.boundaries[0], tmp_path / "first")
        bootstrap(engine, dumps.articles, [dumps.entities])
        corpus.write(engine.as_of(), world.boundaries[0], tmp_path / "corpus", base, workers=1)
        store.close()
        config = tmp_path / "twiki.toml"
        config.write_text(
            SETTINGS.format(
                server=server,
                enwiki=server.wiki_url("enwiki"),
                wikidata=server.wiki_url("wikidatawiki"),
                ever=base.stream.retention_seconds,
                root=tmp_path,
            )
        )
        words = ["--state", tmp_path / "state", "--datasets", tmp_path / "datasets", "--json"]
        until = world.dump_complete(world.boundaries[-1]).isoformat()
        words += ["--config", config, "--until", until]
        ran = subprocess.run(
            [sys.executable, "-m", "twiki", "run", *words],
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
            env={**os.environ, "TWIKI_CONTACT": "tests@example.org"},
        )
    assert ran.returncode == 0, ran.stderr
    notes = [json.loads(p.read_text()) for p in (tmp_path / "state" / FOLDER).glob("*.json")]
    assert notes
    assert {note["status"] for note in notes} == {"done"}
    told = [Path(note["dataset"]) for note in notes]
    assert {str(folder) for folder in told} <= set(
        json.loads(ran.stdout.splitlines()[-1])["datasets"]
    )
    for folder in told:
        Dataset.open(folder).verify()  # training left it as it was
    trained = {
        (r.key.window, f"v{r.key.version}", r.key.label): r for r in Runs(tmp_path / "runs").all()
    }
    updates = {(*folder.parts[-2:], name) for folder in told for name in ("diff", "kadapter")}
    assert set(trained) == {("initial", "v1", "initial"), *updates}
    for window, version, label in updates:
        assert f"{window}-{version}" in trained[window, version, label].evaluations()
