"""Listing and getting dumps, against a small site on loopback that misbehaves on cue."""

import json
import random
import threading
from http.server import ThreadingHTTPServer

import pytest
import typer
from dumps_world import (
    ARTICLES,
    ENTITIES,
    Clock,
    Handler,
    World,
    classic,
    content,
    digest,
    entity_dump,
    listing,
)
from typer.testing import CliRunner

from stream.download import Downloads, RemoteFile
from stream.dumps_site import DumpsSite, Layout
from stream.settings import StreamConfig
from twiki.cli import dumps as command
from twiki.dumps.files import expand, verify
from twiki.errors import ChecksumError, ConfigError, DumpError, SourceError


@pytest.fixture
def world():
    return World()


@pytest.fixture
def url(world):
    handler = type("Bound", (Handler,), {"world": world})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def downloads(clock):
    config = StreamConfig(contact="mail@example.org", attempts=4)
    downloads = Downloads(config, clock, random.Random(1))
    yield downloads
    downloads.close()


@pytest.fixture
def site(url, downloads):
    return DumpsSite(url, downloads)


def test_runs_are_listed_newest_first_with_what_they_lack(world, site):
    classic(world)
    classic(world, "20261120", "in-progress")
    world.files["/enwiki/"] = listing("20261020", "20261101", "20261120", "latest")
    dates = site.dates("enwiki", Layout.CLASSIC)
    assert dates == ["20261120", "20261101", "20261020"]
    runs = [site.run("enwiki", date, Layout.CLASSIC) for date in dates]
    assert [run.missing for run in runs] == [
        "articlesdump is in-progress",
        "",
        "no dumpstatus.json",
    ]
    assert runs[1].size == sum(map(len, ARTICLES.values()))
    assert site.run("enwiki", "20261101", Layout.CLASSIC, "history").missing == (
        "metahistorybz2dump is waiting"
    )


def test_the_newest_complete_run_is_chosen_not_the_newest(world, site):
    classic(world)
    classic(world, "20261120", "in-progress")
    assert site.newest("enwiki", Layout.CLASSIC).date == "20261101"


def test_where_no_run_is_complete_the_error_says_what_each_lacks(world, site):
    classic(world, "20261120", "waiting")
    with pytest.raises(SourceError, match=r"20261120 \(articlesdump is waiting\)"):
        site.newest("enwiki", Layout.CLASSIC)
    with pytest.raises(SourceError, match="no run at all"):
        site.newest("dewiki", Layout.CLASSIC)
    with pytest.raises(SourceError, match="not the name of a wiki"):
        site.newest("../enwiki", Layout.CLASSIC)


def test_a_run_is_fetched_verified_and_readable_as_a_folder(world, site, tmp_path, downloads):
    classic(world)
    seen = {}
    run = site.newest("enwiki", Layout.CLASSIC, tables="too")
    sources = site.get(run, tmp_path, lambda name, have, _: seen.__setitem__(name, have))
    assert {source.verified_by for source in sources} == {"sha1"}
    assert {path.name for path in tmp_path.iterdir()} == {
        *ARTICLES,
        "enwiki-20261101-page_props.sql.gz",
        "dumpstatus.json",
    }
    assert {file.name: file.read_bytes() for file in expand([tmp_path])} == ARTICLES
    assert verify(tmp_path / next(iter(ARTICLES))).verified_by == "sha1"
    assert {name: seen[name] for name in ARTICLES} == {n: len(d) for n, d in ARTICLES.items()}
    assert world.most_open <= 2
    (agent,) = world.agents
    assert "mail@example.org" in agent


def test_the_tables_can_be_had_alone_where_the_texts_are_not_wanted(world, site):
    classic(world, "20261101", "waiting")
    run = site.newest("enwiki", Layout.CLASSIC, tables="only")
    assert [file.name for file in run.files] == ["enwiki-20261101-page_props.sql.gz"]
    assert run.complete
    jobs = json.loads(world.files["/enwiki/20261101/dumpstatus.json"])
    del jobs["jobs"]["pagetable"]
    world.files["/enwiki/20261101/dumpstatus.json"] = json.dumps(jobs).encode()
    assert (
        "pagetable is missing"
        in site.run("enwiki", "20261101", Layout.CLASSIC, tables="only").missing
    )


