"""What the pages over datasets say."""

import re
from datetime import date

import pages_world
import pytest
from pages_world import ID

from stream.pages import sketch
from stream.pages.site import previous
from stream.pages.windows import rows
from twiki.windows.dataset import Dataset, Part


def test_the_list_tells_what_state_each_window_is_in(site, world):
    found = {row.window: row for row in rows(site.library, site.feed)}
    assert found["2026-10"].states == ("open", "reconciled", "published")
    assert found["2026-10"].completeness == 0.995
    assert found["2026-10"].current == ID


def test_an_empty_folder_says_what_to_do_next(tmp_path):
    with pages_world.served(tmp_path / "none", tmp_path / "cache") as (client, _):
        assert "twiki demo" in client.get("/windows").text
        assert "twiki serve --state" in client.get("/now").text
        assert "twiki train" in client.get("/models").text
        assert "twiki demo" in client.get("/search").text
        assert client.get("/api/v1/windows").json()["windows"] == []
        assert client.get("/api/v1/now").status_code == 404
        assert client.get("/api/v1/live").status_code == 404


def test_the_data_sheet_shows_the_counts_of_the_manifest(client, world):
    page = client.get(f"/datasets/{ID}").text
    for name in ("diffset.parquet", "manifest.json", "README.md"):
        assert f"/files/{name}" in page
    assert "repaired from dump" in page
    assert "dropped by no label" in page
    assert "99.50%" in page
    assert "cff-version" in page
    dataset = Dataset.open(world.datasets / "testwiki/2026-10")
    assert f'<td class="n">{dataset.counts[Part.SENTENCES]}</td>' in page


def test_every_file_can_be_fetched_as_the_manifest_says(client, site):
    shelf = site.library.find(ID)
    for name, entry in site.library.dataset(shelf).files().items():
        answer = client.get(f"/datasets/{ID}/files/{name}")
        assert len(answer.content) == entry.bytes
        assert answer.headers["x-sha256"] == entry.sha256
        assert "html" not in answer.headers["content-type"]
        assert answer.headers["content-disposition"].startswith("attachment")


def test_pages_of_articles_follow_each_other_without_loss(client):
    address, seen = f"/datasets/{ID}/articles", []
    while address:
        page = client.get(address).text
        seen += [int(n) for n in re.findall(rf'/datasets/{ID}/articles/(\d+)"', page)]
        following = re.search(r'rel="next" href="([^"]+)"', page)
        address = following and following[1].replace("&amp;", "&")
    assert seen == list(range(1, 121))


def test_an_article_shows_what_each_sentence_replaced_and_its_probes(client):
    page = client.get(f"/datasets/{ID}/articles/3").text
    assert "<del>1998.</del> <ins>1999.</ins>" in page
    assert "<mark>Ada Lund</mark> opened page 3." in page
    assert "https://wiki.example/w/index.php?diff=31&amp;oldid=30" in page


def test_a_probe_shows_before_and_after_evidence_and_prompts(client):
    listed = client.get(f"/datasets/{ID}/facts/probes_changed").text
    address = re.search(rf"/datasets/{ID}/facts/probes_changed/Q3/P1/\w+", listed)[0]
    page = client.get(address).text
    assert "<del><bdi>Bo Lund</bdi></del>" in page
    assert "<ins><bdi>Ada Lund</bdi></ins>" in page
    assert "Who opened page 3?" in page
    assert "It opened in 1999." in page, "the rest of the paragraph"
    assert "--runs" in page, "what to do where no model was tried"


def test_what_stood_before_is_named_by_its_id_where_it_has_no_label():
    row = {"previous_objects": ["Q1", "Q2", "Q3"], "previous_labels": ["Bo", ""]}
    assert previous(row) == ["Bo", "Q2", "Q3"]
    assert previous({"previous_objects": None, "previous_labels": None}) == []


def test_the_days_of_a_window_are_those_of_the_calendar():
    told = {"2026-09-10": {"added": 2}, "2026-09-30": {"added": 1}, "2026-10-02": {"updated": 3}}
    found = sketch.calendar(told, date(2026, 10, 1), date(2026, 10, 5))
    assert list(found) == ["before", "2026-10-01", "2026-10-02", "2026-10-03", "2026-10-04"]
    assert found["before"] == {"added": 3}
    assert found["2026-10-02"] == {"updated": 3}
    assert list(sketch.calendar({}, date(2026, 10, 1), date(2026, 10, 2))) == ["2026-10-01"]


