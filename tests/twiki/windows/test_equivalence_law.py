"""L19 over any little wiki: whatever the stream told, the files are those of the dump pair."""

import tempfile
from datetime import timedelta
from pathlib import Path

from histories import (
    DAY,
    DECEMBER,
    NOVEMBER,
    OCTOBER,
    delete,
    edit,
    engine,
    move,
    restore,
    write_xml,
    xml_page,
    xml_revision,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from twiki.records import Policy
from twiki.windows import calendar
from twiki.windows.bootstrap import bootstrap
from twiki.windows.dataset import data_bytes
from twiki.windows.publishing import reconcile_and_cut

WINDOW = calendar.month("2026-11")
BOUNDS = (NOVEMBER, DECEMBER, DECEMBER + 31 * DAY)
READ = timedelta(hours=20)
"""How long after its boundary a dump reads its pages."""
STEP = timedelta(hours=10)


class Page:
    """A page as the wiki has it: what is current, and what its history holds."""

    def __init__(self, page_id):
        self.page_id, self.title, self.namespace = page_id, f"Page {page_id}", 0
        self.current, self.archive = None, []
        self.fields = {"page_id": page_id}

    def dumped(self):
        if self.current is None:
            return ""
        rev, moment, text, parent = self.current
        leads = "Page 1" if text.startswith("#REDIRECT") else None
        return xml_page(
            self.page_id,
            self.title,
            xml_revision(rev, moment, text, parent),
            namespace=self.namespace,
            redirect=leads,
        )


@st.composite
def wikis(draw):
    """(events before the first boundary's dump read, all later ones), and the two dumps' pages."""
    pages = [Page(n) for n in range(1, draw(st.integers(1, 3)) + 1)]
    moments = sorted(draw(st.sets(st.integers(1, 160), min_size=3, max_size=16)))
    events, dumps, rev, boundaries = [], [], 0, [NOVEMBER, DECEMBER]
    for number in moments:
        moment = OCTOBER + number * STEP
        while boundaries and moment >= boundaries[0] + READ:
            dumps.append([page.dumped() for page in pages])
            boundaries.pop(0)
        page = draw(st.sampled_from(pages))
        told = {"title": page.title, "namespace": page.namespace, **page.fields}
        kind = draw(st.sampled_from("eeeeedrm"))
        last = page.current
        if kind == "e" and (last or not page.archive):
            rev += 1
            lead = draw(st.sampled_from(["#REDIRECT [[Page 1]]", "It stands.", "It fell down."]))
            text = lead if lead[0] == "#" else f"{lead} It has {draw(st.integers(1, 3))} rooms."
            parent = last[0] if last else 0
            events.append(edit(moment, rev, text, parent_rev_id=parent, **told))
            page.current = (rev, moment, text, parent)
            page.archive.append(page.current)
        elif kind == "d" and last:
            events.append(delete(moment, last[0], **told))
            page.current = None
        elif kind == "r" and not last and page.archive:
            page.current = draw(st.sampled_from(page.archive))
            back, rev_dt, text, _ = page.current
            events.append(restore(moment, back, text, rev_dt=rev_dt, **told))
        elif kind == "m" and last:
            rev += 1
            draft = page.namespace == 0
            old, page.namespace = page.title, 118 if draft else 0
            page.title = f"Draft:Page {page.page_id}" if draft else f"Page {page.page_id}"
            told |= {"namespace": page.namespace, "parent_rev_id": last[0]}
            told.pop("title")
            events.append(move(moment, rev, last[2], page.title, old, **told))
            page.current = (rev, moment, last[2], last[0])
            page.archive.append(page.current)
    dumps += [[page.dumped() for page in pages] for _ in boundaries]
    return [e for e in events if e.change.effective_time >= NOVEMBER], dumps


def files(folder, dumps, events):
    old, new = (
        write_xml(
            folder / f"{n}.xml",
            xml_page(99, "Always", xml_revision(9999, OCTOBER, "Here.")),
            *pages,
        )
        for n, pages in enumerate(dumps)
    )
    made = engine(BOUNDS)
    bootstrap(made, [old])
    for event in events:
        made.apply(event)
    made.commit()
    made.close(WINDOW)
    made.commit()
    _, report = reconcile_and_cut(made, WINDOW, [new], [], folder, policy=Policy.DUMP)
    return data_bytes(report.folder)


@settings(deadline=None, max_examples=8)
@given(wikis(), st.data())
def test_whatever_the_stream_told_the_files_are_those_of_the_pair_of_dumps(wiki, data):
    events, dumps = wiki
    heard = [event for event in events if data.draw(st.integers(0, 4))]
    heard = data.draw(st.permutations(heard)) if data.draw(st.booleans()) else heard
    with tempfile.TemporaryDirectory() as folder:
        pair, stream = Path(folder, "pair"), Path(folder, "stream")
        pair.mkdir()
        stream.mkdir()
        expected = files(pair, dumps, [])
        found = files(stream, dumps, heard)
    assert {name for name in expected if expected[name] != found.get(name)} == set()
