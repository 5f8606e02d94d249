"""Learning rates as functions of the step: no state, so a resumed run needs none."""

import math

from trainer.config import TrainSettings


def learning_rate(settings: TrainSettings, step: int, steps: int) -> float:
    """Learning rate of ``step``, counted from 0, in a run of ``steps``.

    ``one-cycle`` (the paper's): from lr / 25 up to lr in a cosine over ``warmup`` of the
    steps, then down to lr / 250,000, as torch's OneCycleLR does. ``rewarm``: linearly from
    near 0 to lr, then a cosine down to ``final_lr`` of it.
    """
    if settings.schedule == "constant" or steps <= 1:
        return settings.lr
    if settings.schedule == "one-cycle":
        peak = settings.warmup * steps - 1
        low, end = settings.lr / 25, settings.lr / 25 / 1e4
        if step <= peak and peak > 0:
            return _cosine(low, settings.lr, step / peak)
        peak = max(peak, 0.0)
        return _cosine(settings.lr, end, (step - peak) / max(steps - 1 - peak, 1.0))
    warm = max(1, round(settings.warmup * steps))
    if step < warm:
        return settings.lr * (step + 1) / warm
    return _cosine(settings.lr, settings.lr * settings.final_lr, (step - warm + 1) / (steps - warm))


def _cosine(start: float, end: float, share: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * min(max(share, 0.0), 1.0))) / 2
