"""One process or several: started by ``torchrun``, each sees its part of every step."""

import atexit
import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist

from trainer.device import pick

PATIENCE = timedelta(days=1)
"""How long a process waits for another. The first alone checks files, tokenises and measures, which
takes hours for a whole Wikipedia; torch's own ten minutes would end the run, and the next one at
the same place. A process that dies need not be waited for: ``torchrun`` stops the others."""


@dataclass(frozen=True)
class World:
    """This process among all of a run."""

    rank: int = 0
    size: int = 1
    device: str = "cpu"

    @property
    def first(self) -> bool:
        """Whether this process writes files and shows progress."""
        return self.rank == 0

    def barrier(self) -> None:
        """Wait for the others."""
        if self.size > 1:
            dist.barrier()

    def total(self, values: list[float]) -> list[float]:
        """Sums of ``values`` over all processes, in fp64."""
        if self.size == 1:
            return values
        tensor = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(tensor)
        return [float(v) for v in tensor.tolist()]


@contextlib.contextmanager
def world(device: str = "auto") -> Iterator[World]:
    """Join the processes that ``torchrun`` started, or be alone.

    Raises:
        TrainerError: this machine has no such device.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    local = int(os.environ.get("LOCAL_RANK", "0"))
    if device == "auto":
        device = f"cuda:{local}" if torch.cuda.is_available() else "cpu"
    device = pick(device)
    if size == 1:
        yield World(device=device)
        return
    if device.startswith("cuda"):
        torch.cuda.set_device(device)
    if not dist.is_initialized():
        # Once a process: a second group would find the first one's addresses in the store.
        backend = "nccl" if device.startswith("cuda") else "gloo"
        dist.init_process_group(backend, timeout=PATIENCE)
        atexit.register(dist.destroy_process_group)
    yield World(dist.get_rank(), size, device)
