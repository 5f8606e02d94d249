"""Facts as token sequences, with the tokens of the object known.

``Ada Bern residence Aldorp`` is tokenised as one string; the object's tokens are those that
cover any of its characters, so tokenizers that join across the boundary are handled too.
Every sequence begins with the prefix token, hence every token of the fact is scored.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom

from trainer import tokenizer
from trainer.data import IGNORE
from trainer.dataset import ProbeRow
from trainer.model import LanguageModel, forward
from trainer.scores import Scores, exp, token_nll


@dataclass(frozen=True)
class Encoded:
    """Token ids with the prefix in front; ``object[i]``: does ``ids[i + 1]`` belong to it."""

    ids: tuple[int, ...]
    object: tuple[bool, ...]


def encode(language: LanguageModel, probes: Sequence[ProbeRow]) -> list[Encoded]:
    """Encode each probe."""
    texts = [probe.text for probe in probes]
    out = []
    encoded = tokenizer.encode_offsets(language.tokenizer, texts)
    for probe, (ids, spans) in zip(probes, encoded, strict=True):
        begin = len(probe.prompt) + 1
        mask = tuple(end > begin for _, end in spans)
        out.append(Encoded((language.prefix, *ids), mask))
    return out


@dataclass(frozen=True)
class ProbeScores:
    """Both ways to score a fact."""

    object: Scores
    """The object's tokens given subject and relation: the headline."""
    whole: Scores
    """All tokens of "subject relation object": the paper's figure."""


def score(
    language: LanguageModel,
    probes: Sequence[ProbeRow],
    *,
    batch: int = 32,
    padding: str = "right",
    bf16: bool = False,
) -> ProbeScores:
    """Score facts; instance i is ``probes[i]``."""
    encoded = encode(language, probes)
    losses = token_nll(language, [e.ids for e in encoded], batch=batch, padding=padding, bf16=bf16)
    masks = [np.array(e.object, dtype=bool) for e in encoded]
    pairs = list(zip(losses, masks, strict=True))
    return ProbeScores(
        object=Scores(
            nll=np.array([float(nll[mask].sum()) for nll, mask in pairs]),
            tokens=np.array([float(mask.sum()) for mask in masks]),
            bytes=np.array([float(len(p.object.encode())) for p in probes]),
        ),
        whole=Scores(
            nll=np.array([float(nll.sum()) for nll in losses]),
            tokens=np.array([float(len(nll)) for nll in losses]),
            bytes=np.array([float(len(p.text.encode())) for p in probes]),
        ),
    )


@torch.no_grad()
def reference_batch_mean(
    language: LanguageModel,
    probes: Sequence[ProbeRow],
    *,
    batch: int = 32,
    length: int = 25,
    rows: int = 32,
) -> float | None:
    """The figure that the paper's published code would print, for comparison only.

    exp of the mean over batches of each batch's token mean, whole facts cut to ``length``
    tokens, padded on the left without position ids and without a begin token: the first
    token is predicted from a pad. It depends on the batch size, not on ``rows``, the facts a
    forward pass. The end token stands for the pad token that their code added with random
    weights.
    """
    ids = tokenizer.encode(language.tokenizer, [p.text for p in probes])
    device = next(language.module.parameters()).device
    means = []
    for start in range(0, len(ids), batch):
        cut = [row[:length] for row in ids[start : start + batch]]
        full = torch.full((len(cut), length), language.end)
        mask = torch.zeros_like(full)
        for number, row in enumerate(cut):
            full[number, length - len(row) :] = torch.tensor(row)
            mask[number, length - len(row) :] = 1
        total = 0.0
        for some, seen in zip(torch.split(full, rows), torch.split(mask, rows), strict=True):
            read, real = some.to(device), seen.to(device)
            logits = forward(language.module.eval(), read, mask=real)
            labels = read.masked_fill(real == 0, IGNORE)[:, 1:].flatten()
            logits = logits[:, :-1].float().flatten(0, 1)
            total += float(F.cross_entropy(logits, labels, reduction="sum"))
        means.append(total / max(int(mask[:, 1:].sum()), 1))
    return exp(sum(means) / len(means)) if means else None
