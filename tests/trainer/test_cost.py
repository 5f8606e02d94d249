"""The FLOPs formula against the figures worked out by hand."""

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from trainer import cost, methods, model
from trainer.methods.protocol import Plan


def giga(name, preset="paper", sequence=512, **changes):
    with torch.device("meta"):
        large = GPT2LMHeadModel(GPT2Config(n_embd=1280, n_layer=36, n_head=20))
        settings = methods.settings_for(name, preset, changes)
        module = methods.method(name).prepare(large, Plan(settings, 12_000))
    return cost.flops_per_token(cost.shape_of(module), sequence) / 1e9


def test_gpt2_large_trains_at_4_774_gigaflop_a_token():
    assert giga("diff") == pytest.approx(4.774, abs=0.001)
    assert giga("diff", sequence=1024) == pytest.approx(4.916, abs=0.001)


def test_lora_saves_the_gradients_of_frozen_weights():
    assert giga("lora") == pytest.approx(3.23, abs=0.02)


def test_kadapter_runs_the_frozen_base_forward_alone():
    assert giga("kadapter") == pytest.approx(1.96, abs=0.01)
    assert giga("kadapter", **{"kadapter.train_embeddings": True}) > giga("lora")


def test_a_tied_head_counts_once_and_look_ups_nothing(tiny_model):
    shape = cost.shape_of(model.load(tiny_model).module)
    assert shape.head == model.load(tiny_model).module.lm_head.weight.numel()
    assert shape.trained == 2 * 12 * 32 * 32


@pytest.mark.parametrize(
    ("name", "peak"),
    [
        ("NVIDIA L4", 121e12),
        ("NVIDIA L40", 181e12),
        ("NVIDIA L40S", 362e12),
        ("NVIDIA A100-SXM4-80GB", 312e12),
        ("NVIDIA A100-PCIE-40GB", 312e12),
        ("NVIDIA H100 80GB HBM3", 989e12),
        ("NVIDIA H100 PCIe", 756e12),
        ("NVIDIA H100 NVL", 835e12),
        ("NVIDIA H200", 989e12),
        ("NVIDIA H200 NVL", None),
        ("NVIDIA GH200 480GB", 989e12),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", None),
        ("NVIDIA L400", None),
        ("NVIDIA RTX A1000", None),
        ("Tesla T4", None),
    ],
)
def test_the_peak_is_that_of_the_device_and_of_none_with_a_like_name(monkeypatch, name, peak):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _device: name)
    assert cost.device_peak("cuda:0") == peak
    assert cost.device_peak("cpu") is None
