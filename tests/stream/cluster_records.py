"""Records for the tests of the cluster."""

from datetime import UTC, datetime

from stream.topics import RevisionRecord
from twiki.records import Change, ChangeKind, Revision
from twiki.times import to_ms

FIRST = to_ms(datetime(2026, 11, 1, tzinfo=UTC))


def at(day, hour=0):
    return datetime(2026, 11, day, hour, tzinfo=UTC)


def change(rev=1, *, day=2, page=7, parent=0, title="Ada", **more):
    return Change(
        wiki="enwiki",
        kind=more.pop("kind", ChangeKind.EDIT if parent else ChangeKind.CREATE),
        effective_time=at(day),
        arrival_time=more.pop("arrival", at(day)),
        page_id=page,
        title=title,
        namespace=0,
        rev_id=rev,
        parent_rev_id=parent,
        rev_dt=at(day),
        redirect=False,
        **more,
    )


def record(rev=1, content="Ada was born in 1815.", **more):
    closed = more.pop("closed", 0)
    supplied = more.pop("supplied", False)
    told = Revision(change=change(rev, **more), content=content)
    return RevisionRecord(revision=told, first=FIRST, closed=closed, supplied=supplied)
