"""How the content of revisions is stored: whole, or as what differs from another.

A page's text is kept as its blocks. The text of a later boundary is a *patch* against that
of the boundary before: references to its blocks, new blocks inline, all compressed. So an
edit writes what it changed, and a cut sees which blocks to compare. Where a patch would not
be smaller the text is stored whole. Entities are small and always whole.

Format, behind the version byte of :mod:`twiki.state.codec`: one zstd frame of a MessagePack array,
``[0, [block, …]]`` or ``[base revision, [[first, count] | block, …]]``; in a state that lives
no longer than a run also ``[-1, [text]]``, to be split when it is read.
"""

from collections.abc import Callable, Sequence
from typing import cast

import msgspec
import zstandard

from twiki.errors import StateCorrupt
from twiki.state.codec import HEAD, unwrapped
from twiki.text.blocks import split

Loader = Callable[[int], bytes | None]
"""The stored bytes of a revision's content, or None."""

_LONGEST_CHAIN = 1000
"""A chain has a link for each boundary that is kept."""
_MAX_BYTES = 256 << 20
_UNSPLIT = -1
_RUN = 64
_SEARCHES = 8
"""As many searches cost less than the hashes of all of a page's blocks."""
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(tuple[int, list[str | tuple[int, int]]])
_compressor = zstandard.ZstdCompressor(level=1)
_decompressor = zstandard.ZstdDecompressor()


def whole(blocks: Sequence[str]) -> bytes:
    """Store blocks as they are."""
    return HEAD + _compressor.compress(_encoder.encode((0, blocks)))


def unsplit(text: str) -> bytes:
    """Store a text that is split when it is read, by the program that wrote it."""
    return HEAD + _compressor.compress(_encoder.encode((_UNSPLIT, (text,))))


def patch(blocks: Sequence[str], base_rev: int, base: Sequence[str]) -> tuple[bytes, int]:
    """Store blocks against those of ``base_rev``; whole where that is not smaller.

    Returns the bytes, and the revision that they refer to (0: none).
    """
    parts = _parts(blocks, base)
    inline = sum(len(part) for part in parts if isinstance(part, str))
    if inline * 2 > sum(map(len, blocks)):
        return whole(blocks), 0
    return HEAD + _compressor.compress(_encoder.encode((base_rev, parts))), base_rev


class Texts:
    """The texts of one page, decoded at most once each.

    ``load`` gives stored bytes by revision. :meth:`put` adds a text that is not stored yet,
    :meth:`put_unsplit` one that perhaps nobody asks for.
    """

    def __init__(self, load: Loader) -> None:
        self._load = load
        self._blocks: dict[int, tuple[str, ...]] = {}
        self._unsplit: dict[int, str] = {}

    def put(self, rev: int, blocks: Sequence[str]) -> None:
        """Let ``blocks`` be the text of ``rev``."""
        self._blocks[rev] = tuple(blocks)

    def put_unsplit(self, rev: int, text: str) -> None:
        """Let ``text`` be that of ``rev``."""
        self._unsplit[rev] = text

    def whole(self, rev: int) -> bytes:
        """What is stored of ``rev`` where it refers to no other."""
        text = self._unsplit.get(rev)
        return whole(self.blocks(rev)) if text is None else unsplit(text)

    def blocks(self, rev: int) -> tuple[str, ...]:
        """The blocks of ``rev``.

        Raises:
            StateCorrupt: the bytes, or those they refer to, are not what was written.
        """
        known = self._blocks.get(rev)
        if known is None and rev in self._unsplit:
            known = self._blocks[rev] = tuple(split(self._unsplit[rev]))
        if known is None:
            chain, at = [], rev
            while known is None:
                base, parts = self._read(at, rev)
                chain.append((at, parts))
                known = self._blocks.get(base, None if base else ())
                at = base
                if len(chain) > _LONGEST_CHAIN:
                    raise StateCorrupt(f"the text of revision {rev} refers in a circle")
            for of, parts in reversed(chain):
                self._blocks[of] = known = _applied(parts, known)
        return known

    def _read(self, rev: int, asked: int) -> tuple[int, list[str | tuple[int, int]]]:
        data = self._load(rev)
        if data is None:
            raise StateCorrupt(f"the text of revision {rev} is not held, {asked} refers to it")
        base, parts = _decode(data)
        if base == _UNSPLIT:
            return 0, list(split("".join(cast("list[str]", parts))))
        return base, parts


def _decode(data: bytes) -> tuple[int, list[str | tuple[int, int]]]:
    try:
        return _decoder.decode(
            _decompressor.decompress(unwrapped(data), max_output_size=_MAX_BYTES)
        )
    except (msgspec.DecodeError, zstandard.ZstdError) as error:
        raise StateCorrupt(f"a stored text cannot be read: {error}") from error


def _applied(parts: Sequence[str | tuple[int, int]], base: tuple[str, ...]) -> tuple[str, ...]:
    if not base:
        return cast("tuple[str, ...]", tuple(parts))  # nothing to refer to
    out: list[str] = []
    for part in parts:
        if isinstance(part, str):
            out.append(part)
        else:
            first, count = part
            out.extend(base[first : first + count])
    return tuple(out)


def _parts(blocks: Sequence[str], base: Sequence[str]) -> list[str | tuple[int, int]]:
    """Runs of base blocks and new blocks: equal ends first, then what lies between."""
    blocks, base = tuple(blocks), tuple(base)
    head = _equal(blocks, base)
    tail = min(_equal(blocks[::-1], base[::-1]), len(blocks) - head, len(base) - head)
    runs: list[str | tuple[int, int]] = [(0, head)] if head else []
    blocks, base = blocks[: len(blocks) - tail], base[: len(base) - tail]
    find = _finder(base, head)
    at, due = head, head  # the next block, and the one of the base that would carry on
    while at < len(blocks):
        block = blocks[at]
        found = due
        if base[due : due + 1] != (block,):
            replaced = base[due + 1 : due + 2] == (block,)  # one was, or was taken out
            found = due + 1 if replaced else find(block)
        if found < 0:
            runs.append(block)
            at += 1
            continue
        count = _equal(blocks, base, at, found)
        last = runs[-1] if runs else None
        if isinstance(last, tuple) and sum(last) == found:
            runs[-1] = (last[0], last[1] + count)
        else:
            runs.append((found, count))
        at, due = at + count, found + count
    if tail:
        runs.append((len(base), tail))
    return runs


def _finder(base: tuple[str, ...], head: int) -> Callable[[str], int]:
    """Where a block stands first from ``head`` on, -1: nowhere.

    A few times it is searched for, from then on it is looked up.
    """
    asked = 0
    where: dict[str, int] = {}

    def find(block: str) -> int:
        nonlocal asked
        asked += 1
        if asked <= _SEARCHES:
            try:
                return base.index(block, head)
            except ValueError:
                return -1
        if not where:
            where.update((base[i], i) for i in range(len(base) - 1, head - 1, -1))
        return where.get(block, -1)

    return find


def _equal(these: tuple[str, ...], those: tuple[str, ...], first: int = 0, other: int = 0) -> int:
    """How many items are equal from ``first`` and ``other`` on.

    Runs of the same objects are passed over at once.
    """
    size = min(len(these) - first, len(those) - other)
    at = 0
    while at < size and (
        these[first + at : first + at + _RUN] == those[other + at : other + at + _RUN]
    ):
        at += _RUN
    while at < size and these[first + at] == those[other + at]:
        at += 1
    return min(at, size)
