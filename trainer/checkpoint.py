"""Checkpoints: complete or absent, and enough to go on bit for bit.

A checkpoint is a folder ``step-00000017`` with the parameters in fp32, the optimizer's
moments, and ``state.json``: the next step, running figures, and the run's fingerprint. There
is no state of random generators, loaders or schedules, because order, dropout and learning
rate are functions of (seed, step).
"""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from trainer import device, files
from twiki.errors import TrainerError

_NAME = re.compile(r"step-(\d{8})")


@dataclass(frozen=True)
class Checkpoint:
    """A folder and the step that a run resumed from it does first."""

    folder: Path
    step: int


def save(
    root: Path,
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    state: dict[str, Any],
    *,
    keep: int,
) -> Path:
    """Write the checkpoint of ``state["step"]``, then drop all but the newest ``keep``."""
    folder = root / f"step-{state['step']:08d}"
    with files.new_folder(folder) as aside:
        weights = {n: p.detach().cpu().contiguous() for n, p in module.named_parameters()}
        save_file(weights, aside / "model.safetensors")
        torch.save(optimizer.state_dict(), aside / "optimizer.pt")
        files.write_json(aside / "state.json", state)
    for old in _all(root)[:-keep]:
        shutil.rmtree(old.folder)
    return folder


def newest(root: Path) -> Checkpoint | None:
    """The newest complete checkpoint; one that a kill left half written does not count."""
    found = _all(root)
    return found[-1] if found else None


def load(
    checkpoint: Checkpoint,
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    fingerprint: dict[str, str],
) -> dict[str, Any]:
    """Put weights and moments in place; return the state.

    Raises:
        TrainerError: it belongs to another model, data or settings, or cannot be read.
            Nothing was changed then, nor is the folder.
    """
    state = files.read_json(checkpoint.folder / "state.json")
    for part, expected in fingerprint.items():
        if (found := state.get("fingerprint", {}).get(part, "")) != expected:
            raise TrainerError(
                f"{checkpoint.folder}: a checkpoint with different {part} "
                f"({str(found)[:12]}, now {expected[:12]}); continue with the old {part}, "
                "or train in another folder"
            )
    try:
        weights = load_file(checkpoint.folder / "model.safetensors")
        moments = torch.load(
            checkpoint.folder / "optimizer.pt", weights_only=True, map_location="cpu"
        )
    except (OSError, EOFError, SafetensorError, RuntimeError, UnpicklingError) as error:
        raise TrainerError(f"{checkpoint.folder}: cannot be read: {error}") from error
    own = dict(module.named_parameters())
    if own.keys() != weights.keys() or any(own[n].shape != w.shape for n, w in weights.items()):
        raise TrainerError(f"{checkpoint.folder}: its parameters are not this model's")
    with torch.no_grad():
        for name, value in weights.items():
            own[name].copy_(value)
    with device.room_for("optimizer"):
        optimizer.load_state_dict(moments)
    return state


def _all(root: Path) -> list[Checkpoint]:
    if not root.is_dir():
        return []
    found = ((p, _NAME.fullmatch(p.name)) for p in sorted(root.iterdir()))
    return [Checkpoint(p, int(m[1])) for p, m in found if m]
