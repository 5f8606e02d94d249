import errno
import os
import subprocess
import sys

import msgspec
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from twiki.errors import ConfigError, DatasetError, OutputExists
from twiki.records import Category, Policy
from twiki.windows import writer as writing
from twiki.windows.dataset import Dataset, DatasetWriter, Part, Run, data_bytes
from twiki.windows.schema import order_key
from twiki.windows.stats import QualitySteps


def everything(root):
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def test_rows_come_back_as_they_were_written(made, folder):
    dataset = Dataset.open(folder)
    for part, rows in made.rows.items():
        assert list(dataset.rows(part)) == sorted(rows, key=order_key)
        assert dataset.counts[part] == len(rows)


def test_the_folder_is_named_by_wiki_window_and_version(folder, tmp_path):
    assert folder == tmp_path / "datasets/testwiki/2026-11/v1"
    assert Dataset.open(folder).id == "twiki-testwiki-2026-11-v1"


def test_the_same_rows_give_the_same_bytes(made, tmp_path):
    first, second = made.write(tmp_path / "a"), made.write(tmp_path / "b")
    assert everything(first) == everything(second)


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_order_in_which_rows_were_found_leaves_no_trace(made, tmp_path_factory, data):
    shuffled = {p: data.draw(st.permutations(rows)) for p, rows in made.rows.items()}
    parts = data.draw(st.permutations(list(shuffled)))
    root = tmp_path_factory.mktemp("shuffled")
    first = made.write(root / "a", {p: made.rows[p] for p in made.rows})
    second = made.write(root / "b", {p: shuffled[p] for p in parts})
    assert everything(first) == everything(second)


def test_how_the_content_came_shows_only_where_it_may(made, tmp_path):
    one = made.write(tmp_path / "a", run=Run(engine="stream"), reconcile={"confirmed": 3})
    run = Run(engine="dump pair", policy=Policy.DUMP, sources=({"path": "x.bz2"},))
    two = made.write(tmp_path / "b", run=run, version=7)
    assert data_bytes(one) == data_bytes(two)
    differing = {n for n, c in everything(one).items() if everything(two)[n] != c}
    assert differing == {"manifest.json", "reconcile.json", "README.md", "CITATION.cff"}


def test_bytes_do_not_depend_on_the_seed_of_hashes(made, tmp_path, folder):
    script = (
        "import sys, pathlib, importlib.util as u;"
        "spec = u.spec_from_file_location('rows', sys.argv[1]);"
        "rows = u.module_from_spec(spec); spec.loader.exec_module(rows);"
        "rows.write(pathlib.Path(sys.argv[2]))"
    )
    conftest = os.path.join(os.path.dirname(__file__), "conftest.py")  # noqa: PTH118, PTH120
    subprocess.run(
        [sys.executable, "-c", script, conftest, str(tmp_path / "other")],
        env={**os.environ, "PYTHONHASHSEED": "4242"},
        check=True,
    )
    assert everything(folder) == everything(tmp_path / "other/testwiki/2026-11/v1")


def test_row_groups_end_by_rows_and_by_characters(made, tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "ROW_GROUP_ROWS", 3)
    monkeypatch.setattr(writing, "ROW_GROUP_CHARACTERS", 100)
    rows = {Part.DIFFSET: [made.article(i, text="x" * (200 if i == 5 else 1)) for i in range(1, 9)]}
    dataset = Dataset.open(made.write(tmp_path, rows))
    assert [row.id for row in dataset.rows(Part.DIFFSET)] == list(range(1, 9))
    file = pq.ParquetFile(dataset.path(Part.DIFFSET))
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert sizes == [3, 2, 3]


@pytest.mark.parametrize("ids", [(2, 1), (1, 1)])
def test_rows_out_of_order_or_repeated_are_refused(made, tmp_path, ids):
    with DatasetWriter(tmp_path, made.config, made.window) as writer:
        writer.add(Part.DIFFSET, made.article(ids[0]))
        with pytest.raises(DatasetError, match=r"diffset\.parquet: expected rows in ascending"):
            writer.add(Part.DIFFSET, made.article(ids[1]))


