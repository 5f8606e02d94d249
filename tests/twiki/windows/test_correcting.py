"""Further versions of a published window: hidden texts, late events (L17, L21)."""

import json
from datetime import timedelta

import pytest
from histories import CONFIG, DECEMBER, NOVEMBER, OCTOBER, at, edit, entity_edit, hide, item
from histories import engine as made_engine
from msgspec.structs import replace

from twiki import suppression
from twiki.errors import DatasetError
from twiki.suppression import Hidden
from twiki.times import to_ms
from twiki.windows import correcting, versions, withdraw
from twiki.windows.dataset import Dataset, Part
from twiki.windows.publishing import cut_closed
from twiki.windows.versions import Status

DAY = timedelta(days=1)


def history(engine, page=1, title="A"):
    told = {"page_id": page, "title": title}
    engine.apply(edit(OCTOBER - DAY, page * 10, f"{title} stands.", **told))
    engine.apply(
        edit(
            at(10, 5), page * 10 + 1, f"{title} stands. It has 7 rooms.",
            parent_rev_id=page * 10, **told,
        )
    )  # fmt: skip


@pytest.fixture
def published(tmp_path):
    """A closed October with two changed articles and a fact, cut as version 1."""
    engine = made_engine((OCTOBER, NOVEMBER, DECEMBER, DECEMBER + 31 * DAY))
    history(engine)
    history(engine, 2, "B")
    engine.apply(entity_edit(at(10, 4), 900, "Q1", item("Q1", sitelink="A"), parent_rev_id=0))
    engine.close(engine.open_window)
    engine.commit()
    window = engine.windows()[0]
    cut_closed(engine, window, tmp_path)
    return engine, window, versions.window_folder(tmp_path, CONFIG.wiki.name, window.name)


def titles(folder, part=Part.DIFFSET):
    return [row.title for row in Dataset.open(folder).rows(part)]


def statuses(folder):
    return [version.status for version in versions.read(folder).versions]


def test_a_dataset_that_carried_a_hidden_text_gets_a_version_without_it(published, tmp_path):
    engine, _, folder = published
    assert titles(folder) == ["A", "B"]
    engine.apply(hide(at(11, 3), 11))
    engine.commit()
    ((made, hidden),) = correcting.withhold_published(engine, tmp_path)
    assert (made.name, hidden) == ("v2", (Hidden(CONFIG.wiki.name, 11, 1),))
    assert titles(folder) == ["B"]
    (stone,) = Dataset.open(folder).rows(Part.TOMBSTONES)
    assert (stone.rev_id, stone.page_id, stone.version) == (11, 1, 2)
    assert statuses(folder) == [Status.WITHDRAWN, Status.CURRENT]
    Dataset.open(folder).verify()
    text = b"".join(path.read_bytes() for path in made.rglob("*") if path.is_file())
    assert b"A stands. It has 7 rooms" not in text
    assert list(suppression.hidden(engine)) == []


def test_nothing_more_happens_the_second_time(published, tmp_path):
    engine, _, folder = published
    engine.apply(hide(at(11, 3), 11))
    engine.commit()
    correcting.withhold_published(engine, tmp_path)
    engine.apply(hide(at(11, 4), 11))
    engine.commit()
    assert correcting.withhold_published(engine, tmp_path) == []
    assert len(statuses(folder)) == 2


def test_a_dataset_that_never_had_the_text_is_left_alone(published, tmp_path):
    engine, _, folder = published
    engine.apply(edit(at(11, 2), 99, "A stands. It has 8 rooms.", parent_rev_id=11))
    engine.apply(hide(at(11, 3), 99))
    engine.commit()
    assert correcting.withhold_published(engine, tmp_path) == []
    assert statuses(folder) == [Status.CURRENT]


