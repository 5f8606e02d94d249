"""Runs of thirty small steps, and what is asked of them."""

from pathlib import Path

import torch
from safetensors.torch import load_file
from trainer_world import sentences

from trainer import methods, model, tokenizer, train
from trainer.data import Mixture, prepare
from trainer.methods.protocol import Plan
from trainer.optimizer import make_optimizer
from trainer.processes import World

SMALL = {"sequence": 16, "batch": 3, "steps": 30, "lr": 3e-3, "checkpoint_every": 0}


def settings(method="diff", **changes):
    return methods.settings_for(method, "recommended", {**SMALL, **changes})


class KillError(Exception):
    """Stands for kill -9: nothing after the step happens."""


def kill_after(step):
    def observe(report):
        if report.step + 1 == step:
            raise KillError

    return observe


def weights(folder: Path):
    (file,) = (folder / "model").glob("*.safetensors")
    return load_file(file)


def equal(one: Path, other: Path) -> bool:
    a, b = weights(one), weights(other)
    return a.keys() == b.keys() and all(torch.equal(a[n], b[n]) for n in a)


def small_loop(tmp_path, folder, changes=None):
    """Thirty steps over three short documents, without a run around them."""
    language = model.load(folder)
    chosen = settings(**(changes or {}))
    words = tokenizer.load(folder)
    texts = ["Ada Bern lives in Aldorp.", *sentences(0)[:2]]
    tokens = prepare(texts, words, tmp_path / "tok", text_digest="x", sequence=16)
    method = methods.method("diff")
    module = method.prepare(language.module, Plan(chosen, 30))
    optimizer = make_optimizer(chosen, module, "cpu")
    shape = train.cost.shape_of(module)
    mixture = Mixture(tokens, (), ratio=0, seed=0)
    return train.Loop(chosen, World(), mixture, method, module, optimizer, shape, 30, 90)
