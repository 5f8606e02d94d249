"""What the commands do with dumps and facts that are no good: nothing changes, and they say why."""

import json

import pytest
from histories import (
    DECEMBER,
    NOVEMBER,
    at,
    item,
    write_entities,
    write_xml,
    xml_page,
    xml_revision,
)

from twiki.cli import main
from twiki.cli.common import DB
from twiki.errors import EmptyProbes
from twiki.state.rocks import RocksKeyValues

SETTINGS = """
[wiki]
name = "testwiki"
repository = "testdata"
url = "https://wiki.example"
[facts]
unchanged_rate = 1.0
[windows]
policy = "dump"
"""


@pytest.fixture
def twiki(tmp_path, capsys):
    """Run a command on the state of this test; exit code, JSON on stdout, text on stderr."""
    config = tmp_path / "twiki.toml"
    config.write_text(SETTINGS)

    def run(*words):
        try:
            main([*map(str, words), "--config", str(config)])
            code = 0
        except SystemExit as end:
            code = end.code or 0
        said = capsys.readouterr()
        return code, json.loads(said.out) if said.out else None, said.err

    return run


@pytest.fixture
def old(tmp_path):
    return (
        write_xml(
            tmp_path / "20261101-pages.xml",
            xml_page(1, "Page 1", xml_revision(10, at(10, 5), "Its capital is Bruges.")),
        ),
        dump(tmp_path / "20261102-all.json", "Q8", 100, at(10, 5)),
    )


@pytest.fixture
def new(tmp_path):
    return (
        write_xml(
            tmp_path / "20261201-pages.xml",
            xml_page(1, "Page 1", xml_revision(11, at(11, 5), "Its capital is Ghent.", 10)),
        ),
        dump(tmp_path / "20261202-all.json", "Q9", 101, at(11, 5)),
    )


def dump(path, capital, rev, modified, *, names=("P36", "Q8", "Q9")):
    labels = {"P36": "capital", "Q8": "Bruges", "Q9": "Ghent"}
    told = [item(each, label=labels[each], rev=1, modified=at(9, 1)) for each in names]
    subject = item(
        "Q1", ("P36", capital), label="Flanders", sitelink="Page 1", rev=rev, modified=modified
    )
    return write_entities(path, *told, subject)


def pairs(state):
    kv = RocksKeyValues(state / DB)
    try:
        return dict(kv.scan(b""))
    finally:
        kv.close()


@pytest.fixture
def state(tmp_path, twiki, old):
    """A state of the older dumps whose November has closed."""
    folder = tmp_path / "state"
    words = ("--articles", old[0], "--entities", old[1], "--as-of", "2026-11-01")
    assert twiki("bootstrap", "--state", folder, *words)[0] == 0
    assert twiki("window", "close", "2026-11", "--state", folder)[0] == 0
    return folder


def reconcile(twiki, state, articles, entities, out, *more):
    words = ("--articles", articles, "--entities", entities, "--datasets", out, "--no-fetch")
    return twiki("window", "reconcile", "2026-11", "--state", state, *words, *more)


