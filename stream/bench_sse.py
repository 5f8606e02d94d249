"""How many events a second become Changes: SSE bytes to records, on one core.

The exchange is made here, in the mix of the real streams: most events are of other wikis, the
rest edits of recentchange and page_change with the fields that real ones have.
"""

import json
import time
from collections.abc import Callable, Iterator

from stream.events import Decoder
from stream.settings import StreamConfig
from stream.sse import frames
from twiki.bench.figures import Figure, figure

EVENTS = 20_000
ROUNDS = 5
BUDGET = 50_000.0
CHUNK = 16_384
WIKIS = ("wikidatawiki", "enwiki", "commonswiki", "frwiki", "dewiki")


def run(events: int = EVENTS) -> list[Figure]:
    """Measure the rate, best of a few rounds; the peer is ``json.loads`` without framing."""
    data = [_event(number) for number in range(events)]
    wire = b":ok\n\n" + b"".join(_framed(number, event) for number, event in enumerate(data))
    decoder = Decoder()
    config = StreamConfig()

    def whole() -> int:
        read = frames(
            _chunks(wire), max_bytes=config.max_event_bytes, head_bytes=config.max_raw_bytes
        )
        return sum(1 for frame in read if decoder.decode(frame.data, frame.id) is not None)

    def parser_alone() -> int:
        return sum(1 for event in data if json.loads(event))

    return [
        figure(
            "SSE bytes to Change",
            _rate(whole),
            "events/s",
            budget=BUDGET,
            peer=_rate(parser_alone),
        )
    ]


def _rate(work: Callable[[], int]) -> float:
    """Events a second of processor time: one thread that waits for nothing."""
    best = 0.0
    for _ in range(ROUNDS):
        started = time.process_time()
        count = work()
        best = max(best, count / (time.process_time() - started))
    return best


def _chunks(wire: bytes) -> Iterator[bytes]:
    for at in range(0, len(wire), CHUNK):
        yield wire[at : at + CHUNK]


def _framed(number: int, event: bytes) -> bytes:
    topics = [
        {"topic": "eqiad.mediawiki.recentchange", "partition": 0, "timestamp": number},
        {"topic": "codfw.mediawiki.recentchange", "partition": 0, "offset": -1},
    ]
    return b"event: message\nid: " + json.dumps(topics).encode() + b"\ndata: " + event + b"\n\n"


def _event(number: int) -> bytes:
    wiki = WIKIS[number % len(WIKIS)]
    title = f"Q{number + 1}" if wiki == "wikidatawiki" else f"Página {number}"
    meta = {
        "uri": f"https://{wiki}.example.org/wiki/{title}",
        "request_id": f"7e936910-96ee-418d-9858-{number:012}",
        "id": f"b36a0621-4e62-44de-8f96-{number:012}",
        "dt": f"2026-11-05T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z",
        "domain": f"{wiki}.example.org",
        "stream": "mediawiki.recentchange",
        "topic": "eqiad.mediawiki.recentchange",
        "partition": 0,
        "offset": 5_050_392_750 + number,
    }
    body = _page_change(wiki, title, number) if number % 2 else _recent_change(wiki, title, number)
    return json.dumps({"$schema": "/mediawiki/x/1.0.0", "meta": meta, **body}).encode()


def _recent_change(wiki: str, title: str, number: int) -> dict[str, object]:
    return {
        "id": 58_757_985 + number,
        "type": "edit",
        "namespace": 0,
        "title": title,
        "title_url": f"https://{wiki}.example.org/wiki/{title}",
        "comment": "/* wbsetdescription-set:1|sl */ replacing descriptions, see the request page",
        "timestamp": 1_793_880_000 + number,
        "user": "Someone",
        "bot": False,
        "notify_url": f"https://{wiki}.example.org/w/index.php?diff={number}&oldid={number}",
        "minor": False,
        "length": {"old": 6274, "new": 6615},
        "revision": {"old": number + 1, "new": number + 2},
        "server_url": f"https://{wiki}.example.org",
        "server_name": f"{wiki}.example.org",
        "server_script_path": "/w",
        "wiki": wiki,
        "parsedcomment": '<span dir="auto"><span class="autocomment">Changed description</span>',
    }


def _page_change(wiki: str, title: str, number: int) -> dict[str, object]:
    performer = {"user_text": "Someone", "groups": ["*", "user"], "is_bot": False, "user_id": 7}
    main = {"slot_role": "main", "content_sha1": "x" * 31, "content_size": 6615}
    revision = {
        "rev_id": number + 2,
        "rev_dt": "2026-11-05T12:00:00Z",
        "is_minor_edit": False,
        "rev_sha1": "x" * 31,
        "rev_size": 6615,
        "rev_parent_id": number + 1,
        "comment": "/* History */ typo",
        "editor": performer,
        "is_content_visible": True,
        "content_slots": {"main": main},
    }
    return {
        "changelog_kind": "update",
        "page_change_kind": "edit",
        "dt": "2026-11-05T12:00:00Z",
        "wiki_id": wiki,
        "page": {"page_id": number, "page_title": title, "namespace_id": 0, "is_redirect": False},
        "performer": performer,
        "revision": revision,
        "prior_state": {"revision": revision},
    }
