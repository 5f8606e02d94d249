"""Benchmarks and claims: their arithmetic, on small inputs."""

import dataclasses
import json
import math

import pytest
import torch
from typer.testing import CliRunner

from trainer import bench_study, bench_train, claims, device, study_world, threads
from trainer.claims import Claim
from twiki import cli
from twiki.errors import UsageError

TINY = bench_train.Workload(
    name="tiny",
    layers=1,
    width=16,
    heads=2,
    sequence=16,
    batch=4,
    micro_batch=2,
    vocabulary=64,
    warmup=1,
)


def test_both_sides_train_the_same_rows_at_a_measured_speed(monkeypatch):
    pytest.importorskip("accelerate", reason="the Hugging Face Trainer needs accelerate")
    monkeypatch.setitem(bench_train.WORKLOADS, "tiny", TINY)
    found = bench_train.run("tiny", tokens=128, on="cpu")
    by = {f["figure"]: f for f in found["figures"]}
    diff = by["diff tokens/s"]
    assert diff["value"] > 0
    assert diff["ratio"] == pytest.approx(diff["value"] / diff["peer"], rel=1e-3)
    assert by["ours over HF Trainer"]["value"] == pytest.approx(diff["ratio"], rel=1e-3)
    # Budgets are of a GPU: on a CPU nothing is missed.
    assert {f["met"] for f in found["figures"]} == {None}
    assert {"figure", "value", "unit", "budget", "met", "peer", "ratio"} == set(diff)


def test_a_method_that_computes_less_must_be_as_much_faster(monkeypatch):
    flops = {"diff": 4.774e9, "lora": 3.23e9, "kadapter": 1.96e9}
    monkeypatch.setattr(bench_train.device, "pick", lambda _on: "cuda:0")
    monkeypatch.setattr(bench_train.device, "name_of", lambda _on: "NVIDIA H200")
    peer = {"tokens_per_second": 60_000.0, "mfu": 0.3, "memory_bytes": 3 * 2**30}
    monkeypatch.setattr(bench_train, "huggingface", lambda *_: peer)

    def ours(_work, name, *_):
        found = {"tokens_per_second": 150_000.0, "flops_per_token": flops[name]}
        return {**found, "mfu": 0.5, "floor": 1e6, "memory_bytes": 2**31}

    monkeypatch.setattr(bench_train, "ours", ours)
    by = {f["figure"]: f for f in bench_train.run()["figures"]}
    budgets = [by[f"{name} tokens/s"]["budget"] for name in flops]
    assert budgets == pytest.approx([90_000, 133_022, 219_214], rel=1e-4)
    assert [by[f"{name} tokens/s"]["met"] for name in flops] == [True, True, False]
    # The peer trains every weight, as diff does: it stands beside that alone.
    for figure, value, other in (
        ("tokens/s", 150_000, 60_000),
        ("MFU", 0.5, 0.3),
        ("peak memory", 2.0, 3.0),
    ):
        own = by[f"diff {figure}"]
        assert (own["value"], own["peer"]) == (value, other)
        assert own["ratio"] == pytest.approx(value / other, rel=1e-3)
        assert by[f"lora {figure}"]["peer"] is None
    assert (by["ours over HF Trainer"]["value"], by["ours over HF Trainer"]["met"]) == (2.5, True)


def test_the_peer_has_every_figure_that_ours_has(monkeypatch):
    pytest.importorskip("accelerate", reason="the Hugging Face Trainer needs accelerate")
    monkeypatch.setattr(bench_train.cost, "device_peak", lambda _on: 1e12)
    own, peer = bench_train.ours(TINY, "diff", "cpu", 1), bench_train.huggingface(TINY, "cpu", 1)
    assert own.keys() == peer.keys()
    assert own["flops_per_token"] == peer["flops_per_token"]
    for found in (own, peer):
        expected = found["tokens_per_second"] * found["flops_per_token"] / 1e12
        assert found["mfu"] == pytest.approx(expected)
        assert found["memory_bytes"] > 0


@pytest.mark.skipif(not device._RESET.exists(), reason="the kernel cannot reset a process's peak")
@pytest.mark.parametrize("side", ["ours", "huggingface"])
def test_neither_sides_peak_holds_what_came_before_it(side):
    pytest.importorskip("accelerate", reason="the Hugging Face Trainer needs accelerate")
    torch.ones(2**27)  # half a GiB
    before = device.peak_memory("cpu")
    if side == "ours":
        found = bench_train.ours(TINY, "diff", "cpu", 1)
    else:
        found = bench_train.huggingface(TINY, "cpu", 1)
    assert found["memory_bytes"] < before - 2**28