def cut_short(path):
    path.write_bytes(path.read_bytes()[: len(path.read_bytes()) * 3 // 4])
    return path


def of_another_wiki(path):
    path.write_text(path.read_text("utf-8").replace("testwiki", "dewiki"), "utf-8")
    return path


def older(path):
    return path.rename(path.with_name(path.name.replace("202612", "202610")))


REFUSED = [
    ("articles", cut_short, "pages.xml"),
    ("entities", cut_short, "expected the closing bracket"),
    ("articles", of_another_wiki, "expected a dump of testwiki, found one of dewiki"),
    ("articles", older, "older than the state"),
    ("entities", older, "older than the state"),
]


@pytest.mark.parametrize(("which", "spoil", "why"), REFUSED)
def test_a_dump_that_is_no_good_is_refused_before_anything_changes(
    which, spoil, why, twiki, state, new, tmp_path
):
    before = pairs(state)
    articles, entities = new
    if which == "articles":
        articles = spoil(articles)
    else:
        entities = spoil(entities)
    code, printed, said = reconcile(twiki, state, articles, entities, tmp_path / "out")
    assert (code, printed) == (1, None)
    assert why in said
    assert pairs(state) == before
    assert not list(tmp_path.rglob("manifest.json"))
    assert set(before) <= set(pairs(state))


@pytest.mark.parametrize(("which", "spoil", "why"), REFUSED)
def test_a_state_does_not_begin_with_one_either(which, spoil, why, twiki, new, tmp_path):
    articles, entities = new
    if which == "articles":
        articles = spoil(articles)
    else:
        entities = spoil(entities)
    words = ("--articles", articles, "--entities", entities, "--as-of", "2026-12-01")
    code, _, said = twiki("bootstrap", "--state", tmp_path / "state", *words)
    assert code == 1
    assert why in said
    held = pairs(tmp_path / "state") if (tmp_path / "state" / DB).exists() else {}
    assert all(key[:1] == b"m" for key in held)


def test_a_damaged_line_is_passed_over_and_told_by_its_place(twiki, old, new, tmp_path):
    for path in (old[1], new[1]):
        lines = path.read_text("utf-8").split("\n")
        path.write_text("\n".join([lines[0], '{"id":"Q4",', *lines[1:]]), "utf-8")
    words = ("--articles", old[0], "--entities", old[1], "--as-of", "2026-11-01", "--json")
    code, done, said = twiki("bootstrap", "--state", tmp_path / "state", *words)
    assert (code, done["damaged_lines"], done["entities"]) == (0, 1, 4)
    (place,) = done["damaged"]
    assert place.startswith("20261102-all.json: byte 2: ")
    assert f"passed over: {place}" in said
    assert twiki("window", "close", "2026-11", "--state", tmp_path / "state")[0] == 0
    code, report, _ = reconcile(twiki, tmp_path / "state", *new, tmp_path / "out", "--json")
    assert (code, report["reconcile"]["damaged_lines"]) == (0, 1)
    assert report["reconcile"]["damaged"][0].startswith("20261202-all.json: byte 2: ")


@pytest.mark.parametrize("command", ["reconcile", "cut", "diff"])
def test_facts_without_a_probe_are_an_error_with_the_counts(command, twiki, old, new, tmp_path):
    for path, capital, rev in ((old[1], "Q8", 100), (new[1], "Q9", 101)):
        dump(path, capital, rev, NOVEMBER if rev == 100 else DECEMBER, names=())
    words = ("--articles", old[0], "--entities", old[1], "--as-of", "2026-11-01")
    state, out = tmp_path / "state", tmp_path / "out"
    assert twiki("bootstrap", "--state", state, *words)[0] == 0
    assert twiki("window", "close", "2026-11", "--state", state)[0] == 0
    allowed = ("--allow-empty-probes",)
    if command == "diff":
        span = ("--window", "2026-11-01..2026-12-01", "--out", out)

        def run(*more):
            both = ("--articles", old[0], new[0], "--entities", old[1], new[1])
            return twiki("diff", *both, *span, *more)
    else:
        code, _, said = reconcile(twiki, state, *new, out)

        def run(*more):
            if command == "reconcile":
                return reconcile(twiki, state, *new, out, *more)
            return twiki("window", "cut", "2026-11", "--state", state, "--datasets", out, *more)

    code, _, said = run()
    assert code == EmptyProbes.exit_code == 1
    assert "0 of 1 candidates kept; dropped: 1 no_label" in said
    assert not list(out.rglob("manifest.json"))
    assert run(*allowed)[0] == 0
    assert list(out.rglob("manifest.json"))


def test_tables_beside_the_dumps_go_with_a_state_folder_alone(twiki, new):
    words = ("window", "reconcile", "2026-11", "--articles", new[0], "--kafka")
    for table in ("--page-props", "--redirects"):
        code, _, said = twiki(*words, table, new[0])
        assert code == 2
        assert "not with --kafka" in said
