"""What bounds the asking: requests side by side, a program that ends, pages that moved since."""

import random
import threading
import time

import pytest
from hydrate_wiki import LOCAL, Wiki, edit
from stream_fakes import FakeApi, FakeClock, reply

from stream.api import Client, Unavailable
from stream.fetchplan import hydrated
from stream.found import Found
from stream.hydrate import Hydrator
from stream.metrics import Metrics
from stream.settings import Settings, StreamConfig
from twiki.records import Revision

TOGETHER = 2


class Crowd:
    """Counts who asks at the same time; for a while the first ones wait for more."""

    def __init__(self, wiki):
        self._wiki = wiki
        self._lock = threading.Lock()
        self._inside = 0
        self._waits_until = 0.0
        self.asked = 0
        self.most = 0

    def __call__(self, url, params):
        with self._lock:
            self.asked += 1
            self._inside += 1
            if self.asked == 1:
                self._waits_until = time.monotonic() + 0.3
            self.most = max(self.most, self._inside)
        while self.most <= TOGETHER and time.monotonic() < self._waits_until:
            time.sleep(0.005)
        with self._lock:
            self._inside -= 1
            return self._wiki(url, params)


def test_no_more_requests_are_under_way_than_the_setting_allows():
    wiki = Wiki()
    for rev in range(1, 9):
        wiki.add(rev, "Text.", page=rev, title=f"P{rev}")
    crowd = Crowd(wiki)
    stream = StreamConfig(requests_per_second=0, in_flight=TOGETHER, batch=1)
    with Hydrator(
        Settings(wiki=LOCAL, stream=stream),
        clock=FakeClock(),
        chance=random.Random(1),
        metrics=Metrics(),
        transport=crowd,
    ) as hydrator:
        found = hydrator.fetch([edit(rev, title=f"P{rev}") for rev in range(1, 9)])
    assert all(isinstance(one, Revision) for one in found)
    assert crowd.asked == 8
    assert crowd.most == TOGETHER


def test_a_program_that_ends_asks_nothing_more():
    clock, api = FakeClock(), FakeApi(lambda *_: reply({"query": {}}))
    client = Client(StreamConfig(), clock=clock, chance=random.Random(1), transport=api)
    clock.stopped = True
    with pytest.raises(Unavailable, match="stopping"):
        client.query("http://wiki.test/w/api.php", {"action": "query"})
    assert api.asked == []


@pytest.mark.parametrize(("title", "page"), [("Marie Curie", 7), ("Another Page", None)])
def test_a_page_that_bears_another_title_by_now_is_not_taken_for_that_of_the_event(title, page):
    found = Found(
        page_id=7, title=title, namespace=0, rev_id=5, parent_rev_id=4, rev_dt=None, content="T."
    )
    nameless = edit(5, title="Marie Curie", page_id=None)
    assert hydrated(nameless, found, LOCAL).change.page_id == page
