"""``run.json``: what a finished run says of itself, and when it may be taken for done."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trainer import device, files, model
from trainer.config import TrainSettings
from trainer.dataset import Folder
from trainer.processes import World
from trainer.tokenizer import digest as tokenizer_digest
from twiki.errors import TrainerError


def fingerprint(
    settings: TrainSettings,
    folders: Sequence[Folder],
    words: Any,  # noqa: ANN401 - transformers ships no types
    *,
    start: Path | str,
    initial: Path | str | None,
    ratio: float,
) -> dict[str, str]:
    """What a checkpoint or a finished run was made from, by part, to know it again."""
    # RecAdam's anchor where it is not the start.
    anchor = initial if settings.recadam.anchor == "initial" else None
    made_from = {
        "settings": settings.digest(),
        "model": model.weights_digest(start),
        "data": files.sha256_text(" ".join(folder.digest for folder in folders)),
        "tokenizer": tokenizer_digest(words),
        "anchor": "" if anchor is None else model.weights_digest(anchor),
    }
    if settings.review.ratio and settings.review.decay != 1:
        # The settings do not say how many windows came before.
        made_from["mixture"] = repr(ratio)
    return made_from


def finished(done: Path, fingerprint: dict[str, str]) -> dict[str, Any]:
    """The record of a run that is done.

    Raises:
        TrainerError: it was made from something else than now asked for.
    """
    record = files.read_json(done)
    for part, value in fingerprint.items():
        if record["fingerprint"].get(part, "") != value:
            raise TrainerError(
                f"{done}: finished with different {part}; a run is trained once: choose another "
                "runs folder to train it differently"
            )
    return record


def costs(
    *,
    me: World,
    steps: int,
    skipped: int,
    tokens: int,
    seconds: float,
    loss: float,
    flops: float,
    peak: float | None,
) -> dict[str, Any]:
    """What a run took; ``flops`` is a token's, ``peak`` a device's FLOP/s where it is known."""
    rate = tokens / max(seconds, 1e-9)
    return {
        "device": device.name_of(me.device),
        "processes": me.size,
        "steps": steps,
        "skipped_steps": skipped,
        "tokens": tokens,
        "final_loss": loss,
        "flops_per_token": flops,
        "flops": flops * tokens,
        "seconds": seconds,
        "tokens_per_second": rate,
        "mfu": rate * flops / (peak * me.size) if peak else None,
        "memory_bytes": device.peak_memory(me.device),
    }
