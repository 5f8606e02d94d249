import json

import pytest
import typer
from typer.testing import CliRunner

from twiki.cli import inspect_text

APP = typer.Typer()
inspect_text.commands(APP)


@pytest.fixture
def run():
    def call(*arguments):
        result = CliRunner().invoke(APP, [str(a) for a in arguments])
        assert result.exit_code == 0, result.output
        return [json.loads(line) for line in result.stdout.splitlines()]

    return call


@pytest.fixture
def file(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_clean_prints_a_line_a_file(run, file):
    one = file("one", "== H ==\n'''Ant''' bites. It runs.\n* b {{mystery|5}}\n")
    two = file("two", "")
    assert run("clean", one, two) == [
        {
            "file": str(one),
            "paragraphs": [
                {"kind": "heading", "sentences": ["H"]},
                {"kind": "prose", "sentences": ["Ant bites.", "It runs."]},
                {"kind": "item", "sentences": ["b"]},
            ],
            "dropped_templates": {"mystery": 1},
        },
        {"file": str(two), "paragraphs": [], "dropped_templates": {}},
    ]


def test_diff_prints_what_is_new_and_what_is_gone(run, file):
    old = file("old", "The mayor is [[Bob]]. It rains. Eels swim.")
    new = file("new", "The mayor is [[Ann]]. It rains.<ref>x</ref>\n\nAnts bite.")
    assert run("diff", old, new) == [
        {
            "sentences": [
                {"kind": "updated", "text": "The mayor is Ann.", "replaced": "The mayor is Bob."},
                {"kind": "added", "text": "Ants bite.", "replaced": None},
            ],
            "removed": ["Eels swim."],
        }
    ]


def test_an_empty_old_text_means_a_new_article(run, file):
    (answer,) = run("diff", file("old", ""), file("new", "Ants bite. Cows dig."))
    assert [s["kind"] for s in answer["sentences"]] == ["new_article", "new_article"]
    (answer,) = run("diff", "--plain", file("old", ""), file("new", "Ants bite.\nCows dig.\n"))
    assert [s["text"] for s in answer["sentences"]] == ["Ants bite.", "Cows dig."]


def test_plain_files_are_paragraphs_by_line_and_markup_is_text(run, file):
    old = file("old", "Uses C++ code. It is [[x]].\nIt cost 1.5 million.\n")
    new = file("new", "It cost 15 million.\nUses C++ code. It is [[x]].\n")
    (answer,) = run("diff", "--plain", "--cosmetic", old, new)
    assert answer == {
        "sentences": [
            {
                "kind": "updated",
                "text": "It cost 15 million.",
                "replaced": "It cost 1.5 million.",
                "cosmetic": False,
            }
        ],
        "removed": [],
    }


def test_settings_name_the_wiki_and_its_templates(run, file, tmp_path):
    file("mine.toml", '[[rule]]\nnames = "mystery"\ntext = "{1} ants"\n')
    config = file("twiki.toml", f'[text]\ntemplates = "{tmp_path}/mine.toml"\n')
    (answer,) = run("clean", "--config", config, file("page", "Ate {{mystery|5}}."))
    assert answer["paragraphs"][0]["sentences"] == ["Ate 5 ants."]


def test_bytes_that_are_no_utf_8_are_replaced(run, tmp_path):
    path = tmp_path / "page"
    path.write_bytes(b"\xef\xbb\xbfAnts \xff bite.\r\nCows dig.")
    (answer,) = run("clean", path)
    assert answer["paragraphs"][0]["sentences"] == ["Ants \ufffd bite.", "Cows dig."]


def test_a_page_over_its_bound_is_told_and_the_others_go_on(file):
    config = file("twiki.toml", "[text]\nmax_page_bytes = 20\n")
    long, short = file("long", "Ants bite. " * 9), file("short", "Ants bite.")
    result = CliRunner().invoke(APP, ["clean", "--config", str(config), str(long), str(short)])
    assert result.exit_code == 1
    assert "max_page_bytes" in " ".join(result.stderr.split())
    assert [json.loads(line)["file"] for line in result.stdout.splitlines()] == [str(short)]
