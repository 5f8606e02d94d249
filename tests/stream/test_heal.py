from datetime import UTC, datetime, timedelta

import pytest

from stream.beside import Beside
from stream.found import Failed, Failure
from stream.heal import MARGIN, heal_gaps, reread
from stream.metrics import Metrics
from stream.position import Positions
from stream.settings import Settings
from twiki.engine import Engine
from twiki.errors import SourceError
from twiki.records import Change, ChangeKind, Revision, SourcePosition
from twiki.state.kv import MemoryKeyValues
from twiki.state.store import Store

NOW = datetime(2026, 11, 5, 12, tzinfo=UTC)


def with_gap(hours_ago=1):
    positions = Positions()
    moment = int((NOW - timedelta(hours=hours_ago)).timestamp() * 1000)
    for offset in (1, 5):
        positions.begin(
            SourcePosition(topic="t", partition=0, offset=offset, timestamp_ms=moment + offset)
        )
    return positions


def change(rev, wiki="enwiki", title="X"):
    return Change(
        wiki=wiki,
        kind=ChangeKind.EDIT,
        rev_id=rev,
        title=title,
        effective_time=NOW,
        arrival_time=NOW,
    )


class Lists:
    def __init__(self, error=None):
        self.asked = []
        self._error = error

    def changes(self, wiki, start, end, on_time):
        self.asked.append((wiki, start, end))
        on_time(start)
        yield change(len(self.asked), wiki)
        if self._error:
            raise self._error


def test_gaps_are_healed_when_every_change_came():
    positions, lists = with_gap(), Lists()
    healing = heal_gaps(positions, lists, wikis=("enwiki", "wikidatawiki"), now=NOW)
    assert next(healing).wiki == "enwiki"
    assert positions.gaps()
    assert [c.wiki for c in healing] == ["wikidatawiki"]
    assert positions.gaps() == ()
    _, start, end = lists.asked[0]
    assert end - start >= 2 * MARGIN


def test_gaps_stay_when_the_api_does_not_answer():
    positions = with_gap()
    with pytest.raises(SourceError):
        list(heal_gaps(positions, Lists(SourceError("x")), wikis=("enwiki",), now=NOW))
    assert positions.gaps()


def test_what_the_lists_do_not_reach_is_told():
    heard = []
    positions = with_gap(hours_ago=24 * 40)
    list(heal_gaps(positions, Lists(), wikis=("enwiki",), now=NOW, on_unreachable=heard.append))
    assert len(heard) == 1
    list(heal_gaps(with_gap(), Lists(), wikis=("enwiki",), now=NOW, on_unreachable=heard.append))
    assert len(heard) == 1


def test_a_gap_of_just_now_is_asked_for_up_to_now():
    lists = Lists()
    list(heal_gaps(with_gap(hours_ago=0), lists, wikis=("enwiki",), now=NOW))
    assert lists.asked[0][2] == NOW


class Api:
    def __init__(self, **by_title):
        self._by_title = by_title
        self.asked = []

    def current(self, wiki, titles):
        self.asked.append((wiki, list(titles)))
        return [self._by_title[title] for title in titles]


def failed(reason):
    return Failed(wiki="enwiki", reason=reason)


class Queue(Beside):
    """The queue in the state, written after every step as between two chunks."""

    def take(self, count):
        self._engine.commit()
        return super().take(count)

    def ask(self, wiki, title):
        lost = change(None, wiki, title)
        self.failed(Failed(wiki=wiki, reason=Failure.UNAVAILABLE, change=lost))


def queue_of(*titles, wiki="enwiki"):
    queue = Queue(Engine.open(Store(MemoryKeyValues()), Settings(), as_of=NOW), Metrics())
    for title in titles:
        queue.ask(wiki, title)
    return queue


def test_pages_are_read_again_wiki_by_wiki():
    queue = queue_of("A")
    queue.ask("wikidatawiki", "Q1")
    one, two = Revision(change=change(1)), Revision(change=change(2))
    api = Api(A=one, Q1=two)
    assert reread(queue, api, count=9) == [one, two]
    assert api.asked == [("enwiki", ["A"]), ("wikidatawiki", ["Q1"])]
    assert len(queue) == 0


def test_a_page_that_is_gone_is_told_at_once():
    gone = failed(Failure.MISSING)
    assert reread(queue_of("A"), Api(A=gone), count=9) == [gone]


def test_what_cannot_be_had_for_now_comes_back_until_its_attempts_are_used_up():
    queue, api = queue_of("A"), Api(A=failed(Failure.UNAVAILABLE))
    assert reread(queue, api, count=9, attempts=3) == []
    assert reread(queue, api, count=9, attempts=3) == []
    assert reread(queue, api, count=9, attempts=3) == [failed(Failure.UNAVAILABLE)]
    assert len(queue) == 0


def test_only_so_many_are_read_at_a_time():
    queue = queue_of("A", "B", "C")
    revision = Revision(change=change(1))
    assert len(reread(queue, Api(A=revision, B=revision, C=revision), count=2)) == 2
    assert len(queue) == 1


def test_a_page_asked_for_twice_is_read_once_for_all_reasons():
    queue = queue_of("A", "A")
    later = Failed(wiki="enwiki", reason=Failure.BAD_ANSWER, change=change(9, title="A"))
    queue.failed(later)
    assert len(queue) == 1
    (entry,) = queue.take(5)
    assert (entry.rev_id, entry.reasons) == (9, ("bad_answer", "unavailable"))
