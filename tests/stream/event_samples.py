"""Events as EventStreams sends them, small and made by hand; each field can be another."""

import json
from datetime import UTC, datetime
from pathlib import Path

from stream.events import Decoder, Rejected
from stream.settings import PAGE_CHANGE, RECENT_CHANGE, StreamConfig

DATA = Path(__file__).parents[3] / "shared" / "data"
ALONE = StreamConfig(streams=(RECENT_CHANGE,))


def utc(*parts):
    return datetime(*parts, tzinfo=UTC)


def decode(event, *, wiki=None, stream=ALONE, sse_id=""):
    body = event if isinstance(event, bytes) else json.dumps(event).encode()
    return Decoder(wiki, stream).decode(body, sse_id)


def rc(**fields):
    event = {
        "$schema": "/mediawiki/recentchange/1.0.1",
        "meta": {"dt": "2026-11-05T12:00:01Z", "id": "e1", "stream": "mediawiki.recentchange"},
        "type": "edit",
        "namespace": 0,
        "title": "Marie Curie",
        "timestamp": 1793880000,
        "revision": {"old": 10, "new": 11},
        "wiki": "enwiki",
    }
    return {key: value for key, value in (event | fields).items() if value is not ...}


def log(action, params=..., **fields):
    log_type, _, log_action = action.partition("/")
    return rc(
        type="log",
        log_type=log_type,
        log_action=log_action,
        log_params=params,
        revision=...,
        **fields,
    )


def page_change(kind="edit", **fields):
    event = {
        "$schema": "/mediawiki/page/change/1.3.0",
        "meta": {"dt": "2026-11-05T12:00:01Z", "id": "e2", "stream": PAGE_CHANGE},
        "page_change_kind": kind,
        "dt": "2026-11-05T12:00:00Z",
        "wiki_id": "enwiki",
        "page": {
            "page_id": 7,
            "page_title": "Marie_Curie",
            "namespace_id": 0,
            "is_redirect": False,
        },
        "revision": {
            "rev_id": 11,
            "rev_parent_id": 10,
            "rev_dt": "2026-11-05T12:00:00Z",
            "is_content_visible": True,
            "comment": "a comment",
        },
    }
    return event | fields


def reason(result):
    assert isinstance(result, Rejected), result
    return result.reason
