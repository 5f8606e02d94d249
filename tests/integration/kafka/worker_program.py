"""A worker process for the tests: ``worker_program.py OPTIONS.json``.

Options: settings, role, folder; ``kill_after`` = [step, times]: SIGKILL itself behind that step
of the commit the given number of batches in; ``freeze_after`` the same with SIGSTOP.
"""

import logging
import os
import signal
import sys
from pathlib import Path

import msgspec

from stream.cluster.worker import run
from stream.settings import Settings
from stream.topics import Role


class Options(msgspec.Struct):
    settings: Settings
    role: Role
    folder: str
    kill_after: tuple[int, int] | None = None
    freeze_after: tuple[int, int] | None = None
    loglevel: str = "WARNING"


def main() -> None:
    logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s")
    data = Path(sys.argv[1]).read_bytes()
    options = msgspec.json.decode(data, type=Options, dec_hook=lambda kind, value: kind(value))
    step, times = options.kill_after or options.freeze_after or (0, 0)
    number = signal.SIGKILL if options.kill_after else signal.SIGSTOP
    left = [times]

    def after(done: int) -> None:
        if done == step:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), number)

    run(
        options.settings, options.role, Path(options.folder), after=after, loglevel=options.loglevel
    )


if __name__ == "__main__":
    main()
