import bz2
import gzip
import io
import json
import lzma
import random
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard
from stream_fakes import framed, recent_change

from stream.events import Canary, Rejected
from stream.history import dump_revisions
from stream.kinds import Reason
from stream.record import Recorder
from stream.replay import open_replay
from stream.settings import Settings
from stream.sorting import sort
from twiki.config import WikiConfig
from twiki.errors import DumpError, SourceError
from twiki.records import Change, ChangeKind, ContentModel, Revision, SourcePosition

DATA = Path(__file__).parents[3] / "shared" / "data"
TIME = datetime(2026, 11, 5, 12, tzinfo=UTC)
POSITION = SourcePosition(topic="t", partition=0, offset=4, timestamp_ms=5)


def items():
    change = Change(
        wiki="enwiki",
        kind=ChangeKind.EDIT,
        effective_time=TIME,
        arrival_time=TIME,
        rev_id=11,
        title="Å\u2028",
        position=POSITION,
    )
    return [
        change,
        Canary(arrival_time=TIME, position=POSITION),
        Rejected(reason=Reason.MALFORMED, raw=b"\xff\x00", detail="x", position=POSITION),
        Revision(change=change, content="text\n\u2028"),
        Revision(change=change, content=None, model=ContentModel.ITEM),
    ]


def recorded(path, many, **options):
    with Recorder(path, **options) as recorder:
        for item in many:
            recorder.write(item)
    return path


# --- recordings -----------------------------------------------------------------------------


def test_a_recording_gives_back_what_was_written(tmp_path):
    path = recorded(tmp_path / "r.zst", items())
    assert list(open_replay(path)) == items()


def test_a_recording_can_be_continued(tmp_path):
    path = recorded(tmp_path / "r.zst", items(), flush_lines=1)
    recorded(path, items())
    assert list(open_replay(path)) == items() * 2


