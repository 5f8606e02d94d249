"""Light-tuning: a short training on other facts, so that a model answers in the form asked.

As in the paper's appendix: every parameter, one epoch, learning rate 1e-5, batches of 32,
facts of at most 25 tokens. The loss counts the object and the end after it, the rest is the
question. Weight decay is on matrices alone. The dataset's own light-tuning facts overlap none
of its probes.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom

from trainer import probes
from trainer.config import TrainSettings
from trainer.data import IGNORE, shuffled
from trainer.dataset import ProbeRow
from trainer.model import LanguageModel, forward
from trainer.optimizer import make_optimizer


@dataclass(frozen=True)
class LightTuning:
    """The paper's values."""

    epochs: int = 1
    lr: float = 1e-5
    batch: int = 32
    length: int = 25
    """Tokens of a fact; longer ones are cut."""


def tune(
    language: LanguageModel,
    facts: Sequence[ProbeRow],
    settings: LightTuning | None = None,
    *,
    seed: int = 0,
    rows: int = 32,
    bf16: bool = False,
) -> LanguageModel:
    """A copy of the model, tuned on ``facts`` in an order that the seed decides.

    ``rows``: facts a forward pass; a step's gradient is that of its whole batch.
    """
    settings = settings or LightTuning()
    module = copy.deepcopy(language.module)
    tuned = LanguageModel(module, language.tokenizer, language.source)
    if not facts:
        return tuned
    device = next(module.parameters()).device
    for parameter in module.parameters():
        parameter.requires_grad_(True)  # noqa: FBT003 - torch's own signature
    module.train()
    torch.manual_seed(seed)
    chosen = TrainSettings(method="light-tuning", lr=settings.lr)
    optimizer = make_optimizer(chosen, module, device.type)
    encoded = probes.encode(language, facts)
    for epoch in range(settings.epochs):
        order = shuffled(len(encoded), seed, epoch)
        for start in range(0, len(order), settings.batch):
            batch = [encoded[i] for i in order[start : start + settings.batch]]
            ids, labels = _rows(batch, language.end, settings.length)
            counted = int((labels != IGNORE).sum())
            for some, targets in zip(
                torch.split(ids, rows), torch.split(labels, rows), strict=True
            ):
                with torch.autocast(device.type, dtype=torch.bfloat16, enabled=bf16):
                    logits = forward(module, some.to(device)).float().flatten(0, 1)
                loss = F.cross_entropy(logits, targets.to(device).flatten(), reduction="sum")
                torch.autograd.backward(loss / counted)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    module.eval()
    return tuned


def _rows(
    chosen: Sequence[probes.Encoded], end: int, length: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and targets, each ``(facts, width)``: position i predicts what follows it."""
    cut = [(e.ids[: length + 1], e.object[:length]) for e in chosen]
    width = max(len(ids) for ids, _ in cut)
    ids = torch.full((len(cut), width), end)
    labels = torch.full((len(cut), width), IGNORE)
    for row, (tokens, is_object) in enumerate(cut):
        ids[row, : len(tokens)] = torch.tensor(tokens)
        targets = [t if o else IGNORE for t, o in zip(tokens[1:], is_object, strict=True)]
        labels[row, : len(tokens)] = torch.tensor([*targets, end])
    return ids, labels
