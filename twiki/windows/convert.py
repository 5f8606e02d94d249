"""From the records that travel through the system to the rows that a dataset keeps."""

from collections.abc import Iterable
from datetime import datetime
from itertools import groupby

from twiki.records import (
    Article,
    Category,
    Diff,
    DiffSentence,
    FactChange,
    FactClass,
    Probe,
    Window,
)
from twiki.windows.prompts import prompt
from twiki.windows.schema import ArticleKind, DiffsetRow, ProbeRow, Quality, SentenceRow


def article_url(wiki_url: str, page_id: int) -> str:
    """Return the address of an article that survives its renaming."""
    return f"{wiki_url}/wiki?curid={page_id}"


def diff_text(sentences: Iterable[DiffSentence]) -> str:
    """Join diff sentences: a space within a paragraph, a line feed between paragraphs."""
    paragraphs = groupby(sentences, key=lambda sentence: (sentence.block, sentence.paragraph))
    return "\n".join(" ".join(sentence.text for sentence in group) for _, group in paragraphs)


def article_rows(
    wiki_url: str, old: Article | None, new: Article, diff: Diff
) -> tuple[DiffsetRow, tuple[SentenceRow, ...]] | None:
    """Return an article's row of the diffset and those of its sentences; None: nothing new.

    ``old`` is the live article as of the start, None where there was none; ``new`` as of the
    end.
    """
    if not diff.sentences:
        return None
    old_rev = old.rev_id if old else None
    article = DiffsetRow(
        id=new.page_id,
        url=article_url(wiki_url, new.page_id),
        title=new.title,
        text=diff_text(diff.sentences),
        old_rev=old_rev,
        new_rev=new.rev_id,
        old_timestamp=old.rev_dt if old else None,
        new_timestamp=new.rev_dt,
        kind=ArticleKind.UPDATED if old else ArticleKind.NEW_ARTICLE,
        sentences=len(diff.sentences),
    )
    sentences = tuple(
        SentenceRow(
            id=new.page_id,
            title=new.title,
            ordinal=ordinal,
            text=sentence.text,
            kind=sentence.kind,
            replaced=sentence.replaced,
            cosmetic=sentence.cosmetic,
            block=sentence.block,
            paragraph=sentence.paragraph,
            old_rev=old_rev,
            new_rev=new.rev_id,
            new_timestamp=new.rev_dt,
        )
        for ordinal, sentence in enumerate(diff.sentences)
    )
    return article, sentences


def previous_object(change: FactChange, labels: tuple[str, ...]) -> str | None:
    """Return the label of what a new object took the place of; None: there was nothing.

    ``labels`` are those of ``change.previous_objects``. An object that is gone comes first; a
    relation that only gained one is told by what it had already.
    """
    if change.fact_class is not FactClass.NEW_OBJECT:
        return None
    named = [pair for pair in zip(change.previous_objects, labels, strict=False) if pair[1]]
    gone = [label for obj, label in named if obj not in change.all_objects]
    return next(iter(gone or (label for _, label in named)), None)


def _prompts(relation: str, subject: str) -> tuple[str | None, str | None]:
    """Cloze and question, where the table has the relation and the subject has a label."""
    found = prompt(relation, subject) if subject else None
    return (None, None) if found is None else (found.cloze, found.question)


def probe_row(probe: Probe, window: Window) -> ProbeRow:
    """Return a probe, also one for light-tuning, as a row."""
    fact, change = probe.change.fact, probe.change
    cloze, question = _prompts(fact.relation, probe.subject)
    return ProbeRow(
        subject=probe.subject,
        relation=probe.relation,
        object=probe.object,
        subject_qid=fact.subject,
        relation_pid=fact.relation,
        object_qid_or_value=fact.object,
        object_datatype=fact.datatype,
        category=probe.category,
        fact_class=change.fact_class,
        previous_objects=change.previous_objects,
        all_objects=change.all_objects,
        previous_labels=probe.previous_labels,
        object_labels=probe.object_labels,
        previous_object=previous_object(change, probe.previous_labels),
        statement_id=fact.statement_id,
        rank=fact.rank,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
        point_in_time=fact.point_in_time,
        current=probe.current,
        old_rev=probe.old_rev,
        new_rev=probe.new_rev,
        changed_at=probe.changed_at,
        page_id=probe.page_id,
        page_title=probe.page_title,
        evidence=probe.evidence,
        evidence_rev=probe.evidence_rev,
        cloze=cloze,
        question=question,
        window=window.name,
        qc=Quality.PASSED,
    )


def removed_row(
    change: FactChange,
    window: Window,
    *,
    page_title: str,
    page_id: int | None = None,
    labels: tuple[str, str, str] = ("", "", ""),
    previous_labels: tuple[str, ...] = (),
    object_labels: tuple[str, ...] = (),
    old_rev: int | None = None,
    new_rev: int | None = None,
    changed_at: datetime | None = None,
) -> ProbeRow:
    """Return a removed fact as a row.

    ``labels`` are those of subject, relation and object, empty where not known; ``page_title``
    is the subject's sitelink as of the start; ``new_rev`` is None where the entity is gone.
    """
    fact = change.fact
    cloze, question = _prompts(fact.relation, labels[0])
    return ProbeRow(
        subject=labels[0],
        relation=labels[1],
        object=labels[2],
        subject_qid=fact.subject,
        relation_pid=fact.relation,
        object_qid_or_value=fact.object,
        object_datatype=fact.datatype,
        category=Category.REMOVED,
        fact_class=change.fact_class,
        previous_objects=change.previous_objects,
        all_objects=change.all_objects,
        previous_labels=previous_labels,
        object_labels=object_labels,
        statement_id=fact.statement_id,
        rank=fact.rank,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
        point_in_time=fact.point_in_time,
        current=False,
        old_rev=old_rev,
        new_rev=new_rev,
        changed_at=changed_at,
        page_id=page_id,
        page_title=page_title,
        evidence=None,
        evidence_rev=None,
        cloze=cloze,
        question=question,
        window=window.name,
        qc=Quality.NONE,
    )
