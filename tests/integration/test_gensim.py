"""A slice of the English Wikipedia: what ten edits changed is what a pair of dumps tells."""

import bz2
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from twiki.cli import build, spread
from twiki.records import SentenceKind
from twiki.windows.dataset import Dataset, Part

DUMP = (
    Path(__file__).parents[3]
    / "shared/data/dumps/gensim"
    / "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
)
EDITED, FIRST_REV = 10, 990_000_001
SENTENCE = "This sentence number {} was added by hand in the year {}."


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """The dump, and a copy in which ten articles end with a new paragraph."""
    if not DUMP.exists():
        pytest.skip(f"no real data at {DUMP}")
    text = bz2.decompress(DUMP.read_bytes()).decode()
    pages = re.split(r"(?=  <page>)", text)
    articles = [
        n for n, page in enumerate(pages) if "<ns>0</ns>" in page and "<redirect " not in page
    ]
    chosen = sorted(articles[::10][:EDITED])
    expected = {}
    for number, index in enumerate(chosen):
        said = SENTENCE.format(number, 1900 + number)
        page, page_id = pages[index], int(re.search(r"<id>(\d+)</id>", pages[index])[1])
        old = int(re.search(r"<revision>\s*<id>(\d+)</id>", page)[1])
        page = re.sub(
            r"<revision>\s*<id>\d+</id>(\s*<parentid>\d+</parentid>)?\s*<timestamp>[^<]*</timestamp>",
            f"<revision><id>{FIRST_REV + number}</id><parentid>{old}</parentid>"
            f"<timestamp>2016-11-{number + 1:02}T10:00:00Z</timestamp>",
            page,
            count=1,
        )
        pages[index] = page.replace("</text>", f"\n\n{said}</text>")
        expected[page_id] = (said, old, FIRST_REV + number)
    folder = tmp_path_factory.mktemp("gensim")
    new = folder / "new.xml"
    new.write_text("".join(pages), "utf-8")
    return new, expected


def test_exactly_the_ten_edits_come_out(pair, tmp_path):
    new, expected = pair
    assert len(expected) == EDITED
    out = tmp_path / "datasets"
    span = "2016-11-01..2016-12-01"
    words = ["diff", "--articles", str(DUMP), str(new), "--window", span, "--out", str(out)]
    done = CliRunner().invoke(build(), spread(words))
    assert done.exit_code == 0, done.output
    (folder,) = (path.parent for path in out.rglob("manifest.json"))
    dataset = Dataset.open(folder)
    dataset.verify()
    found = {row.id: (row.text, row.old_rev, row.new_rev) for row in dataset.rows(Part.SENTENCES)}
    assert found == expected
    assert dataset.counts[Part.SENTENCES] == EDITED
    assert {row.kind for row in dataset.rows(Part.SENTENCES)} == {SentenceKind.ADDED}
    assert {row.id: row.text for row in dataset.rows(Part.DIFFSET)} == {
        page: said for page, (said, _, _) in expected.items()
    }
