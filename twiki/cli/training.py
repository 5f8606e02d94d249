"""Trainings that a command starts when it has cut or reconciled windows, one after the other.

The stream goes on while a model trains, and whatever becomes of the training, the dataset and
the state are only read by it. They go in turn: a month's model goes on from that of the month
before. The trainer's folder of runs sees to it that each (window, version, method) is trained
once, however often this is asked for.
"""

import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from twiki.cli.common import say

if TYPE_CHECKING:
    from stream.settings import Settings


class InTurn:
    """Starts what ``[trainer]`` asks for, each when the one before has ended."""

    def __init__(
        self,
        chosen: "Settings",
        config: Path | None,
        *,
        program: tuple[str, ...] = (sys.executable, "-m", "twiki", "train"),
    ) -> None:
        self._section = chosen.trainer
        self._config = config
        self._program = program
        self._waiting: deque[Path] = deque()
        self._running: subprocess.Popen[bytes] | None = None
        self._well = True

    def told(self, event: Literal["cut", "reconciled"], dataset: Path) -> None:
        """Take a dataset version to train on, where the settings ask for that on this event.

        Raises:
            ConfigError: the section cannot be used.
        """
        if not self._section.get("on_close") or self._config is None:
            return
        from trainer.section import read_section

        section = read_section(self._section)
        if section.on == event:
            say(f"training {', '.join(section.on_close)} on {dataset}")
            self._waiting.append(dataset)
            self.tick()

    def tick(self) -> None:
        """Take note of a training that has ended, start the next."""
        if self._running is not None:
            if self._running.poll() is None:
                return
            self._well = self._well and self._running.returncode == 0
            self._running = None
        if self._waiting:
            command = [*self._program, str(self._waiting.popleft()), "--config", str(self._config)]
            self._running = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603 - ours

    def finish(self) -> bool:
        """Wait for all of them; whether all went well."""
        while self._running is not None:
            self._running.wait()
            self.tick()
        return self._well