def test_a_row_of_another_part_is_refused(made, tmp_path):
    wrong = pytest.raises(DatasetError, match="a DiffsetRow where a ProbeRow belongs")
    with DatasetWriter(tmp_path, made.config, made.window) as writer, wrong:
        writer.add(Part.PROBES_CHANGED, made.article(1))


def test_a_value_that_fits_no_column_names_the_file(made, tmp_path):
    with pytest.raises(DatasetError, match=r"diffset\.parquet: rows \(1,\) to \(1,\)"):
        made.write(tmp_path, {Part.DIFFSET: [made.article(1, title="\ud800")]})


def test_drops_that_do_not_add_up_are_refused(made, tmp_path):
    quality = {Category.CHANGED: QualitySteps(candidates=9, dropped={"no_label": 1})}
    with pytest.raises(DatasetError, match="kept 8 of 9 candidates, found 2"):
        made.write(tmp_path, quality=quality)
    assert not (tmp_path / "testwiki/2026-11/v1").exists()


def test_an_error_in_the_middle_leaves_nothing_half_written(made, tmp_path):
    def rows():
        yield made.article(1)
        yield made.article(1 // 0)

    with (
        pytest.raises(ZeroDivisionError),
        DatasetWriter(tmp_path, made.config, made.window) as writer,
    ):
        writer.extend(Part.DIFFSET, rows())
    assert [p.name for p in (tmp_path / "testwiki/2026-11").iterdir()] == [".lock"]
    made.write(tmp_path)


def test_leaving_without_finishing_publishes_nothing(made, tmp_path):
    with DatasetWriter(tmp_path, made.config, made.window) as writer:
        writer.add(Part.DIFFSET, made.article(1))
    assert not (tmp_path / "testwiki/2026-11/v1").exists()


def test_what_a_kill_left_is_cleared_and_does_not_show(made, tmp_path, folder):
    left = tmp_path / "again/testwiki/2026-11/.v1.partial"
    left.mkdir(parents=True)
    (left / "junk.parquet").write_bytes(b"half")
    again = made.write(tmp_path / "again")
    assert everything(again) == everything(folder)
    assert not left.exists()


def test_a_version_that_is_there_is_not_touched(made, folder):
    before = everything(folder)
    with pytest.raises(OutputExists, match="nothing was written"):
        made.write(folder.parents[2], version=1)
    assert everything(folder) == before


@pytest.mark.parametrize("name", ["", "../elsewhere", "a/b", ".hidden"])
def test_a_name_of_a_wiki_cannot_lead_elsewhere(made, tmp_path, name):
    wiki = msgspec.structs.replace(made.config.wiki, name=name)
    with pytest.raises(ConfigError, match=r"wiki\.name"):
        made.write(tmp_path, config=msgspec.structs.replace(made.config, wiki=wiki))


def test_a_second_writer_of_the_same_window_is_refused(made, tmp_path):
    refused = pytest.raises(DatasetError, match="another process is writing")
    with DatasetWriter(tmp_path, made.config, made.window), refused:
        DatasetWriter(tmp_path, made.config, made.window, 2)
    made.write(tmp_path)


def test_a_full_disk_is_said_plainly(made, tmp_path):
    said = pytest.raises(DatasetError, match="no space left, nothing was published")
    with said, DatasetWriter(tmp_path, made.config, made.window):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert not (tmp_path / "testwiki/2026-11/v1").exists()


def test_the_next_free_version_is_taken(made, folder):
    second = made.write(folder.parents[2], corrects="late events")
    assert second.name == "v2"
    assert Dataset.open(folder.parent).folder == second


def test_settings_that_name_a_file_stand_as_its_checksum(made, tmp_path):
    info = tmp_path / "siteinfo.json"
    info.write_text("{}")
    wiki = msgspec.structs.replace(made.config.wiki, siteinfo=info)
    config = msgspec.structs.replace(made.config, wiki=wiki)
    settings_found = Dataset.open(made.write(tmp_path / "d", config=config)).manifest.data.settings
    assert settings_found["wiki"]["siteinfo_sha256"].startswith("44136fa355b3678a")
    assert str(tmp_path) not in str(settings_found)
