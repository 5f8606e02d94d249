import bz2
import gzip
import hashlib
import json
import zlib

import msgspec
import pytest
import requests
from lxml import etree

from stream.sandbox.dump_files import write_dumps, write_history
from stream.sandbox.dump_xml import FOOTER, header
from stream.sandbox.dump_xml import page as dump_page
from stream.sandbox.dumps_site import DumpsSite
from stream.sandbox.http import Request
from stream.sandbox.server import SandboxServer
from twiki.dumps import entities, files, sql, xml

EXPORT = "{http://www.mediawiki.org/xml/export-0.11/}"


@pytest.fixture(scope="module")
def dumps(small_world, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dumps")
    return write_dumps(small_world, small_world.boundaries[1], folder)


def pages_of(path):
    root = etree.fromstring(bz2.decompress(path.read_bytes()))
    return root.findall(f"{EXPORT}page")


def find(element, *names):
    return element.find("/".join(EXPORT + name for name in names))


def test_names_say_which_run_part_and_pages_a_file_holds(dumps):
    names = [path.name for path in dumps.articles]
    assert names == [
        "enwiki-20261201-pages-articles1.xml-p1p2.bz2",
        "enwiki-20261201-pages-articles2.xml-p3p5.bz2",
    ]
    (content,) = dumps.content_current
    assert content.name == "enwiki-2026-12-01-p1p5.xml.bz2"
    assert str(content.parent).endswith(
        "other/mediawiki_content_current/enwiki/2026-12-01/xml/bzip2"
    )
    assert dumps.entities.name == "wikidata-20261201-all.json.gz"


def test_pages_are_schema_0_11_with_redirects_hidden_and_blank_texts(dumps):
    pages = [page for path in dumps.articles for page in pages_of(path)]
    by_id = {int(find(page, "id").text): page for page in pages}
    assert sorted(by_id) == [1, 2, 4, 5]
    assert find(by_id[1], "revision", "text").text.endswith("Årdal & paints <i>cats</i>.")
    assert find(by_id[1], "revision", "parentid").text == "103"
    assert find(by_id[2], "redirect").get("title") == "Anna Berg"
    assert find(by_id[4], "title").text == "Draft:Plan & <b>more</b>"
    assert find(by_id[4], "ns").text == "118"
    blank = find(by_id[4], "revision", "text")
    assert (blank.text, blank.get("bytes"), blank.get("deleted")) == (None, "0", None)
    hidden = find(by_id[5], "revision", "text")
    assert (hidden.text, hidden.get("deleted")) == (None, "deleted")
    assert find(by_id[5], "revision", "sha1").text is None


def test_a_part_is_many_streams_of_which_the_first_holds_no_page(dumps):
    decompressor = bz2.BZ2Decompressor()
    head = decompressor.decompress(dumps.articles[0].read_bytes())
    assert decompressor.unused_data
    assert b"<siteinfo>" in head
    assert b"<page>" not in head


def test_control_characters_that_xml_cannot_carry_are_replaced(small_world):
    (page,) = [
        entry for entry in small_world.dump_pages(small_world.now) if entry.page.page_id == 1
    ]
    odd = msgspec.structs.replace(page.revision, text="a\x0bb\x00\ud800")
    text = header("enwiki") + dump_page(page.page, [odd]) + FOOTER
    element = etree.fromstring(text.encode()).find(f"{EXPORT}page")
    assert find(element, "revision", "text").text == "a\ufffdb\ufffd\ufffd"


def test_the_entity_dump_is_many_members_and_leaves_redirects_out(dumps):
    raw = dumps.entities.read_bytes()
    first = zlib.decompressobj(wbits=31)
    assert first.decompress(raw) == b"[\n"
    assert first.unused_data
    text = gzip.decompress(raw).decode()
    assert text.startswith("[\n{")
    assert text.endswith("}\n]\n")
    listed = json.loads(text)
    assert [entity["id"] for entity in listed] == ["P31", "Q1"]
    q1 = listed[1]
    assert (q1["pageid"], q1["ns"], q1["title"], q1["lastrevid"]) == (10, 0, "Q1", 502)
    assert q1["modified"] == "2026-11-05T12:00:00Z"
    assert q1["claims"] == {"P31": []}


def test_tables_are_inserts_as_mysqldump_writes_them(dumps):
    props = gzip.decompress(dumps.page_props.read_bytes()).decode()
    assert "(1,'wikibase_item','Q1',NULL)" in props
    redirects = gzip.decompress(dumps.redirects.read_bytes()).decode()
    assert "INSERT INTO `redirect` VALUES (2,0,'Anna_Berg','','');" in redirects


def test_checksums_and_status_agree_with_the_files(dumps):
    run = dumps.page_props.parent
    status = json.loads((run / "dumpstatus.json").read_bytes())
    jobs = status["jobs"]
    assert {job["status"] for job in jobs.values()} == {"done"}
    listed = {name: file for job in jobs.values() for name, file in job["files"].items()}
    assert sorted(listed) == sorted(
        path.name for path in run.iterdir() if ".xml" in path.name or ".sql" in path.name
    )
    for name, file in listed.items():
        data = (run / name).read_bytes()
        assert file["size"] == len(data)
        assert file["sha1"] == hashlib.sha1(data, usedforsecurity=False).hexdigest()
        assert f"{file['md5']}  {name}\n" in (run / "md5sums.txt").read_text()
    content = dumps.content_current[0]
    assert (content.parent / "_SUCCESS").read_bytes() == b""
    digest = hashlib.sha256(content.read_bytes()).hexdigest()
    assert (content.parent / "SHA256SUMS").read_text() == f"{digest}  {content.name}\n"


def test_the_same_world_gives_the_same_bytes(small_world, dumps, tmp_path):
    again = write_dumps(small_world, small_world.boundaries[1], tmp_path)
    root = dumps.page_props.parents[2]
    written = sorted(path.relative_to(root) for path in root.rglob("*") if path.is_file())
    assert written == sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file())
    for path in written:
        assert (root / path).read_bytes() == (tmp_path / path).read_bytes()
    assert again.boundary == dumps.boundary


