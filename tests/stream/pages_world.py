"""A little world for the pages: datasets with hostile text, a state with a live feed, a site."""

from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import histories
import msgspec
from starlette.testclient import TestClient

from stream.clock import SystemClock
from stream.pages.app import application, open_site
from stream.settings import Settings
from twiki.records import Category, FactClass, SentenceKind
from twiki.state.rocks import RocksKeyValues
from twiki.windows.calendar import month
from twiki.windows.dataset import DatasetWriter, Part, Run
from twiki.windows.schema import (
    ArticleKind,
    DiffsetRow,
    NondiffRow,
    ProbeRow,
    Quality,
    SentenceRow,
)
from twiki.windows.stats import QualitySteps

WINDOW = month("2026-10")
TIME = datetime(2026, 10, 5, 12, tzinfo=UTC)
HOSTILE = "<script>alert('x')</script> \u202egnp.exe\u202c \x00 & \"quoted\" {{7*7}}"
LONG = "x" * 1_000_000
ID = "twiki-testwiki-2026-10-v1"


def settings():
    return Settings(wiki=histories.CONFIG.wiki, facts=histories.CONFIG.facts)


def article(page_id, **other):
    row = DiffsetRow(
        id=page_id,
        url="javascript:alert(1)",
        title=f"Page {page_id}",
        text="It opened in 1999.",
        old_rev=page_id * 10,
        new_rev=page_id * 10 + 1,
        old_timestamp=datetime(2026, 9, 1, tzinfo=UTC),
        new_timestamp=TIME,
        kind=ArticleKind.UPDATED,
        sentences=2,
    )
    return msgspec.structs.replace(row, **other)


def sentence(page_id, ordinal, text, replaced=None, **other):
    row = SentenceRow(
        id=page_id,
        title=f"Page {page_id}",
        ordinal=ordinal,
        text=text,
        kind=SentenceKind.UPDATED if replaced else SentenceKind.ADDED,
        replaced=replaced,
        cosmetic=False,
        block=0,
        paragraph=0,
        old_rev=page_id * 10,
        new_rev=page_id * 10 + 1,
        new_timestamp=TIME,
    )
    return msgspec.structs.replace(row, **other)


def probe(page_id, **other):
    row = ProbeRow(
        subject=f"Page {page_id}",
        relation="opened by",
        object="Ada Lund",
        subject_qid=f"Q{page_id}",
        relation_pid="P1",
        object_qid_or_value="Q77",
        object_datatype="wikibase-item",
        category=Category.CHANGED,
        fact_class=FactClass.NEW_OBJECT,
        previous_objects=("Q76",),
        all_objects=("Q77",),
        previous_labels=("Bo Lund",),
        object_labels=("Ada Lund",),
        statement_id=f"Q{page_id}$1",
        rank="normal",
        valid_from=None,
        valid_to=None,
        point_in_time=None,
        current=True,
        old_rev=5,
        new_rev=6,
        changed_at=TIME,
        page_id=page_id,
        page_title=f"Page {page_id}",
        evidence=f"Ada Lund opened page {page_id}.",
        evidence_rev=page_id * 10 + 1,
        cloze=f"Page {page_id} was opened by",
        question=f"Who opened page {page_id}?",
        window=WINDOW.name,
        qc=Quality.PASSED,
    )
    return msgspec.structs.replace(row, **other)


def write_dataset(root: Path, pages=120, **finish) -> Path:
    """Pages 1 to ``pages``; page 7 bears hostile text, page 8 a megabyte without a space."""
    special = {7: HOSTILE, 8: LONG}
    with DatasetWriter(root, histories.CONFIG, WINDOW) as writer:
        for page in range(1, pages + 1):
            title = special.get(page, f"Page {page}")[:200]
            writer.add(Part.DIFFSET, article(page, title=title, text=special.get(page, "It.")))
            texts = [f"Ada Lund opened page {page}.", special.get(page, "It opened in 1999.")]
            writer.add(Part.SENTENCES, sentence(page, 0, texts[0], title=title))
            writer.add(
                Part.SENTENCES,
                sentence(page, 1, texts[1], replaced="It opened in 1998.", title=title),
            )
        probes = [probe(page) for page in range(1, 6)]
        probes += [probe(7, subject=HOSTILE, object=HOSTILE, object_qid_or_value=HOSTILE)]
        for row in sorted(probes, key=lambda one: one.subject_qid):
            writer.add(Part.PROBES_CHANGED, row)
        kept = probe(
            9,
            category=Category.UNCHANGED,
            fact_class=FactClass.UNCHANGED,
            evidence="The old mill stands by the river.",
            previous_objects=("Q77",),
        )
        writer.add(Part.PROBES_UNCHANGED, kept)
        writer.add(
            Part.NONDIFF,
            NondiffRow(
                id=9,
                url="https://wiki.example/wiki?curid=9",
                title="Page 9",
                text="Before it. The old mill stands by the river. After it.",
                rev=91,
                ordinal=0,
                first=0,
                paragraphs=1,
            ),
        )
        quality = {
            Category.CHANGED: QualitySteps(candidates=9, dropped={"no_label": 3}),
            Category.UNCHANGED: QualitySteps(candidates=1),
        }
        return writer.finish(run=Run(engine="stream"), quality=quality, **finish)


RECONCILE = {
    "policy": "boundary",
    "pages": {
        "completeness": 0.995,
        "had": 199,
        "in_dump": 200,
        "classes": {"confirmed": 199, "repaired_from_dump": 1},
        "examples": {"repaired_from_dump": ["12"]},
    },
    "entities": {"completeness": 1.0, "had": 3, "in_dump": 3, "classes": {}, "examples": {}},
}


def write_state(folder: Path, edits=40):
    """A state with as many told sentences; the engine stays open for more."""
    bounds = (histories.OCTOBER, histories.NOVEMBER, histories.DECEMBER)
    made = histories.engine(bounds, kv=RocksKeyValues(folder / "db", create=True))
    tell(made, range(1, edits + 1))
    return made


def tell(made, numbers, text="Page {0} stands."):
    """An edit a number, each of a page of its own."""
    for number in numbers:
        moment = histories.at(10, 1 + number % 28)
        made.arrived("mediawiki.recentchange", moment)
        made.apply(
            histories.edit(
                moment, number * 10, text.format(number), page_id=number, title=f"P{number}"
            )
        )
    made.commit()


@contextmanager
def served(datasets: Path, cache: Path, **more):
    """A client of the pages, and their site."""
    hosts = more.pop("hosts", ())
    site = open_site(
        settings(),
        SystemClock(),
        state=more.pop("state", None),
        datasets=datasets,
        cache=cache,
        **more,
    )
    app = application(site, hosts=hosts)
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        for shelf in site.library.listing().shelves.values():
            if shelf.status != "withdrawn":
                site.indexes.wait(shelf)
        yield client, site
