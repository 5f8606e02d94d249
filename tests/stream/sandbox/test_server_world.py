"""The server over the real little world, and the command that serves it."""

import json
import signal
import subprocess
import sys

import pytest
import requests

from stream.sandbox.dump_files import write_dumps
from stream.sandbox.faults import rough_weather
from stream.sandbox.model import ENWIKI, STREAMS, WIKIDATA
from stream.sandbox.server import SandboxServer
from stream.sandbox.world import World
from twiki.dumps import entities, files, sql, xml

BOTH = ",".join(STREAMS)
COMMAND = """
import typer
from twiki.cli.sandbox import register
app = typer.Typer()
register(app)
app()
"""


@pytest.fixture(scope="module")
def world():
    return World(seed=11, months=1)


@pytest.fixture(scope="module")
def server(world):
    with SandboxServer(world, grace=None) as running:
        requests.get(f"{running.stream_url}/{BOTH}", timeout=30)
        yield running


def test_every_revision_that_the_events_name_can_be_read(server, world):
    for wiki in (ENWIKI, WIKIDATA):
        named = {
            event.body["revision"].get("rev_id", event.body["revision"].get("new"))
            for event in world.events
            if event.wiki == wiki and event.body.get("revision")
        }
        ids = sorted(named)
        for start in range(0, len(ids), 50):
            asked = {"action": "query", "prop": "revisions", "rvprop": "ids|content"}
            asked |= {"rvslots": "main", "format": "json", "formatversion": "2"}
            asked["revids"] = "|".join(map(str, ids[start : start + 50]))
            address = server.wiki_url(wiki) + "/w/api.php"
            query = requests.get(address, params=asked, timeout=30).json()["query"]
            assert "badrevids" not in query
            for page in query["pages"]:
                for row in page["revisions"]:
                    assert isinstance(row["slots"]["main"]["content"], str)


def test_the_log_names_a_page_for_every_deletion(server):
    asked = {"action": "query", "list": "logevents", "letype": "delete", "lelimit": "max"}
    asked |= {"format": "json", "formatversion": "2", "leaction": "delete/delete"}
    rows = requests.get(server.api_url, params=asked, timeout=30).json()["query"]["logevents"]
    assert rows
    assert all(row["logpage"] for row in rows)


def test_our_own_readers_read_every_dump_of_the_world(server, world, tmp_path):
    for boundary in world.boundaries:
        run = write_dumps(world, boundary, tmp_path)
        pages = {}
        for path in files.expand([run.page_props.parent]):
            assert files.verify(path).verified_by == "sha1"
            with xml.open(path) as dump:
                assert dump.siteinfo.dbname == ENWIKI
                pages |= {page.page_id: page for page in dump.pages()}
        expected = world.dump_pages(boundary)
        assert sorted(pages) == [entry.page.page_id for entry in expected]
        for entry in expected:
            (revision,) = pages[entry.page.page_id].revisions
            assert revision.rev_id == entry.revision.rev_id
            assert revision.text == entry.revision.text
        with entities.open(run.entities) as dump:
            found = {entity.id: entity.rev_id for entity in dump.entities()}
            assert not dump.damaged
        assert found == {
            entry.page.title.removeprefix("Property:"): entry.revision.rev_id
            for entry in world.dump_entities(boundary)
            if entry.page.redirect is None and entry.revision.text is not None
        }
        redirected = {row.page_id for row in sql.redirects(run.redirects)}
        assert redirected
    server_listing = requests.get(f"{server.dumps_url}/enwiki/", timeout=30).text
    assert all(f"{boundary:%Y%m%d}/" in server_listing for boundary in world.boundaries)


def test_a_patient_reader_sees_every_event_through_rough_weather(world):
    with SandboxServer(world, faults=rough_weather(4)) as server:
        seen, connections = {}, 0
        positions = {}
        while connections < 60:
            connections += 1
            headers = {"Last-Event-ID": json.dumps(list(positions.values()))} if positions else {}
            whole = _read(f"{server.stream_url}/{BOTH}", headers, seen, positions)
            if whole:
                break
        assert whole
        assert connections > 10
        assert server.now >= world.now  # a copy may come after the last event
    expected = {event.body["meta"]["id"] for event in world.events if event.wiki != "canary"}
    assert {identity for identity, domain in seen.items() if domain != "canary"} == expected


def _read(url, headers, seen, positions):
    received = b""
    with requests.get(url, headers=headers, stream=True, timeout=30) as answer:
        if answer.status_code != 200:
            assert answer.headers["Retry-After"] == "0"
            return False
        try:
            for piece in answer.iter_content(None):
                received += piece
            whole = True
        except requests.exceptions.ChunkedEncodingError:
            whole = False
    for block in received.split(b"\n\n")[:-1]:
        if block.startswith(b"event: message\n"):
            meta = json.loads(block.split(b"\ndata: ")[1])["meta"]
            seen[meta["id"]] = meta["domain"]
            place = {"topic": meta["topic"], "partition": 0, "offset": meta["offset"] + 1}
            positions[meta["topic"]] = place
    return whole


def test_the_command_prints_its_addresses_and_serves_until_it_is_ended():
    arguments = ["sandbox", "serve", "--seed", "3", "--months", "1", "--json"]
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments], stdout=subprocess.PIPE, text=True
    ) as process:
        first = json.loads(process.stdout.readline())
        assert sorted(first) == ["api", "dumps", "months", "stream", "url"]
        (month,) = first["months"]
        books = requests.get(f"{first['url']}/books/{month}.json", timeout=30).json()
        assert books["window"] == month
        assert books["articles"]
        with requests.get(f"{first['stream']}/{BOTH}", stream=True, timeout=30) as answer:
            assert next(answer.iter_content(5)) == b":ok\n\n"
        asked = {"action": "query", "meta": "siteinfo", "format": "json"}
        site = requests.get(first["api"], params=asked, timeout=30).json()
        assert site["query"]["general"]["wikiid"] == "enwiki"
        assert requests.get(first["dumps"] + "/enwiki/", timeout=30).status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
        assert process.stdout.read() == ""
