"""What a cut makes of facts: probes of three kinds, prompts, kinds, labels from elsewhere."""

import msgspec
import pytest
from histories import (
    CONFIG,
    DAY,
    DECEMBER,
    NOVEMBER,
    OCTOBER,
    at,
    edit,
    engine,
    entity_edit,
    item,
)

from twiki.errors import DatasetError, EmptyProbes
from twiki.records import Category
from twiki.windows import calendar
from twiki.windows.corpus import write as write_corpus
from twiki.windows.cut import Beside
from twiki.windows.dataset import Dataset, Part
from twiki.windows.publishing import cut_closed

WINDOW = calendar.month("2026-11")
NAMES = {"P36": "capital", "P17": "country", "Q8": "Bruges", "Q9": "Ghent", "Q7": "Belgium"}


def page(number, moment, rev, text, parent=0):
    return edit(moment, rev, text, page_id=number, title=f"Page {number}", parent_rev_id=parent)


def town(rev, moment, parent, *facts, sitelink="Page 1"):
    content = item("Q1", *facts, label="Flanders", sitelink=sitelink)
    return entity_edit(moment, rev, "Q1", content, parent_rev_id=parent)


def named(*without):
    return [
        entity_edit(at(10, 2), 90 + n, ident, item(ident, label=label), parent_rev_id=0)
        for n, (ident, label) in enumerate(NAMES.items())
        if ident not in without
    ]


ARTICLE = (
    page(1, at(10, 5), 1, "Its capital is Bruges, in Belgium.\n\nIt lies by the sea."),
    page(1, at(11, 5), 2, "Its capital is Ghent.\n\nIt lies by the sea.", parent=1),
)
OFFICE = (
    town(101, at(10, 6), 0, ("P36", "Q8"), ("P17", "Q7"), ("P31", "Q515")),
    town(102, at(11, 6), 101, ("P36", "Q9"), ("P31", "Q515")),
)


def closed(*events):
    made = engine((OCTOBER, NOVEMBER, DECEMBER, DECEMBER + 31 * DAY))
    for event in events:
        made.apply(event)
    made.close(calendar.month("2026-10"))
    made.close(WINDOW)
    made.commit()
    return made


def cut(tmp_path, *events, **beside):
    report = cut_closed(closed(*events), WINDOW, tmp_path / "datasets", beside=Beside(**beside))
    dataset = Dataset.open(report.folder)
    dataset.verify()
    return report, dataset


def test_a_probe_carries_its_prompts_and_what_was_there_before(tmp_path):
    _, dataset = cut(tmp_path, *ARTICLE, *named(), *OFFICE)
    (probe,) = dataset.rows(Part.PROBES_CHANGED)
    assert probe.cloze == "The capital of Flanders is"
    assert probe.question == "What is the capital of Flanders?"
    assert probe.previous_object == "Bruges"


def test_an_object_that_came_beside_another_is_told_by_the_one_that_stays(tmp_path):
    beside = town(102, at(11, 6), 101, ("P36", "Q8"), ("P36", "Q9"))
    _, dataset = cut(tmp_path, *ARTICLE, *named(), OFFICE[0], beside)
    (probe,) = dataset.rows(Part.PROBES_CHANGED)
    assert (probe.object, probe.previous_object) == ("Ghent", "Bruges")
    assert set(probe.object_labels) == {"Bruges", "Ghent"}


def test_removed_facts_that_keep_the_rules_are_probes_for_unlearning(tmp_path):
    _, dataset = cut(tmp_path, *ARTICLE, *named("P17"), *OFFICE)
    listed = [(row.relation, row.object, str(row.qc)) for row in dataset.rows(Part.FACTS_REMOVED)]
    assert listed == [("", "Belgium", "none"), ("capital", "Bruges", "none")]
    (probe,) = dataset.rows(Part.PROBES_REMOVED)
    assert (probe.subject, probe.object, probe.page_id) == ("Flanders", "Bruges", 1)
    assert (str(probe.qc), probe.evidence, probe.previous_object) == ("passed", None, None)
    assert probe.cloze == "The capital of Flanders is"
    steps = dataset.stats()["quality"][Category.REMOVED]
    assert (steps["candidates"], steps["kept"]) == (2, 1)
    assert {d["rule"]: d["count"] for d in steps["dropped"]}["no_label"] == 1


def test_the_kinds_of_subjects_and_objects_are_told(tmp_path):
    _, dataset = cut(tmp_path, *ARTICLE, *named(), *OFFICE)
    types = dataset.stats()["entity_types"]
    assert types["subjects"] == [{"value": "place", "count": 1}]
    assert types["objects"] == [{"value": "other", "count": 1}]  # Ghent has no article here
    assert "charts/entity_types_subjects.svg" in dataset.files()


