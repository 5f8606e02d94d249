"""The files that a cluster is deployed from, held against the schemas of their tools."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
pytest.importorskip("kafka", reason="the extra twiki[kafka] is not installed")


def test_the_schema_of_every_topic_is_that_of_its_records():
    from stream.cluster.schemas import _TOLD, encoded

    held = {path.stem: json.loads(path.read_bytes()) for path in (DEPLOY / "schemas").glob("*")}
    assert held == {str(topic): json.loads(encoded(topic)) for topic in _TOLD}


def test_the_schemas_are_json_schemas():
    _check("--check-metaschema", *sorted((DEPLOY / "schemas").glob("*.json")))


def test_compose_yaml_is_a_compose_file():
    _check("--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml")


def test_compose_yaml_mounts_files_that_are_there():
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    mounted = {v.partition(":")[0] for s in services.values() for v in s.get("volumes", ())}
    for path in sorted(p for p in mounted if p.startswith(".")):
        assert (DEPLOY / path).is_file(), path


def test_the_manifests_are_what_kubernetes_takes():
    kubernetes = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate lacks")
    manifests = list(yaml.safe_load_all((DEPLOY / "kubernetes" / "twiki.yaml").read_text()))
    assert len(manifests) == 7
    for manifest in manifests:
        kubernetes.validate(manifest, "1.33", strict=True)


def test_every_alert_names_a_section_of_the_handbook_that_is_there():
    text = (DEPLOY.parent / "docs" / "cluster.md").read_text()
    anchors = {
        line.lstrip("# ").lower().replace(" ", "-") for line in text.splitlines() if line[:1] == "#"
    }
    groups = yaml.safe_load((DEPLOY / "prometheus" / "alerts-cluster.yaml").read_text())["groups"]
    for rule in groups[0]["rules"]:
        path, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert path == "docs/cluster.md"
        assert anchor in anchors


def test_prometheus_takes_the_alerts():
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian: apt install prometheus)")
    done = subprocess.run(
        [promtool, "check", "rules", str(DEPLOY / "prometheus" / "alerts-cluster.yaml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def _check(*words):
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
