"""The files that a cluster is deployed from, held against the schemas of their tools."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
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


def test_every_metric_of_ours_in_the_alerts_is_one_that_bridge_or_workers_tell():
    from stream.cluster.exposition import CLUSTER

    text = (DEPLOY / "prometheus" / "alerts-cluster.yaml").read_text()
    named = set(re.findall(r"\btwiki_\w+", text))
    assert named
    assert named <= {metric.name for metric in CLUSTER}


def test_prometheus_is_sent_to_the_ports_that_the_settings_open():
    from stream.settings import read_settings

    settings = read_settings(DEPLOY / "docker" / "twiki.toml", environ={}).kafka
    jobs = yaml.safe_load((DEPLOY / "docker" / "prometheus.yml").read_text())["scrape_configs"]
    (found,) = [job["dns_sd_configs"][0] for job in jobs if job["job_name"] == "twiki-cluster"]
    assert found["port"] == settings.metrics_port
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    assert set(found["names"]) <= services.keys()
    by_hand = yaml.safe_load((DEPLOY / "prometheus" / "scrape-cluster.yaml").read_text())
    targets = by_hand["scrape_configs"][0]["static_configs"][0]["targets"]
    assert all(target.startswith("127.0.0.1:") for target in targets)


@pytest.mark.parametrize("name", ["docker/prometheus.yml", "prometheus/scrape-cluster.yaml"])
def test_prometheus_takes_what_it_is_configured_with(name, tmp_path):
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian: apt install prometheus)")
    whole = yaml.safe_load((DEPLOY / name).read_text())
    file = tmp_path / "prometheus.yml"
    file.write_text(yaml.safe_dump({k: v for k, v in whole.items() if k != "rule_files"}))
    done = subprocess.run(
        [promtool, "check", "config", str(file)], capture_output=True, text=True, check=False
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


def test_the_guide_shows_every_setting_with_its_default():
    from stream.settings import KafkaConfig

    guide = (DEPLOY.parent / "docs" / "cluster.md").read_text()
    block = guide.partition("## Settings")[2].partition("    [kafka]")[2].partition("\n\n")[0]
    shown = tomllib.loads("\n".join(line.strip() for line in block.splitlines()))
    defaults = json.loads(msgspec.json.encode(KafkaConfig()))
    assert shown == {name: defaults[name] for name in shown}
    assert {name for name in defaults if not re.search(rf"\b{name}\b", block)} == {"password"}


def test_every_metric_that_the_guide_names_is_told():
    from stream.cluster.exposition import CLUSTER

    guide = (DEPLOY.parent / "docs" / "cluster.md").read_text()
    told = {metric.name for metric in CLUSTER}
    for name in set(re.findall(r"`(twiki_\w+)`", guide)):
        assert name in told, name


def test_the_image_that_trains_has_the_trainer():
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    extras = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    chosen = services["trainer"]["build"]["args"]["EXTRAS"].split(",")
    assert set(chosen) == {"kafka", "trainer"} <= extras.keys()
    assert services["trainer"]["image"] != services["bridge"]["image"]
