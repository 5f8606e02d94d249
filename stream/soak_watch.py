"""What is watched from outside while a soaked worker lives: its lag and its memory."""

import re
import subprocess
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Self

import requests

from stream.sandbox.server import SandboxServer

_SECONDS = 0.25
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)


class Watch:
    """Lag: how long after it was sent an event was applied, by the watermark that health tells.

    Memory: the most that any worker had in RAM, MB, as Linux tells (elsewhere 0). What
    ``getrusage`` tells of children would count the parent that they were forked from.
    """

    def __init__(self, server: SandboxServer) -> None:
        self._server = server
        self._sent: list[tuple[float, datetime]] = []
        self._url: str | None = None
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._status: Path | None = None
        self.largest_lag = 0.0
        self.peak_memory = 0.0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    def follow(self, process: "subprocess.Popen[str]") -> None:
        """Ask this worker from now on; it tells its address when it listens."""

        def listen() -> None:
            line = process.stdout.readline() if process.stdout is not None else ""
            self._url = line.strip() or None

        self._url = None
        self._status = Path(f"/proc/{process.pid}/status")
        threading.Thread(target=listen, daemon=True).start()

    def _watch(self) -> None:
        while not self._ends.wait(_SECONDS):
            now = time.monotonic()
            self.peak_memory = max(self.peak_memory, self._memory())
            self._sent.append((now, self._server.now))
            watermark = self._watermark()
            if watermark is None:
                continue
            while len(self._sent) > 1 and self._sent[1][1] <= watermark:
                self._sent.pop(0)
            self.largest_lag = max(self.largest_lag, now - self._sent[0][0])

    def _memory(self) -> float:
        if self._status is None:
            return 0.0
        try:
            told = _PEAK.search(self._status.read_text("ascii", "replace"))
        except OSError:
            return 0.0  # it has just ended
        return int(told[1]) / 1024 if told else 0.0

    def _watermark(self) -> datetime | None:
        url = self._url
        if url is None:
            return None
        try:
            told = requests.get(f"{url}/healthz", timeout=1).json()["watermark"]
        except (requests.RequestException, ValueError, KeyError):
            return None
        return None if told is None else datetime.fromisoformat(told)
