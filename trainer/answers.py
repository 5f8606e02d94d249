"""Answers in words: what a model writes after subject and relation, against what is right."""

import re
import string
from collections import Counter, defaultdict
from collections.abc import Sequence

import torch

from trainer import tokenizer
from trainer.dataset import ProbeRow
from trainer.model import LanguageModel, forward

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@torch.no_grad()
def generate(
    language: LanguageModel,
    prompts: Sequence[str],
    *,
    new_tokens: int = 10,
    batch: int = 64,
    bf16: bool = False,
) -> list[str]:
    """Greedy continuations of at most ``new_tokens``, up to the end token or a line feed.

    Prompts of one length are answered together, so there is no padding, and each step reads
    the whole row again, so no cache can lie: answers are short.
    """
    module = language.module.eval()
    device = next(module.parameters()).device
    groups: defaultdict[int, list[int]] = defaultdict(list)
    encoded = [[language.prefix, *ids] for ids in tokenizer.encode(language.tokenizer, prompts)]
    for index, ids in enumerate(encoded):
        groups[len(ids)].append(index)
    out = [""] * len(prompts)
    for length, members in sorted(groups.items()):
        for start in range(0, len(members), batch):
            chosen = members[start : start + batch]
            rows = torch.tensor([encoded[i] for i in chosen], device=device)
            for _ in range(new_tokens):
                with torch.autocast(device.type, dtype=torch.bfloat16, enabled=bf16):
                    logits = forward(module, rows)[:, -1]
                rows = torch.cat([rows, logits.float().argmax(dim=-1, keepdim=True)], dim=1)
            for index, row in zip(chosen, rows[:, length:].tolist(), strict=True):
                ended = row.index(language.end) if language.end in row else len(row)
                text = str(language.tokenizer.decode(row[:ended]))
                out[index] = text.partition("\n")[0].strip()
    return out


def measure(probes: Sequence[ProbeRow], answers: Sequence[str]) -> dict[str, float | int | None]:
    """Exact match and F1 in percent, each against the best of a probe's right answers."""
    if not probes:
        return {"exact_match": None, "f1": None, "facts": 0}
    pairs = list(zip(probes, answers, strict=True))
    exact = [max(_normal(a) == _normal(g) for g in p.golds or (p.object,)) for p, a in pairs]
    f1 = [max(f1_of(a, g) for g in p.golds or (p.object,)) for p, a in pairs]
    return {
        "exact_match": 100 * sum(exact) / len(pairs),
        "f1": 100 * sum(f1) / len(pairs),
        "facts": len(pairs),
    }


def f1_of(answer: str, gold: str) -> float:
    """Word overlap as SQuAD counts it: lower case, no punctuation, no articles."""
    one, other = _normal(answer).split(), _normal(gold).split()
    if not one or not other:
        return float(one == other)
    common = sum((Counter(one) & Counter(other)).values())
    if not common:
        return 0.0
    precision, recall = common / len(one), common / len(other)
    return 2 * precision * recall / (precision + recall)


def _normal(text: str) -> str:
    words = _ARTICLES.sub(" ", text.casefold().translate(_PUNCTUATION))
    return " ".join(words.split())
