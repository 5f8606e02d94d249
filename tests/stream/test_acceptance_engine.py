"""Acceptance cases of real events, from their bytes to the state that they leave."""

import json
from collections import Counter
from datetime import datetime, timedelta
from itertools import permutations

import pytest
from histories import item
from msgspec.structs import replace
from test_decide import editgroups, page_change, real
from test_live import Api, Lists, canary

from stream.embedded import Embedded, Live
from stream.events import Decoder
from stream.found import Failed, Failure
from stream.metrics import Metrics
from stream.settings import Settings, StreamConfig
from stream.sides import Reread, SideRecord
from twiki.config import WikiConfig
from twiki.engine import Engine
from twiki.records import Change, ChangeKind, ContentModel, Revision
from twiki.state import codec, layout
from twiki.state.kv import MemoryKeyValues
from twiki.state.ledger import FOREVER
from twiki.state.store import Store
from twiki.times import to_ms
from twiki.windows import calendar

MINUTE = timedelta(minutes=1)
TOPIC = "eqiad.mediawiki.page_change.v1"


class Entities(Api):
    """An API that has a content for every entity, at any revision, and one that is current."""

    def __init__(self, current=0):
        super().__init__()
        self._current = current

    def fetch(self, changes, wanted=lambda _change: True):
        return [self._answer(change) for change in changes]

    def _answer(self, change):
        if change.kind is ChangeKind.DELETE:
            return Revision(change=change)
        rev = change.rev_id or self._current
        own = {"rev_id": rev, "rev_dt": change.rev_dt or change.effective_time}
        content = item(change.title, ("P1", "Q5"))
        return Revision(change=replace(change, **own), content=content, model=ContentModel.ITEM)


def following(wiki, api, first, **stream):
    settings = Settings(wiki=wiki, stream=StreamConfig(**stream))
    start = calendar.window_of(first).start
    engine = Engine.open(Store(MemoryKeyValues()), settings, as_of=start)
    live = Live(api, Lists(), lambda: engine.watermark or first)
    return Embedded(engine, settings, api, Metrics(), live=live)


def stands(embedded, entity, at=FOREVER):
    found = embedded.engine.as_of().entity(entity, at)
    return found if found is None else getattr(found, "rev_id", found)


def side_reasons(embedded):
    scan = embedded.engine.store.kv.scan(layout.SIDE)
    return Counter(codec.decode(value, SideRecord).reason for _, value in scan)


def test_a3_an_entity_deleted_and_restored_stands_again_at_what_was_fetched():
    delete, restore = editgroups("deletion_restore")
    embedded = following(WikiConfig(), Entities(current=4711), delete.effective_time)
    embedded.take([delete, canary(delete.arrival_time + 2 * MINUTE, 1, TOPIC)])
    assert stands(embedded, "Q52218094") is None
    embedded.take([restore])
    embedded.drain()
    embedded.engine.commit()
    assert stands(embedded, "Q52218094") == 4711


def test_a4_a_late_copy_of_the_create_does_not_revive_what_was_deleted():
    # A late copy stands further down in its topic.
    create, delete = (replace(one, position=None) for one in editgroups("new_items_deleted"))
    for order in ([create, delete, create], [delete, create], [create, delete]):
        embedded = following(WikiConfig(), Entities(), create.effective_time, reorder_seconds=0.0)
        for one in order:
            embedded.take([one])
        assert stands(embedded, create.title) is None
        revs = {entry.rev for entry in embedded.engine.store.held(create.title).entries}
        assert 649919235 in revs


def test_a5_the_talk_page_of_an_item_is_counted_and_leaves_nothing():
    [rejected] = editgroups("wrong_namespace")
    embedded = following(WikiConfig(), Entities(), rejected.arrival_time)
    embedded.take([rejected])
    assert embedded.engine.counts["rejected:other_namespace"] == 1
    assert list(embedded.engine.store.entities()) == []
    assert list(embedded.engine.store.kv.scan(layout.DEAD)) == []


REPOSITORY = WikiConfig(name="commonswiki", repository="testwikidatawiki", namespaces="all")


def squeezed(begin):
    """The four samples of one item, compressed from twelve minutes into one."""
    for number, name in enumerate(("item-create", "item-edit", "item-delete", "item-undelete")):
        moment = begin + number * timedelta(seconds=15)
        fields = {"effective_time": moment, "arrival_time": moment, "position": None}
        change = page_change(name)
        if change.kind in (ChangeKind.CREATE, ChangeKind.EDIT):
            fields["rev_dt"] = moment
        yield replace(change, **fields)


