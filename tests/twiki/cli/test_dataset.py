import json
from datetime import UTC, datetime

import pytest
import typer
from typer.testing import CliRunner

from twiki.cli.dataset import register
from twiki.config import CoreConfig
from twiki.errors import DatasetError
from twiki.windows.calendar import month
from twiki.windows.dataset import DatasetWriter, Part, Run
from twiki.windows.schema import Tombstone

TIME = datetime(2026, 11, 5, tzinfo=UTC)


@pytest.fixture
def run():
    app = typer.Typer()
    register(app)
    return lambda *args: CliRunner().invoke(app, ["dataset", *map(str, args)])


def write(root, wiki="a\x1b[31m"):
    with DatasetWriter(root, CoreConfig(), month("2026-11")) as writer:
        writer.add(Part.TOMBSTONES, Tombstone(wiki=wiki, rev_id=1, page_id=None, version=2))
        return writer.finish(run=Run(engine="replay"))


def test_verify_takes_a_version_a_window_or_a_root(run, tmp_path):
    folder = write(tmp_path / "d")
    for given in (folder, folder.parent, tmp_path / "d"):
        result = run("verify", given, "--json")
        assert result.exit_code == 0
        found = json.loads(result.stdout)
        assert found["verified"][0]["id"] == "twiki-enwiki-2026-11-v1"


def test_verify_fails_on_a_damaged_file_and_on_a_folder_without_datasets(run, tmp_path):
    folder = write(tmp_path / "d")
    (folder / "stats.json").write_bytes(b"{}")
    result = run("verify", folder)
    assert isinstance(result.exception, DatasetError)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert isinstance(run("verify", empty).exception, DatasetError)


def test_compare_prints_json_alone_and_checks_on_request(run, tmp_path):
    a, b = write(tmp_path / "a"), write(tmp_path / "b", wiki="b")
    result = run("compare", a, b, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["parts"]["tombstones"]["only_a"] == 1
    assert run("compare", a, b, "--check").exit_code == 1
    assert run("compare", a, a, "--check").exit_code == 0


def test_compare_shows_people_no_control_characters(run, tmp_path):
    a, b = write(tmp_path / "a"), write(tmp_path / "b", wiki="b")
    result = run("compare", a, b)
    assert "\x1b" not in result.stderr
    assert "only_b b|1" in result.stderr


def test_list_gives_the_standing_of_every_version(run, tmp_path):
    write(tmp_path)
    write(tmp_path)
    found = json.loads(run("list", tmp_path, "--json").stdout)
    assert found["datasets"][0]["current"] == 2
    assert [v["status"] for v in found["datasets"][0]["versions"]] == ["superseded", "current"]


@pytest.mark.parametrize("command", ["verify", "compare", "list"])
def test_help_carries_an_example(run, command):
    assert "Example: twiki dataset" in run(command, "--help").stdout
