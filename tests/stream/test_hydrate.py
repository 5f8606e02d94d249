from hydrate_wiki import Wiki, edit, fetch, reason, utc
from stream_fakes import NOON, FakeApi, FakeClock, reply

from stream.found import Failure
from twiki.records import ChangeKind, Revision

# --- texts ----------------------------------------------------------------------------------


def test_a_text_is_fetched_by_revision_id_and_fills_what_the_event_left_open():
    [revision] = fetch(Wiki().add(11, "text", parent=10), edit())
    assert revision.content == "text"
    change = revision.change
    assert (change.page_id, change.parent_rev_id, change.rev_dt) == (7, 10, NOON)


def test_what_the_event_says_is_not_overwritten_by_what_is_true_today():
    api = Wiki().add(11, "text", page=99, title="Moved since", parent=3)
    [revision] = fetch(api, edit(page_id=7, parent_rev_id=10, rev_dt=utc(2026, 11, 1)))
    change = revision.change
    assert (change.page_id, change.title, change.parent_rev_id) == (7, "Marie Curie", 10)
    assert change.rev_dt == utc(2026, 11, 1)
    assert revision.content == "text"


def test_batches_hold_fifty_and_results_keep_the_order():
    api = Wiki()
    for rev in range(1, 131):
        api.add(rev, f"text {rev}")
    revs = list(range(130, 0, -1))
    results = fetch(api, *(edit(rev) for rev in revs))
    assert [result.content for result in results] == [f"text {rev}" for rev in revs]
    assert sorted(len(str(p["revids"]).split("|")) for _, p in api.calls) == [30, 50, 50]


def test_hidden_text_is_a_revision_without_text():
    [revision] = fetch(Wiki().add(11, "", texthidden=True), edit())
    assert revision.content is None
    assert revision.change.visible is False


def test_blank_text_is_not_missing_text():
    [blank, missing] = fetch(Wiki().add(11, "").add(12, "", textmissing=True), edit(11), edit(12))
    assert blank.content == ""
    assert reason(missing) is Failure.TEXT_MISSING


def test_a_revision_deleted_meanwhile_is_missing_and_the_others_are_read():
    good, bad = fetch(Wiki().add(11, "text"), edit(11), edit(99, age=3600))
    assert good.content == "text"
    assert reason(bad) is Failure.MISSING
    assert bad.change.rev_id == 99


def test_a_revision_not_yet_replicated_is_asked_for_again_while_its_event_is_young():
    api = Wiki()
    clock = FakeClock()

    def lagging(url, params):
        if clock.passed >= 2:
            api.add(11, "text")
        return api(url, params)

    [revision] = fetch(lagging, edit(age=1), clock=clock)
    assert revision.content == "text"
    assert clock.slept == [1.0, 1.0]


def test_an_old_event_is_not_waited_for():
    api, clock = Wiki(), FakeClock()
    [failed] = fetch(api, edit(age=11), clock=clock)
    assert reason(failed) is Failure.MISSING
    assert clock.slept == []


def test_waiting_for_replication_ends():
    api, clock = Wiki(), FakeClock()
    [failed] = fetch(api, edit(age=-3600), clock=clock)
    assert reason(failed) is Failure.MISSING
    assert len(api.calls) == 4


def test_a_batch_too_large_for_one_answer_is_continued():
    api = Wiki().add(11, "a").add(12, "b", page=8, title="B")
    first = api.query({"revids": "11"})
    second = api.query({"revids": "12"})
    parts = FakeApi(
        [
            reply({"query": first, "continue": {"rvcontinue": "8|12", "continue": "||"}}),
            reply({"query": second}),
        ]
    )
    a, b = fetch(parts, edit(11), edit(12))
    assert (a.content, b.content) == ("a", "b")
    assert parts.asked[1][1]["rvcontinue"] == "8|12"


def test_an_api_that_continues_for_ever_is_left():
    endless = FakeApi(
        lambda _url, _params: reply({"query": {}, "continue": {"rvcontinue": "1", "continue": "|"}})
    )
    [failed] = fetch(endless, edit())
    assert reason(failed) is Failure.BAD_ANSWER


