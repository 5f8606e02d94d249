"""Scores as sums: what was measured is in the value, perplexity is computed at the end.

A :class:`Scores` holds, for every instance (fact or document), the summed negative
log-likelihood in nats, the tokens scored and the bytes of text they cover. All figures follow
from these, so none depends on batches, padding or order, and two models can be compared
instance by instance.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom

from trainer.model import LanguageModel, forward

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Scores:
    """Sums per instance, each of shape ``(instances,)``."""

    nll: Floats
    tokens: Floats
    bytes: Floats

    def __len__(self) -> int:
        return int((self.tokens > 0).sum())

    @property
    def perplexity(self) -> float | None:
        """Exp of nll over tokens, token-weighted; None: no token was scored."""
        total = self.tokens.sum()
        return exp(float(self.nll.sum() / total)) if total else None

    @property
    def per_instance(self) -> float | None:
        """Exp of the mean over instances of their own mean nll a token: each counts the same."""
        used = self.tokens > 0
        return exp(float((self.nll[used] / self.tokens[used]).mean())) if used.any() else None

    @property
    def bits_per_byte(self) -> float | None:
        """Comparable between tokenizers."""
        total = self.bytes.sum()
        return float(self.nll.sum() / math.log(2) / total) if total else None

    def interval(self, *, samples: int = 1000, seed: int = 0) -> tuple[float, float] | None:
        """95 % bootstrap interval of the perplexity over instances."""
        if not len(self):
            return None
        nll, tokens = _resample((self.nll, self.tokens), samples, seed).T
        logs = nll[tokens > 0] / tokens[tokens > 0]
        low, high = _middle(logs)
        return exp(low), exp(high)

    def summary(self, *, samples: int = 1000, seed: int = 0) -> dict[str, Any]:
        """All figures, as JSON values; null where nothing was scored."""
        interval = self.interval(samples=samples, seed=seed)
        return {
            "perplexity": self.perplexity,
            "low": interval[0] if interval else None,
            "high": interval[1] if interval else None,
            "per_instance": self.per_instance,
            "bits_per_byte": self.bits_per_byte,
            "instances": len(self),
            "tokens": int(self.tokens.sum()),
            "nll": float(self.nll.sum()),
        }


def log_ratio(
    one: Scores, other: Scores, *, samples: int = 1000, seed: int = 0
) -> tuple[float, float, float]:
    """log(perplexity of ``one`` / of ``other``) on the same instances, with a 95 % interval.

    Paired: each bootstrap sample takes the same instances for both.

    Raises:
        ValueError: they do not hold the same instances, or nothing.
    """
    if len(one.nll) != len(other.nll) or not len(one) or not len(other):
        raise ValueError(f"expected the same instances, found {len(one.nll)} and {len(other.nll)}")
    columns = (one.nll, one.tokens, other.nll, other.tokens)
    nll, tokens, other_nll, other_tokens = _resample(columns, samples, seed).T
    used = (tokens > 0) & (other_tokens > 0)
    with np.errstate(invalid="ignore"):  # two infinite ones have no ratio
        ratios = nll[used] / tokens[used] - other_nll[used] / other_tokens[used]
        value = one.nll.sum() / one.tokens.sum() - other.nll.sum() / other.tokens.sum()
    return float(value), *_middle(ratios)


def averages(one: float | None, other: float | None) -> dict[str, float | None]:
    """Arithmetic and geometric mean of two perplexities: the first follows the larger."""
    if one is None or other is None:
        return {"arithmetic": None, "geometric": None}
    product = one * other
    # Perplexities reach 1e304, their product does not.
    root = math.sqrt(one) * math.sqrt(other) if math.isinf(product) else math.sqrt(product)
    return {"arithmetic": one / 2 + other / 2, "geometric": root}


@torch.no_grad()
def token_nll(
    language: LanguageModel,
    sequences: Sequence[Sequence[int]],
    *,
    batch: int = 32,
    padding: str = "right",
    bf16: bool = False,
) -> list[Floats]:
    """Negative log-likelihood of every token but the first, in nats, per sequence.

    Rows are padded on the right, where a causal model cannot see it; ``padding = "left"`` is
    there to show that the side does not matter, and masks pads and shifts positions.
    """
    module = language.module.eval()
    device = next(module.parameters()).device
    order = sorted(range(len(sequences)), key=lambda i: (-len(sequences[i]), i))
    out: list[Floats] = [np.empty(0)] * len(sequences)
    for start in range(0, len(order), batch):
        chosen = order[start : start + batch]
        rows = [torch.tensor(sequences[i], dtype=torch.long) for i in chosen]
        width = max(len(row) for row in rows)
        ids = torch.full((len(rows), width), language.end)
        mask = torch.zeros_like(ids)
        for number, row in enumerate(rows):
            place = slice(width - len(row), width) if padding == "left" else slice(0, len(row))
            ids[number, place] = row
            mask[number, place] = 1
        # The last token is a target alone: a row may be one token longer than the model.
        read, seen = ids[:, :-1].to(device), mask[:, :-1].to(device)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=bf16):
            if padding == "left":
                positions = (seen.cumsum(dim=1) - 1).clamp(min=0)
                logits = forward(module, read, mask=seen, positions=positions)
            else:
                logits = forward(module, read)
        losses = F.cross_entropy(
            logits.float().flatten(0, 1), ids[:, 1:].to(device).flatten(), reduction="none"
        ).view(len(rows), width - 1)
        for number, index in enumerate(chosen):
            length = len(sequences[index])
            first = width - length if padding == "left" else 0
            out[index] = losses[number, first : first + length - 1].double().cpu().numpy()
    return out


@dataclass(frozen=True)
class Span:
    """A piece of a document for one forward pass: its tokens, and how many of the last count."""

    ids: tuple[int, ...]
    scored: int


def rolling(ids: Sequence[int], prefix: int, length: int, stride: int | None = None) -> list[Span]:
    """Cut a document so that each of its tokens is scored exactly once.

    The first piece reads ``prefix`` and scores up to ``length`` tokens; each later one scores
    the next ``stride`` (default ``length``) with as much context as fits, as
    lm-evaluation-harness does.
    """
    tokens = [prefix, *ids]
    done, pieces = 0, []
    while done < len(ids):
        end = min(done + (length if not done else stride or length), len(ids))
        first = max(0, end - length)
        pieces.append(Span(tuple(tokens[first : end + 1]), end - done))
        done = end
    return pieces


def exp(value: float) -> float:
    """Exponential of ``value``; infinite where a float cannot hold it."""
    return math.inf if value >= 700 else math.exp(value)  # noqa: PLR2004 - where fp64 overflows


def _resample(columns: Sequence[Floats], samples: int, seed: int) -> Floats:
    """Sums of each column over instances drawn with replacement, ``(samples, columns)``.

    A sample takes the same instances from every column.
    """
    random = np.random.default_rng(seed)
    table = np.stack(columns, axis=1)
    count = len(table)
    sums = [table[random.integers(count, size=count)].sum(axis=0) for _ in range(samples)]
    return np.array(sums)


def _middle(values: Floats) -> tuple[float, float]:
    """Where the middle 95 % of values begin and end; infinite ones count, NaN spoils all."""
    if np.isfinite(values).all():
        low, high = np.quantile(values, (0.025, 0.975))
        return float(low), float(high)
    if np.isnan(values).any():
        return math.nan, math.nan
    # Between an infinite value and its neighbour there is nothing to interpolate.
    low = np.quantile(values, 0.025, method="lower")
    high = np.quantile(values, 0.975, method="higher")
    return float(low), float(high)
