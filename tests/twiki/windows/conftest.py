"""Small rows, and datasets made of them."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from twiki.config import CoreConfig, WikiConfig
from twiki.records import Category, FactClass, SentenceKind
from twiki.windows.calendar import month
from twiki.windows.dataset import DatasetWriter, Part, Run
from twiki.windows.schema import (
    ArticleKind,
    DiffsetRow,
    NondiffRow,
    ProbeRow,
    Quality,
    SentenceRow,
    Tombstone,
    order_key,
)
from twiki.windows.stats import QualitySteps

WINDOW = month("2026-11")
TIME = datetime(2026, 11, 5, 12, tzinfo=UTC)
CONFIG = CoreConfig(wiki=WikiConfig(name="testwiki", url="https://wiki.example"))


def article(page_id: int, text: str = "It opened in 1999.", **other: object) -> DiffsetRow:
    row = DiffsetRow(
        id=page_id,
        url=f"https://wiki.example/wiki?curid={page_id}",
        title=f"Page {page_id}",
        text=text,
        old_rev=page_id * 10,
        new_rev=page_id * 10 + 1,
        old_timestamp=datetime(2026, 10, 1, tzinfo=UTC),
        new_timestamp=TIME,
        kind=ArticleKind.UPDATED,
        sentences=1,
    )
    return msgspec.structs.replace(row, **other)


def sentence(page_id: int, ordinal: int = 0, text: str = "It opened in 1999.") -> SentenceRow:
    return SentenceRow(
        id=page_id,
        title=f"Page {page_id}",
        ordinal=ordinal,
        text=text,
        kind=SentenceKind.UPDATED,
        replaced="It opened in 1998.",
        cosmetic=False,
        block=0,
        paragraph=ordinal,
        old_rev=page_id * 10,
        new_rev=page_id * 10 + 1,
        new_timestamp=TIME,
    )


def probe(subject: str = "Q1", **other: object) -> ProbeRow:
    row = ProbeRow(
        subject=f"Subject {subject}",
        relation="capital",
        object="Ghent",
        subject_qid=subject,
        relation_pid="P36",
        object_qid_or_value="Q9",
        object_datatype="wikibase-item",
        category=Category.CHANGED,
        fact_class=FactClass.NEW_OBJECT,
        previous_objects=("Q8",),
        all_objects=("Q9",),
        previous_labels=("Bruges",),
        object_labels=("Ghent",),
        statement_id=f"{subject}$1",
        rank="normal",
        valid_from="2026-11",
        valid_to=None,
        point_in_time=None,
        current=True,
        old_rev=5,
        new_rev=6,
        changed_at=TIME,
        page_id=1,
        page_title="Page 1",
        evidence="Its capital is Ghent.",
        evidence_rev=11,
        window=WINDOW.name,
        qc=Quality.PASSED,
    )
    return msgspec.structs.replace(row, **other)


def unchanged(subject: str = "Q1", **other: object) -> ProbeRow:
    kind = {"category": Category.UNCHANGED, "fact_class": FactClass.UNCHANGED}
    return probe(subject, **{**kind, **other})


def removed(subject: str = "Q1", **other: object) -> ProbeRow:
    nothing = dict.fromkeys(("new_rev", "changed_at", "page_id", "evidence", "evidence_rev"))
    kind = {"category": Category.REMOVED, "fact_class": FactClass.REMOVED, "qc": Quality.NONE}
    return probe(subject, **{**nothing, **kind, "current": False, "object": "", **other})


def unlearned(subject: str = "Q1", **other: object) -> ProbeRow:
    return removed(subject, **{"object": "Ghent", "page_id": 1, "qc": Quality.PASSED, **other})


def passage(page_id: int, ordinal: int = 0, text: str = "It stands on a hill.") -> NondiffRow:
    return NondiffRow(
        id=page_id,
        url=f"https://wiki.example/wiki?curid={page_id}",
        title=f"Page {page_id}",
        text=text,
        rev=page_id * 10,
        ordinal=ordinal,
        first=ordinal,
        paragraphs=1,
    )


ROWS = {
    Part.DIFFSET: [article(1), article(2, text='Said "yes", =SUM(A1)\nNo\u2028.', old_rev=None)],
    Part.SENTENCES: [sentence(1), sentence(2), sentence(2, 1)],
    Part.PROBES_CHANGED: [probe("Q1"), probe("Q2", object="None, <b>NA</b>")],
    Part.PROBES_UNCHANGED: [unchanged("Q3")],
    Part.PROBES_REMOVED: [unlearned("Q4")],
    Part.FACTS_REMOVED: [removed("Q4")],
    Part.LIGHTTUNING_CHANGED: [probe("Q5")],
    Part.LIGHTTUNING_UNCHANGED: [unchanged("Q6")],
    Part.NONDIFF: [passage(1), passage(1, 1), passage(2)],
    Part.TOMBSTONES: [Tombstone(wiki="testwiki", rev_id=7, page_id=None, version=2)],
}
QUALITY = {
    Category.CHANGED: QualitySteps(candidates=4, dropped={"no_label": 1, "substring": 1}),
    Category.UNCHANGED: QualitySteps(candidates=2, dropped={"object_cap": 1}),
}


def write(root: Path, rows: dict | None = None, *, config: CoreConfig = CONFIG, **finish) -> Path:
    """Write a version and return its folder; rows are put in order first."""
    given = ROWS if rows is None else rows
    finish = {"quality": QUALITY if rows is None else {}, "run": Run(engine="replay"), **finish}
    version = finish.pop("version", None)
    with DatasetWriter(root, config, WINDOW, version) as writer:
        for part, found in given.items():
            writer.extend(part, sorted(found, key=order_key))
        return writer.finish(**finish)


@pytest.fixture(scope="session")
def made():
    """Rows and the way to write them."""
    return SimpleNamespace(
        window=WINDOW,
        time=TIME,
        config=CONFIG,
        rows=ROWS,
        quality=QUALITY,
        article=article,
        sentence=sentence,
        probe=probe,
        unchanged=unchanged,
        removed=removed,
        unlearned=unlearned,
        passage=passage,
        write=write,
    )


@pytest.fixture
def folder(tmp_path):
    """A dataset with a row or more in every part."""
    return write(tmp_path / "datasets")
