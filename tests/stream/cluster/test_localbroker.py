"""Processes that tests and benchmarks start end with them."""

import shutil
import signal
import subprocess
import sys
import time

import pytest

from stream.cluster.localbroker import with_us

PARENT = """
import subprocess, sys
work = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
subprocess.Popen([*{words!r}, sys.executable, "-c", work]).wait()
"""


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_what_was_started_ends_when_its_parent_is_killed():
    script = PARENT.format(words=with_us())
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    end = time.monotonic() + 20
    while is_alive(child) and time.monotonic() < end:
        time.sleep(0.05)
    assert not is_alive(child)


def is_alive(process):
    try:
        with open(f"/proc/{process}/stat") as file:  # noqa: PTH123 - a kernel file
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