def test_the_content_export_is_complete_only_with_both_marks(world, site, tmp_path):
    content(world, marks=("SHA256SUMS",))
    assert site.run("enwiki", "20261101", Layout.CONTENT).missing == "no _SUCCESS"
    content(world)
    run = site.newest("enwiki", Layout.CONTENT)
    assert {source.verified_by for source in site.get(run, tmp_path)} == {"sha256"}
    assert len(expand([tmp_path])) == 3


def test_the_entity_dump_is_complete_when_its_checksums_are_there(world, site, tmp_path):
    entity_dump(world)
    run = site.newest("wikidatawiki", Layout.ENTITIES)
    assert run.date == "20261102"
    site.get(run, tmp_path)
    assert expand([tmp_path], "entities")[0].read_bytes() == ENTITIES


def test_files_that_are_there_are_not_fetched_again(world, site, tmp_path):
    classic(world)
    run = site.newest("enwiki", Layout.CLASSIC)
    site.get(run, tmp_path)
    before = len(world.asked)
    site.get(run, tmp_path)
    assert len(world.asked) == before
    damaged = tmp_path / next(iter(ARTICLES))
    damaged.write_bytes(b"other")
    site.get(run, tmp_path)
    assert damaged.read_bytes() == ARTICLES[damaged.name]


NAME = "enwiki-20261101-pages-articles1.xml-p1p1.bz2"
PATH = f"/enwiki/20261101/{NAME}"


def remote(url, data=ARTICLES[NAME], size=True, checksum=True):
    return RemoteFile(
        name=NAME,
        url=url + PATH,
        size=len(data) if size else None,
        checksum=digest("sha1", data) if checksum else None,
    )


@pytest.mark.parametrize("size", [True, False])
def test_a_cut_connection_is_resumed_where_it_stopped(world, url, downloads, tmp_path, clock, size):
    classic(world)
    world.faults[PATH] = ["cut", 503, "cut"]
    downloads.files([remote(url, size=size)], tmp_path)
    assert (tmp_path / NAME).read_bytes() == ARTICLES[NAME]
    assert [span for path, span in world.asked if path == PATH] == [
        None,
        "bytes=100000-",
        "bytes=100000-",
        "bytes=200000-",
    ]
    assert sum(clock.slept) >= 7  # as Retry-After asked


def test_a_part_of_an_earlier_run_of_the_command_is_gone_on_with(world, url, downloads, tmp_path):
    classic(world)
    (tmp_path / f"{NAME}.part").write_bytes(ARTICLES[NAME][:1234])
    downloads.files([remote(url)], tmp_path)
    assert world.asked == [(PATH, "bytes=1234-")]
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


@pytest.mark.parametrize("extra", [-1000, 0, 1000])
def test_a_part_of_another_file_is_noticed_and_fetched_anew(world, url, downloads, tmp_path, extra):
    classic(world)
    (tmp_path / f"{NAME}.part").write_bytes(b"x" * (len(ARTICLES[NAME]) + extra))
    downloads.files([remote(url, size=False)], tmp_path)
    assert (tmp_path / NAME).read_bytes() == ARTICLES[NAME]


def test_a_server_without_ranges_gives_the_whole_file_again(world, url, downloads, tmp_path):
    classic(world)
    world.ranges = False
    world.faults[PATH] = ["cut"]
    downloads.files([remote(url)], tmp_path)
    assert (tmp_path / NAME).read_bytes() == ARTICLES[NAME]


