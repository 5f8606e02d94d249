import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream.events import Canary, Decoder, Rejected
from stream.kinds import Reason
from stream.settings import PAGE_CHANGE, RECENT_CHANGE, StreamConfig
from twiki.config import WikiConfig
from twiki.records import Change, ChangeKind, SourcePosition

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


# --- recentchange ---------------------------------------------------------------------------


def test_an_edit_of_recentchange_becomes_a_change():
    change = decode(rc(comment="typo"))
    assert change == Change(
        wiki="enwiki",
        kind=ChangeKind.EDIT,
        effective_time=utc(2026, 11, 5, 12),
        arrival_time=utc(2026, 11, 5, 12, 0, 1),
        title="Marie Curie",
        namespace=0,
        rev_id=11,
        parent_rev_id=10,
        rev_dt=utc(2026, 11, 5, 12),
        comment="typo",
        event_id="e1",
    )


def test_a_new_page_has_no_parent():
    change = decode(rc(type="new", revision={"old": None, "new": 11}))
    assert (change.kind, change.parent_rev_id) == (ChangeKind.CREATE, 0)


@pytest.mark.parametrize("action", ["delete/delete", "delete/delete_redir", "delete/delete_redir2"])
@pytest.mark.parametrize("params", [[], {}, ..., None, ""])
def test_a_deletion_is_read_with_empty_params_of_every_shape(action, params):
    change = decode(log(action, params))
    assert (change.kind, change.title, change.rev_id) == (ChangeKind.DELETE, "Marie Curie", None)
    assert change.effective_time == utc(2026, 11, 5, 12)


def test_the_schemas_namespace_of_log_entries_is_not_believed():
    assert decode(log("delete/delete", [], namespace=-1)).namespace == 0
    talk = log("delete/delete", [], namespace=-1, title="Talk:X")
    assert reason(decode(talk)) is Reason.OTHER_NAMESPACE


@pytest.mark.parametrize("params", [[], {"count": {"revisions": 2, "files": 1}}])
def test_a_restore_is_read_with_a_count_and_without(params):
    assert decode(log("delete/restore", params)).kind is ChangeKind.RESTORE


@pytest.mark.parametrize(
    "params",
    [
        {"target": "New_page", "noredir": "0"},
        ["New page", ""],
        "New page\n1",
        {"target": "New page"},
    ],
)
@pytest.mark.parametrize("action", ["move/move", "move/move_redir"])
def test_a_move_goes_from_the_events_title_to_the_target(action, params):
    change = decode(log(action, params))
    assert (change.kind, change.from_title, change.title) == (
        ChangeKind.MOVE,
        "Marie Curie",
        "New page",
    )


def test_a_move_out_of_the_article_namespace_is_seen_and_one_elsewhere_is_not():
    out = decode(log("move/move", {"target": "Draft:Marie Curie"}))
    assert (out.title, out.namespace) == ("Draft:Marie Curie", 118)
    inside = decode(log("move/move", {"target": "Marie Curie"}, title="Draft:X", namespace=118))
    assert inside.namespace == 0
    elsewhere = log("move/move", {"target": "Talk:Y"}, title="Talk:X", namespace=1)
    assert reason(decode(elsewhere)) is Reason.OTHER_NAMESPACE


def test_an_invalid_move_target_is_no_exception():
    decoded = decode(log("move/move", {"target": "Talk:Help:NewPage"}, title="Talk:Old"))
    assert reason(decoded) is Reason.OTHER_NAMESPACE


def test_a_merge_names_both_pages_and_the_last_revision_that_went_over():
    params = {"dest": "New_Page", "mergepoint": "20140804160710", "mergerevid": "1234"}
    change = decode(log("merge/merge", params))
    assert (change.kind, change.title, change.target_title, change.rev_ids, change.rev_dt) == (
        ChangeKind.MERGE,
        "Marie Curie",
        "New Page",
        (1234,),
        utc(2014, 8, 4, 16, 7, 10),
    )
    assert change.rev_id is None  # that revision is the other page's now
    short = decode(log("merge/merge", {"dest": "New Page", "mergepoint": "20140804160710"}))
    assert short.rev_ids == ()


