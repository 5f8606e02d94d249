import pytest

from twiki.errors import DatasetError
from twiki.windows import versions
from twiki.windows.versions import Status


def standing(folder):
    index = versions.read(folder)
    return index.current, {v.version: v.status for v in index.versions}


def test_a_correction_supersedes_and_a_hidden_text_withdraws(made, tmp_path):
    folder = made.write(tmp_path).parent
    assert standing(folder) == (1, {1: Status.CURRENT})
    made.write(tmp_path, corrects="late events")
    assert standing(folder) == (2, {1: Status.SUPERSEDED, 2: Status.CURRENT})
    made.write(tmp_path, withdraws="revision 7 was hidden")
    assert standing(folder) == (3, {1: Status.WITHDRAWN, 2: Status.WITHDRAWN, 3: Status.CURRENT})
    reasons = {v.version: v.reason for v in versions.read(folder).versions}
    assert reasons == {1: "revision 7 was hidden", 2: "revision 7 was hidden", 3: ""}


def test_an_older_version_keeps_the_reason_for_which_it_was_superseded(made, tmp_path):
    folder = made.write(tmp_path).parent
    made.write(tmp_path, corrects="first")
    made.write(tmp_path, corrects="second")
    assert [v.reason for v in versions.read(folder).versions] == ["first", "second", ""]


def test_a_version_that_a_kill_kept_out_of_the_index_still_counts(made, tmp_path):
    folder = made.write(tmp_path).parent
    before = (folder / "index.json").read_bytes()
    made.write(tmp_path)
    (folder / "index.json").write_bytes(before)
    assert standing(folder)[0] == 2
    (folder / "index.json").unlink()
    assert standing(folder) == (2, {1: Status.SUPERSEDED, 2: Status.CURRENT})


def test_the_next_version_follows_the_greatest(made, tmp_path):
    assert versions.next_version(tmp_path / "none") == 1
    folder = made.write(tmp_path, version=4).parent
    assert versions.next_version(folder) == 5
    assert versions.current(folder).name == "v4"


def test_windows_are_found_in_order(made, tmp_path):
    folder = made.write(tmp_path).parent
    (tmp_path / "testwiki/notes").mkdir()
    (tmp_path / "file").write_text("")
    assert list(versions.windows(tmp_path)) == [folder]


def test_a_damaged_index_or_a_missing_version_is_named(made, tmp_path):
    folder = made.write(tmp_path).parent
    (folder / "v1").rename(folder / "elsewhere")
    with pytest.raises(DatasetError, match="expected folder v1 beside it"):
        versions.read(folder)
    (folder / "index.json").write_text("{")
    with pytest.raises(DatasetError, match=r"index\.json: expected an index"):
        versions.read(folder)
    with pytest.raises(DatasetError, match="expected a current version, found none"):
        versions.current(tmp_path)
