"""A kill between a window's closing and its first cut: the cut lacks nothing for that."""

import pytest
from histories import NOVEMBER, at, edit
from msgspec.structs import replace
from test_operator import Contents, World

from twiki.windows.dataset import Part

LATER = edit(at(10, 6), 12, "A stands. It has 8 rooms.", parent_rev_id=11)


class Asked(Contents):
    """An API that knows one revision; remembers what was asked for."""

    def __init__(self):
        self.asked = []

    def revisions(self, wiki, rev_ids):
        self.asked += rev_ids
        known = {LATER.change.rev_id: LATER}
        return [known.get(rev) or self._lost(wiki, rev, None) for rev in rev_ids]


class Lacking(World):
    """Its last edit is named before it closes, and its text not fetched yet."""

    def arrive(self, moment):
        if not self.engine.progress.closed:
            self.engine.apply(replace(LATER, content=None))
        super().arrive(moment)


@pytest.fixture
def world(tmp_path, monkeypatch):
    contents = Asked()
    monkeypatch.setattr("test_operator.Contents", lambda: contents)
    made = Lacking(tmp_path)
    made.contents = contents
    return made


def test_what_a_window_lacks_is_fetched_before_a_cut_that_a_kill_put_off(world):
    world.look()
    assert world.contents.asked == [12]
    (row,) = world.dataset.rows(Part.DIFFSET)
    assert "8 rooms" in row.text
    world.arrive(NOVEMBER)
    world.look()
    assert world.told == [("cut", "v1")]
    assert world.contents.asked == [12]


def test_where_nothing_was_put_off_nothing_is_asked_again(world):
    world.operator.closed(world.window)
    assert world.told == [("cut", "v1")]
    assert world.contents.asked == []
