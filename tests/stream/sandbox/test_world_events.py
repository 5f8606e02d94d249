"""Every kind of event of a real month is there in each month, whatever the seed."""

import json
from datetime import datetime, timedelta
from functools import cache

import pytest

from stream.sandbox.model import ENWIKI, PAGE_CHANGE, RECENTCHANGE, WIKIDATA, WIKIS
from stream.sandbox.world import World

SECOND = timedelta(seconds=1)


@cache
def world_of(seed):
    return World(seed, articles=60)


def moment(text):
    return datetime.fromisoformat(text)


class Month:
    """The events of a month by kind; edits as (page, revision before, revision after)."""

    def __init__(self, world, window):
        self.world, self.window = world, window
        self.events = [
            event for event in world.events if window.start <= event.arrival_time < window.end
        ]

    def changes(self, kind, wiki=ENWIKI):
        return [
            event
            for event in self.events
            if event.stream == PAGE_CHANGE
            and event.wiki == wiki
            and event.body["page_change_kind"] == kind
        ]

    def logs(self, kind, action, wiki=ENWIKI):
        return [
            event.body
            for event in self.events
            if event.wiki == wiki
            and event.body.get("log_type") == kind
            and event.body["log_action"] == action
        ]

    def edits(self, wiki=ENWIKI, kind="edit"):
        for event in self.changes(kind, wiki):
            revision = event.body["revision"]
            after = self.world.revision(wiki, revision["rev_id"], event.arrival_time)
            before = self.world.revision(wiki, revision.get("rev_parent_id", 0))
            yield event, before, after

    def entities(self):
        for _, before, after in self.edits(WIKIDATA):
            yield json.loads(before.text), json.loads(after.text)

    def statements(self, entity):
        claims = entity.get("claims") or {}
        return {one["id"]: one for group in claims.values() for one in group}

    def statement_changes(self):
        for before, after in self.entities():
            old, new = self.statements(before), self.statements(after)
            for identifier in old.keys() | new.keys():
                if old.get(identifier) != new.get(identifier):
                    yield old.get(identifier), new.get(identifier)


def both_streams(month):
    changed = {one.body["revision"]["rev_id"] for one in month.changes("edit")}
    recent = {
        one.body["revision"]["new"]
        for one in month.events
        if one.wiki == ENWIKI and one.body.get("type") == "edit"
    }
    return len(changed & recent) > 0.8 * len(changed)


def revert(month):
    """A text comes back within the month, with another between."""
    texts = {}
    for event, before, after in month.edits():
        texts.setdefault(event.body["page"]["page_id"], set()).add(before.sha1 if before else "")
        if after.sha1 in texts[event.body["page"]["page_id"]]:
            return True
    return False


def many_edits_of_one_page(month):
    pages = [event.body["page"]["page_id"] for event in month.changes("edit")]
    return any(pages.count(page) > 3 for page in pages)


def draft_into_articles(month):
    return any(
        event.body["prior_state"]["page"]["namespace_id"] == 118
        and event.body["page"]["namespace_id"] == 0
        for event in month.changes("move")
    )


def move_with_redirect(month):
    return any(
        "created_redirect_page" in event.body and event.body["page"]["namespace_id"] == 0
        for event in month.changes("move")
    )


def redirect_made(month):
    return any(after.redirect and before.redirect is None for _, before, after in month.edits())


def redirect_undone(month):
    return any(
        before and before.redirect and after.redirect is None for _, before, after in month.edits()
    )


def redirect_across_the_end(month):
    world, end = month.world, month.window.end
    for page in world.pages(ENWIKI, end - SECOND):
        earlier = world.page(ENWIKI, page.page_id, end - timedelta(hours=7))
        later = world.page(ENWIKI, page.page_id, end + timedelta(hours=25))
        if page.redirect and earlier and later and not earlier.redirect and not later.redirect:
            return True
    return False


def partial_restore(month):
    dropped = {one.body["page"]["page_id"]: one for one in month.changes("delete")}
    return any(
        one.body["revision"]["rev_id"]
        < dropped[one.body["page"]["page_id"]].body["revision"]["rev_id"]
        for one in month.changes("undelete")
        if one.body["page"]["page_id"] in dropped
    )


def full_restore(month):
    dropped = {one.body["revision"]["rev_id"] for one in month.changes("delete")}
    return any(one.body["revision"]["rev_id"] in dropped for one in month.changes("undelete"))


