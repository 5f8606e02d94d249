"""Trainings that `twiki run` starts: each dataset version once, whatever becomes of it.

A note a training lies in the state folder: ``running`` is taken up again after a restart (the
trainer goes on at its checkpoint), ``done`` and ``failed`` are left alone. torch is never
imported here: the training is a process of its own, and its failure is a line in the log.
"""

import logging
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

import msgspec

from twiki.errors import ConfigError
from twiki.windows.versions import write_aside

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.metrics import Metrics
    from stream.settings import Settings

log = logging.getLogger(__name__)

FOLDER = "trainings"
_GRACE_SECONDS = 30.0
_LOOK_SECONDS = 0.5


class Note(msgspec.Struct):
    """How far a training is."""

    dataset: str
    status: Literal["running", "done", "failed"] = "running"
    code: int | None = None


class _Running(NamedTuple):
    note: Path
    process: "subprocess.Popen[bytes]"


class Trainings:
    """Starts and looks after them, one at a time.

    Raises:
        ConfigError: [trainer] asks for trainings, but there is no settings file to pass on.
    """

    def __init__(
        self,
        state: Path,
        chosen: "Settings",
        config: Path | None,
        metrics: "Metrics",
        *,
        program: tuple[str, ...] = (sys.executable, "-m", "twiki", "train"),
    ) -> None:
        self._folder = state / FOLDER
        self._config = config
        self._metrics = metrics
        self._program = program
        self._on = str(chosen.trainer.get("on", "cut")) if chosen.trainer.get("on_close") else ""
        self._running: _Running | None = None
        if self._on and config is None:
            raise ConfigError("[trainer] on_close needs a settings file: give --config")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Ask the training at hand to end at its next checkpoint; it is taken up again."""
        if self._running is None:
            return
        self._running.process.terminate()
        try:
            self._running.process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._running.process.kill()
            self._running.process.wait()

    def told(self, event: str, dataset: Path) -> None:
        """Note a dataset version that is to be trained on."""
        if event != self._on:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        wiki, window, version = dataset.parts[-3:]
        path = self._folder / f"{wiki}-{window}-{version}.json"
        if not path.exists():
            self._write(path, Note(dataset=str(dataset)))

    def tick(self) -> None:
        """Take note of a training that ended, start the next."""
        if self._running is not None:
            code = self._running.process.poll()
            if code is None:
                return
            self._ended(self._running.note, code)
            self._running = None
        for path in sorted(self._folder.glob("*.json")) if self._folder.is_dir() else ():
            note = msgspec.json.decode(path.read_bytes(), type=Note)
            if note.status == "running":
                self._start(path, note)
                return

    def finish(self, stopped: "Callable[[], bool]") -> None:
        """Wait for all of them, unless the service is asked to end meanwhile."""
        self.tick()
        while self._running is not None and not stopped():
            try:
                self._running.process.wait(_LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                continue
            self.tick()

    def _start(self, path: Path, note: Note) -> None:
        log.info("event=training dataset=%s", note.dataset)
        output = path.with_suffix(".log").open("ab")
        with output:
            process = subprocess.Popen(  # noqa: S603 - our own command
                [*self._program, note.dataset, "--config", str(self._config)],
                stdout=subprocess.DEVNULL,
                stderr=output,
            )
        self._running = _Running(path, process)

    def _ended(self, path: Path, code: int) -> None:
        note = msgspec.json.decode(path.read_bytes(), type=Note)
        note.status, note.code = ("failed" if code else "done"), code
        self._write(path, note)
        from stream import metrics as names

        self._metrics.add(names.TRAININGS, label=note.status)
        level = logging.ERROR if code else logging.INFO
        log.log(level, "event=training_%s dataset=%s code=%d", note.status, note.dataset, code)

    @staticmethod
    def _write(path: Path, note: Note) -> None:
        write_aside(path, msgspec.json.encode(note))
