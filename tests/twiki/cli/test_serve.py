"""The command: where it listens, and what it says of that."""

import json
import subprocess
import sys
import urllib.request

import pages_world
import pytest

TWIKI = [sys.executable, "-m", "twiki", "serve"]


def refused(*words):
    done = subprocess.run(
        [*TWIKI, *map(str, words)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert done.stdout == ""
    return " ".join(done.stderr.split())


def test_another_address_needs_to_be_allowed_and_says_what_it_exposes(tmp_path):
    said = refused("--host", "0.0.0.0", "--datasets", tmp_path)  # noqa: S104 - it must refuse
    assert "--allow-remote" in said
    assert "can read all datasets" in said
    assert "loopback" in refused("--host", "192.0.2.1", "--datasets", tmp_path)


@pytest.fixture
def serving(tmp_path):
    pages_world.write_dataset(tmp_path / "datasets", pages=3)
    command = [*TWIKI, "--json", "--port", "0", "--datasets", tmp_path / "datasets"]
    command += ["--cache", tmp_path / "cache", "--state", tmp_path / "none"]
    with subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield json.loads(process.stdout.readline())["url"], process
        process.terminate()


def test_it_serves_on_loopback_and_ends_at_a_signal(serving):
    url, process = serving
    assert url.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(f"{url}windows", timeout=60) as answer:  # noqa: S310 - loopback
        assert b"2026-10" in answer.read()
    port = url.rstrip("/").rpartition(":")[2]
    assert "choose another --port" in refused("--port", port, "--datasets", "none")
    process.terminate()
    assert process.wait(timeout=30) in {0, -15}
    assert "no state there yet" in process.stderr.read()
