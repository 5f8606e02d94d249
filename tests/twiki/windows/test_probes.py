from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twiki.config import QualityConfig
from twiki.records import Category, Fact, FactChange, FactClass, Window
from twiki.windows import quality
from twiki.windows.probes import ArticleText, Candidate, build

WINDOW = Window(
    start=datetime(2026, 11, 1, tzinfo=UTC), end=datetime(2026, 12, 1, tzinfo=UTC), name="2026-11"
)
CONFIG = QualityConfig(subject_cap=1.0, relation_cap=1.0, object_cap=1.0)


class Shelf:
    """Articles by title: live ones, and the diff sentences of those that changed."""

    def __init__(self, live, changed=None):
        self._live = live
        self._changed = changed or {}
        self.read = []

    def live(self, title):
        if title not in self._live:
            return None
        return ArticleText(page_id=7, title=title, rev_id=70, sentences=_Lazy(self, title))

    def changed(self, title):
        if title not in self._changed:
            return None
        return ArticleText(page_id=7, title=title, rev_id=70, sentences=self._changed[title])


class _Lazy(Sequence):
    def __init__(self, shelf, title):
        self._shelf, self._title = shelf, title

    def __iter__(self):
        self._shelf.read.append(self._title)
        return iter(self._shelf._live[self._title])

    def __getitem__(self, index):
        return self._shelf._live[self._title][index]

    def __len__(self):
        return len(self._shelf._live[self._title])


def candidate(subject="Rome", relation="capital of", obj="Italy", **more):
    ids = more.pop("ids", (f"Q-{subject}", f"P-{relation}", f"Q-{obj}"))
    fact = Fact(subject=ids[0], relation=ids[1], object=ids[2], datatype=more.pop("kind", "string"))
    return Candidate(
        **{
            "change": FactChange(fact=fact, fact_class=FactClass.NEW_OBJECT),
            "subject": subject,
            "relation": relation,
            "object": obj,
            "sitelink": subject,
            "old_rev": 1,
            "new_rev": 2,
            "changed_at": WINDOW.start,
            **more,
        }
    )


def changed(candidates, shelf, config=CONFIG):
    return build(WINDOW, candidates, Category.CHANGED, shelf, config)


def unchanged(candidates, shelf, config=CONFIG):
    return build(WINDOW, candidates, Category.UNCHANGED, shelf, config)


def dropped(probes):
    return {rule: count for rule, count in probes.dropped.items() if count}


def test_a_changed_probe_has_its_diff_sentence_as_evidence():
    shelf = Shelf(
        {"Rome": ["Rome is old.", "It is in Italy."]},
        {"Rome": ["In 2026 Rome, Italy, grew.", "Italy."]},
    )
    (probe,) = changed([candidate()], shelf).probes
    assert (probe.subject, probe.relation, probe.object) == ("Rome", "capital of", "Italy")
    assert probe.evidence == "In 2026 Rome, Italy, grew."
    assert (probe.page_id, probe.page_title, probe.evidence_rev) == (7, "Rome", 70)
    assert (probe.old_rev, probe.new_rev, probe.changed_at) == (1, 2, WINDOW.start)
    assert probe.category is Category.CHANGED


def test_an_unchanged_probe_finds_evidence_in_the_whole_article():
    shelf = Shelf({"Rome": ["Rome is old.", "It is in Italy."]})
    (probe,) = unchanged([candidate()], shelf).probes
    assert probe.evidence == "It is in Italy."
    assert probe.category is Category.UNCHANGED


@pytest.mark.parametrize(
    ("given_candidate", "rule"),
    [
        (candidate(subject=None, sitelink="Rome"), "no_label"),
        (candidate(relation=""), "no_label"),
        (candidate(obj=" "), "no_label"),
        (candidate(sitelink=None), "no_article"),
        (candidate(sitelink="Nowhere"), "no_article"),
        (candidate(sitelink="Quiet"), "not_in_diffset"),
        (candidate(obj="Spain"), "no_evidence"),
        (candidate(obj="Ital"), "no_evidence"),
        (candidate(obj="Rome"), "substring"),
        (candidate(obj="a b c d e f"), "object_words"),
    ],
)
def test_each_rule_drops_and_counts(given_candidate, rule):
    text = ["Rome in Italy has a b c d e f."]
    result = changed([given_candidate], Shelf({"Rome": text, "Quiet": text}, {"Rome": text}))
    assert result.probes == ()
    assert dropped(result) == {rule: 1}
    assert tuple(result.dropped) == quality.RULES


