"""The command's surface: help with examples, exit codes, and where output goes."""

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
import typer

from twiki.cli import build, spread

ROOT = Path(__file__).parents[3]
TWIKI = [sys.executable, "-m", "twiki"]


def commands():
    """Every command with its words, from the program itself."""
    found = []

    def walk(command, words):
        children = getattr(command, "commands", None)
        if children is None:
            found.append((" ".join(words), command))
        for name, child in (children or {}).items():
            walk(child, [*words, name])

    walk(typer.main.get_command(build()), ["twiki"])
    return found


@pytest.mark.parametrize(("words", "command"), commands(), ids=lambda value: str(value)[:40])
def test_every_command_explains_itself_with_an_example(words, command):
    text = command.help or ""
    assert "Example" in text, f"{words} has no example"
    assert words in re.sub(r"\s+", " ", text.replace("\n", " ")), f"{words}: another's example"


@pytest.mark.parametrize(("words", "command"), commands(), ids=lambda value: str(value)[:40])
def test_every_option_has_a_help_text_or_a_name_that_says_it(words, command):
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            assert parameter.help or len(parameter.name) > 2, f"{words} {parameter.name}"


def test_the_readme_names_every_group_of_commands():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for words, _ in commands():
        first, second, *_ = words.split()
        assert f"{first} {second}" in readme, words


def test_help_starts_without_the_heavy_libraries():
    code = (
        "import sys, twiki.cli as cli\ncli.build()\n"
        "print([m for m in ('torch','transformers','pyarrow','lxml','rocksdict','faust','kafka')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def run(*words):
    return subprocess.run(
        [*TWIKI, *map(str, words)], capture_output=True, text=True, check=False, cwd=ROOT
    )


def test_wrong_use_ends_with_code_2_and_a_failure_with_code_1(tmp_path):
    assert run("no-such-command").returncode == 2
    assert run("window", "cut").returncode == 2
    missing = run("window", "list", "--state", tmp_path / "none")
    assert missing.returncode == 1
    assert missing.stdout == ""
    assert "twiki bootstrap" in missing.stderr
    assert "Traceback" not in missing.stderr


def test_a_demo_refuses_a_folder_that_holds_something_else(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    done = run("demo", "--out", tmp_path, "--force")
    assert done.returncode == 1
    assert "exists already" in done.stderr
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_settings_file_with_an_unknown_name_is_refused(tmp_path):
    config = tmp_path / "twiki.toml"
    config.write_text("[windows]\nlatenes_seconds = 5\n")
    done = run("stream", "--state", tmp_path / "state", "--config", config)
    assert done.returncode == 1
    assert "latenes_seconds" in done.stderr


def test_wikimedia_is_not_asked_without_a_contact(tmp_path):
    done = run("stream", "--state", tmp_path / "state")
    assert done.returncode == 1
    assert "TWIKI_CONTACT" in done.stderr


def test_a_second_writer_of_a_state_is_refused(tmp_path):
    from twiki.state.rocks import RocksKeyValues

    kv = RocksKeyValues(tmp_path / "state" / "db", create=True)
    done = run("stream", "--state", tmp_path / "state", "--replay", __file__)
    kv.close()
    assert done.returncode == 1
    assert "another process" in done.stderr


@pytest.mark.parametrize("content", [b"<!DOCTYPE html><html>Moved</html>", b"", b"BZh9 not one"])
def test_a_file_that_is_no_dump_changes_nothing(content, tmp_path):
    dump = tmp_path / "enwiki-20261101-pages-articles.xml.bz2"
    dump.write_bytes(content)
    state = tmp_path / "state"
    done = run("bootstrap", "--articles", dump, "--as-of", "2026-11-01", "--state", state)
    assert done.returncode == 1
    assert dump.name in done.stderr
    assert not state.exists()


def test_json_is_alone_on_standard_output(tmp_path):
    done = run("doctor", "--json")
    assert json.loads(done.stdout)["ok"] is True
    assert done.stdout.count("\n") == 1


def test_options_that_take_many_values_take_them_in_a_row():
    words = ["bootstrap", "--articles", "a", "b", "c", "--state", "s", "--entities", "d"]
    assert spread(words) == [
        *["bootstrap", "--articles", "a", "--articles", "b", "--articles", "c"],
        *["--state", "s", "--entities", "d"],
    ]
