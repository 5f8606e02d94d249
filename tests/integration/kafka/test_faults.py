"""After each fault the feed and the cut dataset are those of the embedded engine."""

import random
import shutil
import signal
from pathlib import Path

import pytest

from stream.topics import Role

STATE = (Role.ARTICLE, Role.ENTITY)


FULL = pytest.mark.kafka_full


@pytest.mark.parametrize("kills", [5, pytest.param(10, marks=FULL)])
def test_workers_killed_at_random_in_mid_batch(cluster, embedded, kills):
    chance = random.Random(kills)
    cluster.start_slowly()
    cluster.begin()
    cluster.start(Role.HYDRATOR)
    for number in range(kills):
        role = STATE[number % 2]
        cluster.start(role, kill_after=(chance.randint(1, 5), chance.randint(1, 6)))
        cluster.wait_for_end(role, seconds=60)
    for role in STATE:
        cluster.start(role)
    cluster.wait_settled()
    cluster.check(embedded)


@FULL
def test_a_worker_killed_between_each_pair_of_steps(cluster, embedded):
    cluster.start_slowly()
    cluster.begin()
    cluster.start(Role.HYDRATOR)
    cluster.start(Role.ENTITY)
    for step in (1, 2, 3, 4, 5):
        cluster.start(Role.ARTICLE, kill_after=(step, 2))
        assert cluster.wait_for_end(Role.ARTICLE, seconds=60) == -signal.SIGKILL
    cluster.start(Role.ARTICLE)
    cluster.wait_settled()
    cluster.check(embedded)


@FULL
def test_a_worker_killed_and_its_local_folder_wiped(cluster, embedded):
    cluster.start_slowly()
    cluster.begin()
    cluster.start(Role.HYDRATOR)
    cluster.start(Role.ENTITY)
    cluster.start(Role.ARTICLE, kill_after=(4, 8))
    cluster.wait_for_end(Role.ARTICLE)
    shutil.rmtree(cluster.folder / "article")
    cluster.start(Role.ARTICLE)
    cluster.wait_settled()
    cluster.check(embedded)


@FULL
@pytest.mark.apache("transactions, the fence against zombies")
def test_a_worker_frozen_past_its_session_and_woken_again(cluster, embedded):
    cluster.start_slowly()
    cluster.begin()
    cluster.start(Role.HYDRATOR)
    cluster.start(Role.ENTITY)
    zombie = cluster.start(Role.ARTICLE, "zombie", freeze_after=(2, 4))
    cluster.wait_for(lambda: _stopped(zombie))
    cluster.start(Role.ARTICLE, "successor")
    cluster.wait_for(lambda: cluster.at_end(Role.ARTICLE))
    zombie.send_signal(signal.SIGCONT)
    cluster.wait_settled()
    cluster.check(embedded)


@FULL
@pytest.mark.apache("disk: what it held is gone after a restart")
def test_the_broker_stopped_and_started_under_way(cluster, embedded):
    cluster.start_slowly()
    cluster.begin()
    cluster.start_all()
    cluster.wait_for(lambda: cluster.committed(Role.ARTICLE) > 0)
    cluster.broker.stop()
    cluster.broker.start()
    cluster.wait_settled()
    cluster.check(embedded)


@FULL
def test_partitions_move_from_one_worker_to_three_and_back_under_load(cluster, embedded):
    cluster.start_slowly()
    cluster.begin()
    cluster.start(Role.HYDRATOR)
    cluster.start(Role.ENTITY)
    cluster.start(Role.ARTICLE, "one")
    cluster.wait_for(lambda: cluster.committed(Role.ARTICLE) > 0)
    cluster.start(Role.ARTICLE, "two")
    cluster.start(Role.ARTICLE, "three")
    cluster.wait_for(lambda: cluster.members(Role.ARTICLE) == 3)
    cluster.bridge(cluster.items)  # the same again: load while partitions move
    cluster.stop("one")
    cluster.stop("two")
    cluster.wait_settled()
    cluster.check(embedded)


@FULL
def test_the_same_events_twice(cluster, embedded):
    cluster.begin()
    cluster.bridge_again()
    cluster.start_all()
    cluster.wait_settled()
    cluster.check(embedded)


@FULL
def test_the_hydrator_killed_between_its_writing_and_its_commit(cluster, embedded):
    cluster.start_slowly()
    cluster.begin()
    for role in STATE:
        cluster.start(role)
    for _ in range(2):
        cluster.start(Role.HYDRATOR, kill_after=(1, 2))
        assert cluster.wait_for_end(Role.HYDRATOR) == -signal.SIGKILL
    cluster.start(Role.HYDRATOR)
    cluster.wait_settled()
    cluster.check(embedded)


def _stopped(process):
    state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state == "T"
