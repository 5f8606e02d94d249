"""One training run, top to bottom: model and text in, a model folder and its costs out.

:func:`run` is the story in numbered steps, :class:`Loop` is step 6. What is particular to a
method stands in ``trainer/methods/``; everything here is the same for all. A run's folder::

    checkpoints/step-…/   the newest few, removed at the end
    log.jsonl             a line a step
    model/                the result, as transformers reads it
    run.json              settings, versions and costs; written last: it is the done marker

Weights and optimizer are fp32, the forward pass bf16 on a GPU. The loss of a step is the mean
over its tokens, whatever the micro-batches and processes, so these do not change the result.
"""

import contextlib
import math
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from torch import Tensor, nn

from trainer import checkpoint, checks, cost, dataset, device, files, methods, model, record
from trainer.config import TrainSettings, as_dict
from trainer.data import IGNORE, Batch, Mixture, document_mask, micro_batches, prepare_all
from trainer.methods.protocol import Method, Plan
from trainer.optimizer import make_optimizer
from trainer.processes import World, world
from trainer.schedule import learning_rate
from trainer.sinks import StepReport, open_sinks
from twiki.errors import TrainerError

CPU_LOGITS = 2**28
"""Bytes of a micro-batch's logits where memory cannot be tried out; a pass takes three times so."""


@dataclass(frozen=True)
class Inputs:
    """What a run reads: folders, or a hub name for a model."""

    start: Path | str
    """The model to train on."""
    data: Path
    """Dataset folder, or corpus folder for Initial and Full."""
    review: tuple[Path, ...] = ()
    """Corpus and datasets of before, from which Mix-review and replay draw."""
    initial: Path | str | None = None
    """The study's initial model: RecAdam's anchor in preset paper."""
    cache: Path | None = None
    """Where tokens are kept, to be shared between runs; None: in the run's folder."""
    windows_before: int = 0
    """Windows trained since the initial model (``review.decay``)."""


@dataclass
class Progress:
    """Running figures of a run: what a checkpoint carries besides weights and moments."""

    step: int = 0
    """The step that comes next."""
    tokens: int = 0
    seconds: float = 0.0
    norm_mean: float = 0.0
    bad_in_a_row: int = 0
    skipped: int = 0
    loss: float = 0.0
    """Of the last step that was taken."""
    fingerprint: dict[str, str] = field(default_factory=dict)


def run(
    settings: TrainSettings,
    inputs: Inputs,
    out: Path,
    *,
    observe: Callable[[StepReport], None] | None = None,
    sinks: Sequence[str] = (),
    on: str = "auto",
) -> dict[str, Any]:
    """Train, or go on training, in ``out`` on device ``on``; return what ``run.json`` holds.

    A finished run is returned as it is; a killed one goes on from its newest checkpoint and
    ends with the same bits as an undisturbed one (on the CPU, or with ``deterministic``).

    Raises:
        TrainerError: a model, checkpoint or device that cannot be used, or a loss that does
            not recover. Checkpoints stay.
        DatasetError: a folder that breaks its contract.
        ConfigError: settings that do not fit the model.
    """
    with world(on) as me, device.determinism(wanted=settings.deterministic):
        device.begin_peak(me.device)

        # 1. Check everything that can be checked before anything is trained.
        paths = (inputs.data, *inputs.review)
        folders = [dataset.open_folder(path, verify=me.first) for path in paths]
        language = model.load(inputs.start)
        ratio = settings.review.ratio * settings.review.decay**inputs.windows_before
        fingerprint = record.fingerprint(
            settings,
            folders,
            language.tokenizer,
            start=inputs.start,
            initial=inputs.initial,
            ratio=ratio,
        )
        if (out / "run.json").exists():
            return record.finished(out / "run.json", fingerprint)
        checks.fit(settings, language.module, old=len(folders) > 1)

        # 2. Text to tokens; the first process does it, the others read.
        cache = inputs.cache or out / "tokens"
        if me.first:
            with files.locked(cache / "lock", wait=True):
                prepare_all(folders, language.tokenizer, cache, settings.sequence)
        me.barrier()
        new, *old = prepare_all(folders, language.tokenizer, cache, settings.sequence)
        mixture = Mixture(new, old if ratio else (), ratio=ratio, seed=settings.seed)

        # 3. How long the run is: places are rows, those of a later epoch counted again.
        places = math.ceil(settings.epochs * mixture.epoch_rows)
        steps = settings.steps or max(1, math.ceil(places / settings.batch))
        places = steps * settings.batch if settings.steps else places

        # 4. The method says which parameters train.
        method = methods.method(settings.method)
        initial = partial(model.weights, inputs.initial) if inputs.initial else None
        module = _prepared(method, language.module, Plan(settings, steps, initial), me.device)
        optimizer = make_optimizer(settings, module, me.device)
        shape = cost.shape_of(module)
        trainable = model.parameter_count(module, trainable=True)

        # 5. Go on where a killed run was.
        progress = Progress(fingerprint=fingerprint)
        if last := checkpoint.newest(out / "checkpoints"):
            progress = Progress(**checkpoint.load(last, module, optimizer, fingerprint))

        # 6. The loop.
        loop = Loop(settings, me, mixture, method, module, optimizer, shape, steps, places)
        observers = [observe] if observe else []
        with contextlib.ExitStack() as stack:
            if me.first:
                log = open_sinks(out, sinks, first_step=progress.step, config=as_dict(settings))
                observers.append(stack.enter_context(log).write)
            for report in loop.train(progress):
                if not me.first:
                    continue
                for take in observers:
                    take(report)
                if _saves(settings, progress, steps):
                    state, root = asdict(progress), out / "checkpoints"
                    checkpoint.save(root, module, optimizer, state, keep=settings.keep)

        # 7. The method finishes; the model is saved, the marker after it, and what only a
        # resumed run would need goes.
        with device.room_for("weights"):
            finished = method.finish(module)
        made = {
            "method": settings.method,
            "preset": settings.preset,
            "seed": settings.seed,
            "settings": as_dict(settings),
            "fingerprint": fingerprint,
            "data": {k: folders[0].data.get(k) for k in dataset.IDENTITY},
            "inputs": {
                "start": str(inputs.start),
                "data": str(inputs.data),
                "review": [str(path) for path in inputs.review],
            },
            "parameters": model.parameter_count(finished),
            "trainable_parameters": trainable,
            "text": {
                "documents": new.header["documents"],
                "tokens": new.count,
                "rows": new.rows,
                "reviewed_rows": mixture.drawn,
            },
            "micro_batch": loop.micro_batch,
            "costs": record.costs(
                me=me,
                steps=steps,
                skipped=progress.skipped,
                tokens=progress.tokens,
                seconds=progress.seconds,
                loss=progress.loss,
                flops=loop.flops,
                peak=loop.peak,
            ),
            "versions": device.versions(),
        }
        if me.first:
            model.save(model.LanguageModel(finished, language.tokenizer, str(out)), out / "model")
            files.write_json(out / "run.json", made)
            shutil.rmtree(out / "checkpoints", ignore_errors=True)
        me.barrier()
        return made


