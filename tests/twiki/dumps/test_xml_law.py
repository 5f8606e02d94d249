"""The fast walk over the bytes says exactly what the walk through lxml says."""

from typing import NamedTuple

from hypothesis import example, given, settings
from hypothesis import strategies as st

from twiki.dumps.xmlscan import scan
from twiki.dumps.xmlwalk import Counts, walk
from twiki.errors import DumpError

SPACE = st.sampled_from(["", "\n", "\n    ", " \t\r\n"])
WORDS = st.sampled_from(
    ["a", "Talk:B", "é", "e\u0301", "&lt;page&gt;", "&#233;", "&amp;lt;", "]]&gt;", "\r\n", "'\""],
)
PROSE = st.lists(WORDS, max_size=4).map("".join)
TEXTS = st.one_of(
    PROSE.map(lambda t: f'<text bytes="4" xml:space="preserve">{t}</text>'),
    PROSE.map(lambda t: f"<text>{t}</text>"),
    st.sampled_from(
        [
            "",
            "<text/>",
            '<text bytes="0" />',
            '<text bytes="7" deleted="deleted" />',
            '<text id="5" bytes="7" />',
            '<text location="a/>b">t</text>',
            "<text ></text >",
            "<text>a<!-- </text></revision></page> -->b</text>",
            "<text><![CDATA[</revision><revision><id>1</id>]]></text>",
            "<text>a<?x </text>?></text>",
            "<text><b>child</b></text>",
        ],
    ),
)
SLOT = "<content><role>r</role><model>m</model><text bytes='2'>{}</text></content>"


@st.composite
def revisions(draw):
    space = draw(SPACE)
    stamp = f"<timestamp>2026-11-0{draw(st.integers(1, 9))}T00:00:00Z</timestamp>"
    parts = [
        f"<id>{draw(st.integers(1, 6))}</id>",
        draw(st.sampled_from(["", "<parentid>0</parentid>", "<parentid>5</parentid>"])),
        stamp,
        draw(st.sampled_from(["", "<minor />", "<contributor><id>9</id></contributor>"])),
        draw(st.sampled_from(["", "<comment>c &gt; d</comment>", '<comment deleted="deleted"/>'])),
        draw(TEXTS),
        draw(st.sampled_from(["", SLOT, "<sha1>abc</sha1>", "<unexpected/>", "<!-- c -->"])),
    ]
    if draw(st.booleans()):
        parts.reverse()
    tag = draw(st.sampled_from(["revision", "revision", "revision", "revision "]))
    return f"<{tag}>{space}{space.join(parts)}{space}</revision>{space}"


OTHERS = st.sampled_from(
    [
        "<upload><filename>f</filename></upload>",
        "<DiscussionThreading><ThreadID>1</ThreadID></DiscussionThreading>",
        "<!-- <page> -->",
        "<restrictions>edit=sysop</restrictions>",
    ],
)


@st.composite
def pages(draw):
    space = draw(SPACE)
    head = [
        f"<title>{draw(WORDS)}x</title>",
        draw(st.sampled_from(["", "<ns>0</ns>", "<ns>1</ns>"])),
        f"<id>{draw(st.integers(1, 3))}</id>",
        draw(st.sampled_from(["", '<redirect title="A &amp; B" />', "<redirect/>"])),
    ]
    if draw(st.integers(0, 4)) == 0:
        head.reverse()
    body = draw(st.lists(st.one_of(revisions(), revisions(), revisions(), OTHERS), max_size=4))
    tag = draw(st.sampled_from(["page", "page", "page", "page "]))
    return f"{space}<{tag}>{space}{space.join(head)}{space}{''.join(body)}</page>{space}"


@st.composite
def exports(draw):
    root = draw(
        st.sampled_from(
            ["<mediawiki>", '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">'],
        ),
    )
    before = draw(st.sampled_from(["", "<!-- <page> -->", '<?xml version="1.0"?>\n', "\ufeff"]))
    namespaces = '<namespaces><namespace key="1">Talk</namespace></namespaces>'
    site = draw(st.sampled_from(["", f"<siteinfo><dbname>w</dbname>{namespaces}</siteinfo>"]))
    content = draw(st.lists(st.one_of(pages(), pages(), pages(), OTHERS), max_size=4))
    after = draw(st.sampled_from(["", "\n", "<!-- end -->"]))
    return f"{before}{root}{site}{''.join(content)}</mediawiki>{after}".encode()


class Outcome(NamedTuple):
    items: list
    failed: bool
    counts: tuple


def outcome(reader, text, size, skip=None):
    counts = Counts()
    items = []
    chunks = (text[i : i + size] for i in range(0, len(text), size))
    try:
        items.extend(reader("x", chunks, skip, counts))
    except DumpError:
        return Outcome(items, failed=True, counts=())
    return Outcome(
        items,
        failed=False,
        counts=(counts.pages, counts.revisions, counts.skipped, counts.duplicates),
    )


@settings(max_examples=200, deadline=None)
@given(exports(), st.sampled_from([1, 7, 64, 1 << 20]), st.sets(st.integers(1, 6)))
def test_both_walks_give_the_same_items_whatever_is_skipped(text, size, had):
    for skip in (None, lambda _, rev: rev in had, lambda page, rev: (page + rev) % 2 == 0):
        assert outcome(scan, text, size, skip) == outcome(walk, text, 1 << 20, skip)


@settings(max_examples=200, deadline=None)
@given(exports(), st.data())
@example(b"<mediawiki></mediawiki><page/>", None)
def test_both_walks_refuse_the_same_damage(text, data):
    if data is not None:
        at = data.draw(st.integers(0, len(text)))
        kind = data.draw(st.sampled_from(["cut", "drop", "garble"]))
        to = min(len(text), at + data.draw(st.integers(1, 30)))
        replaced = {"cut": b"", "drop": text[to:], "garble": b"<\x01&" + text[to:]}[kind]
        text = text[:at] + replaced
    fast, slow = outcome(scan, text, 50), outcome(walk, text, 50)
    assert fast.failed == slow.failed
    if fast.failed:
        shorter, longer = sorted((fast.items, slow.items), key=len)
        assert longer[: len(shorter)] == shorter
    else:
        assert fast == slow