def test_a6_all_24_orders_end_in_one_state_and_tell_nothing_beside_it():
    begin = page_change("item-create").effective_time
    ends, told = set(), Counter()
    for order in permutations(squeezed(begin)):
        embedded = following(REPOSITORY, Entities(), begin)
        embedded.take(list(order))
        embedded.drain()
        embedded.engine.commit()
        (title,) = {change.title for change in order}
        entries = frozenset(embedded.engine.store.held(title).entries)
        ends.add((stands(embedded, title), entries))
        told += side_reasons(embedded)
    ((rev, _),) = ends
    assert rev == 686140
    assert told == {}


def test_a11_a_moved_page_keeps_its_id_and_the_redirect_is_a_page_of_its_own():
    told = json.loads(real("page-streams", "page-move.json"))[0]["data"]
    wiki = WikiConfig(name="nlwiki")
    move = Decoder(wiki).decode(json.dumps(told).encode())
    redirect = replace(
        move,
        kind=ChangeKind.CREATE,
        page_id=999_999,
        title="Coulon",
        from_title=None,
        redirect=True,
        rev_id=move.rev_id + 1,
        parent_rev_id=0,
        rev_dt=move.effective_time,
        event_id="redirect",
        position=None,
    )
    embedded = following(wiki, Api(), move.effective_time)
    embedded.take([replace(move, position=None), redirect])
    embedded.drain()
    embedded.engine.commit()
    store = embedded.engine.store
    titles = {page: [e.title for e in held.entries if e.title] for page, held in store.pages()}
    assert titles == {504089: ["Coulon (gemeente)"], 999_999: ["Coulon"]}
    assert embedded.engine.page_titled("Coulon (gemeente)") == 504089
    state = embedded.engine.as_of()
    assert state.is_article(store.held(504089), FOREVER)
    assert not state.is_article(store.held(999_999), FOREVER)


@pytest.mark.parametrize("name", ["late-events", "inconsistencies", "failures"])
def test_a12_the_queue_in_the_state_holds_each_item_once_at_its_highest_revision(name):
    rows = [json.loads(line) for line in real("reconciliation", f"{name}.json").splitlines()]
    begin = datetime.fromisoformat(rows[0]["meta"]["dt"])
    embedded = following(WikiConfig(), Entities(), begin)
    highest = {}
    for row in rows:
        highest[row["item"]] = max(highest.get(row["item"], 0), row["revision_id"])
        change = Change(
            wiki="wikidatawiki",
            kind=ChangeKind.EDIT,
            title=row["item"],
            rev_id=row["revision_id"],
            effective_time=begin,
            arrival_time=begin,
        )
        embedded.beside.failed(
            Failed(wiki="wikidatawiki", reason=Failure.UNAVAILABLE, change=change)
        )
    embedded.engine.commit()
    assert len(embedded.beside) == len(highest)
    taken = embedded.beside.take(1000)
    assert {entry.title: entry.rev_id for entry in taken} == highest
    assert all(isinstance(entry, Reread) for entry in taken)
    assert side_reasons(embedded) == {"unavailable": len(rows)}


def test_a16_an_edit_just_before_midnight_is_in_its_month_and_that_closes_by_the_watermark():
    event = {
        "meta": {"dt": "2026-12-01T00:00:01Z"},
        "page_change_kind": "create",
        "dt": "2026-11-30T23:59:59.9Z",
        "wiki_id": "enwiki",
        "page": {"page_id": 7, "page_title": "X", "namespace_id": 0},
        "revision": {"rev_id": 11, "rev_dt": "2026-11-30T23:59:59.9Z"},
    }
    edit = Decoder().decode(json.dumps(event).encode())
    api = Api(Revision(change=edit, content="One."))
    embedded = following(WikiConfig(), api, edit.effective_time)
    embedded.take([edit])
    december = calendar.parse("2026-11").end
    assert embedded.engine.progress.closed == 0  # its arrival in December closes nothing yet
    embedded.take([replace(canary(december + timedelta(hours=1), 1), position=None)])
    assert embedded.engine.progress.closed == to_ms(december)
    assert embedded.engine.as_of().article(7, to_ms(december)).article.rev_id == 11
    assert list(embedded.engine.late_events()) == []