@dataclass
class Loop:
    """The steps of a run."""

    settings: TrainSettings
    me: World
    mixture: Mixture
    method: Method
    module: nn.Module
    optimizer: torch.optim.Optimizer
    shape: cost.Shape
    steps: int
    places: int

    def __post_init__(self) -> None:
        settings, me = self.settings, self.me
        gpu = me.device.startswith("cuda")
        self.flops = cost.flops_per_token(self.shape, settings.sequence)
        self.peak = cost.device_peak(me.device)
        self.bf16 = settings.precision == "bf16" or (settings.precision == "auto" and gpu)
        self.micro_batch = self._fitting_micro_batch()
        with device.room_for("optimizer"):  # to exchange gradients takes as much as they do
            self.parallel = (
                nn.parallel.DistributedDataParallel(self.module) if me.size > 1 else self.module
            )
        losses = partial(row_losses, self.parallel, mask=settings.mask)
        self.losses = torch.compile(losses) if settings.compile else losses

    def train(self, progress: Progress) -> Iterator[StepReport]:
        """Do the remaining steps; ``progress`` is up to date at each report.

        Raises:
            TrainerError: too many bad steps in a row, or no memory left.
        """
        settings, me = self.settings, self.me
        parameters = [p for group in self.optimizer.param_groups for p in group["params"]]
        for step in range(progress.step, self.steps):
            began = time.perf_counter()
            # Dropout, too, is a function of (seed, step), and of the process.
            torch.manual_seed((settings.seed * 1_000_003 + step) * 1024 + me.rank)
            place = step * settings.batch
            rows = self.mixture.rows(place, min(place + settings.batch, self.places))
            batch = self.mixture.batch(rows)
            tokens = int((batch.labels != IGNORE).sum())
            work = partial(self._backward, batch, tokens)
            # An attempt of one process alone would meet the exchange that the others are in.
            attempt = self._attempt if me.size == 1 else None
            sums = device.bearing(work, self.micro_batch, attempt)
            nll, nll_old, tokens_old = me.total(sums)

            lr = learning_rate(settings, step, self.steps)
            norm = float(nn.utils.clip_grad_norm_(parameters, settings.clip or math.inf))
            skipped = _is_bad(norm, nll, progress, settings)
            if not skipped:
                for group in self.optimizer.param_groups:
                    group["lr"] = lr * self.method.lr_scale(step)
                with device.room_for("optimizer"):
                    self.optimizer.step()
                    self.method.after_step(step, lr)
            self.optimizer.zero_grad(set_to_none=True)

            seconds = time.perf_counter() - began
            progress.step, progress.tokens = step + 1, progress.tokens + tokens
            progress.seconds += seconds
            loss = nll / tokens
            progress.loss = progress.loss if skipped else loss
            rate = tokens / seconds
            yield StepReport(
                step=step,
                steps=self.steps,
                loss=loss,
                loss_old=nll_old / tokens_old if tokens_old else None,
                lr=lr,
                grad_norm=norm,
                skipped=skipped,
                tokens=progress.tokens,
                tokens_per_second=rate,
                mfu=rate * self.flops / (self.peak * me.size) if self.peak else None,
                memory_bytes=device.peak_memory(me.device),
            )

    def _backward(self, batch: Batch, tokens: int) -> list[float]:
        """Add the step's gradient of the mean loss.

        Returns this process's sums: nll of all rows, of old rows, and the tokens of these.
        """
        me = self.me
        mine = batch.share(me.rank, me.size)
        parts = list(micro_batches(len(mine), self.micro_batch))
        sums = torch.zeros(3, dtype=torch.float64, device=me.device)
        for start, end in parts:
            part = mine.part(start, end, me.device)
            with self._unsynchronised() if end < len(mine) else contextlib.nullcontext():
                with torch.autocast(_kind(me.device), dtype=torch.bfloat16, enabled=self.bf16):
                    losses = self.losses(part)
                # DDP averages over processes; the mean wanted is over all tokens.
                torch.autograd.backward(losses.sum() * (me.size / tokens))
            found = losses.detach().double()
            counted = (part.labels != IGNORE).sum(dim=1)
            sums += torch.stack([found.sum(), (found * part.old).sum(), (counted * part.old).sum()])
        return [float(value) for value in sums.tolist()]

    def _unsynchronised(self) -> contextlib.AbstractContextManager[None]:
        """Within it gradients add up locally; the last micro-batch exchanges them."""
        if isinstance(self.parallel, nn.parallel.DistributedDataParallel):
            return self.parallel.no_sync()
        return contextlib.nullcontext()

    def _fitting_micro_batch(self) -> int:
        """The micro-batch to use: tried on a GPU before anything is trained, else by its logits."""
        settings, me = self.settings, self.me
        most = -(-settings.batch // me.size)
        wanted = min(settings.micro_batch or most, most)
        if not me.device.startswith("cuda"):
            logits = settings.sequence * self.shape.head // self.shape.width * 4
            return wanted if settings.micro_batch else max(1, min(wanted, CPU_LOGITS // logits))
        size = device.fitting(self._attempt, wanted, fixed=bool(settings.micro_batch))
        self.optimizer.zero_grad(set_to_none=True)
        torch.cuda.empty_cache()
        return size

    def _attempt(self, rows: int) -> None:
        """Take the memory that a step with this micro-batch takes; change no weight."""
        self.optimizer.zero_grad(set_to_none=True)
        torch.cuda.empty_cache()
        trained = [p for group in self.optimizer.param_groups for p in group["params"]]
        # Adam's two moments come with the first step only, but then they must fit as well.
        with device.room_for("optimizer"):
            moments = [
                torch.empty_like(p) for p in trained if not self.optimizer.state for _ in "12"
            ]
        batch = self.mixture.batch(self.mixture.rows(0, 1).repeat(rows, axis=0))
        with torch.autocast(_kind(self.me.device), dtype=torch.bfloat16, enabled=self.bf16):
            part = batch.part(0, rows, self.me.device)
            losses = row_losses(self.module, part, mask=self.settings.mask)
        torch.autograd.backward(losses.sum() * 0.0)
        moments.clear()


def _prepared(method: Method, module: nn.Module, plan: Plan, on: str) -> nn.Module:
    """The module on its device, as the method trains it."""
    with device.room_for("weights"):
        return method.prepare(module.to(on), plan).to(on).train()


def row_losses(module: nn.Module, batch: Batch, *, mask: str) -> Tensor:
    """Summed negative log-likelihood of each row, shape ``(rows,)``, in fp32 nats."""
    if mask == "document":
        allowed = document_mask(batch.segments)
        logits = model.forward(module, batch.ids, mask=allowed, positions=batch.positions)
    else:
        logits = model.forward(module, batch.ids)
    # bf16 has three digits: a cross entropy computed in it is off in the second decimal.
    logits, labels = logits.float().flatten(0, 1), batch.labels.flatten()
    losses = F.cross_entropy(logits, labels, ignore_index=IGNORE, reduction="none")
    return losses.view(batch.labels.shape).sum(dim=1)


def _is_bad(norm: float, nll: float, progress: Progress, settings: TrainSettings) -> bool:
    """Whether the step must not be taken; counts, and gives up after too many in a row."""
    finite = math.isfinite(norm) and math.isfinite(nll)
    mean = progress.norm_mean
    if finite and not (settings.spike and mean and norm > settings.spike * mean):
        progress.norm_mean = norm if not mean else 0.95 * mean + 0.05 * norm
        progress.bad_in_a_row = 0
        return False
    progress.bad_in_a_row += 1
    progress.skipped += 1
    if progress.bad_in_a_row >= settings.max_bad_steps:
        what = f"gradient norm {norm:.3g}, running mean {mean:.3g}"
        raise TrainerError(
            f"step {progress.step}: {progress.bad_in_a_row} bad steps in a row "
            f"({what if finite else 'loss or gradient not finite'}); lower lr"
        )
    return True


def _saves(settings: TrainSettings, progress: Progress, steps: int) -> bool:
    every = settings.checkpoint_every
    return bool(every) and progress.step % every == 0 and progress.step < steps


def _kind(on: str) -> str:
    return on.partition(":")[0]
