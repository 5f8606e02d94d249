"""One world for all tests of the pages: it is only read."""

from types import SimpleNamespace

import pages_world
import pytest


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    root = tmp_path_factory.mktemp("pages")
    datasets = root / "datasets"
    pages_world.write_dataset(datasets, reconcile=pages_world.RECONCILE)
    engine = pages_world.write_state(root / "state")
    yield SimpleNamespace(root=root, datasets=datasets, state=root / "state", engine=engine)
    engine.store.close()


@pytest.fixture(scope="session")
def opened(world):
    with pages_world.served(world.datasets, world.root / "cache", state=world.state) as (
        client,
        site,
    ):
        yield SimpleNamespace(client=client, site=site)


@pytest.fixture(scope="session")
def client(opened):
    return opened.client


@pytest.fixture(scope="session")
def site(opened):
    return opened.site
