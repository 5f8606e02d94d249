import json
from datetime import UTC

import pytest
from event_samples import decode, log, page_change, rc, reason, utc

from stream.kinds import Reason
from stream.settings import StreamConfig
from twiki.records import Change, ChangeKind


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
