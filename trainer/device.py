"""The machine under a run: how much fits, what it is, whether it repeats."""

import contextlib
import gc
import os
import platform
import re
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import peft
import torch
import transformers

from twiki.errors import TrainerError

_NOT_ONE_ROW = (
    "out of GPU memory with micro_batch = 1: lower sequence, or use a method that trains fewer "
    "parameters (--methods lora or kadapter)"
)
_HELP = {
    "weights": (
        "the model's weights: they take 4 bytes a parameter, twice where the method keeps the old "
        "ones (recadam, merge), whatever micro_batch and precision are; take a smaller model, "
        "another method, or a GPU that nothing else uses"
    ),
    "optimizer": (
        "the optimizer: it takes 8 bytes for each parameter that trains, its gradient 4, whatever "
        "micro_batch and precision are; train fewer parameters (--methods lora or kadapter) or a "
        "smaller model"
    ),
}
_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


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
                raise TrainerError(_NOT_ONE_ROW) from error
            size //= 2
    if fixed and size < wanted:
        raise TrainerError(
            f"out of GPU memory with micro_batch = {wanted}: set micro_batch = {size}, which "
            "fits; batch stays as it is, the result is the same"
        )
    return size


def bearing(
    work: Callable[[], list[float]], micro_batch: int, attempt: Callable[[int], None] | None
) -> list[float]:
    """What ``work`` gives, done in parts of ``micro_batch``.

    Raises:
        TrainerError: the device ran out of memory; the message names a micro-batch that
            ``attempt`` bears, tried after the failure, or without ``attempt`` one to try.
    """
    try:
        return work()
    except torch.OutOfMemoryError as error:
        # Without its frames, which hold the memory that an attempt needs.
        cause = error.with_traceback(None)
    if micro_batch == 1:
        raise TrainerError(_NOT_ONE_ROW) from cause
    size = fitting(attempt, micro_batch // 2, fixed=False) if attempt else micro_batch // 2
    raise TrainerError(
        f"out of GPU memory with micro_batch = {micro_batch}: set micro_batch = {size}"
        f"{', which fits' if attempt else ''}, and run the same command again; it goes on from "
        "the newest checkpoint"
    ) from cause


@contextlib.contextmanager
def room_for(what: Literal["weights", "optimizer"]) -> Iterator[None]:
    """Say what helps when the device runs out of memory in a block that no micro-batch matters to.

    Raises:
        TrainerError: it did.
    """
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise TrainerError(f"out of GPU memory for {_HELP[what]}") from error


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


def begin_peak(device: str) -> None:
    """Let :func:`peak_memory` count from here, so that a run's peak is no earlier run's."""
    gc.collect()  # a model that its own cycles keep would count
    if device.startswith("cuda"):
        torch.cuda.init()  # type: ignore[no-untyped-call] # torch
        torch.cuda.reset_peak_memory_stats(device)
        return
    # The kernel's own figure, exact between steps too; where it cannot be reset, the peak is the
    # process's.
    with contextlib.suppress(OSError):
        _RESET.write_text("5")


def peak_memory(device: str) -> int:
    """Bytes at most in use since :func:`begin_peak`: of the GPU, or of this process."""
    if device.startswith("cuda"):
        return torch.cuda.max_memory_allocated(device)
    with contextlib.suppress(OSError):
        if found := re.search(r"^VmHWM:\s+(\d+) kB", _STATUS.read_text(), re.MULTILINE):
            return int(found[1]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if platform.system() == "Darwin" else most * 1024


def versions() -> dict[str, str]:
    """Versions of what decides a result."""
    return {
        "peft": peft.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
