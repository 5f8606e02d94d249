from twiki.records import FactClass
from twiki.windows.compare import compare
from twiki.windows.dataset import Dataset, Part, Run


def opened(made, root, rows, **finish):
    return Dataset.open(made.write(root, {**made.rows, **rows}, **finish))


def test_a_dataset_equals_itself_by_whatever_path_it_came(made, tmp_path):
    a = opened(made, tmp_path / "a", {}, run=Run(engine="stream"))
    b = opened(made, tmp_path / "b", {}, run=Run(engine="dump pair"), version=2)
    found = compare(a, b)
    assert found.equal
    assert not found.files
    assert not found.stats
    assert all(part.equal for part in found.parts.values())


def test_rows_of_one_side_and_changed_rows_are_named(made, tmp_path):
    a = opened(made, tmp_path / "a", {})
    rows = {
        Part.DIFFSET: [made.article(2, text="Other."), made.article(3)],
        Part.PROBES_CHANGED: [made.probe("Q1"), made.probe("Q2"), made.probe("Q3")],
    }
    found = compare(a, opened(made, tmp_path / "b", rows))
    assert not found.equal
    diffset = found.parts["diffset"]
    assert (diffset.only_a, diffset.only_b, diffset.changed) == (1, 1, 1)
    assert [(r.key, r.where, r.columns) for r in diffset.rows] == [
        ("1", "only_a", ()),
        ("2", "changed", ("text", "old_rev")),
        ("3", "only_b", ()),
    ]
    assert found.parts["probes_changed"].rows[-1].key == "Q3|P36|Q9"
    assert found.stats["rows.probes_changed"] == [2, 3]
    assert "diffset.parquet" in found.files
    assert "nondiff.parquet" not in found.files


def test_the_columns_are_named_as_in_the_file(made, tmp_path):
    a = opened(made, tmp_path / "a", {})
    second = made.rows[Part.PROBES_CHANGED][1]
    rows = {Part.PROBES_CHANGED: [made.probe("Q1", fact_class=FactClass.NEW_SUBJECT), second]}
    found = compare(a, opened(made, tmp_path / "b", rows)).parts["probes_changed"]
    assert found.rows[0].columns == ("class",)


def test_only_as_many_rows_as_asked_for_are_named_but_all_are_counted(made, tmp_path):
    a = opened(made, tmp_path / "a", {Part.DIFFSET: []})
    b = opened(made, tmp_path / "b", {Part.DIFFSET: [made.article(i) for i in range(1, 50)]})
    part = compare(a, b, limit=3).parts["diffset"]
    assert (part.only_b, len(part.rows)) == (49, 3)


def test_settings_that_differ_are_named(made, tmp_path):
    import msgspec

    quality = msgspec.structs.replace(made.config.quality, object_cap=0.5)
    config = msgspec.structs.replace(made.config, quality=quality)
    found = compare(
        opened(made, tmp_path / "a", {}), opened(made, tmp_path / "b", {}, config=config)
    )
    assert found.settings == {"quality.object_cap": [0.05, 0.5]}
    assert not found.equal
