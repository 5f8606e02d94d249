"""Several processes: how they join, and how long they wait for each other."""

from datetime import timedelta

import pytest

from trainer import processes


@pytest.mark.parametrize(("device", "backend"), [("cpu", "gloo"), ("cuda:0", "nccl")])
def test_processes_wait_for_the_first_as_long_as_it_tokenises(monkeypatch, device, backend):
    joined = []
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(processes, "pick", lambda on: on)
    monkeypatch.setattr(processes.torch.cuda, "set_device", lambda _device: None)
    monkeypatch.setattr(processes.atexit, "register", lambda _work: None)
    monkeypatch.setattr(processes.dist, "is_initialized", lambda: False)
    monkeypatch.setattr(processes.dist, "get_rank", lambda: 1)
    monkeypatch.setattr(
        processes.dist, "init_process_group", lambda *words, **named: joined.append((words, named))
    )
    with processes.world(device) as me:
        assert (me.rank, me.size, me.first) == (1, 2, False)
    ((words, named),) = joined
    assert words == (backend,)
    assert named["timeout"] >= timedelta(hours=12)


def test_a_process_alone_joins_nothing_and_adds_nothing(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with processes.world("cpu") as me:
        assert me.first
        me.barrier()
        assert me.total([1.5, 2.0]) == [1.5, 2.0]