@pytest.mark.parametrize(
    ("params", "visible"),
    [
        ({"type": "revision", "ids": ["4", "1"], "ofield": "0", "nfield": "1"}, False),
        ({"type": "revision", "ids": ["1", "4"], "ofield": "1", "nfield": "2"}, True),
        ({"type": "archive", "ids": [1, 4], "nfield": 9}, False),
        ({"type": "oldid", "ids": "1,4"}, None),
        (["revision", "1,4", "ofield=0", "nfield=1"], False),
    ],
)
def test_hidden_revisions_are_read_from_the_text_bit(params, visible):
    change = decode(log("delete/revision", params))
    assert (change.kind, change.rev_ids, change.visible) == (
        ChangeKind.VISIBILITY,
        (1, 4),
        visible,
    )


@pytest.mark.parametrize(
    ("action", "params"),
    [
        ("move/move", []),
        ("move/move", {"target": 5}),
        ("move/move", 7),
        ("move/move", {"target": ["x"]}),
        ("merge/merge", {}),
        ("merge/merge", {"dest": "A", "mergepoint": "yesterday"}),
        ("merge/merge", {"dest": "A", "mergerevid": {"x": 1}}),
        ("delete/revision", []),
        ("delete/revision", {"type": "revision", "ids": {}}),
        ("delete/revision", {"type": "revision", "ids": ["x"]}),
        ("delete/revision", {"type": "revision", "ids": ["-1"]}),
        ("delete/revision", {"type": "revision", "ids": ["9" * 400]}),
        ("delete/revision", {"type": "revision", "ids": ["1"], "nfield": "x"}),
    ],
)
def test_params_that_mean_nothing_are_dead_letters(action, params):
    assert reason(decode(log(action, params))) is Reason.UNKNOWN_PARAMS


@pytest.mark.parametrize(
    "action",
    ["protect/protect", "protect/modify", "patrol/patrol", "block/block", "delete/event", "x/y"],
)
def test_log_entries_without_effect_on_text_are_dropped_by_rule(action):
    result = decode(log(action, {"details": []}))
    assert reason(result) is Reason.NO_EFFECT
    assert not result.reason.dead_letter
    assert result.raw == b""


def test_hidden_files_and_log_entries_are_no_hidden_revisions():
    params = {"type": "oldimage", "ids": ["1"], "nfield": "1"}
    assert reason(decode(log("delete/revision", params))) is Reason.NO_EFFECT


def test_page_change_beside_it_covers_the_log_entries_that_lack_a_page_id():
    both = StreamConfig()
    for action in ("delete/delete", "delete/restore", "move/move", "import/upload"):
        assert reason(decode(log(action, {"target": "B"}), stream=both)) is Reason.COVERED
    merge = decode(log("merge/merge", {"dest": "B"}), stream=both)
    assert merge.kind is ChangeKind.MERGE
    assert decode(rc(), stream=both).kind is ChangeKind.EDIT


def test_an_import_alone_restores_what_is_current_at_its_own_time():
    change = decode(log("import/interwiki", {"count": "1", "interwiki": "iw:P"}))
    assert (change.kind, change.effective_time) == (ChangeKind.RESTORE, utc(2026, 11, 5, 12))


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (rc(type="categorize"), Reason.CATEGORIZE),
        (rc(type="external"), Reason.EXTERNAL),
        (rc(type=142), Reason.UNKNOWN_KIND),
        (rc(type="flow"), Reason.UNKNOWN_KIND),
        (rc(wiki="frwiki"), Reason.OTHER_WIKI),
        (rc(wiki=...), Reason.NO_WIKI),
        (rc(title=...), Reason.NO_TITLE),
        (rc(title="x" * 2000), Reason.NO_TITLE),
        (rc(title="  "), Reason.NO_TITLE),
        (rc(revision=...), Reason.NO_REVISION),
        (rc(revision=None), Reason.NO_REVISION),
        (rc(revision=[]), Reason.NO_REVISION),
        (rc(revision={"new": 0}), Reason.NO_REVISION),
        (rc(namespace=1, title="Talk:X"), Reason.OTHER_NAMESPACE),
        (rc(namespace=..., title="User:X"), Reason.OTHER_NAMESPACE),
        (rc(meta={}, timestamp=...), Reason.NO_TIME),
        (rc(timestamp=10**15), Reason.MALFORMED),
        (rc(revision={"new": -4}), Reason.MALFORMED),
        (rc(revision={"new": 2**70}), Reason.MALFORMED),
        (rc(meta={"dt": "yesterday"}), Reason.MALFORMED),
        (rc(meta=...), None),
        (rc(meta={"dt": "2026-11-05T12:00:01"}), None),
        (rc(revision={"new": "11", "old": "10"}), None),
        (rc(timestamp=...), None),
        (rc(comment=None, namespace=None), None),
    ],
)
def test_fields_may_be_missing_and_what_is_missed_is_named(event, expected):
    result = decode(event)
    if expected is None:
        assert isinstance(result, Change)
    else:
        assert reason(result) is expected