def test_a_released_window_is_redacted_from_what_is_published(published, tmp_path):
    engine, _, folder = published
    hidden = [Hidden(CONFIG.wiki.name, 11, 1)]
    made = withdraw.redact(folder, engine.config, hidden)
    assert (made.name, titles(folder), titles(folder, Part.SENTENCES)) == ("v2", ["B"], ["B"])
    assert [stone.rev_id for stone in Dataset.open(folder).rows(Part.TOMBSTONES)] == [11]
    assert statuses(folder) == [Status.WITHDRAWN, Status.CURRENT]
    Dataset.open(folder).verify()
    again = withdraw.redact(folder, engine.config, [Hidden(CONFIG.wiki.name, 21, 2)])
    assert (again.name, titles(folder)) == ("v3", [])
    assert [(s.rev_id, s.version) for s in Dataset.open(folder).rows(Part.TOMBSTONES)] == [
        (11, 2),
        (21, 3),
    ]


def test_a_sentence_that_replaced_a_hidden_one_stays_without_it_in_a_redaction(tmp_path):
    engine = made_engine()
    engine.apply(edit(OCTOBER - DAY, 10, "The tower is 90 metres tall.", page_id=1))
    engine.apply(edit(at(10, 5), 11, "The tower is 95 metres tall.", parent_rev_id=10))
    engine.close(engine.open_window)
    engine.commit()
    cut_closed(engine, engine.windows()[0], tmp_path)
    folder = versions.window_folder(tmp_path, CONFIG.wiki.name, "2026-10")
    (row,) = Dataset.open(folder).rows(Part.SENTENCES)
    assert row.replaced == "The tower is 90 metres tall."
    hidden = [Hidden(CONFIG.wiki.name, 10, 1)]
    found = list(withdraw.carriers(tmp_path, CONFIG.wiki.name, "testdata", hidden))
    assert [revs for _, _, revs in found] == [tuple(hidden)]
    withdraw.redact(folder, engine.config, hidden)
    (row,) = Dataset.open(folder).rows(Part.SENTENCES)
    assert (row.text, row.replaced) == ("The tower is 95 metres tall.", None)


def late_edit(engine, text):
    engine.apply(edit(at(10, 20), 12, text, parent_rev_id=11))
    engine.commit()


def test_late_events_make_a_version_and_say_what_differs(published, tmp_path):
    engine, window, folder = published
    late_edit(engine, "A stands. It has 9 rooms.")
    made = correcting.correct(engine, window, tmp_path, tmp_path / "scratch")
    assert made.folder.name == "v2"
    assert next(Dataset.open(folder).rows(Part.DIFFSET)).text == "It has 9 rooms."
    changes = json.loads((folder / "v2.changes.json").read_bytes())
    assert changes["parts"]["sentences"]["rows_b"] == 2
    assert changes["equal"] is False
    assert statuses(folder) == [Status.SUPERSEDED, Status.CURRENT]
    assert not (tmp_path / "scratch").exists()
    assert correcting.late_counts(engine) == {to_ms(OCTOBER): 1}


def test_late_events_that_change_nothing_make_no_version(published, tmp_path):
    engine, window, folder = published
    engine.apply(edit(at(10, 2), 9, "A draft.", parent_rev_id=10, rev_dt=OCTOBER - 3 * DAY))
    engine.commit()
    assert correcting.late_counts(engine) == {to_ms(OCTOBER): 1}
    assert correcting.correct(engine, window, tmp_path, tmp_path / "scratch") is None
    assert statuses(folder) == [Status.CURRENT]


def test_a_correction_keeps_the_tombstones(published, tmp_path):
    engine, window, folder = published
    engine.apply(hide(at(11, 3), 21, page_id=2, title="B"))
    engine.commit()
    correcting.withhold_published(engine, tmp_path)
    late_edit(engine, "A stands. It has 9 rooms.")
    correcting.correct(engine, window, tmp_path, tmp_path / "scratch")
    assert [stone.rev_id for stone in Dataset.open(folder).rows(Part.TOMBSTONES)] == [21]
    assert titles(folder) == ["A"]


def test_a_folder_without_a_current_version_is_named(tmp_path):
    with pytest.raises(DatasetError, match="expected a current version"):
        withdraw.redact(tmp_path, CONFIG, [])


def test_probes_count_as_hidden_since(published):
    _, _, folder = published
    old = Dataset.open(folder)
    gone = {Part.PROBES_CHANGED: 2}
    steps = withdraw._quality(old.stats(), gone)
    changed = next(iter(steps.values()))
    assert changed.dropped[withdraw.RULE] == 2
    assert replace(changed).candidates == old.stats()["quality"]["changed"]["candidates"]
