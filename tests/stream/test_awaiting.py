"""Waiting for a window's dump: politely, for a complete run of its own boundary."""

import time
from contextlib import contextmanager
from datetime import timedelta

import pytest
from msgspec.structs import replace
from stream_fakes import FakeClock

from stream import metrics as names
from stream.awaiting import LATEST, AwaitedDumps
from stream.dumps_site import Layout, Run
from stream.metrics import Metrics
from stream.settings import Settings
from twiki.errors import SourceError
from twiki.windows import calendar

WINDOW = calendar.parse("2026-10")
PATIENCE = 10


class Site:
    """Runs by day, made complete by hand; remembers what was fetched."""

    def __init__(self, *days):
        self.missing = dict.fromkeys(days, "")
        self.got, self.errors = [], []

    def dates(self, _wiki, _layout):
        if self.errors:
            raise self.errors.pop(0)
        return sorted(self.missing, reverse=True)

    def run(self, wiki, date, layout):
        return Run(wiki=wiki, date=date, layout=layout, missing=self.missing[date])

    def get(self, run, _folder):
        self.got.append((str(run.layout), run.date))
        return []


class Polls(FakeClock):
    """Tells when a poll is over, and then lets the test change the world."""

    def __init__(self, *then):
        super().__init__()
        self._then = list(then)

    def sleep(self, seconds):
        super().sleep(seconds)
        if self._then:
            self._then.pop(0)()
        else:
            self.stopped = True


@contextmanager
def waiting(tmp_path, site, clock):
    base = Settings()
    settings = replace(base, service=replace(base.service, dump_poll_seconds=3600.0))
    metrics = Metrics()
    with AwaitedDumps(site, settings, tmp_path, clock, metrics) as dumps:
        dumps.want(WINDOW)
        yield dumps, metrics


def arrives(dumps):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := list(dumps.ready()):
            return found
        time.sleep(0.005)
    return []


def ends(dumps):
    dumps._thread.join(PATIENCE)
    return list(dumps.ready())


def test_a_run_is_taken_when_it_is_complete_and_not_before(tmp_path):
    site = Site("20261101")
    site.missing["20261101"] = "articlesdump is in progress"
    clock = Polls(lambda: None, lambda: site.missing.update({"20261101": ""}))
    with waiting(tmp_path, site, clock) as (dumps, _):
        (found,) = arrives(dumps)
    assert found.window == WINDOW
    assert clock.slept == [3600.0, 3600.0]  # an hour between two looks
    assert site.got == [(str(Layout.CLASSIC), "20261101"), (str(Layout.ENTITIES), "20261101")]


def test_the_first_complete_run_on_or_after_the_boundary_is_taken(tmp_path):
    site = Site("20261020", "20261101", "20261108")
    site.missing["20261101"] = "failed"
    with waiting(tmp_path, site, Polls()) as (dumps, _):
        assert arrives(dumps)
    assert {date for _, date in site.got} == {"20261108"}


def test_the_dump_of_a_later_boundary_is_not_taken(tmp_path):
    late = WINDOW.end + LATEST
    with waiting(tmp_path, Site(f"{late:%Y%m%d}"), Polls()) as (dumps, _):
        assert ends(dumps) == []
    early = late - timedelta(days=1)
    with waiting(tmp_path, Site(f"{early:%Y%m%d}"), Polls()) as (dumps, _):
        assert arrives(dumps)


def test_a_site_in_trouble_is_asked_again(tmp_path):
    site = Site("20261101")
    site.errors.append(SourceError("503"))
    with waiting(tmp_path, site, Polls(lambda: None)) as (dumps, metrics):
        assert arrives(dumps)
    assert metrics.labels(names.TROUBLE) == {"dump": 1}


@pytest.mark.parametrize("again", [True, False])
def test_asking_twice_waits_once_unless_what_came_was_of_no_use(again, tmp_path):
    with waiting(tmp_path, site := Site("20261101"), Polls()) as (dumps, _):
        assert arrives(dumps)
        if again:
            dumps.again(WINDOW)
        dumps.want(WINDOW)
        assert bool(arrives(dumps) if again else list(dumps.ready())) == again
    assert len(site.got) == (4 if again else 2)
