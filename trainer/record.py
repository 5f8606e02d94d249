"""``run.json``: what a finished run says of itself, and when it may be taken for done."""

from pathlib import Path
from typing import Any

from trainer import device, files
from trainer.processes import World
from twiki.errors import TrainerError


def finished(done: Path, fingerprint: dict[str, str]) -> dict[str, Any]:
    """The record of a run that is done.

    Raises:
        TrainerError: it was made from something else than now asked for.
    """
    record = files.read_json(done)
    for part, value in fingerprint.items():
        if record["fingerprint"].get(part, "") != value:
            raise TrainerError(
                f"{done}: finished with another {part}; a run is trained once: choose another "
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
