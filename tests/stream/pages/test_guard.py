"""Who may ask for what, and what hostile text can do: nothing."""

import re

import pytest
from pages_world import HOSTILE, ID
from starlette.routing import Route

from stream.pages.guard import host_of
from stream.pages.shown import Links, plain, segments, text
from twiki.config import WikiConfig


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "localhost:80@x"])
def test_other_host_names_are_refused(client, host):
    assert client.get("/windows", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8600", "127.0.0.1:1", "[::1]:8600"])
def test_loopback_names_are_answered(client, host):
    assert client.get("/windows", headers={"host": host}).status_code == 200


def test_two_host_headers_are_refused(client):
    sent = [("host", "localhost"), ("host", "evil.example")]
    assert client.get("/windows", headers=sent).status_code == 421


@pytest.mark.parametrize("header", ["[::1", "a b:c", "\x00", "[]"])
def test_a_host_header_that_is_none_names_no_host(header):
    assert host_of(header) not in {"localhost", "127.0.0.1", "::1"}


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_nothing_can_be_changed(client, method):
    for path in ("/windows", "/api/v1/windows", "/now/feed"):
        answer = client.request(method, path)
        assert answer.status_code == 405
        assert answer.headers["allow"] == "GET, HEAD"


def test_the_head_of_a_stream_comes_without_the_stream(client):
    for path in ("/now/feed", "/api/v1/live"):
        answer = client.head(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")


def test_every_route_only_reads(opened):
    app = opened.client.app._app
    for route in app.routes:
        assert isinstance(route, Route)
        assert set(route.methods) <= {"GET", "HEAD"}


def test_every_answer_forbids_scripts_from_elsewhere(client):
    for path in ("/windows", "/nope", "/api/v1/windows", "/static/twiki.css"):
        policy = client.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert client.get(path).headers["x-content-type-options"] == "nosniff"


def test_pages_ask_nobody_else_for_anything(client):
    for path in ("/windows", "/now", "/search", f"/datasets/{ID}"):
        page = client.get(path).text
        assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//(?!wiki\.example)""", page)
        assert "<style" not in page
        assert " style=" not in page
        assert not re.findall(r"<script(?! src=\"/static/)", page)


def test_a_long_question_is_refused(client):
    assert client.get("/search?q=" + "a" * 3000).status_code == 414


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e%2fapp.py",
        "/static/..%5capp.py",
        f"/datasets/{ID}/files/..%2f..%2findex.json",
        f"/datasets/{ID}/files//etc/passwd",
        f"/datasets/{ID}/files/%00",
        "/datasets/..%2f..",
        f"/datasets/{ID}/facts/..%2f",
    ],
)
def test_no_path_is_built_from_an_address(client, path):
    assert client.get(path).status_code == 404


def test_hostile_text_is_shown_and_not_obeyed(client):
    for path in (
        f"/datasets/{ID}/articles",
        f"/datasets/{ID}/articles/7",
        f"/datasets/{ID}/facts/probes_changed",
        "/search?q=script",
        "/search?q=script&in=facts",
    ):
        page = client.get(path).text
        assert "&lt;script&gt;alert" in page, path
        assert "<script>alert" not in page
        assert "\u202e" not in page
        assert "\x00" not in page
        assert "⟨U+202E⟩" in page
        assert "49" not in re.findall(r"\{\{[^}]*\}\}", page)
        assert "javascript:" not in page


def test_a_megabyte_without_a_space_is_cut_and_said_to_be(client):
    page = client.get(f"/datasets/{ID}/articles/8").text
    assert len(page) < 60_000
    assert "(1,000,000 characters)" in page


def test_a_question_is_shown_as_it_was_asked(client):
    page = client.get("/search", params={"q": '"><img src=x onerror=alert(1)>'}).text
    assert "<img" not in page


def test_links_lead_to_https_of_the_configured_wikis_alone(client):
    links = Links(WikiConfig(name="a", url="http://a.example", repository="b"))
    assert links.page("a", 1) is None
    assert links.revision("c", 1) is None
    assert links.entity("Q1") == "https://www.wikidata.org/wiki/Q1"
    assert links.entity("javascript:alert(1)") is None
    assert links.entity("Q1/../../x") is None
    assert Links(WikiConfig(name="a", url="https://u@a.example")).page("a", 1) is None
    page = client.get(f"/datasets/{ID}/articles/7").text
    found = re.findall(r'href="(https?:[^"]+)"', page)
    assert found
    assert all(url.startswith("https://wiki.example/") for url in found)


def test_text_is_bounded_and_isolated():
    assert plain("a\tb\nc") == "a b c"
    assert plain(HOSTILE).startswith("<script>")
    assert text("<b>") == "<bdi>&lt;b&gt;</bdi>"
    assert len(text("y" * 100_000)) < 4_100


def test_words_that_changed_are_marked():
    marked = segments("It opened in 1998.", "It opened in 1999.")
    assert marked == "<bdi>It opened in <del>1998.</del> <ins>1999.</ins></bdi>"
    assert "<script>" not in segments("<script>", "<script> x")
