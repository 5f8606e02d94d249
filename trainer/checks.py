"""What a run needs of its model and settings together, asked before anything is trained."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from trainer import methods, model
from trainer.config import TrainSettings
from trainer.data import document_mask
from trainer.methods.kadapter import KAdapter, KAdapterLM
from twiki.errors import ConfigError, TrainerError

PROBE = 4
"""Tokens of a document that tries a model's masks out."""

_MASK_ERRORS = (
    AssertionError,
    AttributeError,
    IndexError,
    KeyError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What models raise on a mask of a shape that they do not know."""


def length(settings: TrainSettings, config: Any) -> None:  # noqa: ANN401 - HF
    """Check that a row fits what a model of this configuration reads.

    Raises:
        ConfigError: it has more tokens than the model has positions, or than the model looks
            back at where the documents of a row are to be kept apart.
    """
    config = config.get_text_config()
    most = getattr(config, "max_position_embeddings", None)
    if isinstance(most, int) and settings.sequence > most:
        raise ConfigError(
            f"sequence {settings.sequence}: the model has {most} positions; set sequence={most} "
            "or less"
        )
    back = getattr(config, "sliding_window", None)
    if settings.mask == "document" and isinstance(back, int) and settings.sequence > back:
        # transformers takes a mask of documents in the place of its sliding window.
        raise ConfigError(
            f"sequence {settings.sequence}: the model looks back {back} tokens, which "
            f"mask=document would set aside; set sequence={back}, or mask=none"
        )


def shapes(chosen: Sequence[TrainSettings], source: Path | str) -> None:
    """Check that settings fit the shape of a model, of which no weight is read.

    Raises:
        ConfigError: rows longer than the model reads, or a value that fits no model.
        TrainerError: there is no model, or it has no such layers.
    """
    config, outline = model.configuration(source), model.outline(source)
    for settings in chosen:
        length(settings, config)
        methods.method(settings.method).check(outline, settings)


def starts(chosen: Sequence[TrainSettings], source: Path | str) -> None:
    """Check all that is to be trained from a model before the first of it is.

    Raises:
        ConfigError, TrainerError: as :func:`shapes` and :func:`fit` have them.
    """
    shapes(chosen, source)
    if packed := [settings for settings in chosen if settings.mask == "document"]:
        _apart(packed[0], model.load(source).module)


def fit(settings: TrainSettings, module: nn.Module, *, old: bool) -> None:
    """Check that model, settings and text go together; ``old``: there is text to review.

    Raises:
        ConfigError: rows longer than the model reads, or a value that fits no model.
        TrainerError: nothing to review, adapters that the method would lose, no such layers,
            or documents in a row that the model does not keep apart.
    """
    length(settings, module.config)
    if settings.review.ratio and not old:
        raise TrainerError(f"{settings.method}: review.ratio is set but no old text was given")
    if isinstance(module, KAdapterLM) and settings.method != KAdapter.name:
        # Saved are the adapters and a reference to the base: what it learned would be lost.
        raise TrainerError(
            f"{settings.method}: the start model has adapters, on which {KAdapter.name} alone "
            "can train; give a plain model"
        )
    methods.method(settings.method).check(module, settings)
    if settings.mask == "document":
        _apart(settings, module)


def _apart(settings: TrainSettings, module: nn.Module) -> None:
    if separates(module):
        return
    kind = getattr(module.config, "model_type", type(module).__name__)
    option = "--set-initial" if settings.method == "initial" else "--set"
    raise TrainerError(
        f"{settings.method}: mask=document, but this kind of model ({kind}) does not keep the "
        f"documents of a row apart; set mask=none ({option} mask=none), with which each sees "
        "those before it in its row"
    )


def separates(module: nn.Module) -> bool:
    """Whether packed documents answer as they do alone, and see nothing of each other.

    Tried with a few tokens: not every kind of model takes a mask that says which token sees
    which, and some mix neighbours in other ways than attention.

    Raises:
        TrainerError: the model gives no finite logits at all.
    """
    embedding: nn.Module = module.get_input_embeddings()  # type: ignore[operator] # HF
    weight: Tensor = embedding.weight  # type: ignore[assignment] # HF
    tokens = torch.arange(3 * PROBE, device=weight.device) % len(weight)
    first, other, last = tokens.view(3, PROBE)
    rows = torch.stack([torch.cat([first, last]), torch.cat([other, last])])
    places = torch.arange(2 * PROBE, device=weight.device).expand_as(rows)
    mask, positions = document_mask(places // PROBE), places % PROBE
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            alone = model.forward(module, last[None])[0]
            try:
                packed = model.forward(module, rows, mask=mask, positions=positions)[:, PROBE:]
            except _MASK_ERRORS:
                return False
    finally:
        module.train(was_training)
    size = float(alone.abs().max())
    if not math.isfinite(size):
        raise TrainerError("the start model gives no finite logits: its weights are broken")
    leak, change = (float((packed[0] - x).abs().max()) for x in (packed[1], alone))
    # Rows of one shape are summed alike, whatever stands before; alone, in another order.
    return leak <= 1e-5 * size and change <= 1e-4 * size
