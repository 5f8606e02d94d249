"""A dumps site of little files: runs in all three shapes, and connections that are cut."""

import bz2
import gzip
import hashlib
import json
import random
import threading
from collections import Counter
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler

ARTICLES = {
    f"enwiki-20261101-pages-articles{n}.xml-p{n}p{n}.bz2": bz2.compress(
        f"<mediawiki>{random.Random(n).randbytes(200_000).hex()}</mediawiki>".encode()
    )
    for n in (1, 2, 3)
}
ENTITIES = gzip.compress(b"[\n]\n")


class Clock:
    """Time passes only by sleeping."""

    def __init__(self):
        self.slept = []
        self.stopped = False

    def now(self):
        return datetime(2026, 11, 5, tzinfo=UTC)

    def monotonic(self):
        return sum(self.slept)

    def sleep(self, seconds):
        self.slept.append(seconds)


class World:
    """What the site holds, what was asked of it, and the faults to come."""

    def __init__(self):
        self.files = {}
        self.faults = {}
        self.asked = []
        self.agents = set()
        self.ranges = True
        self.open_now = self.most_open = 0
        self.lock = threading.Lock()

    def count(self, path):
        return Counter(asked for asked, _ in self.asked)[path]


class Handler(BaseHTTPRequestHandler):
    world: World

    def log_message(self, *_):
        pass

    def do_GET(self):
        world = self.world
        with world.lock:
            world.open_now += 1
            world.most_open = max(world.most_open, world.open_now)
            world.asked.append((self.path, self.headers.get("Range")))
            world.agents.add(self.headers.get("User-Agent"))
            faults = world.faults.get(self.path, [])
            fault = faults.pop(0) if faults else None
        try:
            self.answer(world, fault)
        finally:
            with world.lock:
                world.open_now -= 1

    def answer(self, world, fault):
        body = world.files.get(self.path)
        if isinstance(fault, int):
            self.send_response(fault)
            self.send_header("Retry-After", "7")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if body is None:
            self.send_error(404)
            return
        start, status = 0, 200
        wanted = self.headers.get("Range")
        if wanted and world.ranges:
            start, status = int(wanted.removeprefix("bytes=").rstrip("-")), 206
        if start and start >= len(body):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(body)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(status)
        html = isinstance(fault, str) and fault == "html"
        self.send_header("Content-Type", "text/html" if html else "application/octet-stream")
        self.send_header("Content-Length", str(len(body) - start))
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if self.path.endswith(".gz"):
            self.send_header("Content-Encoding", "x-gzip")  # as some mirrors do
        self.end_headers()
        self.wfile.write(body[start:] if fault != "cut" else body[start : start + 100_000])


def digest(kind, data):
    return hashlib.new(kind, data).hexdigest()


def listing(*names):
    links = "\n".join(f'<a href="{name}/">{name}/</a>  01-Nov-2026' for name in names)
    return f"<html><body><pre><a href='../'>../</a>\n{links}</pre></body></html>".encode()


def classic(world, date="20261101", status="done", files=ARTICLES):
    files = {name.replace("20261101", date): data for name, data in files.items()}
    told = {
        name: {
            "size": len(data),
            "url": f"/enwiki/{date}/{name}",
            "md5": digest("md5", data),
            "sha1": digest("sha1", data),
        }
        for name, data in files.items()
    }
    table = f"enwiki-{date}-page_props.sql.gz"
    data = gzip.compress(b"-- Dump completed\n")
    props = {table: {"size": len(data), "sha1": digest("sha1", data)}}
    jobs = {
        "articlesdump": {"status": status, "files": told},
        "pagepropstable": {"status": "done", "files": props},
        "redirecttable": {"status": "done", "files": {}},
        "pagetable": {"status": "done", "files": {}},
        "metahistorybz2dump": {"status": "waiting"},
    }
    world.files[f"/enwiki/{date}/dumpstatus.json"] = json.dumps({"jobs": jobs}).encode()
    for name, content in {**files, table: data}.items():
        world.files[f"/enwiki/{date}/{name}"] = content
    dates = {path.split("/")[2] for path in world.files if path.count("/") == 3}
    world.files["/enwiki/"] = listing(*sorted(dates), "latest")


def content(world, *, marks=("SHA256SUMS", "_SUCCESS")):
    base = "/other/mediawiki_content_current/enwiki"
    folder = f"{base}/2026-11-01/xml/bzip2"
    world.files[f"{base}/"] = listing("2026-10-01", "2026-11-01")
    sums = ""
    for name, data in ARTICLES.items():
        name = name.replace("20261101-pages-articles", "2026-11-01-")  # noqa: PLW2901
        name = f"enwiki-2026-11-01-p{name[-5]}p{name[-5]}.xml.bz2"  # noqa: PLW2901
        world.files[f"{folder}/{name}"] = data
        sums += f"{digest('sha256', data)}  {name}\n"
    for name, data in {"SHA256SUMS": sums.encode(), "_SUCCESS": b""}.items():
        if name in marks:
            world.files[f"{folder}/{name}"] = data


def entity_dump(world, date="20261102"):
    folder = f"/wikidatawiki/entities/{date}"
    name = f"wikidata-{date}-all.json.gz"
    world.files["/wikidatawiki/entities/"] = listing("20261026", date, "20261109")
    world.files[f"{folder}/{name}"] = ENTITIES
    sums = f"{digest('sha1', ENTITIES)}  {name}\n"
    world.files[f"{folder}/wikidata-{date}-sha1sums.txt"] = sums.encode()
