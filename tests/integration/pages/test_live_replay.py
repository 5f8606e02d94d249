"""The live page beside a worker that follows a whole little world: its counts are the engine's."""

import json
import re
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import msgspec
import pages_world
import pytest

from stream.pages.now import LISTED, SHOWN
from stream.sandbox.dump_files import write_dumps
from stream.sandbox.server import SandboxServer
from stream.sandbox.world import World
from twiki.engine import read_progress
from twiki.state.rocks import RocksKeyValues
from twiki.state.store import Store

TWIKI = [sys.executable, "-m", "twiki"]
CONFIG = (
    "[facts]\nunchanged_rate = 1.0\n[stream]\nrequests_per_second = 10000.0\nburst = 10000\n"
    "backoff_seconds = 0.01\nbackoff_cap_seconds = 0.05\n"
)
LIVE_RATE = 2
"""Edits a second of the English Wikipedia."""
SECONDS = 5
COUNTERS = """() => Object.fromEntries(
    [...document.querySelectorAll("[aria-label='Counters'] tbody tr")]
        .map((row) => [row.cells[0].textContent, row.cells[1].textContent]))"""
REMEMBER = """() => {
    window.told = [];
    document.body.addEventListener("htmx:sseMessage", () =>
        window.told.push(Number(document.getElementById("all-told").value)));
}"""


def words(*parts):
    return [str(part) for part in parts]


@pytest.fixture
def little():
    return World(4, articles=60, months=1)


@pytest.fixture
def folder(little, tmp_path):
    """A state at the beginning of the world, and the settings of its worker."""
    (tmp_path / "twiki.toml").write_text(CONFIG, encoding="utf-8")
    dumps = write_dumps(little, little.boundaries[0], tmp_path / "dumps")
    command = words(*TWIKI, "bootstrap", "--state", tmp_path / "state", "--as-of", "2026-09-01")
    command += words("--articles", *dumps.articles, "--entities", dumps.entities)
    subprocess.run(
        [*command, "--config", str(tmp_path / "twiki.toml")], check=True, capture_output=True
    )
    return tmp_path


@contextmanager
def serving(folder):
    command = words(*TWIKI, "serve", "--json", "--port", "0", "--state", folder / "state")
    command += words("--datasets", folder / "datasets", "--cache", folder / "cache")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield msgspec.json.decode(process.stdout.readline())["url"].rstrip("/")
        finally:
            process.terminate()


@pytest.mark.timeout(300)
def test_the_counts_of_the_page_are_those_of_the_engine_when_a_replay_has_ended(
    browser, little, folder
):
    with serving(folder) as address, SandboxServer(little, grace=None, rate=150) as server:
        tab = browser.new_page()
        tab.goto(f"{address}/now")
        tab.wait_for_selector("#sampled:has-text('Shown')")
        tab.evaluate(REMEMBER)
        worker = words(*TWIKI, "stream", "--json", "--state", folder / "state")
        worker += words("--source", server.url, "--until", little.now.isoformat())
        worker += words("--config", folder / "twiki.toml", "--datasets", folder / "datasets")
        done = subprocess.run(worker, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        said = json.loads(done.stdout.splitlines()[-1])
        counts = said["counts"]
        tab.wait_for_selector(f"#revisions[value='{counts['revisions']}']")
        # The message in which that count came holds the others too.
        shown = {
            name: int(value.replace(",", "")) for name, value in tab.evaluate(COUNTERS).items()
        }
        expected = {n: c for n, c in counts.items() if not n.startswith("dead:")}
        assert shown == {name.replace("_", " "): count for name, count in expected.items()}
        told = [one for one in tab.evaluate("window.told") if one]
        assert len(set(told)) > 2, "it moved while the worker ran"
        assert told == sorted(told)
        kv = RocksKeyValues(folder / "state/db", reader=True)
        outbox = read_progress(Store(kv)).outbox
        kv.close()
        assert tab.get_attribute("#all-told", "value") == str(outbox)
        tab.wait_for_selector(f"#sampled:has-text('of {outbox:,} told')")
        assert tab.locator("[aria-label='Position'] tbody tr").count() == 4
        tab.close()


@pytest.mark.timeout(120)
def test_at_fifty_times_the_live_rate_it_shows_a_sample_and_says_so(browser, server, engine):
    tab = browser.new_page()
    tab.goto(f"{server}/now")
    tab.wait_for_selector("#sampled:has-text('Shown')")
    before, rate = engine.progress.outbox, 50 * LIVE_RATE
    took = []

    def work():
        """Edits at an even rate, as a source brings them."""
        began = time.monotonic()
        for second in range(SECONDS * 10):
            pages_world.tell(
                engine, range(10_000 + second * rate // 10, 10_000 + (second + 1) * rate // 10)
            )
            threading.Event().wait(max(0.0, began + (second + 1) / 10 - time.monotonic()))
        took.append(time.monotonic() - began)

    worker = threading.Thread(target=work)
    began = time.monotonic()
    worker.start()
    worker.join()
    count = engine.progress.outbox - before
    assert count == rate * SECONDS
    tab.wait_for_selector(f"#sampled:has-text('of {count:,} told')")
    watched = time.monotonic() - began
    shown = int(re.match(r"Shown: ([\d,]+) of", tab.inner_text("#sampled"))[1].replace(",", ""))
    assert 0 < shown <= SHOWN * (watched + 2), "a sample"
    assert shown < count
    assert tab.get_attribute("#all-told", "value") == str(engine.progress.outbox)
    assert tab.get_attribute("#revisions", "value") == str(engine.counts["revisions"])
    assert tab.locator("#items > li").count() <= 2 * LISTED
    assert took[0] < SECONDS * 1.5, "the worker kept its rate"
    tab.close()
