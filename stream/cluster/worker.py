"""A worker: one role in one process, from "no broker yet" to its end.

::

    run(settings, Role.ARTICLE, Path("worker"))      # returns when it was asked to stop

It waits for a broker, checks that topics and local files belong together, and runs the Faust
application. An error ends the process (exit code 70); :func:`supervise` starts it again.
"""

import gc
import logging
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import faust
import msgspec

from stream.app import hydrator_app, state_app
from stream.backoff import Backoff
from stream.clock import Clock, SystemClock
from stream.cluster.admin import settle, topic_ids
from stream.cluster.batches import FAILED
from stream.cluster.client import wait_for_broker
from stream.cluster.exposition import CLUSTER, exposed
from stream.cluster.hydration import Contents, Fetching
from stream.hydrate import Hydrator
from stream.metrics import Metrics
from stream.settings import Settings
from stream.topics import Role, TopicsRecord
from twiki.errors import SourceError

log = logging.getLogger(__name__)

_STOP_SECONDS = 5.0
"""Faust can hang at its end under exactly once; a hard exit loses nothing."""
_MADE_WITH = "changelog-id"
_GARBAGE = 50_000
"""Objects made before the collector looks: at its default 700 it takes a tenth of the time."""


def run(
    settings: Settings,
    role: Role,
    folder: Path,
    *,
    clock: Clock | None = None,
    after: Callable[[int], None] = lambda _step: None,
    contents: Fetching | None = None,
    metrics: Metrics | None = None,
    loglevel: str = "WARNING",
) -> None:
    """Work for one role until SIGTERM or SIGINT.

    Args:
        folder: local state; a folder a worker.
        after: called after each step of a commit.
        contents: where the hydrator fetches; None: the API of the settings.
        metrics: counts what is worked in.
        loglevel: of Faust.

    Raises:
        ConfigError: the brokers refuse our user, or TLS does not fit.
        SourceError: topics are missing.
    """
    clock = clock or SystemClock()
    metrics = metrics or Metrics(CLUSTER)
    backoff = Backoff(settings.stream, random.Random())
    wait_for_broker(settings.kafka, backoff, clock)
    where = folder / str(role)
    where.parent.mkdir(parents=True, exist_ok=True)
    topic_ids(settings.kafka)  # missing ones are for a person, not for patience
    if role is Role.HYDRATOR:
        where.mkdir(exist_ok=True)
        contents = contents or _api(settings, clock, metrics)
        app = hydrator_app(settings, where, contents, after, metrics)
    else:
        made = _settled(settings, role, backoff, clock)
        clear_stale(where, made.changelog)
        app = state_app(
            settings, role, where, generation=made.generation, after=after, metrics=metrics
        )
    with exposed(metrics, settings.kafka):
        _run(app, loglevel)


def _settled(settings: Settings, role: Role, backoff: Backoff, clock: Clock) -> TopicsRecord:
    """Topics and state that belong together; waits for a killed worker to leave the group."""
    for attempt in range(settings.stream.attempts):
        try:
            return settle(settings.kafka, role)
        except SourceError as error:
            log.warning("event=not_settled reason=%s", error)
            clock.sleep(backoff.delay(attempt))
    return settle(settings.kafka, role)


def clear_stale(folder: Path, changelog: str) -> None:
    """Move files aside that another changelog made: they are rebuilt from this one."""
    mark = folder / _MADE_WITH
    if mark.is_file():
        before = mark.read_text(encoding="utf-8")
        if before == changelog:
            return
        aside = folder.with_name(f"{folder.name}.of-{before}")
        log.warning("event=stale_state moved_to=%s", aside)
        folder.rename(aside)
    folder.mkdir(parents=True, exist_ok=True)
    mark.write_text(changelog, encoding="utf-8")


def _api(settings: Settings, clock: Clock, metrics: Metrics) -> Fetching:
    """The API under a share of the politeness budget: all hydrators together keep it."""

    def make(share: float) -> Contents:
        stream = settings.stream
        mine = msgspec.structs.replace(
            stream,
            requests_per_second=stream.requests_per_second * share,
            burst=max(1, int(stream.burst * share)),
        )
        return Hydrator(
            msgspec.structs.replace(settings, stream=mine),
            clock=clock,
            chance=random.Random(),
            metrics=metrics,
        )

    return make


def _run(app: faust.App, loglevel: str) -> None:
    for noisy in ("aiokafka", "faust", "mode"):  # they make a record of every message sent
        logging.getLogger(noisy).setLevel(loglevel)
    # What was made until now stays; text work makes many objects and hardly a cycle.
    gc.freeze()
    gc.set_threshold(_GARBAGE, 20, 20)
    worker = faust.Worker(app, loglevel=loglevel, redirect_stdouts=False, quiet=True)
    stopped = threading.Event()

    def stop(_signal: int, _frame: object) -> None:
        stopped.set()
        threading.Thread(target=_exit_hard, daemon=True).start()
        worker.loop.call_soon_threadsafe(worker._schedule_shutdown, signal.SIGTERM)  # noqa: SLF001 - mode's own way to stop

    worker.install_signal_handlers = lambda: None  # type: ignore[method-assign] # ours see to the hang
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    with suppress(SystemExit):
        worker.execute_from_commandline()
    if not stopped.is_set():
        os._exit(FAILED)


def _exit_hard() -> None:
    threading.Event().wait(_STOP_SECONDS)
    os._exit(0)


# --- several roles on one machine -----------------------------------------------------------


def supervise(commands: Sequence[Sequence[str]], *, clock: Clock, backoff: Backoff) -> None:
    """Run each command as a process, and again when it fails, until SIGTERM or SIGINT."""
    with _children(commands) as children:
        failures = [0] * len(commands)
        ending = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _signal, _frame: ending.set())
        while not ending.wait(0.5) and not clock.stopped:
            for index, child in enumerate(children):
                code = child.poll()
                if code is None:
                    continue
                if code in (1, 2):  # what a person must put right comes back at once
                    raise SourceError(f"{' '.join(commands[index])} ended with exit code {code}")
                log.warning("event=worker_restarts command=%s code=%s", commands[index], code)
                clock.sleep(backoff.delay(failures[index]))
                failures[index] += 1
                children[index] = _start(commands[index])


@contextmanager
def _children(commands: Sequence[Sequence[str]]) -> Iterator[list["subprocess.Popen[bytes]"]]:
    children = [_start(command) for command in commands]
    try:
        yield children
    finally:
        for child in children:
            child.terminate()
        for child in children:
            try:
                child.wait(timeout=2 * _STOP_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()


def _start(command: Sequence[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-m", "twiki", *command])  # noqa: S603 - our own command
