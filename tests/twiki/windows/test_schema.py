from datetime import UTC, datetime

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twiki.records import (
    Article,
    Category,
    Diff,
    DiffSentence,
    Fact,
    FactChange,
    FactClass,
    Probe,
    SentenceKind,
)
from twiki.windows.convert import article_rows, diff_text, probe_row, removed_row
from twiki.windows.schema import (
    ROWS,
    Part,
    ProbeRow,
    arrow_schema,
    columns,
    from_batch,
    misplaced,
    page_hash,
    to_batch,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
times = st.datetimes(timezones=st.just(UTC), min_value=datetime(1, 1, 2))  # noqa: DTZ001
ids = st.integers(min_value=-(2**63), max_value=2**63 - 1)


def any_row(kind):
    return st.builds(
        kind,
        **{field.name: _strategy(field) for field in msgspec.structs.fields(kind)},
    )


def _strategy(field):
    inspected = msgspec.inspect.type_info(field.type)
    while isinstance(inspected, msgspec.inspect.Metadata):
        inspected = inspected.type
    found = {
        msgspec.inspect.IntType: ids,
        msgspec.inspect.StrType: texts,
        msgspec.inspect.BoolType: st.booleans(),
        msgspec.inspect.DateTimeType: times,
        msgspec.inspect.NoneType: st.none(),
        msgspec.inspect.VarTupleType: st.lists(texts, max_size=3).map(tuple),
    }
    if isinstance(inspected, msgspec.inspect.UnionType):
        return st.one_of(found[type(one)] for one in inspected.types)
    if isinstance(inspected, msgspec.inspect.EnumType):
        return st.sampled_from(inspected.cls)
    return found[type(inspected)]


@pytest.mark.parametrize("part", {row: part for part, row in ROWS.items()}.values())
def test_rows_survive_the_way_to_columns_and_back(part):
    @settings(max_examples=40)
    @given(st.lists(any_row(ROWS[part]), max_size=4))
    def round_trip(rows):
        assert from_batch(part, to_batch(part, rows)) == rows

    round_trip()


@pytest.mark.parametrize("part", Part)
def test_every_column_says_what_it_means(part):
    assert all(columns(part).values())
    assert list(columns(part)) == arrow_schema(part).names
    for field in arrow_schema(part):
        assert field.metadata[b"description"].decode() == columns(part)[field.name]


def test_the_papers_columns_come_first():
    assert arrow_schema(Part.DIFFSET).names[:4] == ["id", "url", "title", "text"]
    for part in (Part.PROBES_CHANGED, Part.PROBES_UNCHANGED, Part.FACTS_REMOVED):
        names = arrow_schema(part).names
        assert names[:3] == ["subject", "relation", "object"]
        assert "class" in names


def test_times_are_utc_and_nulls_are_declared():
    schema = arrow_schema(Part.PROBES_CHANGED)
    assert schema.field("changed_at").type == pa.timestamp("us", tz="UTC")
    assert schema.field("old_rev").nullable
    assert not schema.field("subject").nullable


@pytest.mark.parametrize("wrong", ["\ud800", None])
def test_a_value_that_its_column_cannot_hold_is_refused(made, wrong):
    with pytest.raises(ValueError, match=r"null|surrogate"):
        to_batch(Part.DIFFSET, [made.article(1, title=wrong)])
    with pytest.raises(ValueError, match=r"."):
        to_batch(Part.DIFFSET, [made.article(2**70)])


def test_a_row_may_only_stand_in_its_own_file(made):
    assert misplaced(Part.PROBES_CHANGED, made.probe()) is None
    assert misplaced(Part.FACTS_REMOVED, made.removed()) is None
    assert "DiffsetRow" in misplaced(Part.SENTENCES, made.article(1))
    assert "unchanged" in misplaced(Part.PROBES_CHANGED, made.unchanged())
    assert "class" in misplaced(Part.PROBES_CHANGED, made.probe(fact_class=FactClass.UNCHANGED))
    assert "evidence" in misplaced(Part.PROBES_CHANGED, made.probe(evidence=None))
    assert "object" in misplaced(Part.PROBES_CHANGED, made.probe(object=""))


def test_the_hash_of_a_page_never_changes():
    assert page_hash(1) == 0xF6FC42039FBA3776
    assert 0 <= page_hash(12) < 2**64


def test_sentences_join_by_paragraph():
    def one(text, block, paragraph):
        return DiffSentence(kind=SentenceKind.ADDED, text=text, block=block, paragraph=paragraph)

    joined = [one("A.", 0, 0), one("B.", 0, 0), one("C.", 0, 1), one("D.", 1, 1)]
    assert diff_text(joined) == "A. B.\nC.\nD."


def test_an_article_becomes_a_row_and_its_sentences(made):
    new = Article(page_id=4, title="T", rev_id=9, rev_dt=made.time, blocks=None)
    diff = Diff(sentences=(DiffSentence(kind=SentenceKind.NEW_ARTICLE, text="A."),))
    row, sentences = article_rows("https://w.example", None, new, diff)
    assert (row.kind, row.old_rev, row.new_rev, row.sentences) == ("new_article", None, 9, 1)
    assert row.url == "https://w.example/wiki?curid=4"
    assert [s.text for s in sentences] == ["A."]
    updated, _ = article_rows("https://w.example", new, new, diff)
    assert (updated.kind, updated.old_rev) == ("updated", 9)
    assert article_rows("https://w.example", new, new, Diff()) is None


def test_a_probe_and_a_removed_fact_become_rows(made):
    fact = Fact(subject="Q1", relation="P36", object="Q9", statement_id="s", valid_to="2026")
    change = FactChange(
        fact=fact, fact_class=FactClass.NEW_OBJECT, previous_objects=("Q8",), all_objects=("Q9",)
    )
    probe = Probe(
        subject="S",
        relation="r",
        object="O",
        change=change,
        category=Category.CHANGED,
        page_id=1,
        page_title="S",
        evidence="O.",
        evidence_rev=3,
        old_rev=None,
        new_rev=2,
        changed_at=made.time,
    )
    row = probe_row(probe, made.window)
    assert isinstance(row, ProbeRow)
    assert misplaced(Part.PROBES_CHANGED, row) is None
    assert (row.subject_qid, row.object_qid_or_value, row.window) == ("Q1", "Q9", "2026-11")
    gone = msgspec.structs.replace(change, fact_class=FactClass.REMOVED)
    removed = removed_row(gone, made.window, page_title="S")
    assert misplaced(Part.FACTS_REMOVED, removed) is None
    assert (removed.subject, removed.evidence, removed.qc) == ("", None, "none")