def test_no_article_is_read_for_a_candidate_that_falls_before():
    shelf = Shelf({"Rome": ["Rome is in Italy."], "Oslo": ["Oslo is in Norway."]})
    unchanged([candidate(obj=None), candidate(subject="Oslo", obj="Norway")], shelf)
    assert shelf.read == ["Oslo"]


def test_an_article_is_read_once_for_all_its_candidates():
    shelf = Shelf({"Rome": ["Rome, Italy, and Lazio."]})
    assert len(unchanged([candidate(), candidate(obj="Lazio")], shelf).probes) == 2
    assert shelf.read == ["Rome"]


def test_labels_are_kept_as_they_are_written():
    shelf = Shelf({"Rome": ['They live in Washington, D.C., by "Dan\'s \u00a0\u201cPlace".']})
    (probe,) = unchanged([candidate(obj="Washington, D.C.")], shelf).probes
    assert probe.object == "Washington, D.C."


def test_aliases_and_spellings_count_when_they_are_switched_on():
    shelf = Shelf({"Rome": ["She won on March 21, 1999 in the States."]})
    candidates = [
        candidate(obj="United States", object_aliases=("States", "")),
        candidate(obj="21 March 1999", kind="time"),
    ]
    assert dropped(unchanged(candidates, shelf)) == {"no_evidence": 2}
    aliases = QualityConfig(relation_cap=1.0, object_cap=1.0, subject_cap=1.0, aliases=True)
    assert len(unchanged(candidates, shelf, aliases).probes) == 2


def test_diacritics_fold_when_it_is_switched_on():
    shelf = Shelf({"Rome": ["It was Lodz."]})
    assert dropped(unchanged([candidate(obj="Łódź")], shelf)) == {"no_evidence": 1}
    folding = QualityConfig(fold_diacritics=True)
    assert len(unchanged([candidate(obj="Łódź")], shelf, folding).probes) == 1


def test_probes_come_sorted_by_id_and_capped_ones_are_spare():
    shelf = Shelf({f"S{n}": [f"S{n} and O{n}."] for n in range(30)})
    candidates = [candidate(f"S{n}", "r", f"O{n}") for n in range(30)]
    result = unchanged(candidates[::-1], shelf, QualityConfig())
    subjects = [probe.change.fact.subject for probe in result.probes]
    assert subjects == sorted(subjects)
    assert len(result.probes) == 1
    assert len(result.spare) == 29
    assert dropped(result) == {"relation_cap": 29}


def test_a_set_says_where_its_candidates_went():
    result = unchanged([candidate(obj=None), candidate(obj=None)], Shelf({}))
    assert result.explained() == "0 of 2 candidates kept; dropped: 2 no_label"
    assert unchanged([], Shelf({})).explained() == "0 of 0 candidates kept"


_CANDIDATES = st.lists(
    st.builds(
        candidate,
        st.sampled_from(["Rome", "Oslo", "Quiet", None]),
        st.sampled_from(["r", "q", ""]),
        st.sampled_from(["Italy", "Norway", "Rome", "one two three four five six", None]),
        sitelink=st.sampled_from(["Rome", "Oslo", "Quiet", "Nowhere", None]),
        ids=st.tuples(*[st.sampled_from(["Q1", "Q2", "Q3"])] * 3),
    ),
    max_size=40,
)


@given(_CANDIDATES, st.sampled_from(list(Category)[:2]), st.randoms(use_true_random=False))
def test_every_candidate_is_counted_once_whatever_the_order(candidates, category, chance):
    sentences = ["Rome and Oslo.", "Italy, Norway, one two three four five six."]
    live = dict.fromkeys(("Rome", "Oslo", "Quiet"), sentences)
    shelf = Shelf(live, {"Rome": sentences, "Oslo": sentences[:1]})
    result = build(WINDOW, candidates, category, shelf, QualityConfig())
    assert result.candidates == len(candidates)
    assert len(result.probes) + sum(result.dropped.values()) == len(candidates)
    chance.shuffle(candidates)
    again = build(WINDOW, candidates, category, shelf, QualityConfig())
    assert result.dropped == again.dropped
    texts = [(probe.subject, probe.relation, probe.object) for probe in result.probes]
    assert texts == [(probe.subject, probe.relation, probe.object) for probe in again.probes]
