"""page_change, the older streams, times and positions."""

import json

import pytest
from event_samples import decode, page_change, rc, reason, utc

from stream.events import Canary
from stream.kinds import Reason
from twiki.config import WikiConfig
from twiki.records import ChangeKind, SourcePosition

# --- page_change ----------------------------------------------------------------------------


def test_an_edit_of_page_change_knows_page_and_parent():
    change = decode(page_change())
    assert (change.page_id, change.rev_id, change.parent_rev_id) == (7, 11, 10)
    assert (change.redirect, change.visible, change.comment) == (False, True, "a comment")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("create", ChangeKind.CREATE),
        ("edit", ChangeKind.EDIT),
        ("move", ChangeKind.MOVE),
        ("delete", ChangeKind.DELETE),
        ("undelete", ChangeKind.RESTORE),
        ("visibility_change", ChangeKind.VISIBILITY),
    ],
)
def test_every_kind_of_page_change_is_known(kind, expected):
    assert decode(page_change(kind)).kind is expected


def test_an_unknown_kind_of_page_change_is_a_dead_letter():
    assert reason(decode(page_change("split"))) is Reason.UNKNOWN_KIND


def test_a_move_takes_the_old_title_from_prior_state():
    moved = page_change("move", prior_state={"page": {"page_title": "Old_one"}})
    assert decode(moved).from_title == "Old one"
    assert decode(page_change("move", prior_state={"page": {}})).from_title == "Marie Curie"


def test_deletes_count_from_the_action_and_edits_from_the_revision():
    late = page_change("delete", dt="2026-11-30T08:00:00Z")
    assert decode(late).effective_time == utc(2026, 11, 30, 8)
    assert decode(late).rev_dt == utc(2026, 11, 5, 12)


def test_an_old_revision_restored_is_a_change_of_today():
    revision = {"rev_id": 5, "rev_dt": "2020-01-01T00:00:00Z"}
    change = decode(page_change("undelete", revision=revision))
    assert change.effective_time == utc(2026, 11, 5, 12)


def test_a_missing_page_object_is_no_exception():
    assert reason(decode(page_change(page=None))) is Reason.NO_TITLE
    assert reason(decode(page_change(revision=None))) is Reason.NO_REVISION
    assert decode(page_change("delete", revision=None)).rev_id is None


def test_entities_are_known_by_namespace_title_and_model():
    def page(title, namespace, model=None):
        slots = {"main": {"content_model": model}} if model else None
        return page_change(
            wiki_id="wikidatawiki",
            page={"page_id": 1, "page_title": title, "namespace_id": namespace},
            revision={"rev_id": 2, "content_slots": slots},
        )

    assert decode(page("Q42", 0)).title == "Q42"
    assert decode(page("Property:P31", 120, "wikibase-property")).title == "Property:P31"
    assert reason(decode(page("Lexeme:L1", 146))) is Reason.OTHER_NAMESPACE
    assert reason(decode(page("Talk:Q42", 1))) is Reason.OTHER_NAMESPACE
    assert reason(decode(page("Main Page", 0))) is Reason.NOT_ENTITY
    assert reason(decode(page("Q42", 0, "wikitext"))) is Reason.NOT_ENTITY
    assert reason(decode(page("Q0", 0))) is Reason.NOT_ENTITY


def test_all_namespaces_can_be_followed():
    wiki = WikiConfig(namespaces="all")
    assert decode(rc(namespace=1, title="Talk:X"), wiki=wiki).namespace == 1


# --- times and positions --------------------------------------------------------------------


def test_a_revision_announced_a_day_late_is_an_import_of_its_announcement():
    def announced(rev_dt):
        revision = {"rev_id": 11, "rev_dt": rev_dt}
        return decode(page_change("create", revision=revision, dt=rev_dt))

    assert announced("2026-11-04T12:00:01Z").effective_time == utc(2026, 11, 4, 12, 0, 1)
    assert announced("2026-11-04T12:00:00Z").effective_time == utc(2026, 11, 5, 12, 0, 1)


def test_a_canary_is_counted_with_its_time():
    canary = {"meta": {"domain": "canary", "dt": "2026-11-05T12:00:00Z", "stream": "x"}}
    assert decode(canary) == Canary(arrival_time=utc(2026, 11, 5, 12))
    assert isinstance(decode(rc(wiki="examplewiki")), Canary)


def test_the_position_is_the_events_own():
    meta = {
        "dt": "2026-11-05T12:00:01Z",
        "topic": "eqiad.mediawiki.recentchange",
        "partition": 0,
        "offset": 42,
    }
    assert decode(rc(meta=meta)).position == SourcePosition(
        topic="eqiad.mediawiki.recentchange",
        partition=0,
        offset=42,
        timestamp_ms=1793880001000,
    )


def test_without_one_the_position_is_the_sse_ids_less_its_millisecond():
    sse_id = json.dumps(
        [
            {"topic": "eqiad.mediawiki.recentchange", "partition": 0, "timestamp": 1001},
            {"topic": "codfw.mediawiki.recentchange", "partition": 0, "offset": -1},
        ]
    )
    position = decode(rc(), sse_id=sse_id).position
    assert position == SourcePosition(
        topic="eqiad.mediawiki.recentchange", partition=0, offset=-1, timestamp_ms=1000
    )
    assert decode(rc(), sse_id="no json").position is None


# --- the older streams ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stream", "fields", "kind"),
    [
        ("page-create", {}, ChangeKind.CREATE),
        ("revision-create", {"rev_parent_id": 4}, ChangeKind.EDIT),
        ("revision-create", {}, ChangeKind.CREATE),
        ("page-delete", {}, ChangeKind.DELETE),
        ("page-undelete", {}, ChangeKind.RESTORE),
        ("page-suppress", {}, ChangeKind.DELETE),
        ("page-move", {"prior_state": {"page_title": "Old"}}, ChangeKind.MOVE),
        ("revision-visibility-change", {"visibility": {"text": False}}, ChangeKind.VISIBILITY),
    ],
)
def test_the_older_streams_are_read(stream, fields, kind):
    event = {
        "meta": {"dt": "2026-11-05T12:00:01Z", "stream": f"mediawiki.{stream}"},
        "database": "enwiki",
        "page_id": 7,
        "page_title": "Marie_Curie",
        "page_namespace": 0,
        "rev_id": 5,
        "rev_timestamp": "2026-11-05T12:00:00Z",
    }
    change = decode(event | fields)
    assert (change.kind, change.page_id, change.rev_id) == (kind, 7, 5)


def test_streams_that_tell_nothing_of_text_are_dropped_and_strange_ones_are_dead_letters():
    def of(stream):
        meta = {"dt": "2026-11-05T12:00:01Z", "stream": stream}
        return reason(decode({"meta": meta, "database": "enwiki", "page_title": "X"}))

    assert of("mediawiki.page-properties-change") is Reason.OTHER_STREAM
    assert of("rdf-streaming-updater.reconcile") is Reason.UNKNOWN_KIND
