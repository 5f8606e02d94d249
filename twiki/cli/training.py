"""Trainings that a command starts when it has cut or reconciled windows, one after the other.

The stream goes on while a model trains, and whatever becomes of the training, the dataset and
the state are only read by it. They go in turn: a month's model goes on from that of the month
before. The trainer's folder of runs sees to it that each (window, version, method) is trained
once, however often this is asked for.
"""

import shlex
import signal
import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from twiki.cli.common import say

if TYPE_CHECKING:
    from stream.settings import Settings


_STOPPED = {-signal.SIGINT, -signal.SIGTERM, 128 + signal.SIGINT, 128 + signal.SIGTERM}
"""Exit codes of a process that was asked to end."""


class InTurn:
    """Starts what ``[trainer]`` asks for, each when the one before has ended.

    Used with ``with``: where the block fails, it says which trainings were not started.
    """

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
            if self._running.returncode in _STOPPED:
                self._leave()  # Ctrl-C means all of it
            self._running = None
        if self._waiting:
            command = [*self._program, *self._words(self._waiting.popleft())]
            self._running = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603 - ours

    def finish(self) -> bool:
        """Wait for all of them; whether all went well."""
        while self._running is not None:
            self._running.wait()
            self.tick()
        return self._well

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._leave()

    def _words(self, dataset: Path) -> tuple[str, ...]:
        return (str(dataset), "--config", str(self._config))

    def _leave(self) -> None:
        """Start nothing more, and say what would have been."""
        while self._waiting:
            say(f"not started: twiki train {shlex.join(self._words(self._waiting.popleft()))}")
