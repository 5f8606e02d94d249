"""The main job, end to end, over real protocols on loopback: what the product promises."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from stream.sandbox.dump_files import write_dumps
from stream.sandbox.faults import rough_weather
from stream.sandbox.rehearsal import Rehearsal
from stream.sandbox.server import SandboxServer
from stream.sandbox.verdict import judge
from stream.sandbox.world import World
from stream.settings import Settings
from twiki.engine import Engine
from twiki.records import Policy
from twiki.state import layout
from twiki.state.kv import MemoryKeyValues
from twiki.state.rocks import RocksKeyValues
from twiki.state.store import Store
from twiki.windows import calendar
from twiki.windows.bootstrap import bootstrap
from twiki.windows.dataset import Dataset, data_bytes
from twiki.windows.publishing import reconcile_and_cut

SMALL = 60
TWIKI = [sys.executable, "-m", "twiki"]


@pytest.mark.parametrize(
    ("seed", "articles", "months", "stormy"),
    [(1, SMALL, 2, False), (13, SMALL, 2, False), (21, SMALL, 2, True), (4, 100, 1, False)],
)
@pytest.mark.timeout(300)
def test_the_datasets_equal_the_books_of_the_world(seed, articles, months, stormy, tmp_path):
    world = World(seed, articles=articles, months=months)
    faults = rough_weather(seed) if stormy else None
    rehearsal = Rehearsal(world, Store(MemoryKeyValues()), tmp_path, faults=faults)
    outcomes = list(rehearsal.run())
    assert [outcome.window.name for outcome in outcomes] == ["2026-09", "2026-10"][:months]
    for outcome in outcomes:
        assert outcome.verdict.ok, outcome.verdict.examples
        assert outcome.final.counts["diffset"] > 0
        assert outcome.final.counts["probes_changed"] > 0
        assert outcome.final.counts["probes_unchanged"] > 0
        Dataset.open(outcome.final.folder).verify()


def test_a_book_that_differs_is_seen(tmp_path):
    world = World(3, articles=SMALL, months=1)
    rehearsal = Rehearsal(world, Store(MemoryKeyValues()), tmp_path)
    (outcome,) = rehearsal.run()
    books = world.books(outcome.window)
    books.data["articles"][0]["sentences"].append({"text": "Nobody ever wrote this."})
    verdict = judge(Dataset.open(outcome.final.folder), books)
    assert (verdict.missing, verdict.unexpected) == (1, 0)


@pytest.mark.timeout(300)
def test_the_stream_and_the_pair_of_dumps_give_the_same_bytes(tmp_path):
    world = World(2, articles=SMALL)
    settings = Settings()
    settings = replace(
        settings,
        windows=replace(settings.windows, policy="dump"),
        facts=replace(settings.facts, unchanged_rate=1.0),
    )
    rehearsal = Rehearsal(world, Store(MemoryKeyValues()), tmp_path / "stream", settings)
    streamed = {o.window.name: o.final.folder for o in rehearsal.run()}
    for number, window in enumerate(world.windows):
        old, new = (
            write_dumps(world, world.boundaries[side], tmp_path / f"{number}{side}")
            for side in (number, number + 1)
        )
        engine = Engine.open(Store(MemoryKeyValues()), settings, fixed=(window.start, window.end))
        bootstrap(engine, old.articles, [old.entities])
        engine.close(window)
        _, made = reconcile_and_cut(
            engine,
            window,
            new.articles,
            [new.entities],
            tmp_path / "pair",
            policy=Policy.DUMP,
            source="dump pair",
        )
        one, other = data_bytes(streamed[window.name]), data_bytes(made.folder)
        assert sorted(one) == sorted(other)
        assert [name for name in one if one[name] != other[name]] == []
        assert made.counts["diffset"] > 0


KILLS = 20


@pytest.mark.timeout(600)
def test_twenty_kills_change_no_byte(tmp_path):
    world = World(4, articles=SMALL)
    config = tmp_path / "twiki.toml"
    config.write_text(
        "[facts]\nunchanged_rate = 1.0\n[stream]\nrequests_per_second = 10000.0\nburst = 10000\n"
        "backoff_seconds = 0.01\nbackoff_cap_seconds = 0.05\n"
    )
    dumps = write_dumps(world, world.boundaries[0], tmp_path / "dumps")
    undisturbed = tmp_path / "undisturbed"
    _bootstrap(undisturbed, dumps, config)
    with SandboxServer(world, grace=None) as server:
        assert _stream(undisturbed, server, world, config).wait() == 0
    killed = tmp_path / "killed"
    _bootstrap(killed, dumps, config)
    kills = 0
    # Paced, so that twenty lives of a second or two end before the stream does.
    with SandboxServer(world, grace=None, rate=30) as server:
        while kills < KILLS:
            process = _stream(killed, server, world, config)
            try:
                process.wait(timeout=1.5 + 0.7 * (kills * 7919 % 100) / 100)
            except subprocess.TimeoutExpired:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                kills += 1
            else:
                break
    with SandboxServer(world, grace=None) as server:
        assert _stream(killed, server, world, config).wait() == 0
    assert kills == KILLS
    assert _state(killed) == _state(undisturbed)
    assert _told(killed / "feed") == _told(undisturbed / "feed")
    for window in world.windows:
        one, other = (
            data_bytes(state / "datasets" / "enwiki" / window.name / "v1")
            for state in (killed, undisturbed)
        )
        assert one == other


def _bootstrap(state: Path, dumps, config: Path) -> None:
    words = ["--articles", *map(str, dumps.articles), "--entities", str(dumps.entities)]
    subprocess.run(
        [
            *TWIKI,
            "bootstrap",
            "--state",
            state,
            *words,
            "--as-of",
            "2026-09-01",
            "--config",
            config,
        ],
        check=True,
        capture_output=True,
    )


def _stream(state: Path, server: SandboxServer, world: World, config: Path) -> subprocess.Popen:
    words = ["--source", server.url, "--until", world.now.isoformat(), "--config", config]
    datasets = ["--datasets", state / "datasets"]
    return subprocess.Popen(
        [*TWIKI, "stream", "--state", state, *words, *datasets],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


ORDERED = (
    *(layout.OUTBOX, layout.SIDE, layout.DEAD),
    *(layout.META + name for name in (b"engine", b"exporter")),
)
"""Keys that hold an order of arrival, or count it: a source read again may tell two events of
different pages the other way round (ENGINE 4), and a request may fail once under load."""


def _state(folder: Path) -> dict[bytes, bytes]:
    kv = RocksKeyValues(folder / "db")
    held = {key: value for key, value in kv.scan(b"") if not key.startswith(ORDERED)}
    kv.close()
    return held


def _told(folder: Path) -> list[bytes]:
    return sorted(
        line for path in folder.rglob("*.jsonl") for line in path.read_bytes().splitlines()
    )


@pytest.mark.timeout(600)
def test_the_demo_ends_with_a_report_and_one_json_line(tmp_path):
    pytest.importorskip("torch")
    out = tmp_path / "demo"
    done = subprocess.run(
        [*TWIKI, "demo", "--out", out, "--seed", "5", "--articles", "60", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["ok"] is True
    assert Path(said["report"]).read_text(encoding="utf-8").startswith("<!")
    assert Path(said["state"]).is_dir()
    assert [row["window"] for row in said["windows"]] == ["2026-09", "2026-10"]
    for row in said["windows"]:
        assert (row["missing"], row["unexpected"]) == (0, 0)
        assert row["completeness"] > 0.9
    for folder in said["datasets"]:
        window = Dataset.open(Path(folder)).window
        assert window == calendar.parse(window.name)