def test_a_recording_whose_writer_was_killed_gives_every_whole_line(tmp_path):
    path = recorded(tmp_path / "r.zst", items() * 50, flush_lines=10)
    whole = path.read_bytes()
    lengths = []
    for cut in range(len(whole) // 2, len(whole), 37):
        path.write_bytes(whole[:cut])
        got = list(open_replay(path))
        assert got == (items() * 50)[: len(got)]
        lengths.append(len(got))
    assert lengths == sorted(lengths)
    assert lengths[-1] >= 235


def test_a_damaged_recording_is_an_error(tmp_path):
    path = recorded(tmp_path / "r.zst", items() * 50, flush_lines=10)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises((DumpError, SourceError), match=r"r\.zst"):
        list(open_replay(path))


def test_a_recording_of_another_version_is_refused(tmp_path):
    path = tmp_path / "r.zst"
    path.write_bytes(zstandard.compress(b'{"twiki_record":9}\n'))
    with pytest.raises(SourceError, match="version 9"):
        list(open_replay(path))


# --- transcripts and events -----------------------------------------------------------------


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_a_transcript_is_read_plain_and_compressed(tmp_path, pack):
    path = tmp_path / "transcript"
    error = framed(b'{"message":"x"}', event="error")
    data = b":ok\n\n" + framed(recent_change(1, 11)) + error + framed(recent_change(2, 12))
    path.write_bytes(pack(data.rstrip()))
    first, second, third = open_replay(path)
    assert (first.rev_id, second.reason, third.rev_id) == (11, Reason.SERVER_ERROR, 12)


def test_events_as_json_lines_are_read(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(recent_change(1, 11) + b"\n\n" + recent_change(2, 12) + b"\n{\n")
    first, second, third = open_replay(path)
    assert (first.rev_id, second.rev_id, third.reason) == (11, 12, Reason.MALFORMED)


def test_what_is_nothing_known_is_refused(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"[1, 2]")
    with pytest.raises(SourceError, match="expected a recording"):
        list(open_replay(path))
    with pytest.raises(SourceError, match="cannot be opened"):
        list(open_replay(tmp_path / "nowhere"))
    path.write_bytes(b"<html>an error</html>")
    with pytest.raises(DumpError):
        list(open_replay(path))


# --- sorting --------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [1, 300, 5000, 1 << 20])
def test_sorting_is_right_whatever_the_memory(budget):
    chance = random.Random(budget)
    many = [
        ((chance.randrange(-50, 50), chance.randrange(9)), chance.randbytes(chance.randrange(40)))
        for _ in range(300)
    ]
    assert list(sort(iter(many), budget=budget)) == [data for _, data in sorted(many)]


def test_sorting_nothing_gives_nothing():
    assert list(sort(iter(()), budget=10)) == []


def test_large_items_survive_the_detour_over_disk():
    many = [((-n, 0), bytes([n % 256]) * 300_000) for n in range(8)]
    assert list(sort(iter(many), budget=400_000)) == [data for _, data in reversed(many)]


# --- dumps ----------------------------------------------------------------------------------

DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11">
<siteinfo><dbname>{wiki}</dbname><namespaces><namespace key="0"/></namespaces></siteinfo>
<page><title>B</title><ns>0</ns><id>2</id>
<revision><id>20</id><timestamp>2026-11-02T00:00:00Z</timestamp><text>b1</text></revision>
<revision><id>25</id><parentid>20</parentid><timestamp>2026-11-04T00:00:00Z</timestamp>
<text deleted="deleted"/></revision>
</page>
<page><title>A</title><ns>0</ns><id>1</id>
<revision><id>10</id><timestamp>2026-11-01T00:00:00Z</timestamp><text>a1</text></revision>
<revision><id>21</id><parentid>10</parentid><timestamp>2026-11-02T00:00:00Z</timestamp>
<comment>c</comment><text>a2</text></revision>
</page>
</mediawiki>"""


def test_a_history_comes_in_the_order_of_time(tmp_path):
    path = tmp_path / "history.xml.bz2"
    path.write_bytes(bz2.compress(DUMP.format(wiki="enwiki").encode()))
    found = list(open_replay(path))
    assert [(r.change.rev_id, r.content) for r in found] == [
        (10, "a1"),
        (20, "b1"),
        (21, "a2"),
        (25, None),
    ]
    assert [r.change.kind for r in found] == [
        ChangeKind.CREATE,
        ChangeKind.CREATE,
        ChangeKind.EDIT,
        ChangeKind.EDIT,
    ]
    last, edit = found[3].change, found[2].change
    assert (last.visible, edit.comment, edit.page_id, edit.title) == (False, "c", 1, "A")
    assert edit.effective_time == edit.arrival_time == edit.rev_dt


def test_the_dump_of_another_wiki_is_refused(tmp_path):
    path = tmp_path / "history.xml"
    path.write_text(DUMP.format(wiki="frwiki"))
    with pytest.raises(SourceError, match=r"a dump of frwiki.*wiki\.name"):
        list(open_replay(path))


def test_a_history_cut_short_gives_nothing(tmp_path):
    path = tmp_path / "history.xml"
    path.write_text(DUMP.format(wiki="enwiki").removesuffix("</mediawiki>"))
    found = []
    with pytest.raises(DumpError):
        found.extend(open_replay(path))
    assert found == []


def test_a_real_history_is_whole_and_in_order_with_little_memory():
    path = DATA / "dumps" / "aawiki-20260101" / "aawiki-20260101-pages-meta-history.xml.xz"
    if not path.exists():
        pytest.skip(f"{path} is missing")
    wiki = WikiConfig(name="aawiki", namespaces="all")
    found = list(dump_revisions(path, wiki, budget=50_000))
    assert len(found) == 1307
    keys = [(r.change.effective_time, r.change.rev_id) for r in found]
    assert keys == sorted(keys)
    assert found == list(open_replay(path, Settings(wiki=wiki)))


# --- EntityData -----------------------------------------------------------------------------


def entity_data(rev, day, entity_id="Q7"):
    entity = {
        "id": entity_id,
        "pageid": 70,
        "title": entity_id,
        "lastrevid": rev,
        "modified": f"2026-11-{day:02}T00:00:00Z",
        "labels": {"en": {"language": "en", "value": f"label {rev}"}},
    }
    return json.dumps({"entities": {entity_id: entity}}).encode()


def tarred(path, members, mode):
    with tarfile.open(path, mode) as archive:
        for name, data in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_a_tar_of_entity_data_is_a_history(tmp_path, mode):
    members = [("11.json", entity_data(11, 1)), ("README", b"x"), ("12.json", entity_data(12, 2))]
    first, second = open_replay(tarred(tmp_path / "q.tar", members, mode))
    assert (first.change.kind, second.change.kind) == (ChangeKind.CREATE, ChangeKind.EDIT)
    assert (second.change.rev_id, second.change.parent_rev_id) == (12, 11)
    assert second.change.wiki == "wikidatawiki"
    assert (second.change.title, second.model) == ("Q7", ContentModel.ITEM)
    assert "label 12" in second.content
    assert second.change.effective_time == datetime(2026, 11, 2, tzinfo=UTC)


def test_a_tar_that_steps_back_in_time_is_refused(tmp_path):
    members = [("12.json", entity_data(12, 2)), ("11.json", entity_data(11, 1))]
    path = tarred(tmp_path / "q.tar", members, "w")
    with pytest.raises(SourceError, match=r"11\.json.*unpack"):
        list(open_replay(path))


def test_a_folder_is_read_in_the_order_of_time_over_all_entities(tmp_path):
    for rev, day, entity_id in ((12, 2, "Q7"), (11, 1, "Q7"), (5, 3, "P31")):
        (tmp_path / f"{rev}.json").write_bytes(entity_data(rev, day, entity_id))
    found = list(open_replay(tmp_path))
    assert [r.change.rev_id for r in found] == [11, 12, 5]
    assert (found[2].change.title, found[2].model) == ("Property:P31", ContentModel.PROPERTY)
    assert found[2].change.kind is ChangeKind.CREATE


@pytest.mark.parametrize("data", [b"{}", b"no json", b'{"entities":{}}', b'{"entities":{"Q1":{}}}'])
def test_a_file_that_is_no_entity_data_is_named(tmp_path, data):
    (tmp_path / "11.json").write_bytes(data)
    with pytest.raises(SourceError, match=r"11\.json"):
        list(open_replay(tmp_path))


def test_an_empty_folder_is_an_error(tmp_path):
    with pytest.raises(SourceError, match=r"no <revision id>\.json"):
        list(open_replay(tmp_path))


def test_a_real_entity_history_is_read_whole():
    path = DATA / "wikidata" / "revisions" / "castle.tar.xz"
    if not path.exists():
        pytest.skip(f"{path} is missing")
    found = list(open_replay(path))
    assert len(found) == 339
    assert {r.change.title for r in found} == {"Q4152"}
    times = [r.change.effective_time for r in found]
    assert times == sorted(times)
