import json

import pytest
import typer
from typer.testing import CliRunner

from twiki.cli import inspect_facts
from twiki.errors import DatasetError, DumpError, UsageError


def run(*arguments):
    app = typer.Typer()
    inspect_facts.commands(app)
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def entity(path, **objects):
    claims = {
        relation: [
            {
                "mainsnak": {
                    "snaktype": "value",
                    "datavalue": {"type": "wikibase-entityid", "value": {"id": value}},
                },
                "rank": "normal",
                "id": f"Q1${relation}{value}",
                "qualifiers": {
                    "P582": [
                        {"datavalue": {"value": {"time": "+2021-05-00T00:00:00Z", "precision": 10}}}
                    ]
                },
            }
            for value in values
        ]
        for relation, values in objects.items()
    }
    path.write_text(json.dumps({"type": "item", "id": "Q1", "claims": claims}))
    return path


def test_facts_prints_the_three_groups(tmp_path):
    old = entity(tmp_path / "old.json", P54=["Q10", "Q11"])
    new = entity(tmp_path / "new.json", P54=["Q10", "Q12"], P31=["Q5"])
    row = {"subject": "Q1", "relation": "P54", "previous_objects": ["Q10", "Q11"]}
    assert run("facts", old, new) == {
        "changed": [
            {
                "subject": "Q1",
                "relation": "P31",
                "object": "Q5",
                "class": "new_relation",
                "previous_objects": [],
            },
            {**row, "object": "Q12", "class": "new_object"},
        ],
        "unchanged": [{**row, "object": "Q10", "class": "unchanged"}],
        "removed": [{**row, "object": "Q11", "class": "removed"}],
    }


def test_a_dash_means_that_there_was_no_entity(tmp_path):
    new = entity(tmp_path / "new.json", P31=["Q5"])
    assert [row["class"] for row in run("facts", "-", new)["changed"]] == ["new_subject"]


def test_as_of_says_whether_a_fact_may_still_hold(tmp_path):
    new = entity(tmp_path / "new.json", P54=["Q10"])
    (row,) = run("facts", "-", new, "--as-of", "2021-05-20")["changed"]
    assert row["current"] is True
    (row,) = run("facts", "-", new, "--as-of", "2021-06-01T00:00:00Z")["changed"]
    assert row["current"] is False


def test_a_merged_object_is_unchanged_when_its_redirect_is_named(tmp_path):
    old = entity(tmp_path / "old.json", P54=["Q10"])
    new = entity(tmp_path / "new.json", P54=["Q77"])
    plain = run("facts", old, new)
    assert [len(plain[group]) for group in ("changed", "unchanged", "removed")] == [1, 0, 1]
    merged = run("facts", old, new, "--redirect", "Q10=Q20", "--redirect", "Q20=Q77")
    assert [len(merged[group]) for group in ("changed", "unchanged", "removed")] == [0, 1, 0]


def test_facts_refuses_what_it_cannot_compare(tmp_path):
    one = entity(tmp_path / "one.json", P31=["Q5"])
    other = tmp_path / "other.json"
    other.write_text('{"type":"item","id":"Q2"}')
    page = tmp_path / "page.json"
    page.write_text("<html>")
    with pytest.raises(UsageError, match="two revisions of one entity"):
        run("facts", one, other)
    with pytest.raises(DumpError, match=r"page\.json: expected"):
        run("facts", "-", page)
    with pytest.raises(UsageError, match="cannot be read"):
        run("facts", "-", tmp_path / "absent.json")
    with pytest.raises(UsageError, match="ISO time"):
        run("facts", "-", one, "--as-of", "soon")
    with pytest.raises(UsageError, match="FROM=TO"):
        run("facts", "-", one, "--redirect", "Q1")


def table(path, *rows, header="subject,relation,object"):
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_quality_prints_counts_and_the_shares_of_what_is_kept(tmp_path):
    file = table(
        tmp_path / "probes.csv",
        "Rome,capital of,Italy",
        "Rome,capital of,Italy",
        "Oslo,twin of,Oslo Fjord",
        "NA,answer,None",
        ",empty,x",
    )
    result = run("quality", file)
    assert result["rows"] == 5
    assert result["kept"] == 2
    assert {rule: n for rule, n in result["dropped"].items() if n} == {
        "no_label": 1,
        "duplicate": 1,
        "substring": 1,
    }
    assert result["shares"]["Object"] == {"Italy": 0.5, "None": 0.5}
    assert set(result) == {"rows", "kept", "dropped", "shares"}


def test_quality_names_the_rows_that_break_a_rule_on_request(tmp_path):
    file = table(tmp_path / "probes.csv", "Rome,r,Italy", "Oslo,r,oslo")
    result = run("quality", file, "--rows")
    assert result["broken"]["substring"] == [2]
    assert result["over"]["relation_cap"] == {"r": 1.0}


def test_the_limits_come_from_the_settings_file(tmp_path):
    file = table(tmp_path / "probes.csv", "Rome,r,the old Italy", "Oslo,q,Norway")
    settings = tmp_path / "twiki.toml"
    settings.write_text("[quality]\nmax_object_words = 2\n")
    assert run("quality", file)["kept"] == 2
    assert run("quality", file, "--config", settings)["dropped"]["object_words"] == 1


def test_columns_are_found_in_any_case_and_order(tmp_path):
    file = table(
        tmp_path / "probes.csv", 'x,"Washington, D.C.",Rome,r', header="id,OBJECT,Subject,Relation"
    )
    assert run("quality", file)["shares"]["Object"] == {"Washington, D.C.": 1.0}


def test_an_empty_table_is_no_failure(tmp_path):
    result = run("quality", table(tmp_path / "probes.csv"))
    assert (result["rows"], result["kept"]) == (0, 0)
    assert result["shares"] == {"Subject": {}, "Relation": {}, "Object": {}}


def test_quality_refuses_what_is_no_table(tmp_path):
    with pytest.raises(DatasetError, match="expected the columns"):
        run("quality", table(tmp_path / "a.csv", "x", header="subject,relation"))
    with pytest.raises(DatasetError, match="line 2"):
        run("quality", table(tmp_path / "b.csv", "x"))
    binary = tmp_path / "c.csv"
    binary.write_bytes(b"subject,relation,object\n\xff,a,b\n")
    with pytest.raises(DatasetError, match="UTF-8"):
        run("quality", binary)
    with pytest.raises(UsageError, match="cannot be read"):
        run("quality", tmp_path / "absent.csv")