def test_our_own_readers_verify_and_read_all_of_it(dumps):
    everything = [*dumps.articles, *dumps.content_current, dumps.entities, dumps.page_props]
    kinds = {path.name: files.verify(path).verified_by for path in everything}
    assert kinds.pop(dumps.content_current[0].name) == "sha256"
    assert set(kinds.values()) == {"sha1"}
    assert files.expand([dumps.page_props.parent]) == list(dumps.articles)
    assert files.expand([dumps.content_current[0].parent]) == list(dumps.content_current)
    for paths in (dumps.articles, dumps.content_current):
        ids = []
        for path in paths:
            with xml.open(path) as dump:
                ids += [page.page_id for page in dump.pages()]
        assert ids == [1, 2, 4, 5]
    with entities.open(dumps.entities) as dump:
        assert [(entity.id, entity.rev_id) for entity in dump.entities()] == [
            ("P31", 521),
            ("Q1", 502),
        ]
    assert [
        (row.page_id, row.value)
        for row in sql.page_props(dumps.page_props)
        if row.name == "wikibase_item"
    ] == [(1, "Q1")]
    assert [(row.page_id, row.title) for row in sql.redirects(dumps.redirects)] == [
        (2, "Anna Berg")
    ]


@pytest.mark.parametrize(
    ("name", "unpack"),
    [("h.xml", bytes), ("h.xml.bz2", bz2.decompress), ("h.xml.gz", gzip.decompress)],
)
def test_a_history_holds_every_live_page_with_all_revisions(small_world, tmp_path, name, unpack):
    path = tmp_path / name
    write_history(small_world, path)
    root = etree.fromstring(unpack(path.read_bytes()))
    revisions = {
        find(page, "title").text: [
            int(rev.text) for rev in page.iterfind(f"{EXPORT}revision/{EXPORT}id")
        ]
        for page in root.iterfind(f"{EXPORT}page")
    }
    assert revisions["Anna Berg"] == [101, 102, 103, 104]
    assert "Gone page" not in revisions


