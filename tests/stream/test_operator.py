"""What the service does with closed windows, whatever is in the way."""

from datetime import timedelta
from pathlib import Path

import pytest
from histories import (
    CONFIG,
    DECEMBER,
    NOVEMBER,
    OCTOBER,
    at,
    edit,
    hide,
    write_entities,
    write_xml,
    xml_page,
    xml_revision,
)
from histories import engine as made_engine
from stream_fakes import FakeClock

from stream import metrics as names
from stream.awaiting import Arrived
from stream.embedded import NoContents
from stream.metrics import Metrics
from stream.operator import Operator
from stream.settings import ServiceConfig
from twiki.dumps.files import verify
from twiki.windows import versions
from twiki.windows.dataset import Dataset, Part
from twiki.windows.publishing import reconcile_and_cut

DAY = timedelta(days=1)
MONTHS = (OCTOBER, NOVEMBER, DECEMBER, DECEMBER + 31 * DAY)


class Contents(NoContents):
    def revisions_before(self, _wiki, _time, titles):
        return [None for _ in titles]


class Dumps:
    """Dumps that are there when the test puts them there."""

    def __init__(self):
        self.wanted, self.arrived, self.failed = [], [], []

    def want(self, window):
        if window not in self.wanted:
            self.wanted.append(window)

    def ready(self):
        while self.arrived:
            yield self.arrived.pop(0)

    def again(self, window):
        self.failed.append(window)


class World:
    """An engine whose October has closed, its operator, and what that told."""

    def __init__(self, folder, dumps=None, **config):
        self.folder, self.dumps = folder, dumps
        self.engine = made_engine(MONTHS)
        self.clock, self.metrics, self.told = FakeClock(), Metrics(), []
        self.config = ServiceConfig(**config)
        self.engine.apply(edit(OCTOBER - DAY, 10, "A stands."))
        self.engine.apply(edit(at(10, 5), 11, "A stands. It has 7 rooms.", parent_rev_id=10))
        self.arrive(NOVEMBER + timedelta(hours=1))
        self.operator = self.again()

    def again(self):
        self.operator = Operator(
            self.engine,
            self.config,
            Contents(),
            datasets=self.folder / "datasets",
            scratch=self.folder / "scratch",
            clock=self.clock,
            metrics=self.metrics,
            dumps=self.dumps,
            on_dataset=lambda event, path: self.told.append((event, path.name)),
        )
        return self.operator

    def arrive(self, moment):
        self.engine.arrived("stream", moment)
        self.engine.commit()

    def look(self):
        self.engine.commit()
        self.operator.look()

    @property
    def window(self):
        return self.engine.windows()[0]

    @property
    def dataset(self):
        where = versions.window_folder(self.folder / "datasets", CONFIG.wiki.name, "2026-10")
        return Dataset.open(where)


def dump(folder, broken=False):
    folder.mkdir()
    page = xml_page(1, "A", xml_revision(11, at(10, 5), "A stands. It has 7 rooms.", 10))
    articles = write_xml(folder / "pages-articles.xml", page)
    entities = write_entities(folder / "all.json")
    found = Arrived(
        window=None,
        articles=(verify(articles),),
        entities=(verify(entities),),
        complete_at=NOVEMBER + 2 * DAY,
        folder=folder,
    )
    if broken:
        articles.write_text(articles.read_text("utf-8")[:-20], "utf-8")
    return found


def test_a_closed_window_is_cut_once(tmp_path):
    world = World(tmp_path)
    world.look()
    world.look()
    world.operator.closed(world.window)
    assert world.told == [("cut", "v1")]
    assert [row.title for row in world.dataset.rows(Part.DIFFSET)] == ["A"]


def test_the_dump_is_waited_for_and_used_when_the_stream_has_told_what_came_before_it(tmp_path):
    dumps = Dumps()
    world = World(tmp_path, dumps)
    world.look()
    assert dumps.wanted == [world.window]
    assert not world.operator.idle
    found = dump(tmp_path / "dump")._replace(window=world.window)
    dumps.arrived.append(found)
    world.look()
    assert world.told == [("cut", "v1")]  # the watermark is a day behind the dump
    world.arrive(NOVEMBER + 2 * DAY)
    world.look()
    assert world.told == [("cut", "v1"), ("reconciled", "v2")]
    assert world.operator.idle
    assert not found.folder.exists()


def test_a_damaged_dump_is_waited_for_anew_and_the_stream_goes_on(tmp_path):
    dumps = Dumps()
    world = World(tmp_path, dumps)
    world.arrive(NOVEMBER + 3 * DAY)
    world.look()
    dumps.arrived.append(dump(tmp_path / "dump", broken=True)._replace(window=world.window))
    world.look()
    assert world.told == [("cut", "v1")]
    assert dumps.failed == [world.window]
    assert world.metrics.labels(names.TROUBLE) == {"reconcile": 1}
    dumps.arrived.append(dump(tmp_path / "again")._replace(window=world.window))
    world.look()
    assert world.told[-1] == ("reconciled", "v2")


def test_a_kill_between_reconciliation_and_its_version_is_made_good(tmp_path, monkeypatch):
    world = World(tmp_path, Dumps())
    world.look()
    found = dump(tmp_path / "dump")

    class Killed(BaseException):
        pass

    def killed(*_arguments, **_options):
        raise Killed

    monkeypatch.setattr("twiki.windows.publishing.cut", killed)
    with pytest.raises(Killed):
        reconcile_and_cut(
            world.engine,
            world.window,
            [one.path for one in found.articles],
            [one.path for one in found.entities],
            tmp_path / "datasets",
        )
    monkeypatch.undo()
    world.again()
    for _ in range(2):
        world.look()
    assert world.told == [("cut", "v1"), ("reconciled", "v2")]


def test_late_events_make_one_version_a_day(tmp_path):
    world = World(tmp_path)
    world.look()
    for day, rooms in ((20, 8), (21, 9), (22, 10)):
        text = f"A stands. It has {rooms} rooms."
        world.engine.apply(edit(at(10, day), day, text, parent_rev_id=11))
        world.look()
    assert world.told == [("cut", "v1")]  # the window closed an hour ago
    world.arrive(NOVEMBER + DAY + timedelta(hours=1))
    for _ in range(3):
        world.look()
    assert world.told == [("cut", "v1"), ("corrected", "v2")]
    assert "10 rooms" in next(world.dataset.rows(Part.DIFFSET)).text
    world.again()
    world.arrive(NOVEMBER + 5 * DAY)
    world.look()
    assert world.told[-1] == ("corrected", "v2")


def test_hidden_text_is_withdrawn_within_a_minute(tmp_path):
    world = World(tmp_path)
    world.look()
    world.engine.apply(hide(at(11, 1, 1), 11))
    world.look()
    assert world.told == [("cut", "v1")]
    world.clock.sleep(60)
    world.look()
    assert world.told == [("cut", "v1"), ("withdrawn", "v2")]
    assert list(world.dataset.rows(Part.DIFFSET)) == []


def test_a_dataset_that_cannot_be_read_is_told_and_the_stream_goes_on(tmp_path):
    world = World(tmp_path)
    world.look()
    for path in Path(world.dataset.folder).glob("*.parquet"):
        path.write_bytes(b"")
    world.engine.apply(hide(at(11, 1, 1), 11))
    world.clock.sleep(60)
    world.look()
    assert world.metrics.labels(names.TROUBLE) == {"withhold": 1}
