import json
import shutil

import pyarrow.parquet as pq
import pytest

from twiki.errors import DatasetError
from twiki.windows import manifest
from twiki.windows.dataset import Dataset, Part


def test_a_good_dataset_passes(folder):
    Dataset.open(folder).verify()


def test_one_flipped_byte_in_any_file_is_found(folder):
    names = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    assert len(names) > 15
    for name in names:
        path = folder / name
        content = path.read_bytes()
        for place in {len(content) // 2, len(content) - 1}:
            damaged = bytearray(content)
            damaged[place] ^= 0x2A
            path.write_bytes(damaged)
            with pytest.raises(DatasetError, match=path.name):
                Dataset.open(folder).verify()
        path.write_bytes(content)
    Dataset.open(folder).verify()


def test_every_byte_of_the_manifest_counts(folder):
    path = folder / manifest.NAME
    content = path.read_bytes()
    for place in range(0, len(content), 29):
        damaged = bytearray(content)
        damaged[place] = 0x0A if damaged[place] == 0x20 else damaged[place] ^ 0x01
        path.write_bytes(damaged)
        with pytest.raises(DatasetError, match=r"manifest\.json"):
            manifest.read(folder)


def test_a_missing_or_shortened_file_is_found_at_opening(folder):
    path = folder / Part.NONDIFF.file
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(DatasetError, match=rf"{path.name}: expected \d+ bytes, found \d+ bytes"):
        Dataset.open(folder)
    path.unlink()
    with pytest.raises(DatasetError, match="found no such file"):
        Dataset.open(folder)


def test_a_file_that_the_manifest_does_not_know_is_found(folder):
    (folder / "csv/extra.csv").write_text("x")
    with pytest.raises(DatasetError, match=r"extra\.csv: expected no such file"):
        Dataset.open(folder).verify()


def test_what_is_no_dataset_is_refused(tmp_path):
    with pytest.raises(DatasetError, match=r"expected manifest\.json"):
        Dataset.open(tmp_path)
    (tmp_path / manifest.NAME).write_text("<html>")
    with pytest.raises(DatasetError, match="expected JSON"):
        Dataset.open(tmp_path)
    (tmp_path / manifest.NAME).write_text('{"format": "other"}')
    with pytest.raises(DatasetError, match="expected format 'twiki-dataset', found 'other'"):
        Dataset.open(tmp_path)


def test_another_schema_version_is_refused_with_what_to_do(folder):
    path = folder / manifest.NAME
    content = json.loads(path.read_text())
    content["data"]["schema_version"] = 99
    path.write_text(json.dumps(content))
    with pytest.raises(DatasetError, match="expected schema version 1, found 99: read it with"):
        Dataset.open(folder)


def forge(folder, part, table):
    """Replace a part and make the checksums fit: a wrong writer, not a damaged disk."""
    pq.write_table(table, folder / part.file)
    content = manifest.read(folder)
    files = {**content.data.files, part.file: manifest.entry(folder / part.file)}
    data = manifest.msgspec.structs.replace(content.data, files=files)
    (folder / manifest.NAME).write_bytes(manifest.encode(manifest.make(data, content.run)))


def test_rows_that_break_the_contract_are_found_even_with_right_checksums(folder, tmp_path):
    table = pq.read_table(folder / Part.DIFFSET.file)
    cases = {
        "expected 2 rows, found 1": table.slice(0, 1),
        r"it follows \(2,\)": table.take([1, 0]),
        "expected columns": table.drop_columns(["url"]),
    }
    for index, (message, changed) in enumerate(cases.items()):
        copy = tmp_path / f"copy{index}"
        shutil.copytree(folder, copy)
        forge(copy, Part.DIFFSET, changed)
        with pytest.raises(DatasetError, match=message):
            Dataset.open(copy).verify()


def test_an_unknown_value_in_a_row_is_found(folder, tmp_path):
    path = folder / Part.DIFFSET.file
    table = pq.read_table(path)
    kinds = ["odd"] * table.num_rows
    place = table.schema.get_field_index("kind")
    changed = table.set_column(place, table.schema.field("kind"), [kinds])
    forge(folder, Part.DIFFSET, changed)
    with pytest.raises(DatasetError, match=r"diffset\.parquet: not a row of it: .*odd"):
        Dataset.open(folder).verify()
