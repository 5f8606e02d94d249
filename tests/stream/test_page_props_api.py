"""Articles of entities that carry no link, asked of the wiki's API on the sandbox."""

import gzip
import json
import random

import pytest

from stream import metrics as names
from stream.clock import SystemClock
from stream.hydrate import Hydrator
from stream.metrics import Metrics
from stream.sandbox.dump_files import write_dumps
from stream.sandbox.model import ENWIKI
from stream.sandbox.rehearsal import settings_for
from stream.sandbox.server import SandboxServer
from stream.sandbox.world import World
from stream.settings import Settings
from twiki.engine import Engine
from twiki.errors import SourceError
from twiki.state.kv import MemoryKeyValues
from twiki.state.store import Store
from twiki.times import to_ms
from twiki.windows.bootstrap import bootstrap


@pytest.fixture(scope="module")
def world():
    return World(23, articles=60, months=1)


@pytest.fixture
def dumps(world, tmp_path):
    """The first boundary's dumps, and the entities again without their links."""
    made = write_dumps(world, world.boundaries[0], tmp_path)
    lines = gzip.decompress(made.entities.read_bytes()).decode().split("\n")
    bare = [without_links(line) for line in lines]
    path = tmp_path / "bare.json.gz"
    path.write_bytes(gzip.compress("\n".join(bare).encode()))
    return made, path


def without_links(line):
    if not line.startswith("{"):
        return line
    entity = json.loads(line.rstrip(","))
    entity.pop("sitelinks", None)
    return json.dumps(entity) + ("," if line.endswith(",") else "")


def state_of(world, settings, articles, entities, **more):
    engine = Engine.open(Store(MemoryKeyValues()), settings, as_of=world.boundaries[0])
    return engine, bootstrap(engine, articles, [entities], **more)


def test_the_api_names_the_articles_that_the_entities_do_not(world, dumps):
    made, bare = dumps
    metrics, boundary = Metrics(), to_ms(world.boundaries[0])
    with SandboxServer(world, grace=None) as server:
        settings = settings_for(Settings(), server)
        with Hydrator(
            settings, clock=SystemClock(), chance=random.Random(1), metrics=metrics
        ) as api:
            engine, done = state_of(world, settings, made.articles, bare, page_props=[api])
    linked, full = state_of(world, settings, made.articles, made.entities)
    _, nothing = state_of(world, settings, made.articles, bare)
    assert nothing.outlines == nothing.entities  # nobody says which of them have an article
    assert done.outlines == full.outlines < full.entities
    true = {
        page.item: page.page_id
        for page in world.pages(ENWIKI, world.boundaries[0])
        if page.item is not None and page.namespace == 0 and page.redirect is None
    }
    assert true
    assert {item: engine.store.article_of(item, boundary) for item in true} == true
    # The same entities stand with the same facts as with their links.
    for ident in true:
        one, other = (each.as_of().entity(ident, boundary).entity for each in (engine, linked))
        assert (one.facts, one.outline) == (other.facts, other.outline)
    articles = sum(engine.as_of().is_article(held, boundary) for _, held in engine.store.pages())
    assert metrics.labels(names.REQUESTS)["pageprops"] == -(-articles // settings.stream.batch)


def test_without_an_answer_nothing_is_guessed(world, dumps):
    made, bare = dumps
    with SandboxServer(world, grace=None) as server:
        settings = settings_for(Settings(), server)
    with (
        Hydrator(settings, clock=SystemClock(), chance=random.Random(1), metrics=Metrics()) as api,
        pytest.raises(SourceError, match="which item an article has cannot be told"),
    ):
        state_of(world, settings, made.articles, bare, page_props=[api])
