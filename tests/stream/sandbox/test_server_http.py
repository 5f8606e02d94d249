import pytest
import requests

from stream.sandbox import server
from stream.sandbox.faults import Faults
from stream.sandbox.model import ENWIKI, WIKIDATA


def test_one_host_serves_both_wikis(small_world):
    with server.SandboxServer(small_world) as running:
        requests.get(f"{running.stream_url}/mediawiki.recentchange", timeout=10)
        asked = {"action": "query", "meta": "siteinfo", "format": "json"}
        addresses = {
            running.api_url: "enwiki",
            running.api_url + "?wiki=wikidatawiki": "wikidatawiki",
            running.wiki_url(ENWIKI) + "/w/api.php": "enwiki",
            running.wiki_url(WIKIDATA) + "/w/api.php": "wikidatawiki",
        }
        for address, wiki in addresses.items():
            answer = requests.get(address, params=asked, timeout=10)
            assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
            assert answer.json()["query"]["general"]["wikiid"] == wiki
            assert requests.post(address, data=asked, timeout=10).json() == answer.json()
        for base in (running.url, running.wiki_url(WIKIDATA)):
            answer = requests.get(
                f"{base}/wiki/Special:EntityData/Q1.json?revision=502", timeout=10
            )
            assert answer.json()["entities"]["Q1"]["lastrevid"] == 502
        missing = requests.get(f"{running.url}/wiki/Special:EntityData/Q9.json", timeout=10)
        assert missing.status_code == 404
        assert (
            requests.get(f"{running.url}/books/2026-11.json", timeout=10).json()["articles"] == []
        )
        assert requests.get(f"{running.url}/books/2027-01.json", timeout=10).status_code == 404


def test_what_is_not_there_is_named_escaped(small_world):
    with server.SandboxServer(small_world) as running:
        answer = requests.get(f"{running.url}/<script>", timeout=10)
        assert answer.status_code == 404
        assert "<script>" not in answer.text


def test_planned_faults_of_the_api_pass_when_asked_again(small_world):
    faults = Faults(api_refusals=0.6, maxlag=0.6, lagging=1.0, retry_after_seconds=1)
    asked = {"action": "query", "prop": "revisions", "format": "json", "formatversion": 2}
    kinds = set()
    with server.SandboxServer(small_world, faults=faults) as running:
        for rev_id in (101, 110, 120):
            for _ in range(6):
                answer = requests.get(
                    running.api_url, params=asked | {"revids": rev_id}, timeout=10
                )
                body = answer.json() if answer.status_code == 200 else {}
                if answer.status_code != 200 or "error" in body:
                    assert answer.headers["Retry-After"] == "1"
                kinds.add(body.get("error", {}).get("code", answer.status_code))
                if "badrevids" in body.get("query", {}):
                    kinds.add("lag")
                if "pages" in body.get("query", {}):
                    break
            else:
                pytest.fail("never answered")
    assert kinds >= {200, "maxlag", "lag"}
    assert kinds & {503, 429}