def test_the_command_prints_one_json_object_with_the_peer_beside_ours(monkeypatch):
    pytest.importorskip("accelerate", reason="the Hugging Face Trainer needs accelerate")
    monkeypatch.setitem(bench_train.WORKLOADS, "tiny", TINY)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for name, value in threads.PASSIVE.items():
        monkeypatch.setenv(name, value)
    words = ["bench", "train", "--model", "tiny", "--tokens", "128"]
    answer = CliRunner().invoke(cli.build(), words, catch_exceptions=False)
    assert answer.exit_code == 0
    found = json.loads(answer.stdout)
    assert (found["bench"], set(found)) == ("train", {"bench", "machine", "figures"})
    by = {f["figure"]: f for f in found["figures"]}
    names = [f"{m} {what}" for m in bench_train.METHODS for what in ("tokens/s", "peak memory")]
    assert set(names) < set(by)
    for name in ("diff tokens/s", "diff peak memory"):
        own = by[name]
        assert own["value"] > 0
        assert own["peer"] > 0
        assert own["ratio"] == pytest.approx(own["value"] / own["peer"], rel=1e-2)
    # What only a GPU has is left out, not null.
    assert not any("MFU" in name or "floor" in name for name in by)
    assert "diff tokens/s" in answer.stderr


def test_an_unknown_workload_is_wrong_use():
    with pytest.raises(UsageError, match="there are gpt2-large-config"):
        bench_train.run("gpt5")


def test_the_large_workload_is_gpt2_large():
    with torch.device("meta"):
        large = dataclasses.replace(bench_train.WORKLOADS["gpt2-large-config"]).model()
    count = sum(p.numel() for p in large.parameters())
    assert count == 774_030_080 - 512 * 1280  # half the positions


def test_a_claim_holds_only_when_its_whole_interval_does():
    claim = Claim("x", 1, -0.5, -0.9, -0.1, 0.0, required=True)
    assert claim.holds
    assert not dataclasses.replace(claim, high=0.01).holds
    assert dataclasses.replace(claim, value=0.3, high=0.35, limit=math.log(1.5)).holds


def test_a_difference_below_a_fifth_is_none():
    claim = Claim("x", 1, -0.19, -0.25, -0.1, 0.0, required=True, margin=claims.NOTICEABLE)
    assert claim.holds
    assert not dataclasses.replace(claim, value=-0.18).holds


def test_why_lora_forgets_less_is_said_only_where_it_was_seen():
    one = Claim("lora forgets less than Diff, one table", 1, -1.0, -1.2, -0.8, 0.0, required=True)
    equal = dataclasses.replace(one, name="lora forgets less than Diff, equal table", value=0.5)
    more = dataclasses.replace(equal, low=0.4, high=0.6)
    alike = dataclasses.replace(equal, value=0.0, low=-0.1, high=0.1)
    assert claims._about_lora([one, more])[0].endswith("it forgets more.")
    assert claims._about_lora([one, alike, more])[0].endswith("it forgets as much.")
    assert claims._about_lora([one, dataclasses.replace(equal, value=-0.5)]) == []
    assert claims._about_lora([dataclasses.replace(one, high=0.1), more]) == []


def test_findings_say_in_words_what_did_not_reproduce():
    held = Claim("A below B", 1, -0.5, -0.9, -0.1, 0.0, required=False)
    missed = dataclasses.replace(held, high=0.5)
    assert "did not reproduce" in claims.verdict([missed, missed])
    assert "holds on 1 of 2 seeds" in claims.verdict([held, missed])
    assert "holds on every seed" in claims.verdict([held, held])


def chosen_rate(tmp_path, monkeypatch, learned, **changes):
    """The rate that is chosen where ``learned`` says what each leaves, and the rates tried."""
    tried = []
    run = type("Run", (), {"model": None, "folder": tmp_path})()

    def window(plan, *_):
        tried.append(plan.changes["lr"])
        return [run]

    def measured(plan, *_):
        return {"changed": learned[plan.changes["lr"]], "unchanged": 99.0}

    monkeypatch.setattr(bench_study.study, "train_window", window)
    monkeypatch.setattr(bench_study, "_perplexity", measured)
    design = bench_study.Design(ladder=tuple(learned), **changes)
    return bench_study.choose_rate(tmp_path, design, "diff"), tried


@pytest.mark.parametrize("enough", range(6))
def test_equal_plasticity_takes_the_smallest_rate_that_learns(tmp_path, monkeypatch, enough):
    rates = [1e-4, 2e-4, 4e-4, 1e-3, 2e-3, 4e-3]
    learned = {rate: 2.5 - 0.5 * (n >= enough) - 0.01 * n for n, rate in enumerate(rates)}
    chosen, tried = chosen_rate(tmp_path, monkeypatch, learned)
    assert chosen == rates[enough]
    assert len(tried) <= 3


def test_where_no_rate_learns_enough_the_one_that_learned_most_is_taken(tmp_path, monkeypatch):
    learned = {1e-4: 9.0, 1e-3: 2.5, 1e-2: 5.0}
    assert chosen_rate(tmp_path, monkeypatch, learned)[0] == 1e-3


def test_the_blind_seed_is_not_reported():
    design = bench_study.Design()
    assert design.blind_seed not in design.seeds
    assert len(design.seeds) >= 3


def test_every_facts_key_is_known_to_the_kept_ones():
    world = study_world.make(1, 2)
    later = set(world.changed[1])
    assert 0 < sum(key not in later for key in world.changed[0]) < len(world.changed[0])