def restored_in_the_next_month(month):
    world, end = month.world, month.window.end
    gone = {
        one.body["page"]["page_id"]
        for one in month.changes("delete")
        if world.page(ENWIKI, one.body["page"]["page_id"], end - SECOND).deleted
    }
    return any(not world.page(ENWIKI, page, end + timedelta(days=2)).deleted for page in gone)


def history_merge(month):
    world = month.world
    for body in month.logs("merge", "merge"):
        at = datetime.fromtimestamp(body["timestamp"], tz=month.window.start.tzinfo)
        source = world.page(ENWIKI, body["title"], at - SECOND)
        target = world.page(ENWIKI, body["log_params"]["dest"], at)
        moved = world.revision(ENWIKI, int(body["log_params"]["mergerevid"]), at)
        kept = world.page(ENWIKI, target.page_id, at - SECOND).rev_id
        return (
            source.rev_id == moved.rev_id
            and moved.page_id == target.page_id
            and target.rev_id == kept
            and world.page(ENWIKI, source.page_id, at).deleted
        )
    return False


def import_of_a_page(month):
    return any(
        event.arrival_time - moment(event.body["dt"]) > timedelta(days=1)
        for event in month.changes("create")
    )


def import_below_the_current(month):
    return any(
        event.arrival_time - moment(event.body["dt"]) > timedelta(days=1)
        and month.world.page(ENWIKI, event.body["page"]["page_id"], event.arrival_time).rev_id
        != event.body["revision"]["rev_id"]
        for event in month.changes("edit")
    )


def hidden_old_revision(month):
    current = {one.body["revision"]["rev_id"] for one in month.changes("visibility_change")}
    return any(
        body["log_params"]["nfield"] == "1"
        and not {int(one) for one in body["log_params"]["ids"]} & current
        for body in month.logs("delete", "revision")
    )


def hidden_comment(month):
    return any(
        one.body["revision"]["is_content_visible"]
        and not one.body["revision"]["is_comment_visible"]
        for one in month.changes("visibility_change")
    )


def last_revision_hidden_later(month, told_by_recentchange):
    world, end = month.world, month.window.end
    told = {
        int(one)
        for event in world.events
        if event.body.get("log_action") == "revision"
        for one in event.body["log_params"]["ids"]
    }
    for page in world.pages(ENWIKI, end - SECOND):
        before = world.revision(ENWIKI, page.rev_id, end + timedelta(days=1))
        after = world.revision(ENWIKI, page.rev_id, end + timedelta(days=2))
        hidden = after.text_hidden and not before.text_hidden
        if hidden and (page.rev_id in told) == told_by_recentchange:
            return True
    return False


def last_revision_hidden(month):
    return last_revision_hidden_later(month, told_by_recentchange=True)


def last_revision_suppressed(month):
    return last_revision_hidden_later(month, told_by_recentchange=False)


def two_edits_in_a_second(month):
    return any(
        before and before.timestamp == after.timestamp and before.page_id == after.page_id
        for _, before, after in month.edits()
    )


def edits_around_midnight(month):
    end = month.window.end
    last, first = set(), set()
    for event in month.world.events:
        if event.body.get("page_change_kind") != "edit" or event.wiki != ENWIKI:
            continue
        written, page = moment(event.body["dt"]), event.body["page"]["page_id"]
        if written == end - SECOND and event.arrival_time >= end:
            last.add(page)
        elif written == end:
            first.add(page)
    return bool(last & first) and bool(last - first) and bool(first - last)


def statement_around_midnight(month):
    end = month.window.end
    stamps = {
        moment(event.body["dt"])
        for event in month.world.events
        if event.wiki == WIKIDATA and event.body.get("page_change_kind") == "edit"
    }
    return {end - SECOND, end} <= stamps


def protection_with_an_unseen_revision(month):
    if not month.logs("protect", "protect"):
        return False
    told = {
        one.body["revision"]["rev_id"]
        for one in month.world.events
        if one.stream == PAGE_CHANGE and one.wiki == ENWIKI
    }
    first = month.world.boundaries[0]
    for _, before, after in month.edits():
        if before and before.rev_id not in told and before.timestamp > first:
            page = month.world.page(ENWIKI, after.page_id, before.timestamp)
            assert page.rev_id == before.rev_id
            return True
    return False


