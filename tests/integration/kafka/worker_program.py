"""A worker process for the tests: ``worker_program.py OPTIONS.json``.

Options: settings, role, folder; ``kill_after`` = [step, times]: SIGKILL itself behind that step
of the commit the given number of batches in.
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


def main() -> None:
    logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s")
    data = Path(sys.argv[1]).read_bytes()
    options = msgspec.json.decode(data, type=Options, dec_hook=lambda kind, value: kind(value))
    left = [options.kill_after[1]] if options.kill_after else []

    def after(step: int) -> None:
        if options.kill_after and step == options.kill_after[0]:
            left[0] -= 1
            if left[0] <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

    run(options.settings, options.role, Path(options.folder), after=after)


if __name__ == "__main__":
    main()
