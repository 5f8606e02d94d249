"""The machine under a run: how much fits, what it is, whether it repeats."""

import contextlib
import os
import platform
import resource
from collections.abc import Callable, Iterator

import peft
import torch
import transformers

from twiki.errors import TrainerError


def fitting(attempt: Callable[[int], None], wanted: int, *, fixed: bool) -> int:
    """The largest micro-batch of ``wanted``, halved as often as needed, that ``attempt`` bears.

    Raises:
        TrainerError: with ``fixed``, ``wanted`` itself does not fit; the message names a value
            that does. Or not even one row fits.
    """
    size = wanted
    while True:
        try:
            attempt(size)
            break
        except torch.OutOfMemoryError as error:
            if size == 1:
                raise TrainerError(
                    "out of GPU memory with micro_batch = 1: lower sequence, or use a method "
                    "that trains fewer parameters (lora, kadapter)"
                ) from error
            size //= 2
    if fixed and size < wanted:
        raise TrainerError(
            f"out of GPU memory with micro_batch = {wanted}: set micro_batch = {size}, which "
            "fits; batch stays as it is, the result is the same"
        )
    return size


@contextlib.contextmanager
def memory_errors(micro_batch: int) -> Iterator[None]:
    """Say what to change when the device runs out of memory within the block.

    Raises:
        TrainerError: it did.
    """
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise TrainerError(
            f"out of GPU memory with micro_batch = {micro_batch}: set micro_batch = "
            f"{max(1, micro_batch // 2)} and run the same command again; it goes on from the "
            "newest checkpoint"
        ) from error


@contextlib.contextmanager
def determinism(*, wanted: bool) -> Iterator[None]:
    """Within the block only deterministic kernels run, if ``wanted``."""
    if not wanted:
        yield
        return
    before = torch.are_deterministic_algorithms_enabled()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when CUDA starts
    torch.use_deterministic_algorithms(True)  # noqa: FBT003 - torch's own signature
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


def pick(on: str) -> str:
    """``auto``: the first GPU where there is one, else the CPU.

    Raises:
        TrainerError: this machine has no such device.
    """
    if on == "auto":
        return "cuda:0" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(1, device=on)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise TrainerError(f"device {on!r} cannot be used: {reason}; cpu always can") from error
    return on


def name_of(device: str) -> str:
    """The device as a reader knows it."""
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else "cpu"


def peak_memory(device: str) -> int:
    """Bytes at most in use so far: of the GPU, or of this process."""
    if device.startswith("cuda"):
        return torch.cuda.max_memory_allocated(device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def versions() -> dict[str, str]:
    """Versions of what decides a result."""
    return {
        "peft": peft.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
