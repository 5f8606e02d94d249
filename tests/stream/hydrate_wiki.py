"""A wiki that answers as its API does, for tests of the hydrator."""

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from stream_fakes import NOON, FakeClock, reply

from stream.found import Failed
from stream.hydrate import Hydrator
from stream.metrics import Metrics
from stream.settings import Settings, StreamConfig
from twiki.config import WikiConfig
from twiki.records import Change, ChangeKind

DATA = Path(__file__).parents[3] / "shared" / "data"
LOCAL = WikiConfig(url="http://wiki.test", repository_url="http://data.test")


def utc(*parts):
    return datetime(*parts, tzinfo=UTC)


class Wiki:
    """A little API in memory: pages by revision, entities by revision, faults by hand."""

    def __init__(self):
        self.revisions = {}
        self.current = {}
        self.entities = {}
        self.log = []
        self.faults = []
        self.calls = []

    def add(self, rev, text, page=7, title="Marie Curie", parent=0, minute=0, **flags):
        slot = {"contentmodel": "wikitext", "content": text}
        for flag in ("texthidden", "textmissing"):
            if flag in flags:
                slot = {flag: True}
        self.revisions[rev] = (
            {"pageid": page, "ns": 0, "title": title},
            {
                "revid": rev,
                "parentid": parent,
                "timestamp": f"2026-11-05T12:{minute:02}:00Z",
                "slots": {"main": slot},
            },
        )
        self.current[title] = rev
        return self

    def entity(self, entity_id, rev, redirect=None):
        stored = {"entity": entity_id, "redirect": redirect} if redirect else {"id": entity_id}
        self.add(rev, json.dumps(stored), page=int(entity_id[1:]), title=entity_id)
        self.revisions[rev][1]["slots"]["main"]["contentmodel"] = "wikibase-item"
        self.entities[entity_id] = rev
        return self

    def __call__(self, url, params):
        self.calls.append((urlsplit(url).path, dict(params)))
        if self.faults:
            fault = self.faults.pop(0)
            if fault is not None:
                if isinstance(fault, Exception):
                    raise fault
                return fault
        if "Special:EntityData" in url:
            return self.entity_data(urlsplit(url).path.rpartition("/")[2][:-5], params)
        if params.get("action") == "wbgetentities":
            return reply({"entities": {i: self.now(i) for i in params["ids"].split("|")}})
        if params.get("list") == "logevents":
            rows = [row for row in self.log if row["title"] == params["letitle"]]
            return reply({"query": {"logevents": rows}})
        return reply({"query": self.query(params)})

    def now(self, entity_id):
        rev = self.entities.get(entity_id)
        stored = rev and json.loads(self.revisions[rev][1]["slots"]["main"]["content"])
        if not stored or "redirect" in stored:
            return {"id": entity_id, "missing": ""}
        return self.told(entity_id, rev)

    def told(self, entity_id, rev):
        modified = self.revisions[rev][1]["timestamp"]
        return {
            "id": entity_id,
            "type": "item",
            "pageid": int(entity_id[1:]),
            "lastrevid": rev,
            "modified": modified,
            "labels": {},
        }

    def entity_data(self, entity_id, params):
        rev = params.get("revision", self.entities.get(entity_id))
        if rev not in self.revisions:
            return reply(b"", 404)
        slot = self.revisions[rev][1]["slots"]["main"]
        if "content" not in slot:
            return reply(b"", 404)
        stored = json.loads(slot["content"])
        if "redirect" in stored:
            if "revision" in params:
                return reply(b"", 400)
            target = stored["redirect"]
            return reply({"entities": {target: self.told(target, self.entities[target])}})
        return reply({"entities": {entity_id: self.told(entity_id, rev)}})

    def query(self, params):
        if "revids" in params:
            wanted = [int(rev) for rev in str(params["revids"]).split("|")]
        else:
            titles = str(params.get("titles", "")).split("|")
            wanted = [self.current[title] for title in titles if title in self.current]
            missing = [title for title in titles if title not in self.current]
            if "rvstart" in params:
                wanted = [
                    rev
                    for rev, (page, revision) in sorted(self.revisions.items(), reverse=True)
                    if page["pageid"] == params["pageids"]
                    and revision["timestamp"] <= params["rvstart"]
                ][:1]
            return {
                "pages": self.pages(wanted)
                + [{"title": title, "ns": 0, "missing": True} for title in missing]
            }
        known = [rev for rev in wanted if rev in self.revisions]
        bad = {str(rev): {"revid": rev, "missing": True} for rev in wanted if rev not in known}
        return {"pages": self.pages(known), **({"badrevids": bad} if bad else {})}

    def pages(self, revs):
        return [self.revisions[r][0] | {"revisions": [self.revisions[r][1]]} for r in revs]


def make(api, clock=None, metrics=None, **stream):
    settings = Settings(wiki=LOCAL, stream=StreamConfig(requests_per_second=0, **stream))
    return Hydrator(
        settings,
        clock=clock or FakeClock(),
        chance=random.Random(1),
        metrics=metrics or Metrics(),
        transport=api,
    )


def fetch(api, *changes, clock=None, metrics=None, wanted=None, **stream):
    with make(api, clock, metrics, **stream) as hydrator:
        return hydrator.fetch(changes, **({"wanted": wanted} if wanted else {}))


def edit(rev=11, kind=ChangeKind.EDIT, age=0.0, **fields):
    time = NOON - timedelta(seconds=age)
    base = {
        "wiki": "enwiki",
        "kind": kind,
        "rev_id": rev,
        "title": "Marie Curie",
        "namespace": 0,
        "effective_time": time,
        "arrival_time": time,
    }
    return Change(**(base | fields))


def item(rev=11, title="Q7", **fields):
    return edit(rev, wiki="wikidatawiki", title=title, **fields)


def reason(result):
    assert isinstance(result, Failed), result
    return result.reason