def moved_with_sitelink_behind(month):
    """At the end, a sitelink names a title that is a redirect by then."""
    world, last = month.world, month.window.end - SECOND
    titles = {event.body["prior_state"]["page"]["page_title"] for event in month.changes("move")}
    return any(
        (page := world.page(ENWIKI, title.replace("_", " "), last)) and page.item and page.redirect
        for title in titles
    )


def other_namespaces(month):
    return any(event.body["page"]["namespace_id"] in {2, 3, 118} for event in month.changes("edit"))


def canaries(month):
    return all(
        any(event.wiki == "canary" and event.stream == stream for event in month.events)
        for stream in (RECENTCHANGE, PAGE_CHANGE)
    )


def object_replaced(month):
    return any(old and new and old["mainsnak"] != new["mainsnak"] for old, new in pairs(month))


def pairs(month):
    return [(old, new) for old, new in month.statement_changes() if old and new]


def rank_raised(month):
    return any(new["rank"] == "preferred" != old["rank"] for old, new in pairs(month))


def statement_deprecated(month):
    return any(new["rank"] == "deprecated" != old["rank"] for old, new in pairs(month))


def qualifier_alone(month):
    return any(
        old.get("qualifiers") != new.get("qualifiers")
        and old["mainsnak"] == new["mainsnak"]
        and old["rank"] == new["rank"]
        for old, new in pairs(month)
    )


def literal_changed(month):
    return any(
        new["mainsnak"]["datatype"] in {"time", "quantity", "string", "monolingualtext"}
        for _, new in month.statement_changes()
        if new
    )


def entity_merged(month):
    return any("redirect" in new and "redirect" not in old for old, new in month.entities())


def label_changed(month):
    return any(
        before.get("labels") and after.get("labels") and before["labels"] != after["labels"]
        for before, after in month.entities()
    )


def sitelink_added_later(month):
    return any(
        not before.get("sitelinks") and after.get("sitelinks") for before, after in month.entities()
    )


PLAIN = (
    both_streams, revert, many_edits_of_one_page, draft_into_articles, move_with_redirect,
    redirect_made, redirect_undone, redirect_across_the_end, partial_restore, full_restore,
    restored_in_the_next_month, history_merge, import_of_a_page, import_below_the_current,
    hidden_old_revision, hidden_comment, last_revision_hidden, last_revision_suppressed,
    two_edits_in_a_second, edits_around_midnight, statement_around_midnight,
    protection_with_an_unseen_revision, moved_with_sitelink_behind, other_namespaces, canaries,
    object_replaced, rank_raised, statement_deprecated, qualifier_alone, literal_changed,
    entity_merged, label_changed, sitelink_added_later,
)  # fmt: skip
SIGNS = {sign.__name__: sign for sign in PLAIN} | {
    "new_item": lambda month: bool(month.changes("create", WIKIDATA)),
    "deleted_item": lambda month: bool(month.changes("delete", WIKIDATA)),
    "log_without_id": lambda month: any(
        body["id"] is None for body in month.logs("abusefilter", "hit")
    ),
    "article_deleted": lambda month: bool(month.logs("delete", "delete")),
    "article_restored": lambda month: bool(month.logs("delete", "restore")),
    "page_moved": lambda month: bool(month.logs("move", "move")),
    "page_imported": lambda month: bool(month.logs("import", "interwiki")),
    "statement_added": lambda month: any(old is None for old, _ in month.statement_changes()),
    "statement_removed": lambda month: any(new is None for _, new in month.statement_changes()),
}


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("seed", range(1, 6))
def test_each_month_has(seed, sign):
    world = world_of(seed)
    for window in world.windows:
        assert SIGNS[sign](Month(world, window)), f"{sign} in {window.name}"


def test_some_month_has_a_category_event():
    assert any(
        event.body.get("type") == "categorize"
        for seed in range(1, 6)
        for event in world_of(seed).events
    )


@pytest.mark.parametrize("seed", range(1, 6))
def test_arrival_is_within_the_lateness_that_windows_allow(seed):
    for event in world_of(seed).events:
        if event.wiki not in WIKIS or "page_change_kind" not in event.body:
            continue
        delay = event.arrival_time - moment(event.body["dt"])
        assert delay < timedelta(hours=1) or delay > timedelta(days=1)
