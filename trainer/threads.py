"""Processes and threads, as far as they are decided before torch is imported."""

import os

PASSIVE = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}


def wait_passively() -> None:
    """Let waiting threads sleep instead of spin, unless the environment says otherwise.

    With small models on a machine that does something else too, spinning threads take the
    cores from each other: throughput falls from tens of thousands of tokens a second to one.
    """
    for name, value in PASSIVE.items():
        os.environ.setdefault(name, value)


def is_first() -> bool:
    """Whether this is the only process, or the first that ``torchrun`` started."""
    return os.environ.get("RANK", "0") == "0"


def several() -> bool:
    """Whether ``torchrun`` started more processes than this one."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1
