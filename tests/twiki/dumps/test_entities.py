"""Entity dumps: every shape of file and line, skipping by bytes, damage."""

import gzip
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twiki.dumps import entities
from twiki.dumps.entities import known_revision
from twiki.errors import DumpError

META = {"pageid": 1, "ns": 0, "title": "Q1", "lastrevid": 77, "modified": "2026-11-01T10:00:00Z"}


def entity(number, **more):
    return json.dumps({"type": "item", "id": f"Q{number}", "labels": {}, **more})


def read(tmp_path, text, skip=None):
    path = tmp_path / "all.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with entities.open(path) as dump:
        return list(dump.entities(skip)), dump


def ids(found):
    return [one.id for one in found[0]]


A, B, C = entity(3), entity(1, lastrevid=5), entity(2)


@pytest.mark.parametrize(
    "text",
    [
        f"[\n{A},\n{B},\n{C}\n]\n",
        f"[\n{A},\n{B},\n{C},\n]",
        f"\n[\r\n{A} ,\r\n\r\n{B},\r\n{C}\r\n]\r\n",
        f"[{A},\n{B},\n{C}]",
        f"{A}\n{B}\n{C}\n",
        f"{A},\n{B},\n{C}",
        f"[{A}, {B}, {C}]",
        f"[\n{A},\n[{B}, {C}]\n]\n",
        f"\ufeff[\n{A},\n{B},\n{C}\n]\n",
    ],
)
def test_every_layout_of_lines_and_brackets_gives_the_entities_in_its_order(tmp_path, text):
    found = read(tmp_path, text)
    assert ids(found) == ["Q3", "Q1", "Q2"]
    assert [one.rev_id for one in found[0]] == [None, 5, None]
    assert found[1].damaged_lines == 0


def test_an_entity_has_its_bytes_its_place_and_its_page_metadata(tmp_path):
    text = f"[\n{A},\n{entity(1, **META)}\n]\n"
    (_, one), _ = read(tmp_path, text)
    assert json.loads(one.raw) == json.loads(entity(1, **META))
    assert text.encode()[one.offset :].startswith(one.raw)
    assert one.rev_id == 77
    assert one.modified == datetime(2026, 11, 1, 10, tzinfo=UTC)


def test_properties_and_lexemes_come_out_too(tmp_path):
    lines = ['{"type":"property","id":"P31"}', '{"type":"lexeme","id":"L1"}']
    assert ids(read(tmp_path, f"[\n{lines[0]},\n{lines[1]}\n]")) == ["P31", "L1"]


@pytest.mark.parametrize("cut", [f"[\n{A},\n{B}\n", f"[\n{A},\n{B},", "[\n", f"[\n{A},\n{B[:-9]}"])
def test_a_dump_without_its_closing_bracket_is_cut(tmp_path, cut):
    with pytest.raises(DumpError, match=r"all\.json: expected the closing bracket"):
        read(tmp_path, cut)


def test_members_of_gzip_that_end_too_early_are_seen_by_the_missing_bracket(tmp_path):
    members = [gzip.compress(part.encode()) for part in ("[\n", A, ",\n", B, "\n]\n")]
    assert ids(read(tmp_path, b"".join(members))) == ["Q3", "Q1"]
    for end in range(1, len(members)):
        with pytest.raises(DumpError, match="closing bracket"):
            read(tmp_path, b"".join(members[:end]))


def test_text_after_the_closing_bracket_is_an_error(tmp_path):
    with pytest.raises(DumpError, match="after the closing bracket"):
        read(tmp_path, f"[\n{A}\n]\n{B}\n]\n")


def test_white_space_alone_is_an_error(tmp_path):
    with pytest.raises(DumpError, match="expected entities"):
        read(tmp_path, gzip.compress(b"\n\n"))


@pytest.mark.parametrize("bad", ['{"id":"Q4","x":[{"y":1}]', '{"id":"Q4', "null", '{"a":1}', "{]"])
def test_one_damaged_line_is_passed_over_counted_and_named_by_its_offset(tmp_path, bad):
    text = f"[\n{A},\n{bad},\n{B}\n]\n"
    found = read(tmp_path, text)
    assert ids(found) == ["Q3", "Q1"]
    assert found[1].damaged_lines == 1
    assert [line.offset for line in found[1].damaged] == [text.index(bad)]