def test_answers_of_the_older_format_are_read():
    page = {
        "pageid": 7,
        "ns": 0,
        "title": "Marie Curie",
        "revisions": [
            {"revid": 11, "parentid": 10, "timestamp": "2026-11-05T12:00:00Z", "*": "text"},
            {"revid": 12, "timestamp": "2026-11-05T12:00:00Z", "texthidden": ""},
        ],
    }
    bad = {"13": {"revid": 13}}
    api = FakeApi(lambda *_: reply({"query": {"pages": {"7": page}, "badrevids": bad}}))
    a, b, c = fetch(api, edit(11), edit(12), edit(13, age=99))
    assert a.content == "text"
    assert (b.content, b.change.visible) == (None, False)
    assert reason(c) is Failure.MISSING


def test_a_move_or_restore_without_revision_id_takes_what_is_current_at_its_title():
    api = Wiki().add(11, "text", title="New title")
    moved = edit(None, ChangeKind.MOVE, title="New title", from_title="Old")
    gone = edit(None, ChangeKind.RESTORE, title="Nowhere", age=99)
    a, b = fetch(api, moved, gone)
    assert (a.content, a.change.rev_id, a.change.page_id) == ("text", 11, 7)
    assert reason(b) is Failure.MISSING


def test_titles_asked_for_under_another_spelling_are_found():
    answer = {
        "normalized": [{"from": "marie Curie", "to": "Marie Curie"}],
        "pages": Wiki().add(11, "text").pages([11]),
    }
    change = edit(None, ChangeKind.RESTORE, title="marie Curie")
    [revision] = fetch(FakeApi(lambda *_: reply({"query": answer})), change)
    assert revision.content == "text"


def test_a_title_with_a_pipe_cannot_smuggle_in_another():
    api = Wiki().add(11, "text", title="B")
    [failed] = fetch(api, edit(None, ChangeKind.RESTORE, title="A|B", age=99))
    assert reason(failed) is Failure.MISSING
    assert all("B" not in str(params.get("titles")) for _, params in api.calls)


def test_titles_are_cut_into_addresses_that_are_short_enough():
    api = Wiki()
    titles = [f"{'Ж' * 250}{number}" for number in range(9)]
    for number, title in enumerate(titles):
        api.add(number + 1, "text", title=title)
    results = fetch(api, *(edit(None, ChangeKind.RESTORE, title=title) for title in titles))
    assert all(isinstance(result, Revision) for result in results)
    assert len(api.calls) > 1


# --- changes without content ----------------------------------------------------------------


def test_a_deletion_that_knows_its_page_asks_nothing():
    api = Wiki()
    change = edit(11, ChangeKind.DELETE, page_id=7)
    assert fetch(api, change) == [Revision(change=change)]
    assert api.calls == []


def test_a_deletion_without_page_id_finds_it_in_the_log():
    api = Wiki()
    moment = "2026-11-05T12:00:00Z"
    api.log = [
        {"title": "Marie Curie", "logpage": 8, "timestamp": "2026-11-05T11:59:59Z"},
        {"title": "Marie Curie", "logpage": 7, "pageid": 0, "timestamp": moment},
    ]
    [revision] = fetch(api, edit(None, ChangeKind.DELETE))
    assert (revision.change.page_id, revision.change.rev_id, revision.content) == (7, None, None)
    [unresolved] = fetch(Wiki(), edit(None, ChangeKind.DELETE, age=99))
    assert unresolved.change.page_id is None


def test_a_merge_takes_what_still_stands_at_the_source():
    api = Wiki().add(30, "left", title="Source")
    api.log = [{"title": "Source", "logpage": 7, "timestamp": "2026-11-05T12:00:00Z"}]
    change = edit(None, ChangeKind.MERGE, title="Source", target_title="Target", rev_ids=(20,))
    [revision] = fetch(api, change)
    assert (revision.change.page_id, revision.change.rev_id, revision.content) == (7, 30, "left")
    api.current.clear()
    [gone] = fetch(api, change)
    assert (gone.change.page_id, gone.change.rev_id, gone.content) == (7, None, None)


def test_hiding_old_revisions_finds_their_page_and_never_their_text():
    api = Wiki().add(5, "old text")
    [revision] = fetch(api, edit(None, ChangeKind.VISIBILITY, rev_ids=(5,), visible=False))
    assert (revision.change.page_id, revision.content) == (7, None)
    assert revision.change.visible is False
    assert revision.change.rev_id is None


def test_a_hiding_that_does_not_say_which_way_is_looked_up():
    api = Wiki().add(5, "", texthidden=True).add(6, "seen")
    hidden, seen = fetch(
        api,
        edit(None, ChangeKind.VISIBILITY, rev_ids=(5,)),
        edit(None, ChangeKind.VISIBILITY, rev_ids=(6,)),
    )
    assert (hidden.change.visible, seen.change.visible) == (False, True)
