"""Windows reconciled in the cluster: the dataset and the workers' state."""

import pytest

from stream.cluster.changelogs import gathered
from stream.cluster.windows import cut_window, reconcile_window
from stream.topics import Role
from twiki.errors import UsageError
from twiki.records import Policy
from twiki.windows.dataset import data_bytes
from twiki.windows.publishing import reconcile_and_cut


@pytest.fixture
def settled(cluster):
    cluster.begin()
    cluster.start_all()
    cluster.wait_settled()
    return cluster


@pytest.mark.parametrize(
    "policy", [Policy.DUMP, pytest.param(Policy.BOUNDARY, marks=pytest.mark.kafka_full)]
)
def test_a_reconciled_window_equals_the_embedded_engines(settled, dumps, tmp_path, policy):
    settled.under(policy)
    name, end = settled.world.windows[0].name, dumps[1]
    with gathered(settled.settings) as found, settled.api() as api:
        report, written = reconcile_window(
            settled.settings,
            found,
            name,
            end.articles,
            [end.entities],
            tmp_path / "cluster",
            contents=api,
        )
    engine = settled.embedded_engine(settled.items)
    with settled.api() as api:
        told, expected = reconcile_and_cut(
            engine,
            settled.world.windows[0],
            end.articles,
            [end.entities],
            tmp_path / "embedded",
            policy=policy,
            contents=api,
        )
    assert report.report() == told.report()
    assert data_bytes(written.folder) == data_bytes(expected.folder)

    settled.wait_settled()  # the corrections are in the workers' state too
    with gathered(settled.settings) as found:
        again = cut_window(settled.settings, found, name, tmp_path / "again")
    assert data_bytes(again.folder) == data_bytes(expected.folder)


def test_a_window_that_is_open_in_some_partitions_is_not_cut(cluster):
    cluster.begin()
    cluster.start(Role.HYDRATOR)
    cluster.start(Role.ARTICLE)
    cluster.wait_for(lambda: cluster.at_end(Role.HYDRATOR) and cluster.at_end(Role.ARTICLE))
    with pytest.raises(UsageError, match="has not closed in 4 of 8 partitions"):
        cluster.cut()