@pytest.mark.parametrize(
    ("bad", "good", "stops"), [(2, 19_999, True), (2, 20_000, False), (11, 500, True)]
)
def test_more_than_one_damaged_line_in_ten_thousand_ends_the_reading(tmp_path, bad, good, stops):
    lines = [entity(n) for n in range(1, good - bad)] + ["{damaged"] * bad
    text = "[\n" + ",\n".join([*lines, A]) + "\n]\n"
    if stops:
        with pytest.raises(DumpError, match=rf"found {bad} in .*byte {text.index('{damaged'):,}"):
            read(tmp_path, text)
    else:
        assert read(tmp_path, text)[1].damaged_lines == bad


def test_a_skipped_entity_is_asked_for_once_and_never_parsed(tmp_path):
    asked = []

    def skip(entity_id, rev_id):
        asked.append((entity_id, rev_id))
        return rev_id == 5

    broken = '{"type":"item","id":"Q9","lastrevid":5,"labels":{"en":'
    found = read(tmp_path, f"[\n{A},\n{B},\n{broken},\n{entity(4, lastrevid=6)}\n]", skip)
    assert ids(found) == ["Q3", "Q4"]
    assert asked == [("Q1", 5), ("Q9", 5), ("Q4", 6)]
    assert (found[1].skipped, found[1].damaged_lines) == (2, 0)


def test_entities_of_a_list_are_skipped_too(tmp_path):
    for text in (f"[{A}, {B}, {C}]", f"[\n{A},\n[{B}, {C}]\n]"):
        assert ids(read(tmp_path, text, lambda *_: True)) == ["Q3", "Q2"]


def test_the_last_entity_before_the_bracket_is_skipped_too(tmp_path):
    assert ids(read(tmp_path, f"[{B},\n{A},\n{B}]", lambda *_: True)) == ["Q3"]


CLAIMS = {"P1": [{"id": "Q5$1", "mainsnak": {"id": "Q6"}, "lastrevid": 9}]}


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ({**META, "type": "item", "id": "Q1", "claims": CLAIMS}, ("Q1", 77)),
        ({"type": "item", "id": "Q1", "claims": CLAIMS, **META}, ("Q1", 77)),
        ({"type": "item", "id": "Q1", "claims": CLAIMS}, None),
        ({"claims": CLAIMS, "type": "item", "id": "Q1", **META}, None),
        ({"type": "item", "id": "Q1", "a": "\\", "lastrevid": 3}, ("Q1", 3)),
        ({"type": "item", "id": "Q1", "a": '"lastrevid":9,', "lastrevid": 3}, ("Q1", 3)),
        ({"type": "item", "id": "Q1", "labels": {"lastrevid": 9}}, None),
        ({"type": "item", "id": "Q1", "labels": {"lastrevid": 9}, "ns": 0}, None),
        ({"type": "item", "id": "Q1", "lastrevid": "7"}, None),
        ({"id": "Q1", "title": "x" * 600, "labels": {}, "lastrevid": 3, "t": "y" * 600}, None),
    ],
)
def test_only_members_of_the_entity_itself_are_taken_for_its_revision(line, known):
    for separators in ((",", ":"), (", ", ": ")):
        assert known_revision(json.dumps(line, separators=separators).encode()) == known


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('a"\\{}:,é')),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["id", "lastrevid", "x", '"id":"Q3",']), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["type", "ns", "title", "labels", "claims"]), JSON),
    st.permutations(["id", "lastrevid", "type", "ns", "title", "labels", "claims"]),
    st.booleans(),
)
def test_what_the_bytes_say_is_what_the_parsed_entity_says(members, order, has_revision):
    members["id"] = "Q42"
    if has_revision:
        members["lastrevid"] = 12
    line = {key: members[key] for key in order if key in members}
    known = known_revision(json.dumps(line).encode())
    assert known in (None, ("Q42", members.get("lastrevid")))
