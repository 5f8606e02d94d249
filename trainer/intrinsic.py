"""Perplexity on running text: the diffset and the non-diffset, all tokens and proper nouns."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trainer import pos, tokenizer
from trainer.data import shuffled
from trainer.dataset import Folder
from trainer.model import LanguageModel
from trainer.scores import Floats, Scores, Span, rolling, token_nll

BATCH = 16
"""Rows a forward pass: with 50,000 words and 512 tokens a row, logits of 1.6 GB."""


@dataclass(frozen=True)
class TextScores:
    """Scores by document."""

    all: Scores
    proper: Scores | None
    """Tokens of proper nouns alone; None: no tagger was at hand."""
    rows: int
    """Forward passes' rows."""


def choose(folder: Folder, part: str, *, characters: int, seed: int) -> list[str]:
    """Documents of a part in an order that the seed decides, up to ``characters`` in all."""
    # Two passes, so that of a large part only what is used is held.
    sizes = [len(text) for text in folder.texts(part)]
    chosen: list[int] = []
    total = 0
    for index in shuffled(len(sizes), seed).tolist():
        if total >= characters:
            break
        chosen.append(index)
        total += sizes[index]
    places = {index: place for place, index in enumerate(chosen)}
    texts = [""] * len(chosen)
    for index, text in enumerate(folder.texts(part)):
        if index in places:
            texts[places[index]] = text
    return texts


def score(
    language: LanguageModel,
    texts: Sequence[str],
    spans: Sequence[pos.Spans] | None = None,
    *,
    length: int = 512,
    stride: int | None = None,
    rows: int = 10_000,
    batch: int = BATCH,
    bf16: bool = False,
) -> TextScores:
    """Score documents until ``rows`` rows are full; each token once, the first one included.

    ``spans`` are the proper nouns of each text. A document that ends beyond the last row
    counts with the part that was scored.
    """
    encoded = tokenizer.encode_offsets(language.tokenizer, texts)
    pieces: list[Span] = []
    owner: list[int] = []
    for number, (ids, _) in enumerate(encoded):
        for piece in rolling(ids, language.prefix, length, stride):
            if len(pieces) < rows:
                pieces.append(piece)
                owner.append(number)
    losses = token_nll(language, [p.ids for p in pieces], batch=batch, bf16=bf16)
    documents: list[list[Floats]] = [[] for _ in texts]
    for number, piece, values in zip(owner, pieces, losses, strict=True):
        documents[number].append(values[len(values) - piece.scored :])
    used = [i for i, found in enumerate(documents) if found]
    nll = [np.concatenate(documents[i]) for i in used]
    scored = [(encoded[i][1][: len(values)], texts[i]) for i, values in zip(used, nll, strict=True)]
    every = _scores(nll, [np.ones(len(v), dtype=bool) for v in nll], scored)
    proper = None
    if spans is not None:
        masks = [
            np.array(pos.proper(texts[i], offsets, spans[i]), dtype=bool)
            for i, (offsets, _) in zip(used, scored, strict=True)
        ]
        proper = _scores(nll, masks, scored)
    return TextScores(every, proper, len(pieces))


def read(
    language: LanguageModel,
    folder: Folder,
    part: str,
    tagger: pos.Tagger | None,
    cache: Path | None,
    *,
    length: int = 512,
    rows: int = 10_000,
    batch: int = BATCH,
    seed: int = 0,
    bf16: bool = False,
) -> TextScores:
    """Choose documents of a dataset's part, tag them, score them."""
    # Six characters a token are more than any tokenizer here reaches, so the rows fill up.
    texts = choose(folder, part, characters=rows * length * 6, seed=seed)
    spans = None
    if tagger:
        spans = pos.cached(tagger, texts, cache, f"{folder.digest} {part} {seed} {rows} {length}")
    return score(language, texts, spans, length=length, rows=rows, batch=batch, bf16=bf16)


def _scores(
    nll: Sequence[Floats],
    masks: Sequence[np.typing.NDArray[np.bool_]],
    scored: Sequence[tuple[list[tuple[int, int]], str]],
) -> Scores:
    """Sums over the tokens that a mask picks; bytes are those of the characters they cover."""
    sizes = []
    for mask, (offsets, text) in zip(masks, scored, strict=True):
        covered = bytearray(len(text))
        for keep, (start, end) in zip(mask, offsets, strict=True):
            if keep:
                covered[start:end] = b"\x01" * (end - start)
        size = sum(len(c.encode()) for c, hit in zip(text, covered, strict=True) if hit)
        sizes.append(float(size))
    return Scores(
        nll=np.array([float(v[m].sum()) for v, m in zip(nll, masks, strict=True)]),
        tokens=np.array([float(m.sum()) for m in masks]),
        bytes=np.array(sizes),
    )
