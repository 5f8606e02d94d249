"""The live feed: complete for programs, a sample for people, resumable, and beside the worker."""

import asyncio
from itertools import pairwise

import msgspec
import pages_world
import pytest
from stream_fakes import FakeClock

from stream import telling
from stream.metrics import CHANGES, CONNECTS, Metrics
from stream.pages import now
from stream.pages.livefeed import LiveFeed
from stream.pages.told import Wanted
from stream.sides import SideKind, SideRecord
from stream.telling import Telling, Told
from twiki.engine import DeadLetter
from twiki.state import codec, layout
from twiki.state.rocks import RocksKeyValues


@pytest.fixture
def worker(tmp_path):
    engine = pages_world.write_state(tmp_path, edits=20)
    yield engine
    engine.store.close()


@pytest.fixture
def feed(worker, tmp_path):
    made = LiveFeed(tmp_path, pages_world.settings(), FakeClock())
    made.poll()
    yield made
    made.close()


def follow(feed, behind, count, wanted=None):
    """The first ``count`` events behind a number, as (id, kind, data)."""

    async def take():
        found, events = [], now._events(feed, wanted or Wanted(), behind)
        async for chunk in events:
            for block in chunk.decode().split("\n\n"):
                lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
                if "data" in lines:
                    found.append(
                        (
                            int(lines.get("id", -1)),
                            lines["event"],
                            msgspec.json.decode(lines["data"]),
                        )
                    )
            if len(found) >= count:
                break
        await events.aclose()
        return found[:count]

    return asyncio.run(asyncio.wait_for(take(), 20))


def test_every_record_is_told_once_and_in_order(feed, worker):
    told = follow(feed, -1, worker.progress.outbox)
    assert [number for number, _, _ in told] == list(range(worker.progress.outbox))
    assert [data["sentence"]["text"] for _, _, data in told] == [
        f"Page {n} stands." for n in range(1, 21)
    ]


def test_a_reader_goes_on_behind_the_last_id_that_it_saw(feed):
    whole = follow(feed, -1, 20)
    assert follow(feed, 11, 8) == whole[12:]


def test_what_the_worker_writes_later_arrives(feed, worker):
    assert len(follow(feed, -1, 20)) == 20
    pages_world.tell(worker, range(21, 31))
    assert feed.after(19, 100) == [] or feed.last == 20
    feed.poll()
    assert [number for number, _ in feed.after(19, 100)] == list(range(20, 30))
    assert feed.now().told == worker.progress.outbox == 30
    assert feed.now().revisions == worker.counts["revisions"]


def test_the_last_that_a_worker_wrote_before_it_stopped_arrives(tmp_path):
    worker = pages_world.write_state(tmp_path, edits=20)
    feed = LiveFeed(tmp_path, pages_world.settings(), FakeClock())
    feed.poll()
    pages_world.tell(worker, range(21, 31))
    told = worker.progress.outbox
    worker.store.close()
    for _ in range(3):
        feed.poll()
    assert feed.now().told == told == 30
    assert [number for number, _ in feed.after(19, 100)] == list(range(20, 30))
    again = pages_world.histories.engine(kv=RocksKeyValues(tmp_path / "db"))
    pages_world.tell(again, [31])
    feed._clock.sleep(60)
    for _ in range(3):
        feed.poll()
    assert feed.now().told == again.progress.outbox == 31
    feed.close()
    again.store.close()


def test_a_reader_of_another_state_is_told_to_begin_anew(feed):
    ((_, kind, data),) = follow(feed, 10_000, 1)
    assert kind == "reset"
    assert data == {"next": 20}


def test_records_of_several_windows_come_in_the_order_in_which_they_were_told(feed, worker):
    pages_world.tell(worker, [40])
    moment = pages_world.histories.at(11, 2)
    worker.apply(pages_world.histories.edit(moment, 999, "November stands.", page_id=99, title="N"))
    worker.commit()
    pages_world.tell(worker, [41])
    feed.poll()
    told = [record.sentence.text for _, record in feed.after(19, 10)]
    assert told == ["Page 40 stands.", "November stands.", "Page 41 stands."]


