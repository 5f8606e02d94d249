"""A worker process that may die on purpose: what tests, benchmarks and the soak start.

::

    process = start(Options(settings=settings, role=Role.ARTICLE, folder=w1, kill_after=(3, 2)))

``python -m stream.cluster.mortal OPTIONS.json`` is the worker of :mod:`stream.cluster.worker`
with a hook behind each step of its commit.
"""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from stream.cluster.localbroker import with_us
from stream.cluster.worker import run
from stream.settings import Settings
from stream.topics import Role


class Options(msgspec.Struct, kw_only=True):
    """What a worker is told, as JSON."""

    settings: Settings
    role: Role
    folder: Path
    kill_after: tuple[int, int] | None = None
    """(step, times): SIGKILL behind that step of the commit, so many batches in."""
    freeze_after: tuple[int, int] | None = None
    """The same with SIGSTOP."""
    loglevel: str = "WARNING"


def start(options: Options) -> "subprocess.Popen[bytes]":
    """Start a worker; its options and its log lie beside its folder, named as that is."""
    options.folder.parent.mkdir(parents=True, exist_ok=True)
    file = options.folder.with_name(f"{options.folder.name}.json")
    file.write_bytes(msgspec.json.encode(options, enc_hook=str))
    with log_of(options.folder).open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - our own command
            [*with_us(), sys.executable, "-m", "stream.cluster.mortal", str(file)],
            stdout=log,
            stderr=log,
        )


def log_of(folder: Path) -> Path:
    """Where the worker of a folder writes what it has to say."""
    return folder.with_name(f"{folder.name}.log")


def hook(options: Options) -> Callable[[int], None]:
    """Called after each step of a commit; one call ends or freezes this process."""
    step, times = options.kill_after or options.freeze_after or (0, 0)
    number = signal.SIGKILL if options.kill_after else signal.SIGSTOP
    left = [times]

    def after(done: int) -> None:
        if done == step:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), number)

    return after


def main() -> None:
    """Work as the file says that the command line names."""
    logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s")
    data = Path(sys.argv[1]).read_bytes()
    options = msgspec.json.decode(data, type=Options, dec_hook=lambda kind, value: kind(value))
    run(
        options.settings,
        options.role,
        options.folder,
        after=hook(options),
        loglevel=options.loglevel,
    )


if __name__ == "__main__":
    main()