# --- the site --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(small_world):
    with SandboxServer(small_world) as server:
        yield server.dumps_url


def test_folders_are_listed_and_files_served(site, dumps):
    listing = requests.get(f"{site}/enwiki/", timeout=10)
    assert '<a href="20261101/">' in listing.text
    assert '<a href="20261201/">' in listing.text
    name = dumps.articles[0].name
    answer = requests.get(f"{site}/enwiki/20261201/{name}", timeout=10)
    assert answer.content == dumps.articles[0].read_bytes()
    assert answer.headers["Last-Modified"] == "Fri, 04 Dec 2026 00:00:00 GMT"
    assert "Content-Encoding" not in answer.headers
    head = requests.head(f"{site}/enwiki/20261201/{name}", timeout=10)
    assert int(head.headers["Content-Length"]) == len(answer.content)
    assert head.content == b""


def test_a_range_of_a_file_can_be_fetched(site, dumps):
    data = dumps.entities.read_bytes()
    url = f"{site}/wikidatawiki/entities/20261201/{dumps.entities.name}"

    def part(value, **more):
        return requests.get(url, headers={"Range": value} | more, timeout=10)

    assert part("bytes=0-9").content == data[:10]
    assert part("bytes=20-").content == data[20:]
    assert part("bytes=-7").content == data[-7:]
    middle = part(f"bytes=5-{len(data) + 99}")
    assert middle.status_code == 206
    assert middle.headers["Content-Range"] == f"bytes 5-{len(data) - 1}/{len(data)}"
    assert part(f"bytes={len(data)}-").status_code == 416
    assert part("bytes=9-5").status_code == 416
    assert part("lines=1-2").content == data
    changed = part("bytes=0-9", **{"If-Range": '"other"'})
    assert (changed.status_code, changed.content) == (200, data)


@pytest.mark.parametrize(
    "path",
    ["/enwiki/20261115/", "/enwiki/20261201/no.bz2", "/../server.py", "/%2e%2e/%2e%2e/etc/passwd"],
)
def test_what_is_not_a_dump_is_not_found(site, path):
    url = requests.Request("GET", site).prepare()
    url.url = site + path
    with requests.Session() as session:
        assert session.send(url, timeout=10).status_code == 404


def test_a_gated_run_shows_its_status_alone_until_it_is_complete(small_world):
    with SandboxServer(small_world, gated=True) as server:
        first = f"{server.dumps_url}/enwiki/20261101/dumpstatus.json"
        second = f"{server.dumps_url}/enwiki/20261201"
        assert requests.get(first, timeout=10).status_code == 200
        assert requests.get(f"{second}/dumpstatus.json", timeout=10).status_code == 404
        half = len(server.streams.log.messages) - 4
        server.streams.served.reach(half)
        assert requests.get(f"{second}/dumpstatus.json", timeout=10).status_code == 404
        assert "20261201" not in requests.get(f"{server.dumps_url}/enwiki/", timeout=10).text
        requests.get(f"{server.stream_url}/mediawiki.recentchange", timeout=10)
        status = requests.get(f"{second}/dumpstatus.json", timeout=10).json()
        assert status["jobs"]["articlesdump"]["status"] == "done"


def test_a_run_that_has_begun_says_that_it_is_in_progress(small_world, tmp_path):
    site = DumpsSite(small_world, tmp_path, lambda: small_world.boundaries[1], gated=True)

    def get(name):
        return site.answer(Request(method="GET", target=f"/dumps/enwiki/20261201/{name}"))

    status = json.loads(get("dumpstatus.json").body)
    assert status["jobs"]["articlesdump"] == {"status": "in-progress", "updated": "", "files": {}}
    assert get("md5sums.txt").status == 404
