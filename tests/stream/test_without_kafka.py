"""The extra ``twiki[kafka]`` is optional: only the cluster's own modules need it."""

import subprocess
import sys

PROGRAM = """
import importlib, pkgutil, sys
for name in ("kafka", "faust", "aiokafka", "mode"):
    sys.modules[name] = None
import stream
needs = []
for module in pkgutil.walk_packages(stream.__path__, "stream."):
    if module.name.startswith("stream.cluster.localbroker"):
        continue
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        if error.name.partition(".")[0] in ("kafka", "faust", "aiokafka", "mode"):
            needs.append(module.name)
print(" ".join(sorted(needs)))
"""


def test_only_the_clusters_modules_need_kafka():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    outside = [name for name in done.stdout.split() if not name.startswith("stream.cluster")]
    names = ["app", "bench_kafka", "bench_kafka_soak", "bridge", "listener"]
    assert outside == [f"stream.{name}" for name in names]


def test_a_command_of_the_cluster_names_the_extra():
    program = (
        "import sys; sys.modules['kafka'] = None; from twiki.cli import main; "
        "main(['topics', 'create'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "pip install 'twiki[kafka]'" in done.stderr
    assert "Traceback" not in done.stderr
