"""Files of a dump: opened whatever their compression, verified, refused when damaged."""

import bz2
import gzip
import hashlib
import json
import lzma

import pytest
import zstandard

from twiki.dumps.files import open_dump, verify
from twiki.errors import ChecksumError, DumpError

TEXT = b"<mediawiki>" + b"".join(b"<page>%d</page>\n" % n for n in range(60_000)) + b"</mediawiki>"
PARTS = [TEXT[at : at + 100_000] for at in range(0, len(TEXT), 100_000)]
FORMATS = {
    "bzip2": bz2.compress,
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def write(tmp_path, data, name="dump"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def text_of(path):
    with open_dump(path) as dump:
        return b"".join(dump.chunks())


@pytest.mark.parametrize("name", FORMATS)
def test_streams_that_follow_one_another_are_one_text(tmp_path, name):
    path = write(tmp_path, b"".join(map(FORMATS[name], PARTS)))
    with open_dump(path) as dump:
        assert dump.format == name
        assert dump.total == path.stat().st_size
        assert b"".join(dump.chunks()) == TEXT
        assert dump.position == dump.total


@pytest.mark.parametrize("name", FORMATS)
def test_a_cut_inside_a_stream_is_an_error_that_names_file_and_place(tmp_path, name):
    whole = b"".join(map(FORMATS[name], PARTS))
    for end in (len(whole) // 3, len(whole) // 2 + 1, len(whole) - 10, len(whole) - 1):
        path = write(tmp_path, whole[:end])
        with pytest.raises(DumpError, match=rf"dump: expected a whole {name} file.*Fetch it again"):
            text_of(path)


@pytest.mark.parametrize("name", FORMATS)
def test_a_flipped_bit_is_an_error(tmp_path, name):
    whole = bytearray(b"".join(map(FORMATS[name], PARTS)))
    whole[len(whole) // 2] ^= 0x10
    with pytest.raises(DumpError, match="damage"):
        text_of(write(tmp_path, bytes(whole)))


@pytest.mark.parametrize("name", FORMATS)
def test_a_reader_that_stops_early_leaves_nothing_running(tmp_path, name):
    with open_dump(write(tmp_path, b"".join(map(FORMATS[name], PARTS)))) as dump:
        assert dump.read(11) == b"<mediawiki>"
        assert dump.read(4) == b"<pag"
        assert next(dump.chunks()).startswith(b"e>0</page>")


@pytest.mark.parametrize("name", [*FORMATS, "plain"])
def test_a_closed_dump_gives_nothing_more(tmp_path, name):
    dump = open_dump(write(tmp_path, FORMATS.get(name, bytes)(TEXT * 4)))
    chunks = dump.chunks()
    next(chunks)
    dump.close()
    with pytest.raises(ValueError, match="read after it was closed"):
        list(chunks)


@pytest.mark.parametrize("name", [*FORMATS, "plain"])
def test_reading_by_size_gives_the_same_text(tmp_path, name):
    with open_dump(write(tmp_path, FORMATS.get(name, bytes)(TEXT))) as dump:
        pieces = list(iter(lambda: dump.read(70_001), b""))
    assert {len(piece) for piece in pieces[:-1]} == {70_001}
    assert b"".join(pieces) == TEXT


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head></html>", "HTML page"),
        (b"\xef\xbb\xbf\n  <HTML><body>Moved</body></HTML>", "HTML page"),
        (b"", "an empty file"),
        (b"version https://git-lfs.github.com/spec/v1", "bytes 76 65"),
        (b"7z\xbc\xaf\x27\x1c", "7z archives are not read"),
        (b"PK\x03\x04", "bytes 50 4b"),
    ],
)
def test_what_is_no_dump_is_refused_by_what_it_is(tmp_path, content, found):
    path = write(tmp_path, content, "enwiki-20261101-pages-articles.xml.bz2")
    with pytest.raises(DumpError, match=rf"pages-articles\.xml\.bz2.*{found}"):
        open_dump(path)


def test_a_missing_file_is_an_error(tmp_path):
    for use in (open_dump, verify):
        with pytest.raises(DumpError, match="nowhere"):
            use(tmp_path / "nowhere")


def digest(kind):
    return hashlib.new(kind, TEXT).hexdigest()


@pytest.mark.parametrize("kind", ["md5", "sha1", "sha256"])
def test_a_given_checksum_is_held_against_the_file(tmp_path, kind):
    path = write(tmp_path, TEXT)
    for given in (digest(kind), digest(kind).upper(), f"{kind}:{digest(kind)}"):
        source = verify(path, given)
        assert (source.verified_by, source.bytes) == (kind, len(TEXT))
        assert source.sha256 == digest("sha256")
    with pytest.raises(ChecksumError, match=rf"dump: expected {kind} 0.*found {digest(kind)}"):
        verify(path, "0" * len(digest(kind)))


def test_what_is_no_checksum_is_refused(tmp_path):
    with pytest.raises(DumpError, match="'sixty'"):
        verify(write(tmp_path, TEXT), "sixty")


@pytest.mark.parametrize(
    ("beside", "kind"),
    [
        ("SHA256SUMS", "sha256"),
        ("enwiki-20261101-sha1sums.txt", "sha1"),
        ("md5sums.txt", "md5"),
        ("enwiki-20261101-md5sums-articles.txt", "md5"),
        ("dump.sha256", "sha256"),
        ("dump.sha1", "sha1"),
        ("dump.md5", "md5"),
    ],
)
def test_a_checksum_published_beside_the_file_is_found(tmp_path, beside, kind):
    path = write(tmp_path, TEXT)
    (tmp_path / beside).write_text(f"{'0' * len(digest(kind))}  other\n{digest(kind)}  dump\n")
    if beside.startswith("dump."):
        (tmp_path / beside).write_text(f"{digest(kind)} *dump\n")
    assert verify(path).verified_by == kind
    path.write_bytes(TEXT[:-1])
    with pytest.raises(ChecksumError, match="fetch it again"):
        verify(path)


def test_the_status_file_of_a_run_gives_checksums_too(tmp_path):
    path = write(tmp_path, TEXT)
    files = {"dump": {"size": 1, "url": "/x", "md5": digest("md5"), "sha1": digest("sha1")}}
    status = {"version": "0.8", "jobs": {"a": {"status": "waiting"}, "b": {"files": files}}}
    (tmp_path / "dumpstatus.json").write_text(json.dumps(status))
    assert verify(path).verified_by == "sha1"
    (tmp_path / "dumpstatus.json").write_text("<html>")
    with pytest.raises(DumpError, match=r"dumpstatus\.json"):
        verify(path)


def test_the_strongest_of_several_checksums_counts(tmp_path):
    path = write(tmp_path, TEXT)
    (tmp_path / "md5sums.txt").write_text(f"{'0' * 32}  dump\n")
    (tmp_path / "SHA256SUMS").write_text(f"{digest('sha256')}  dump\n")
    assert verify(path).verified_by == "sha256"


def test_a_link_is_looked_up_under_the_name_that_it_leads_to(tmp_path):
    path = write(tmp_path, TEXT, "wiki-20261101-all.json.gz")
    link = tmp_path / "latest-all.json.gz"
    link.symlink_to(path)
    (tmp_path / "wiki-20261101-md5sums.txt").write_text(f"{digest('md5')}  {path.name}\n")
    assert verify(link).verified_by == "md5"


def test_a_file_without_a_published_checksum_is_recorded_as_unverified(tmp_path):
    source = verify(write(tmp_path, TEXT))
    assert (source.verified_by, source.sha256) == ("unverified", digest("sha256"))
