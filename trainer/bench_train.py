"""``twiki bench train``: tokens a second, MFU and memory, beside the Hugging Face Trainer.

Both train the same random model on the same random rows in the same precision, in one run and
one process, one after the other, each with a peak memory of its own; compilation and the first
steps are not timed. On a GPU the model is GPT-2 Large at 512 tokens, on a CPU a small one. Needs
torch, transformers, peft, numpy and, for the peer, accelerate.
"""

import importlib.util
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

from trainer import cost, device, methods, train
from trainer.data import Mixture, Tokens
from trainer.methods.protocol import Plan
from trainer.optimizer import make_optimizer
from trainer.processes import World
from twiki.errors import UsageError

BUDGET = 90_000.0
"""Tokens a second of GPT-2 Large at 512, bf16, on one H200 (DESIGN 7)."""
PEER_BUDGET = 1.3
METHODS = ("diff", "lora", "kadapter")


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What is trained and for how long."""

    name: str
    layers: int
    width: int
    heads: int
    sequence: int
    batch: int
    micro_batch: int
    vocabulary: int = 50_257
    compile: bool = False
    warmup: int = 3
    """Steps that are not timed."""

    def model(self) -> nn.Module:
        """A new model of random weights, without dropout."""
        torch.manual_seed(0)
        module: nn.Module = GPT2LMHeadModel(  # type: ignore[no-untyped-call] # HF
            GPT2Config(
                vocab_size=self.vocabulary,
                n_positions=self.sequence,
                n_embd=self.width,
                n_layer=self.layers,
                n_head=self.heads,
                resid_pdrop=0.0,
                embd_pdrop=0.0,
                attn_pdrop=0.0,
                bos_token_id=0,
                eos_token_id=0,
            )
        )
        return module


WORKLOADS = {
    "gpt2-large-config": Workload(
        name="gpt2-large-config",
        layers=36,
        width=1280,
        heads=20,
        sequence=512,
        batch=64,
        micro_batch=32,
        compile=True,
    ),
    "small": Workload(
        name="small",
        layers=4,
        width=128,
        heads=4,
        sequence=128,
        batch=16,
        micro_batch=16,
        vocabulary=4096,
    ),
}


def run(
    model: str | None = None,
    *,
    tokens: int | None = None,
    on: str = "auto",
    chosen: tuple[str, ...] = METHODS,
    tell: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Measure; the JSON of ``twiki bench train``.

    Args:
        model: a name in :data:`WORKLOADS`; None: by the device.
        tokens: timed tokens of each measurement, at least one step.
        on: device.
        chosen: methods to measure.
        tell: told what begins.

    Raises:
        UsageError: there is no such workload.
    """
    if model is not None and model not in WORKLOADS:
        raise UsageError(f"model {model!r}: there are {', '.join(WORKLOADS)}")
    on = device.pick(on)
    gpu = on.startswith("cuda")
    work = WORKLOADS[model or ("gpt2-large-config" if gpu else "small")]
    a_step = work.batch * work.sequence
    steps = max(1, (tokens or (40 if gpu else 6) * a_step) // a_step)
    say = tell or (lambda _text: None)
    figures: list[dict[str, Any]] = []
    say("Hugging Face Trainer")
    peer = huggingface(work, on, steps) if importlib.util.find_spec("accelerate") else None
    beside = peer or {}
    whole = 0.0
    large = gpu and work.name == "gpt2-large-config"
    for name in chosen:
        say(name)
        found = ours(work, name, on, steps)
        rate = found["tokens_per_second"]
        full = name == "diff"
        whole = found["flops_per_token"] if full else whole
        # A method that computes less must be as much faster.
        budget = BUDGET * whole / found["flops_per_token"] if large and whole else None
        other = beside if full else {}
        figures += [
            _figure(f"{name} tokens/s", rate, "tokens/s", budget, other.get("tokens_per_second")),
            _figure(f"{name} floor by FLOPs", found["floor"], "tokens/s"),
            _figure(f"{name} MFU", found["mfu"], "share of peak", peer=other.get("mfu")),
            _figure(f"{name} FLOP a token", found["flops_per_token"] / 1e9, "GFLOP"),
            _figure(
                f"{name} peak memory",
                found["memory_bytes"] / 2**30,
                "GiB",
                peer=other["memory_bytes"] / 2**30 if other else None,
            ),
        ]
        if other:
            ratio = rate / other["tokens_per_second"]
            limit = PEER_BUDGET if gpu else None
            figures.append(_figure("ours over HF Trainer", ratio, "ratio", limit))
    machine = {
        "device": device.name_of(on),
        "threads": torch.get_num_threads(),
        "platform": platform.platform(),
        "workload": work.name,
        **device.versions(),
    }
    return {"bench": "train", "machine": machine, "figures": figures}


def ours(work: Workload, name: str, on: str, steps: int) -> dict[str, Any]:
    """Timed steps of this project's loop with a method."""
    settings = methods.settings_for(
        name,
        "paper",
        {
            "sequence": work.sequence,
            "batch": work.batch,
            "micro_batch": work.micro_batch,
            "compile": work.compile,
            "schedule": "constant",
        },
    )
    device.begin_peak(on)
    total = work.warmup + steps
    method = methods.method(name)
    module = method.prepare(work.model(), Plan(settings, total)).to(on).train()
    optimizer = make_optimizer(settings, module, on)
    shape = cost.shape_of(module)
    with _rows(work) as tokens:
        mixture = Mixture(tokens, (), ratio=0.0, seed=0)
        me = World(device=on)
        places = total * work.batch
        loop = train.Loop(settings, me, mixture, method, module, optimizer, shape, total, places)
        timed = 0.0
        # Each step ends by reading the gradient's norm, so the device has done its work.
        for report in loop.train(train.Progress()):
            if report.step >= work.warmup:
                timed += work.batch * work.sequence / report.tokens_per_second
    return _measured(shape, work, on, steps * work.batch * work.sequence / timed)


def _measured(shape: cost.Shape, work: Workload, on: str, rate: float) -> dict[str, Any]:
    """The figures of a training at ``rate`` tokens a second that has just ended."""
    flops = cost.flops_per_token(shape, work.sequence)
    peak = cost.device_peak(on)
    return {
        "tokens_per_second": rate,
        "flops_per_token": flops,
        "mfu": rate * flops / peak if peak else None,
        "floor": peak / flops if peak else None,
        "memory_bytes": device.peak_memory(on),
    }


def huggingface(work: Workload, on: str, steps: int) -> dict[str, Any]:
    """The same of the Hugging Face Trainer on the same model, rows and precision."""
    from transformers import Trainer, TrainerCallback, TrainingArguments  # noqa: PLC0415 - the peer

    class Clock(TrainerCallback):
        """Reads the time at the step after which measuring begins, and at the end."""

        began = ended = 0.0

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:  # noqa: ANN401, ARG002 - HF
            _settle(on)
            if state.global_step == work.warmup:
                self.began = time.perf_counter()
            self.ended = time.perf_counter()

    device.begin_peak(on)
    gpu = on.startswith("cuda")
    clock, module = Clock(), work.model()
    shape = cost.shape_of(module)
    with _rows(work) as tokens, tempfile.TemporaryDirectory() as folder:
        rows = [
            {"input_ids": ids, "labels": ids}
            for ids in (tokens.row(i)[0].tolist() for i in range(tokens.rows))
        ]
        arguments = TrainingArguments(
            output_dir=folder,
            max_steps=work.warmup + steps,
            per_device_train_batch_size=work.micro_batch,
            gradient_accumulation_steps=work.batch // work.micro_batch,
            learning_rate=1e-4,
            lr_scheduler_type="constant",
            max_grad_norm=0.1,
            bf16=gpu,
            torch_compile=work.compile,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
            use_cpu=not gpu,
        )
        trainer = Trainer(model=module, args=arguments, train_dataset=rows, callbacks=[clock])
        # What it prints is for people; standard output may be a program's.
        with redirect_stdout(sys.stderr):
            trainer.train()
    rate = steps * work.batch * work.sequence / (clock.ended - clock.began)
    return _measured(shape, work, on, rate)


@contextmanager
def _rows(work: Workload) -> Iterator[Tokens]:
    """Random tokens as a token folder, four steps long."""
    count = 4 * work.batch * work.sequence + 1
    stream = np.random.default_rng(0).integers(1, work.vocabulary, count).astype(np.uint16)
    header = {"dtype": "uint16", "tokens": count, "begin": 0, "end": 0, "documents": 1}
    with tempfile.TemporaryDirectory() as folder:
        stream.tofile(Path(folder) / "tokens.bin")
        np.save(Path(folder) / "documents.npy", np.zeros(1, dtype=np.int64))
        yield Tokens(Path(folder), header, work.sequence)


def _settle(on: str) -> None:
    if on.startswith("cuda"):
        torch.cuda.synchronize(on)


def _figure(
    name: str,
    value: float | None,
    unit: str,
    budget: float | None = None,
    peer: float | None = None,
) -> dict[str, Any]:
    met = value >= budget if budget is not None and value is not None else None
    return {
        "figure": name,
        "value": None if value is None else round(value, 4),
        "unit": unit,
        "budget": budget,
        "met": met,
        "peer": None if peer is None else round(peer, 4),
        "ratio": round(value / peer, 4) if peer and value else None,
    }
