"""Search: what is found, what the index costs, and when it is made anew."""

import pages_world
import pytest
from pages_world import ID

from stream.pages import index
from stream.pages.index import ORDINAL_BITS
from stream.pages.query import Tables, TooLong
from stream.pages.search import expression


def found(client, asked, where="sentences", **more):
    answer = client.get(f"/api/v1/datasets/{ID}/search", params={"q": asked, "in": where, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_sentence_is_found_by_its_words_and_their_beginnings(client):
    told = found(client, "ada page 42")
    assert [(row["id"], row["ordinal"]) for row in told["rows"]] == [(42, 0)]
    assert found(client, "LUND OPEN* page 42")["count"] == 1
    assert found(client, "lund ope* page 42")["count"] == 0, "a star needs four letters"


def test_a_fact_is_found_by_subject_relation_object_and_title(client):
    assert {row["subject_qid"] for row in found(client, "opened Ada", "facts")["rows"]} == {
        f"Q{n}" for n in (1, 2, 3, 4, 5, 9)
    }


def test_hits_come_in_the_order_of_the_file_and_page_by_page(client):
    rows, after = [], -1
    while after is not None:
        told = found(client, "lund", after=after, limit=50)
        rows += [row["id"] for row in told["rows"]]
        after = told["after"]
    assert rows == list(range(1, 121))


@pytest.mark.parametrize(
    "asked",
    ['"', "*", "NEAR(", "a OR", "title:x", "-", "(", "^", "\x00", "🎈", "a_b", "'; DROP TABLE x"],
)
def test_nothing_that_is_asked_is_taken_for_a_command(client, asked):
    assert found(client, asked)["count"] >= 0
    assert client.get("/search", params={"q": asked}).status_code == 200


def test_words_of_a_writing_that_the_index_does_not_know_are_refused_and_break_nothing(client):
    answer = client.get("/search", params={"q": "a\U0001e922b"})
    assert answer.status_code in {200, 400}


def test_words_are_bounded():
    assert expression("a open*") == '"a" "open"*'
    assert expression(" ?! ") is None
    assert expression("w " * 500).count('"') == 24


def test_the_index_is_made_again_when_the_manifest_changes(tmp_path):
    folder = pages_world.write_dataset(tmp_path / "d", pages=9)
    with pages_world.served(tmp_path / "d", tmp_path / "c") as (client, site):
        first = site.library.find(ID)
        assert {row["id"] for row in found(client, "page 9")["rows"]} == {9}
    before = set((tmp_path / "c").glob("*.sqlite"))
    assert before == {index.path_of(tmp_path / "c", first.digest)}
    for path in sorted(folder.parent.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    pages_world.write_dataset(tmp_path / "d", pages=10)
    with pages_world.served(tmp_path / "d", tmp_path / "c") as (client, site):
        second = site.library.find(ID)
        assert {row["id"] for row in found(client, "page 10")["rows"]} == {10}
    assert second.digest != first.digest
    assert set((tmp_path / "c").glob("*.sqlite")) == {index.path_of(tmp_path / "c", second.digest)}


def test_the_dataset_folder_is_left_as_it_was(tmp_path):
    folder = pages_world.write_dataset(tmp_path / "d", pages=9)
    before = sorted(path for path in folder.parent.rglob("*"))
    with pages_world.served(tmp_path / "d", tmp_path / "c") as (client, _):
        client.get(f"/datasets/{ID}")
        found(client, "lund")
    assert sorted(path for path in folder.parent.rglob("*")) == before


def test_an_index_that_cannot_be_made_is_said_to_be_so(tmp_path):
    folder = pages_world.write_dataset(tmp_path / "d", pages=9)
    (tmp_path / "c").write_text("a file where the cache folder should be")
    with pages_world.served(tmp_path / "d", tmp_path / "c") as (client, _):
        assert "could not be made" in client.get("/search?q=lund").text
        assert client.get(f"/datasets/{ID}").status_code == 200
        assert client.get(f"/api/v1/datasets/{ID}/search?q=a").status_code == 503
    assert folder.is_dir()


def test_counts_of_the_whole_window_come_from_the_index(site):
    shelf = site.library.find(ID)
    days = site.indexes.summary(shelf, "days")
    assert days == {"2026-10-05": {"added": 120, "updated": 120}}
    lengths = {row["from"]: row["articles"] for row in site.indexes.summary(shelf, "lengths")}
    assert lengths[2] == 120
    assert sum(lengths.values()) == 120


def test_a_row_id_holds_page_and_ordinal_in_the_order_of_the_file():
    ids = [(page << ORDINAL_BITS) | ordinal for page in (1, 2, 2**40) for ordinal in (0, 5)]
    assert ids == sorted(ids)
    assert ids[-1] < 2**63


def test_a_question_that_takes_too_long_is_interrupted(tmp_path):
    tables = Tables([tmp_path], seconds=0.2)
    path = pages_world.write_dataset(tmp_path / "d", pages=50) / "sentences.parquet"
    sql = "SELECT count(*) AS n FROM {file} a, {file} b, {file} c, {file} d, {file} e"
    with pytest.raises(TooLong, match="longer than 0"):
        tables.rows(sql, path)
    assert tables.rows("SELECT count(*) AS n FROM {file}", path) == [{"n": 100}]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "COPY (SELECT 1) TO '/tmp/twiki-must-not-be'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "ATTACH '/tmp/twiki-must-not-be.db'",
        "SET enable_external_access = true",
        "SET allowed_directories = ['/']",
        "SELECT * FROM read_parquet('https://example.org/x.parquet')",
    ],
)
def test_duckdb_reaches_nothing_but_the_datasets(tmp_path, sql):
    import duckdb

    tables = Tables([tmp_path])
    with pytest.raises(duckdb.Error):
        tables._db.execute(sql)
    outside = pages_world.write_dataset(tmp_path.parent / "outside", pages=2)
    with pytest.raises(duckdb.Error):
        tables.rows("SELECT * FROM {file}", outside / "sentences.parquet")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("enable_external_access", "false"),
        ("lock_configuration", "true"),
        ("autoinstall_known_extensions", "false"),
        ("autoload_known_extensions", "false"),
        # Off, each question reads the end of its file anew: 10 ms of a window of ten million.
        ("parquet_metadata_cache", "true"),
        ("threads", "2"),
    ],
)
def test_what_is_set_holds_for_every_question(tmp_path, name, value):
    folder = pages_world.write_dataset(tmp_path / "d", pages=1)
    tables = Tables([tmp_path])
    sql = "SELECT value AS found FROM duckdb_settings(), {file} WHERE name = ?"
    found = tables.rows(sql, folder / "diffset.parquet", [name])
    assert found == [{"found": value}]
