"""The process that the soak kills: `twiki run` with a clock that jumps and a disk that fills.

``python -m stream.soak_worker job.json`` ends with 0 when everything up to ``until`` is dealt
with, with 1 and a message on a :class:`~twiki.errors.TwikiError`, or however it is killed.
"""

import random
import resource
import signal
import sys
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from stream import logs
from stream.clock import SystemClock
from stream.metrics import Metrics
from stream.runner import Service
from stream.settings import Settings
from twiki.errors import TwikiError
from twiki.state.rocks import RocksKeyValues
from twiki.state.store import Store

_JUMP = timedelta(days=2)


class Job(msgspec.Struct, kw_only=True):
    """What a worker is told, as JSON."""

    settings: Settings
    state: Path
    datasets: Path
    until: datetime
    seed: int = 0
    jumps: float = 0.0
    """Share of looks at the clock at which it is wrong by up to two days."""
    file_bytes: int = 0
    """No file may grow larger, as on a full disk; 0: no limit."""
    verbose: bool = False


class JumpyClock(SystemClock):
    """The date is wrong now and then, as when an operator or a bad time server sets it."""

    def __init__(self, seed: int, share: float) -> None:
        super().__init__()
        self._chance = random.Random(seed)
        self._share = share

    def now(self) -> datetime:
        """The date, or a wrong one."""
        wrong = self._chance.random() < self._share
        return super().now() + (_JUMP * self._chance.uniform(-1, 1) if wrong else timedelta())


def encode(job: Job) -> bytes:
    """A job as JSON."""
    return msgspec.json.encode(job, enc_hook=str)


def decode(data: bytes) -> Job:
    """The job in ``data``."""
    return msgspec.json.decode(data, type=Job, dec_hook=lambda kind, value: kind(value))


def work(job: Job) -> None:
    """Run the service of a job until it is done or stopped."""
    if job.file_bytes:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write fails instead
        resource.setrlimit(resource.RLIMIT_FSIZE, (job.file_bytes, job.file_bytes))
    logs.to_stderr(as_json=True, level=20 if job.verbose else 50)
    store = Store(RocksKeyValues(job.state / "db", create=True))
    service = Service(
        job.state,
        store,
        job.settings,
        datasets=job.datasets,
        clock=JumpyClock(job.seed, job.jumps),
        metrics=Metrics(),
        on_health=_tell,
    )
    signal.signal(signal.SIGTERM, lambda _number, _frame: service.stop())
    service.run(until=job.until)
    store.close()


def _tell(url: str) -> None:
    sys.stdout.write(url + "\n")
    sys.stdout.flush()


def main() -> int:
    """Run the job that the command line names."""
    try:
        work(decode(Path(sys.argv[1]).read_bytes()))
    except TwikiError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