def test_kinds_of_change_by_day_are_drawn_with_their_counts(client):
    page = client.get(f"/datasets/{ID}").text
    drawn = re.search(r'<svg class="days".*?</svg>', page, re.DOTALL)[0]
    assert "<title>2026-10-05: 120 updated</title>" in drawn
    assert "<title>2026-10-05: 120 added</title>" in drawn
    assert ">10-01</text>" in drawn


def test_a_long_name_of_a_bar_is_cut_and_stands_whole_in_its_hint():
    drawn = sketch.bars("Relations", [("located in the administrative entity", 3)])
    assert (
        "located in the administrati…<title>located in the administrative entity</title>" in drawn
    )


def test_the_classes_of_reconciling_stand_with_examples_that_lead_to_the_page(client):
    page = client.get(f"/datasets/{ID}").text
    row = re.search(r'<tr><th scope="row">repaired from dump</th>.*?</tr>', page, re.DOTALL)[0]
    assert '<td class="n">1</td>' in row
    assert '<a href="https://wiki.example/?curid=12" rel="noreferrer">12</a>' in row


def test_an_unchanged_probe_shows_its_paragraph_from_what_did_not_change(client):
    listed = client.get(f"/datasets/{ID}/facts/probes_unchanged").text
    page = client.get(
        re.search(rf"/datasets/{ID}/facts/probes_unchanged/Q9/P1/\w+", listed)[0]
    ).text
    assert "Before it." in page
    assert "After it." in page
    assert "<dt>After</dt><dd><bdi>Ada Lund</bdi> (" in page, "nothing was struck out or put in"
    assert "<del>" not in page


def test_an_object_that_is_hostile_has_an_address_of_its_own(client):
    listed = client.get(f"/datasets/{ID}/facts/probes_changed").text
    address = re.search(rf"/datasets/{ID}/facts/probes_changed/Q7/P1/\w+", listed)[0]
    assert client.get(address).status_code == 200


def test_the_window_leads_to_the_version_to_use(client):
    answer = client.get("/windows/testwiki/2026-10", follow_redirects=False)
    assert answer.headers["location"] == f"/datasets/{ID}"
    assert client.get("/windows/testwiki/1999-01").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        f"/datasets/{ID}/articles/99999",
        f"/datasets/{ID}/facts/nope",
        f"/datasets/{ID}/facts/probes_changed/Q3/P1/0000",
        "/datasets/twiki-none",
        "/models/compare?a=x&b=y",
    ],
)
def test_what_is_not_there_is_said_to_be_not_there(client, path):
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        f"/datasets/{ID}/articles?after=zzz",
        f"/datasets/{ID}/articles?after=WzFd$$",
        f"/datasets/{ID}/articles/x",
        "/search?q=a&after=b",
        f"/api/v1/datasets/{ID}/rows/sentences?limit=100000",
        f"/api/v1/datasets/{ID}/rows/sentences?after=WyJhIiwiYiJd",
    ],
)
def test_what_cannot_be_asked_is_told_so(client, path):
    assert client.get(path).status_code == 400


def test_a_withdrawn_version_is_gone_and_names_its_heir(tmp_path):
    pages_world.write_dataset(tmp_path / "d", pages=9)
    pages_world.write_dataset(tmp_path / "d", pages=9, withdraws="a revision was hidden")
    with pages_world.served(tmp_path / "d", tmp_path / "c") as (client, site):
        for path in (f"/datasets/{ID}", f"/datasets/{ID}/articles/3", f"/api/v1/datasets/{ID}"):
            answer = client.get(path)
            assert answer.status_code == 410
            assert "v2" in answer.text
        assert client.get(f"/datasets/{ID}/files/diffset.parquet").status_code == 410
        assert "corrected" in client.get("/windows").text
        row = rows(site.library, None)[0]
        assert row.states == ("published", "corrected")


def test_a_damaged_dataset_is_named_and_the_others_are_served(tmp_path):
    pages_world.write_dataset(tmp_path / "d", pages=9)
    broken = tmp_path / "d/otherwiki/2026-10/v1"
    broken.mkdir(parents=True)
    (broken / "manifest.json").write_text("{")
    with pages_world.served(tmp_path / "d", tmp_path / "c") as (client, _):
        assert "otherwiki/2026-10/v1" in client.get("/windows").text
        assert client.get(f"/datasets/{ID}").status_code == 200
