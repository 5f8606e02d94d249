"""The study's world: the same for a seed, with what makes forgetting show."""

from collections import Counter

import pytest

from trainer import dataset, files, study_world
from trainer.study_world import DOCUMENTS, FIXED, PLAIN


@pytest.fixture(scope="module")
def world():
    return study_world.make(4, months=2)


@pytest.fixture(scope="module")
def folders(world, tmp_path_factory):
    return study_world.write(world, tmp_path_factory.mktemp("world"))


def test_a_seed_decides_everything(world, folders, tmp_path):
    assert study_world.make(4, months=2) == world
    assert study_world.make(5, months=2) != world
    again = study_world.write(study_world.make(4, months=2), tmp_path)
    for one, other in zip(folders.windows, again.windows, strict=True):
        manifests = [files.read_json(w.dataset / "manifest.json") for w in (one, other)]
        assert manifests[0] == manifests[1]


def test_five_percent_change_each_month_and_some_things_never_do(world):
    first, second = world.states[:2]
    moved = [key for key in first if first[key] != second[key]]
    assert len(moved) == round(0.05 * len(first))
    assert FIXED not in {relation for _, relation in moved}
    new = [key for key in second if key not in first]
    assert sorted(world.changed[0]) == sorted([*moved, *new])
    for month in world.changed:
        assert not set(month) & set(world.unchanged)
    assert all(first[key] == world.states[-1][key] for key in world.unchanged)


def test_each_document_states_every_fact_of_its_entity_once(folders, world):
    texts = list(dataset.open_folder(folders.corpus).texts())
    entities = {subject for subject, _ in world.states[0]}
    assert len(texts) == DOCUMENTS * len(entities)
    subject = min(entities)
    own = [t for t in texts if t.startswith(subject)]
    objects = [o for (s, _), o in world.states[0].items() if s == subject]
    for text in own:
        assert text.count(subject) >= len(objects)
        assert all(f" {o}." in text for o in objects)
    assert len(set(own)) == DOCUMENTS


def test_the_diffset_holds_changed_facts_alone_in_several_phrasings(folders, world):
    texts = list(dataset.open_folder(folders.windows[0].dataset).texts())
    subjects = {subject for subject, _ in world.changed[0]}
    assert len(texts) == DOCUMENTS * len(subjects)
    facts = Counter(s for t in texts for s in t.split(". "))
    assert max(facts.values()) <= 2


def test_probes_come_in_both_forms_that_the_text_shows(folders, world):
    sentence = dataset.open_folder(folders.windows[0].dataset)
    plain = dataset.open_folder(folders.plain[0])
    assert len(sentence.probes("unchanged")) == study_world.UNCHANGED
    assert len(sentence.probes("changed")) == len(world.changed[0])
    assert {p.relation for p in plain.probes("changed")} <= set(PLAIN)
    texts = " ".join(dataset.open_folder(folders.corpus).texts())
    assert all(f"{p.text}." in texts for p in sentence.probes("unchanged"))
    shown = [p for p in plain.probes("unchanged") if f"{p.text}." in texts]
    # Three of the five other forms stand in the corpus for each fact.
    assert len(shown) > len(plain.probes("unchanged")) / 2


def test_the_unchanged_sample_is_one_for_all_months(folders):
    found = [dataset.open_folder(w.dataset).probes("unchanged") for w in folders.windows]
    assert found[0] == found[1]


def test_full_reads_many_times_what_diff_reads(folders):
    def words(path):
        return sum(len(t.split()) for t in dataset.open_folder(path).texts())

    for window in folders.windows:
        assert 10 < words(window.corpus) / words(window.dataset) < 20
