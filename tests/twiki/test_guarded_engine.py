"""A page that breaks its bound becomes a dead letter; the others go on (issue: guards)."""

from datetime import UTC, datetime

from msgspec.structs import replace

from stream.embedded import Embedded, NoContents, chunked
from stream.metrics import Metrics
from stream.settings import Settings
from twiki.engine import DeadLetter, Engine
from twiki.records import Change, ChangeKind, Revision
from twiki.state import codec, layout
from twiki.state.kv import MemoryKeyValues
from twiki.state.store import Store

HOSTILE = "A first sentence. " + "{{a|" * 30_000


def revision(page_id: int, text: str) -> Revision:
    moment = datetime(2026, 11, 3, 12, page_id, tzinfo=UTC)
    change = Change(
        wiki="enwiki",
        kind=ChangeKind.CREATE,
        page_id=page_id,
        title=f"Page {page_id}",
        namespace=0,
        rev_id=page_id,
        parent_rev_id=0,
        rev_dt=moment,
        effective_time=moment,
        arrival_time=moment,
    )
    return Revision(change=change, content=text)


def test_a_page_that_breaks_its_bound_is_a_dead_letter_and_the_others_go_on():
    settings = Settings()
    settings = replace(settings, text=replace(settings.text, max_block_seconds=0.0))
    store = Store(MemoryKeyValues())
    engine = Engine.open(store, settings)
    pages = [revision(1, "Ada was born."), revision(2, HOSTILE), revision(3, "Bob was born.")]
    Embedded(engine, settings, NoContents(), Metrics()).run(chunked(pages, 10))
    letters = [codec.decode(value, DeadLetter) for _, value in store.kv.scan(layout.DEAD)]
    assert [letter.reason for letter in letters] == ["bad_content"]
    assert "max_block_seconds" in letters[0].detail
    told = [key for key, _ in store.kv.scan(layout.OUTBOX)]
    assert len(told) == 2
    assert store.held(2) is not None
