"""What a run needs of its model and settings together, asked before anything is trained."""

from torch import nn

from trainer.config import TrainSettings
from trainer.methods.kadapter import KAdapter, KAdapterLM
from twiki.errors import ConfigError, TrainerError


def length(settings: TrainSettings, most: int | None) -> None:
    """Check that a row fits a model that reads ``most`` tokens.

    Raises:
        ConfigError: it does not.
    """
    if isinstance(most, int) and settings.sequence > most:
        raise ConfigError(f"sequence {settings.sequence}: the model has {most} positions")


def fit(settings: TrainSettings, module: nn.Module, *, old: bool) -> None:
    """Check that model, settings and text go together; ``old``: there is text to review.

    Raises:
        ConfigError: rows longer than the model reads.
        TrainerError: nothing to review, or adapters that the method would lose.
    """
    length(settings, getattr(module.config, "max_position_embeddings", None))
    if settings.review.ratio and not old:
        raise TrainerError(f"{settings.method}: review.ratio is set but no old text was given")
    if isinstance(module, KAdapterLM) and settings.method != KAdapter.name:
        # Saved are the adapters and a reference to the base: what it learned would be lost.
        raise TrainerError(
            f"{settings.method}: the start model has adapters, on which {KAdapter.name} alone "
            "can train; give a plain model"
        )