def test_a_file_that_differs_from_its_checksum_does_not_stay(world, url, downloads, tmp_path):
    classic(world)
    world.files[PATH] = ARTICLES[NAME][:-1] + b"x"
    with pytest.raises(ChecksumError, match=NAME):
        downloads.files([remote(url)], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_page_instead_of_a_file_is_refused(world, url, downloads, tmp_path):
    classic(world)
    world.faults[PATH] = ["html"]
    with pytest.raises(SourceError, match="HTML page"):
        downloads.files([remote(url)], tmp_path)
    world.files[PATH] = b"<!DOCTYPE html><html>Sorry</html>"
    with pytest.raises(DumpError, match="HTML page"):
        downloads.files([remote(url, size=False, checksum=False)], tmp_path)
    assert not (tmp_path / NAME).exists()


def test_what_does_not_come_is_given_up_after_its_tries(world, url, downloads, tmp_path, clock):
    classic(world)
    world.faults[PATH] = [503] * 9
    with pytest.raises(SourceError, match=r"given up.*503"):
        downloads.files([remote(url)], tmp_path)
    assert world.count(PATH) == 4
    with pytest.raises(SourceError, match="status 404"):
        downloads.files([RemoteFile(name="no.bz2", url=f"{url}/no.bz2")], tmp_path)


def test_a_stop_keeps_what_has_come_for_the_next_time(world, url, downloads, tmp_path, clock):
    classic(world)
    clock.stopped = True
    with pytest.raises(SourceError, match="resumes it"):
        downloads.files([remote(url)], tmp_path)
    clock.stopped = False
    assert (tmp_path / f"{NAME}.part").stat().st_size > 0
    downloads.files([remote(url)], tmp_path)
    assert (tmp_path / NAME).read_bytes() == ARTICLES[NAME]


def test_a_disk_without_room_is_noticed_before_anything_is_fetched(url, downloads, tmp_path, world):
    huge = RemoteFile(name="huge.bz2", url=f"{url}/huge.bz2", size=1 << 60)
    with pytest.raises(DumpError, match="room"):
        downloads.files([huge], tmp_path)
    assert world.asked == []


def test_names_that_are_paths_are_refused(world, site):
    classic(world, files={"../../enwiki-20261101-evil.xml": b"x"})
    with pytest.raises(SourceError, match="no name of a dump's file"):
        site.run("enwiki", "20261101", Layout.CLASSIC)


def test_wikimedia_is_not_talked_to_without_a_contact(clock, tmp_path):
    nameless = Downloads(StreamConfig(contact=""), clock, random.Random(1))
    site = DumpsSite("https://dumps.wikimedia.org", nameless)
    with pytest.raises(ConfigError, match="TWIKI_CONTACT"):
        site.dates("enwiki", Layout.CLASSIC)
    file = RemoteFile(name="a.bz2", url="https://dumps.wikimedia.org/a.bz2")
    with pytest.raises(ConfigError, match="TWIKI_CONTACT"):
        nameless.files([file], tmp_path)


@pytest.fixture
def run(url):
    app = typer.Typer()
    command.register(app)

    def run(*words):
        return CliRunner().invoke(app, ["dumps", *words, "--site", url], catch_exceptions=False)

    return run


def test_the_command_lists_and_gets(world, run, tmp_path):
    classic(world)
    classic(world, "20261120", "in-progress")
    entity_dump(world)
    listed = json.loads(run("list", "--wiki", "enwiki", "--json").stdout)["runs"]
    assert [(one["date"], one["complete"], one["files"]) for one in listed] == [
        ("20261120", False, 0),
        ("20261101", True, 3),
    ]
    shown = run("list", "--wiki", "enwiki", "--date", "2026-11-01")
    assert "enwiki 20261101 classic: complete: 3 files" in shown.stderr
    assert shown.stdout == ""
    out = ["--out", str(tmp_path / "pages")]
    got = json.loads(run("get", "--wiki", "enwiki", *out, "--json").stdout)
    assert (got["date"], [file["verified_by"] for file in got["files"]]) == (
        "20261101",
        ["sha1"] * 3,
    )
    out = ["--out", str(tmp_path / "entities")]
    got = json.loads(run("get", "--date", "2026-11-02", "--entities", *out, "--json").stdout)
    assert got["files"][0]["bytes"] == len(ENTITIES)


def test_a_run_of_a_day_that_is_not_complete_is_refused_with_those_there_are(world, run, tmp_path):
    classic(world)
    with pytest.raises(SourceError, match=r"20261102 is not complete.*Runs on the site: 20261101"):
        run("get", "--wiki", "enwiki", "--date", "20261102", "--out", str(tmp_path))
