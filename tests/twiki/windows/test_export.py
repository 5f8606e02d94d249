import csv
import io

import pyarrow.csv
from hypothesis import given
from hypothesis import strategies as st

from twiki.windows.calendar import month, parse
from twiki.windows.dataset import Part
from twiki.windows.export import csv_files, line

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_files_have_the_papers_names_and_columns(folder):
    top = folder / "csv/20261101-20261201"
    found = {
        p.relative_to(top).as_posix(): p.read_text().split("\n")[0] for p in top.rglob("*.csv")
    }
    assert found == {
        "TWiki_Diffsets/wikipedia_1112_subset.csv": "id,url,title,text",
        "twiki_probes/1101-1201_changed.csv": "subject,relation,object",
        "twiki_probes/1101-1201_unchanged.csv": "subject,relation,object",
        "evaluation/lighttuning/lighttuning_changed_500.csv": "subject,relation,object",
        "evaluation/lighttuning/lighttuning_unchanged_500.csv": "subject,relation,object",
        "perplexity/nondiff.csv": "text",
    }


def test_months_of_different_years_do_not_share_a_name():
    assert not set(csv_files(month("2025-11"))) & set(csv_files(month("2026-11")))
    assert len(csv_files(parse("2026-11-01..2026-11-15"))) == 6


def test_text_with_quotes_commas_and_lines_comes_back_as_it_was(made, folder):
    rows = read(folder / "csv/20261101-20261201/TWiki_Diffsets/wikipedia_1112_subset.csv")
    assert [row["text"] for row in rows] == [r.text for r in made.rows[Part.DIFFSET]]
    assert [row["id"] for row in rows] == ["1", "2"]


def test_words_that_readers_take_for_nothing_stay_words(made, tmp_path):
    rows = {Part.PROBES_CHANGED: [made.probe("Q1", object="NA"), made.probe("Q2", object="None")]}
    folder = made.write(tmp_path, rows)
    path = folder / "csv/20261101-20261201/twiki_probes/1101-1201_changed.csv"
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    table = pyarrow.csv.read_csv(path, convert_options=options)
    assert table.column("object").to_pylist() == ["NA", "None"]


def test_a_formula_is_not_disarmed_because_the_text_is_what_counts():
    assert line(["=SUM(A1)", 3]) == '"=SUM(A1)",3\n'


@given(st.lists(st.lists(texts, min_size=2, max_size=2), max_size=5))
def test_any_text_survives_a_reader_of_rfc_4180(rows):
    written = "".join(line(row) for row in rows)
    assert list(csv.reader(io.StringIO(written, newline=""))) == rows
