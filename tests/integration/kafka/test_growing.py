"""Workers that join, standbys that take over, and what Prometheus hears of them."""

import re
import shutil

import pytest
import requests
from rocksdict import AccessType, Options, Rdict

from stream.cluster import localbroker
from stream.cluster.admin import read_all
from stream.cluster.exposition import CLUSTER
from stream.cluster.state import greatest
from stream.topics import CHANGELOGS, Role


def test_two_workers_that_start_together_leave_nothing_out(cluster, embedded):
    cluster.create()
    cluster.start(Role.HYDRATOR)
    cluster.start(Role.ENTITY)
    cluster.start(Role.ARTICLE, "one")
    cluster.start(Role.ARTICLE, "two")
    cluster.fill()
    cluster.bridge()
    cluster.wait_for(lambda: cluster.members(Role.ARTICLE) == 2)
    cluster.wait_settled()
    cluster.check(embedded)


@pytest.mark.kafka_full
def test_a_standby_holds_what_the_changelog_holds_and_takes_over(cluster, embedded):
    cluster.reconfigure(standbys=1)
    cluster.create()
    cluster.fill()
    half = len(cluster.items) // 2
    cluster.bridge(cluster.items[:half])
    cluster.start_all()
    cluster.start(Role.ARTICLE, "second")
    cluster.wait_for(lambda: cluster.members(Role.ARTICLE) == 2)
    cluster.wait_settled()
    told = told_by(cluster, Role.ARTICLE)
    assert len(told) > 50
    cluster.wait_for(lambda: held_in(cluster.folder / "second") == told)
    cluster.kill(Role.ARTICLE)
    shutil.rmtree(cluster.folder / "article")
    cluster.bridge(cluster.items[half:])
    cluster.wait_settled()
    cluster.check(embedded)


def test_a_worker_tells_prometheus_what_it_did(cluster):
    port = localbroker.free_port()
    cluster.reconfigure(metrics_port=port)
    cluster.create()
    cluster.bridge(cluster.items[:100])
    cluster.start(Role.HYDRATOR)
    cluster.wait_for(lambda: cluster.at_end(Role.HYDRATOR))
    text = requests.get(f"http://127.0.0.1:{port}/metrics", timeout=5).text
    assert set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE)) == {m.name for m in CLUSTER}
    values = dict(re.findall(r"^(twiki_\S+) ([\d.]+)$", text, re.MULTILINE))
    assert values['twiki_worker_partitions{role="hydrator"}'] == "4"
    assert int(values['twiki_worker_records_total{outcome="applied"}']) > 20
    assert int(values['twiki_worker_told_total{topic="revisions-pages"}']) > 10
    assert requests.get(f"http://127.0.0.1:{port}/", timeout=5).status_code == 404


def told_by(cluster, role):
    """Of every key of the role's changelog the value that counts."""
    found = {}
    for row in read_all(cluster.config, CHANGELOGS[role]):
        found[row.key] = greatest([found.get(row.key), row.value])
    return found


def held_in(folder):
    """What the RocksDB files of all partitions in a worker's folder hold."""
    found = {}
    for path in folder.glob("**/article-*.db"):
        db = Rdict(str(path), Options(raw_mode=True), access_type=AccessType.read_only())
        found |= {key: value for key, value in db.items() if not key.startswith(b"__faust")}
        db.close()
    return found
