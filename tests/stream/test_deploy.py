"""What is deployed names metrics, commands and sections that there are."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import typer.main
import yaml

from stream.metrics import METRICS
from stream.settings import read_settings
from twiki.cli import build

ROOT = Path(__file__).parents[2]
ALERTS = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yaml").read_text("utf-8"))
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
DASHBOARD = json.loads((ROOT / "deploy/grafana/twiki.json").read_text("utf-8"))
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
RUNBOOK = (ROOT / "docs/operations.md").read_text("utf-8")
KNOWN = {metric.name: metric for metric in METRICS}
_NAME = re.compile(r"\b(?:twiki|process)_\w+")
_LABELLED = re.compile(r"\b(twiki_\w+)\{(\w+)")


@pytest.mark.parametrize("query", [*QUERIES, *(rule["expr"] for rule in RULES)])
def test_every_query_names_metrics_and_labels_that_there_are(query):
    assert set(_NAME.findall(query)) <= set(KNOWN)
    for name, label in _LABELLED.findall(query):
        assert KNOWN[name].label == label


def test_every_metric_stands_on_the_dashboard():
    shown = {name for query in QUERIES for name in _NAME.findall(query)}
    assert set(KNOWN) - shown == set()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_every_alert_leads_to_its_section_of_the_runbook(rule):
    path, _, anchor = rule["annotations"]["runbook"].partition("#")
    assert path == "docs/operations.md"
    headings = re.findall(r"^#+ (.+)$", RUNBOOK, re.MULTILINE)
    assert anchor in {re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-") for h in headings}


def test_every_metric_that_the_runbook_names_is_there():
    assert set(_NAME.findall(RUNBOOK)) <= set(KNOWN)


def test_every_setting_that_the_runbook_shows_is_one(tmp_path):
    blocks = re.findall(r"```toml\n(.*?)```", RUNBOOK, re.DOTALL)
    assert blocks
    for block in blocks:
        tomllib.loads(block)
        path = tmp_path / "twiki.toml"
        path.write_text(block, encoding="utf-8")
        read_settings(path, environ={})


@pytest.mark.parametrize("unit", sorted((ROOT / "deploy/systemd").glob("*.service")))
def test_units_call_commands_that_there_are(unit):
    command = typer.main.get_command(build())
    called = re.findall(r"/opt/twiki/bin/twiki ([a-z ]+?) --", unit.read_text("utf-8"))
    assert called
    for words in called:
        found = command
        for word in words.split():
            found = found.commands[word]
        options = {name for option in found.params for name in option.opts}
        line = unit.read_text("utf-8")
        assert set(re.findall(r" (--[a-z]+) ", line)) <= options | {"--"}
