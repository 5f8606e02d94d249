"""Labels that the state lacks, read from the revision before the window's end (L9)."""

import json
import random
import subprocess
import sys
import urllib.request
from datetime import timedelta

import pytest

from stream import metrics as names
from stream.clock import SystemClock
from stream.hydrate import Hydrator
from stream.metrics import Metrics
from stream.sandbox.dump_files import write_dumps
from stream.sandbox.model import WIKIDATA
from stream.sandbox.rehearsal import settings_for
from stream.sandbox.server import SandboxServer
from stream.sandbox.world import World
from stream.settings import Settings
from twiki import entities
from twiki.records import Revision
from twiki.windows import versions
from twiki.windows.dataset import Dataset, Part

TWIKI = [sys.executable, "-m", "twiki"]


@pytest.fixture(scope="module")
def world():
    return World(17, articles=60, months=1)


def test_the_last_revisions_before_a_time_come_in_batches_where_nothing_younger_is(world):
    end = world.windows[0].end
    pages = list(world.pages(WIKIDATA, world.now))
    true = {page.title: last_before(world, page, end) for page in pages}
    metrics = Metrics()
    with SandboxServer(world, grace=None) as server:
        settings = settings_for(Settings(), server)
        tell_all(server, settings, world)
        with Hydrator(
            settings, clock=SystemClock(), chance=random.Random(1), metrics=metrics
        ) as api:
            told = api.revisions_before(WIKIDATA, end, list(true))
    found = {
        title: got.change.rev_id if isinstance(got, Revision) else None
        for title, got in zip(true, told, strict=True)
    }
    assert found == true
    younger = [page for page in pages if page.rev_id != true[page.title]]
    requests = metrics.labels(names.REQUESTS)
    assert 0 < requests["earlier"] == len(younger) < len(true)
    assert requests["titles"] == -(-len(true) // settings.stream.batch)


def tell_all(server, settings, world):
    """Hear the stream to its end: what the server knows is what it has told."""
    since = f"{world.boundaries[0]:%Y-%m-%dT%H:%M:%SZ}"
    url = f"{server.url}/v2/stream/{','.join(settings.stream.streams)}?since={since}"
    with urllib.request.urlopen(url, timeout=60) as stream:  # noqa: S310 - loopback
        assert stream.read()


def last_before(world, page, end):
    """The world's own answer: the newest revision before ``end``."""
    views = [world.revision(WIKIDATA, rev_id) for rev_id in page.revisions]
    earlier = [view.rev_id for view in views if view.timestamp < end]
    return earlier[-1] if earlier else None


@pytest.mark.timeout(240)
def test_a_stream_without_an_entity_dump_asks_for_labels_when_it_cuts(world, tmp_path):
    state, datasets, config = tmp_path / "state", tmp_path / "datasets", tmp_path / "twiki.toml"
    config.write_text(
        "[facts]\nunchanged_rate = 1.0\n[stream]\nrequests_per_second = 10000.0\nburst = 10000\n"
        "backoff_seconds = 0.01\nbackoff_cap_seconds = 0.05\n"
    )
    window, start = world.windows[0], world.boundaries[0]
    dumps = write_dumps(world, start, tmp_path / "dumps")
    common = ["--state", state, "--config", config]
    twiki("bootstrap", *common, "--articles", *dumps.articles, "--as-of", f"{start:%Y-%m-%d}")
    with SandboxServer(world, grace=None) as server:
        told = twiki(
            *("stream", *common, "--source", server.url, "--datasets", datasets, "--json"),
            *("--since", (start - timedelta(minutes=10)).isoformat()),
            *("--until", world.now.isoformat()),
        )
    assert json.loads(told)["windows_closed"] == [window.name]
    dataset = Dataset.open(versions.window_folder(datasets, "enwiki", window.name))
    rows = list(dataset.rows(Part.PROBES_CHANGED))
    assert rows
    # No entity but those that were edited is in the state: properties hardly ever are.
    for row in rows:
        assert row.relation == label_at(world, f"Property:{row.relation_pid}", window.end)
        if row.object_datatype == "wikibase-item":
            assert row.object == label_at(world, row.object_qid_or_value, window.end)


def label_at(world, title, end):
    """A label as of a time, redirects followed, as the world has it."""
    page = world.page(WIKIDATA, title, end - timedelta(microseconds=1))
    view = world.revision(WIKIDATA, page.rev_id)
    if view.redirect is not None:
        return label_at(world, view.redirect, end)
    return entities.label(entities.decode(view.text), ("en", "mul"))


def twiki(*words):
    done = subprocess.run(
        [*TWIKI, *map(str, words)], capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
