"""What the trainer left: shown as it is, scores beside probes, and nothing active in a chart."""

import json
import re

import pages_world
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pages_world import ID

from stream.pages.drawings import figures

CHART = """<!doctype html><title>r</title><figure id="figure-2"><svg viewBox="0 0 9 9" role="img"
 aria-label="A <b>" onload="alert(1)" style="background:url(//evil.example)"><defs><pattern id="h0"
 width="2"><line x1="0"/></pattern></defs><script>alert(2)</script><foreignObject><p>x</p>
</foreignObject><a href="javascript:alert(3)"><text>in a link</text></a><image
 href="//evil.example"/><rect fill="url(#h0)" x="1"/><rect fill="url(//evil.example)" y="2"/><text
 class="t">a &lt;b&gt;</text></svg><figcaption>What it shows</figcaption></figure>"""


@pytest.fixture
def trained(tmp_path):
    """Two models tried on the world's window."""
    pages_world.write_dataset(tmp_path / "datasets", pages=9)
    for label, nats in (("diff", 1.0), ("kadapter", 2.0)):
        folder = tmp_path / f"runs/testwiki/2026-10/v1/{label}/evaluations/2026-10-v1"
        folder.mkdir(parents=True)
        about = {
            "dataset": {"id": ID, "window": "2026-10"},
            "extrinsic": {"changed": {"object": {"perplexity": nats * 10}}},
        }
        (folder.parents[1] / "run.json").write_text(json.dumps({"costs": {"steps": 59}}))
        (folder / "evaluation.json").write_text(json.dumps(about))
        rows = [
            {
                "category": "changed",
                "subject": f"Page {page}",
                "relation": "opened by",
                "object": "Ada Lund",
                "object_nll": nats * page,
                "object_tokens": 1.0,
            }
            for page in (1, 2, 3)
        ]
        pq.write_table(pa.Table.from_pylist(rows), folder / "facts.parquet")
    report = tmp_path / "report"
    report.mkdir()
    table = {
        "id": "table-3",
        "title": "Table 3: perplexity",
        "note": "Lower is better.",
        "columns": ["method", "changed"],
        "rows": [["diff", 12.5], ["<b>kadapter</b>", None], ["full", "inf"]],
    }
    told = {"wiki": "testwiki", "windows": ["2026-10"], "findings": ["It learned."], "runs": []}
    (report / "report.json").write_text(json.dumps({**told, "schema": 1, "tables": [table]}))
    (report / "report.html").write_text(CHART)
    with pages_world.served(
        tmp_path / "datasets", tmp_path / "cache", report=report, runs=tmp_path / "runs"
    ) as (client, _):
        yield client


def test_the_report_is_shown_with_its_tables_and_charts(trained):
    page = trained.get("/models").text
    assert "Table 3: perplexity" in page
    assert '<td class="n">12.5</td>' in page
    assert "&lt;b&gt;kadapter&lt;/b&gt;" in page
    assert '<td class="n">∞</td>' in page  # of a model that diverged
    assert "What it shows" in page
    assert trained.get("/api/v1/models").json()["tables"][0]["rows"][0] == ["diff", 12.5]


def test_two_models_are_compared_down_to_the_probes_where_they_differ_most(trained):
    names = trained.get("/api/v1/models").json()["evaluations"]
    told = trained.get("/api/v1/models/compare", params={"a": names[0], "b": names[1]}).json()
    assert [row["subject"] for row in told["rows"]] == ["Page 3", "Page 2", "Page 1"]
    assert told["rows"][0]["first"] == pytest.approx(2.718281828**3)
    assert told["figures"]["changed facts, perplexity of objects"] == [10.0, 20.0]
    assert told["figures"]["training, steps"] == [59, 59]
    assert told["figures"]["training, flops"] == [None, None]
    page = trained.get("/models/compare", params={"a": names[0], "b": names[1]}).text
    assert page.index("Page 3") < page.index("Page 1")
    same = trained.get("/models/compare", params={"a": names[0], "b": names[0]})
    assert "No fact was tried on both" in same.text


def test_a_probe_shows_what_each_model_made_of_it(trained):
    listed = trained.get(f"/datasets/{ID}/facts/probes_changed").text
    page = trained.get(re.search(rf"/datasets/{ID}/facts/probes_changed/Q2/P1/\w+", listed)[0]).text
    assert "kadapter" in page
    assert "7.389" in page
    assert "54.6" in page


def test_nothing_active_comes_along_with_a_chart():
    (chart,) = figures(CHART)
    for wrong in ("script", "onload", "style", "foreignObject", "javascript", "evil", "href"):
        assert wrong not in chart.svg
    assert 'fill="url(#figure-2-h0)"' in chart.svg
    assert 'id="figure-2-h0"' in chart.svg
    assert "a &lt;b&gt;" in chart.svg
    assert chart.caption == "What it shows"
    assert figures("") == []


def test_the_charts_keep_the_colours_of_the_report():
    shared = (
        '<svg><defs><pattern id="h1" width="4"><rect fill="#E69F00"/></pattern>'
        '<pattern id="h2"/></defs></svg>'
    )
    grid = (
        '<figure id="g"><svg><rect fill="url(#h1)"/><rect fill="rgb(46,80,131)"/>'
        '<text style="fill:#fff">7</text><text style="fill:url(//evil.example)">8</text>'
        '<rect fill="rgb(1,2,3);x"/></svg></figure>'
    )
    (chart,) = figures(f"<!doctype html><body>{shared}{grid}</body>")
    assert '<pattern id="g-h1" width="4"><rect fill="#E69F00"/></pattern>' in chart.svg
    assert 'fill="url(#g-h1)"' in chart.svg
    assert "g-h2" not in chart.svg, "of what stands once in the page, what is used"
    assert '<rect fill="rgb(46,80,131)"/>' in chart.svg
    assert '<text fill="#fff">7</text>' in chart.svg
    assert "evil" not in chart.svg
    assert ";x" not in chart.svg


def test_a_report_that_is_none_is_named(tmp_path):
    pages_world.write_dataset(tmp_path / "datasets", pages=2)
    (tmp_path / "report").mkdir()
    (tmp_path / "report/report.json").write_text("{}")
    with pages_world.served(
        tmp_path / "datasets", tmp_path / "cache", report=tmp_path / "report"
    ) as (client, _):
        answer = client.get("/models")
    assert answer.status_code == 500
    assert "not a report of the trainer" in answer.text