def test_filters_choose_by_wiki_kind_and_title(feed):
    def texts(**wanted):
        return [r.title for _, r in feed.after(-1, 100) if Wanted(**wanted)(r)]

    assert texts(title="p1") == ["P1", *(f"P{n}" for n in range(10, 20))]
    assert len(texts(kind="new_article")) == 20
    assert texts(kind="removed") == []
    assert texts(wiki="otherwiki") == []


def test_the_page_shows_a_sample_and_says_how_many_there_were(feed, worker, tmp_path):
    with pages_world.served(tmp_path / "none", tmp_path / "c", state=tmp_path) as (_, site):

        async def read():
            pieces = now._fragments(site, site.feed, Wanted())
            await anext(pieces)
            pages_world.tell(worker, range(100, 1100))
            found = ""
            async for piece in pieces:
                found += piece.decode()
                if "of 1,000 told" in found:
                    break
            await pieces.aclose()
            return found

        found = asyncio.run(asyncio.wait_for(read(), 30))
    assert 0 < found.count("<li data-number") <= 5 * now.SHOWN


def test_a_sample_is_spread_evenly():
    items = [(n, None) for n in range(1000)]
    assert [n for n, _ in now._sample(items, 4)] == [0, 250, 500, 750]
    assert now._sample(items[:3], 4) == items[:3]


def test_no_more_readers_than_the_process_can_bear():
    readers = now.Readers(most=1)
    readers.enter()
    with pytest.raises(now.HTTPException):
        readers.enter()
    readers.leave()
    readers.enter()


def test_numbers_come_from_state_and_worker(feed, worker, tmp_path):
    worker.dead_letter(DeadLetter(reason="too_large"))
    record = SideRecord(
        kind=SideKind.LATE,
        reason="window_closed",
        wiki="testwiki",
        title="A",
        time=pages_world.TIME,
    )
    worker.batch.put(layout.SIDE + layout.number(0), codec.encode(record))
    worker.batch.put_meta("beside", {"sides": 1, "queued": 0})
    worker.commit()
    metrics = Metrics()
    metrics.add(CONNECTS, 3)
    metrics.add(CHANGES, 10, label="testwiki edit")
    clock = feed._clock
    tell = Telling(metrics, tmp_path / telling.FILE, clock)
    tell()
    feed.poll()
    clock.sleep(5)
    metrics.add(CHANGES, 40, label="testwiki edit")
    tell()
    feed.poll()
    told = feed.now()
    assert told.dead_letters == {"too_large": 1}
    assert told.sides == {"late: window_closed": 1}
    assert told.reconnects == 2
    assert [(r.wiki, r.kind, r.per_second) for r in told.events] == [("testwiki", "edit", 8.0)]
    assert told.window == "2026-10"


def test_a_worker_tells_at_most_once_a_second(tmp_path):
    clock, metrics = FakeClock(), Metrics()
    tell = Telling(metrics, tmp_path / "m.json", clock)
    tell()
    metrics.add(CONNECTS)
    tell()
    assert telling.read(tmp_path / "m.json") == Told()
    tell(at_once=True)
    assert telling.read(tmp_path / "m.json") == Told(connects=1)
    (tmp_path / "m.json").write_text("{")
    assert telling.read(tmp_path / "m.json") is None


def test_the_last_hour_is_kept_in_few_samples(feed, worker):
    for _ in range(500):
        feed._clock.sleep(5)
        feed.poll()
    history = feed.history()
    assert len(history) < 400
    assert history[-1].at - history[0].at <= 3600
    steps = [b.at - a.at for a, b in pairwise(history)]
    assert min(steps[:-1]) >= 10
