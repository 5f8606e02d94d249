"""The soak's judges see what they are there for: a state or feed that is not as it must be."""

import subprocess
import sys
import time

import pytest
from histories import NOVEMBER, at, edit, engine, entity_edit, hide, item
from msgspec.structs import replace

from stream.sandbox.dump_files import write_dumps
from stream.sandbox.server import SandboxServer
from stream.sandbox.world import World
from stream.settings import Settings
from stream.soak_compare import differences, meaning
from stream.soak_state import strays
from stream.soak_watch import Watch
from twiki.engine import Engine
from twiki.records import ChangeKind
from twiki.state.kv import MemoryKeyValues
from twiki.state.store import Store
from twiki.windows.bootstrap import bootstrap

HISTORY = (
    edit(at(10, 4), 1, "One."),
    edit(at(10, 5), 2, "One.\n\nTwo.", parent_rev_id=1),
    entity_edit(at(10, 4), 10, "Q1", item("Q1", ("P1", "Q5")), parent_rev_id=0),
    entity_edit(at(10, 5), 11, "Q1", item("Q1", ("P1", "Q6")), parent_rev_id=10),
)

AFTERWARDS = edit(at(11, 5), 3, "One.\n\nTwo.\n\nThree.", parent_rev_id=2)


def worked(*revisions):
    made = engine()
    for revision in revisions:
        made.apply(revision)
    made.commit()
    return meaning(made, NOVEMBER)


def kinds(one, other):
    return {line.partition(" ")[0] for line in differences(one, other)}


def test_a_history_told_twice_is_the_same():
    assert kinds(worked(*HISTORY), worked(*HISTORY, *HISTORY)) == set()
    assert kinds(worked(*HISTORY), worked(*HISTORY, AFTERWARDS)) == set()
    late = worked(HISTORY[2], HISTORY[0], HISTORY[3], HISTORY[1])
    assert kinds(worked(*HISTORY), late) == set()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (HISTORY[:1] + HISTORY[2:], {"article", "ledger", "feed"}),
        (HISTORY[:3], {"entity", "ledger", "feed"}),
        ((*HISTORY, hide(at(10, 6), 2)), {"article", "ledger", "feed"}),
        (
            (HISTORY[0], replace(HISTORY[1], content="One.\n\nAnother."), *HISTORY[2:]),
            {"article", "feed"},
        ),
    ],
)
def test_what_one_lacks_or_has_otherwise_is_told(changed, told):
    assert kinds(worked(*HISTORY), worked(*changed)) == told
    assert kinds(worked(*changed), worked(*HISTORY)) == told


@pytest.fixture(scope="module")
def world():
    return World(5, articles=60, months=1)


@pytest.fixture
def begun(world, tmp_path):
    made = Engine.open(Store(MemoryKeyValues()), Settings(), as_of=world.boundaries[0])
    dumps = write_dumps(world, world.boundaries[0], tmp_path)
    bootstrap(made, dumps.articles, [dumps.entities])
    return made


def test_a_state_from_the_dump_is_the_world_and_a_month_later_it_is_not(begun, world):
    assert list(strays(begun, world, world.boundaries[0])) == []
    assert len(list(strays(begun, world, world.boundaries[1]))) > 10


def of_world(revision, page, **fields):
    change = replace(revision.change, wiki="enwiki", page_id=page, **fields)
    return replace(revision, change=change)


class Otherwise:
    """The same world, with another text in every article."""

    def __init__(self, world):
        self._world = world

    def __getattr__(self, name):
        return getattr(self._world, name)

    def revision(self, *asked):
        return replace(self._world.revision(*asked), text="Another text.")


def test_another_text_is_told(begun, world):
    told = list(strays(begun, Otherwise(world), world.boundaries[0]))
    assert len(told) > 30
    assert all("another text" in one for one in told)


def test_an_article_too_many_and_another_revision_are_told(begun, world):
    moment = world.boundaries[0]
    before = moment.replace(month=moment.month - 1)
    page = next(p for p in world.pages("enwiki", before) if not p.redirect and p.namespace == 0)
    extra = of_world(edit(before, 99_999, "Never was."), 77, kind=ChangeKind.CREATE, title="Never")
    begun.apply(extra)
    begun.commit()
    assert list(strays(begun, world, moment)) == [f"{moment} page 77: no article, found one"]
    begun.store.kv.write([], [b"p" + (77).to_bytes(8, "big")])
    newer = of_world(edit(moment.replace(month=8), 1_999_999_999, "X."), page.page_id)
    begun.apply(replace(newer, change=replace(newer.change, title=page.title, parent_rev_id=None)))
    begun.commit()
    (told,) = strays(begun, world, moment)
    assert page.title in told
    assert "found 1999999999" in told


def test_the_memory_of_a_worker_is_its_own(world):
    code = "import sys; x = bytearray(150 << 20); print(); sys.stdin.read()"
    with SandboxServer(world) as server, Watch(server) as watch:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        watch.follow(process)
        end = time.monotonic() + 20
        while watch.peak_memory < 150 and time.monotonic() < end:
            time.sleep(0.02)
        process.communicate("")
    if watch.peak_memory == 0.0:
        pytest.skip("this system has no /proc/PID/status")
    assert 150 <= watch.peak_memory < 250