def test_dead_letters_keep_a_bounded_head_and_say_what_they_are():
    event = rc(type="flow", comment="x" * 100_000)
    result = decode(event)
    assert result.detail == "flow"
    assert len(result.raw) == StreamConfig().max_raw_bytes


@pytest.mark.parametrize(
    "data", [b"", b"{", b"null", b"[]", b"7", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000]
)
def test_bytes_that_are_no_event_are_malformed(data):
    assert reason(decode(data)) is Reason.MALFORMED


def test_an_event_above_the_limit_is_a_dead_letter_with_its_position():
    event = json.dumps(
        {"meta": {"topic": "eqiad.mediawiki.recentchange", "partition": 0, "offset": 9}}
    ).encode()
    small = StreamConfig(max_event_bytes=50)
    result = decode(event + b" " * 100, stream=small)
    assert reason(result) is Reason.TOO_LARGE
    assert (result.position.topic, result.position.offset) == ("eqiad.mediawiki.recentchange", 9)


def test_an_event_of_five_megabytes_is_read():
    change = decode(rc(comment="x" * (5 << 20)))
    assert isinstance(change, Change)
    assert len(change.comment) == 1024


def test_titles_have_spaces_and_composed_letters():
    assert decode(rc(title="Cafe\u0301_society")).title == "Caf\u00e9 society"
    assert decode(page_change()).title == "Marie Curie"


def test_line_separators_in_a_comment_survive():
    assert decode(rc(comment="a\u2028b\u0085c")).comment == "a\u2028b\u0085c"


def test_a_time_without_a_zone_is_utc_and_other_zones_are_turned():
    assert decode(rc(meta={"dt": "2026-11-05T12:00:01"})).arrival_time.tzinfo is UTC
    east = decode(rc(meta={"dt": "2026-11-05T14:00:01+02:00"}))
    assert east.arrival_time == utc(2026, 11, 5, 12, 0, 1)


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


# --- laws -----------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(
    base=st.sampled_from(
        [
            rc(),
            page_change(),
            page_change("move"),
            log("move/move", {"target": "B"}),
            log("delete/revision", {"type": "revision", "ids": ["1"], "nfield": "1"}),
        ]
    ),
    changes=st.dictionaries(
        st.sampled_from(
            [
                "meta",
                "type",
                "namespace",
                "title",
                "timestamp",
                "revision",
                "wiki",
                "log_params",
                "log_type",
                "log_action",
                "page",
                "dt",
                "prior_state",
                "page_change_kind",
                "comment",
            ]
        ),
        json_values,
        max_size=4,
    ),
)
def test_no_json_makes_the_decoder_raise(base, changes):
    result = decode(json.dumps({**base, **changes}).encode("utf-8", "surrogatepass"))
    assert isinstance(result, Change | Canary | Rejected)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_make_the_decoder_raise(data):
    assert isinstance(decode(data), Rejected | Canary)


# --- real events ----------------------------------------------------------------------------


def real_events():
    folder = DATA / "events"
    if not folder.exists():
        pytest.skip(f"{folder} is missing")
    for path in sorted(folder.rglob("*.json*")):
        data = path.read_bytes()
        try:
            whole = json.loads(data)
        except ValueError:
            for line in data.splitlines():
                if line.strip():
                    yield path.name, line
            continue
        for item in whole if isinstance(whole, list) else [whole]:
            yield path.name, json.dumps(item.get("data", item)).encode()


def test_every_real_event_decodes_or_is_rejected_with_a_reason():
    decoders = [
        Decoder(),
        Decoder(WikiConfig(), ALONE),
        Decoder(WikiConfig(name="commonswiki", repository="testwikidatawiki", namespaces="all")),
    ]
    count = 0
    for _, data in real_events():
        count += 1
        for decoder in decoders:
            assert isinstance(decoder.decode(data), Change | Canary | Rejected)
    assert count > 1900


def test_the_only_dead_letters_among_the_real_events_are_other_systems():
    decoder = Decoder(WikiConfig(), ALONE)
    names = {
        name
        for name, data in real_events()
        if isinstance(result := decoder.decode(data), Rejected) and result.reason.dead_letter
    }
    assert names == {
        "failures.json", "inconsistencies.json", "late-events.json",
        "reconcile-creation.json", "reconcile-creation-unrelated-source.json",
        "create-event.json", "create-event-ms.json", "rc-domain.json", "rc-namespace.json",
    }  # fmt: skip