def test_the_folder_holds_the_tasks_for_the_harness(tmp_path):
    _, dataset = cut(tmp_path, *ARTICLE, *named(), *OFFICE)
    assert "harness/twiki_2026_11_changed_cloze.yaml" in dataset.manifest.data.files
    (dataset.folder / "harness" / "harness_tasks.py").write_text("import os\n")
    with pytest.raises(DatasetError, match=r"harness_tasks\.py"):
        Dataset.open(dataset.folder).verify()


# --- labels that the state does not hold ----------------------------------------------------


class Earlier:
    """The wiki's history, asked by title; notes what was asked."""

    def __init__(self, **entities):
        self.entities = entities
        self.asked = []

    def revisions_before(self, wiki, time, titles):
        assert (wiki, time) == (CONFIG.wiki.repository, DECEMBER)
        self.asked.append(list(titles))
        return [self._revision(title.removeprefix("Property:")) for title in titles]

    def _revision(self, ident):
        content = self.entities.get(ident)
        return None if content is None else entity_edit(at(10, 1), 1, ident, content)


def test_a_label_that_lacks_is_read_from_before_the_windows_end(tmp_path):
    earlier = Earlier(P36=item("P36", label="seat"), Q9='{"entity":"Q9","redirect":"Q90"}')
    earlier.entities["Q90"] = item("Q90", label="Ghent")
    report, dataset = cut(tmp_path, *ARTICLE, *named("P36", "Q9"), *OFFICE, labels=earlier)
    (probe,) = dataset.rows(Part.PROBES_CHANGED)
    assert (probe.relation, probe.object) == ("seat", "Ghent")
    assert report.labels_fetched == {"absent": 2, "found": 2}
    # All labels of a class of facts at once; P31 and Q515 are the Unchanged fact's.
    assert earlier.asked == [["Property:P36", "Q9"], ["Q90"], ["Property:P31", "Q515"]]


def test_labels_are_asked_for_only_where_an_article_waits_for_them(tmp_path):
    earlier = Earlier()
    facts = [(("P36", "Q9"),), (("P36", "Q9"), ("P17", "Q7"))]
    elsewhere = [
        town(101 + n, at(10 + n, 6), 100 * n, *each, sitelink="Page 9")
        for n, each in enumerate(facts)
    ]
    report, dataset = cut(tmp_path, *ARTICLE, *elsewhere, labels=earlier)
    assert not list(dataset.rows(Part.PROBES_CHANGED))
    assert earlier.asked == []
    assert report.labels_fetched == {}


def test_a_label_that_nobody_has_is_counted(tmp_path):
    report, dataset = cut(tmp_path, *ARTICLE, *named("P36"), *OFFICE, labels=Earlier())
    assert not list(dataset.rows(Part.PROBES_CHANGED))
    assert report.labels_fetched == {"absent": 3}  # P36; of the Unchanged fact P31 and Q515


# --- what else a cut may use ----------------------------------------------------------------


def test_facts_without_a_single_probe_are_an_error_that_says_why(tmp_path):
    with pytest.raises(EmptyProbes, match="0 of 1 candidates kept; dropped: 1 no_label"):
        cut(tmp_path, *ARTICLE, *named("P36"), *OFFICE, require_probes=True)
    assert not list((tmp_path / "datasets").rglob("manifest.json"))


def test_a_window_without_facts_is_cut_also_where_probes_are_required(tmp_path):
    report, _ = cut(tmp_path, *ARTICLE, require_probes=True)
    assert report.counts["sentences"] == 1


def test_the_size_of_the_corpus_and_tokens_stand_in_the_statistics(tmp_path):
    made = closed(*ARTICLE)
    write_corpus(made.as_of(), DECEMBER, tmp_path / "corpus", CONFIG, workers=1)
    _, dataset = cut(
        tmp_path,
        *ARTICLE,
        corpus=tmp_path / "corpus",
        tokenizer=lambda text: len(text.split()),
        tokenizer_name="words",
    )
    table = dataset.stats()["table1"]
    assert (table["snapshot"]["articles"], table["snapshot"]["words"]) == (1, 9)
    assert table["diffset"]["tokens"] == table["diffset"]["words"] == 4
    assert dataset.manifest.data.settings["tokenizer"] == "words"


def test_the_corpus_of_another_boundary_is_refused(tmp_path):
    made = closed(*ARTICLE)
    write_corpus(made.as_of(), NOVEMBER, tmp_path / "corpus", CONFIG, workers=1)
    with pytest.raises(DatasetError, match="as of 2026-11-01"):
        cut(tmp_path, *ARTICLE, corpus=tmp_path / "corpus")


def test_a_report_is_json(tmp_path):
    report, _ = cut(tmp_path, *ARTICLE)
    assert msgspec.json.encode(report, enc_hook=str)
