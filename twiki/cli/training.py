"""A training that starts when a window is cut or reconciled, in a process of its own.

The stream goes on while a model trains, and whatever becomes of the training, the dataset and
the state are only read by it. The trainer's folder of runs sees to it that each (window,
version, method) is trained once, however often this is called.
"""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from twiki.cli.common import say

if TYPE_CHECKING:
    from stream.settings import Settings


def start(
    chosen: "Settings", config: Path | None, event: Literal["cut", "reconciled"], dataset: Path
) -> "subprocess.Popen[bytes] | None":
    """Train what ``[trainer]`` asks for on this event; None: it asks for nothing.

    Raises:
        ConfigError: the section cannot be used.
    """
    if not chosen.trainer.get("on_close"):
        return None
    from trainer.section import read_section

    section = read_section(chosen.trainer)
    if section.on != event or config is None:
        return None
    say(f"training {', '.join(section.on_close)} on {dataset}")
    command = [sys.executable, "-m", "twiki", "train", str(dataset), "--config", str(config)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603 - our own command


def finish(trainings: "list[subprocess.Popen[bytes]]") -> bool:
    """Wait for trainings that were started; whether all of them went well."""
    codes = [process.wait() for process in trainings]  # all of them, not only to the first bad one
    return not any(codes)
