"""Texts to tokens once, tokens to rows, and which rows a step trains on.

On disk (one folder per text and tokenizer)::

    header.json      tokenizer and text hashes, token type, counts
    tokens.bin       P d1 E  P d2 E  …      P: begin token, E: end token
    documents.npy    where each P stands

Where P and E are the same token, as in GPT-2, one stands for both: ``E d1 E d2 E``. So each
document begins after the token that models saw before a text, and its end is learned. Row r
reads tokens ``[r T, r T + T)`` and predicts each one's successor; nothing is dropped, the
last row is padded with targets that do not count.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trainer import files, tokenizer
from trainer.dataset import Folder
from twiki.errors import DatasetError

IGNORE = -100
"""Target that does not count: torch's own default."""

FORMAT = 1


@dataclass(frozen=True)
class Batch:
    """Rows ready for the model, each tensor ``(rows, T)``.

    ``labels`` holds the target of each position, or :data:`IGNORE`; ``segments`` numbers the
    documents within a row; ``old``, of shape ``(rows,)``, marks reviewed rows.
    """

    ids: Tensor
    labels: Tensor
    positions: Tensor
    segments: Tensor
    old: Tensor

    def __len__(self) -> int:
        return len(self.ids)

    def map(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        """The same with each tensor changed."""
        return Batch(
            ids=change(self.ids),
            labels=change(self.labels),
            positions=change(self.positions),
            segments=change(self.segments),
            old=change(self.old),
        )

    def part(self, start: int, end: int, device: str) -> "Batch":
        """Rows ``[start, end)`` on ``device``."""
        return self.map(lambda t: t[start:end].to(device, non_blocking=True))

    def share(self, rank: int, size: int) -> "Batch":
        """The rows of one of ``size`` processes; one that counts nothing where it has none."""
        if size == 1:
            return self
        if rank >= len(self):
            # Every process must take part in every exchange of gradients.
            one = self.map(lambda t: t[:1].clone())
            one.labels.fill_(IGNORE)
            return one
        return self.map(lambda t: t[rank::size])


def document_mask(segments: Tensor) -> Tensor:
    """Boolean ``(rows, 1, T, T)``: position i may see j iff j <= i in the same document."""
    length = segments.shape[1]
    causal = torch.ones(length, length, dtype=torch.bool, device=segments.device).tril()
    same = segments[:, None, :, None] == segments[:, None, None, :]
    return same & causal


@dataclass(frozen=True)
class Tokens:
    """A token folder, read through the page cache and never whole."""

    folder: Path
    header: dict[str, Any]
    sequence: int

    @cached_property
    def _stream(self) -> npt.NDArray[Any]:
        return np.memmap(self.folder / "tokens.bin", dtype=self.header["dtype"], mode="r")

    @cached_property
    def _documents(self) -> npt.NDArray[np.int64]:
        starts: npt.NDArray[np.int64] = np.load(self.folder / "documents.npy", mmap_mode="r")
        return starts

    @property
    def count(self) -> int:
        """Tokens in the stream."""
        return int(self.header["tokens"])

    @property
    def rows(self) -> int:
        """Rows of ``sequence`` tokens; the last may be part filled."""
        return -(-(self.count - 1) // self.sequence)

    def row(self, index: int) -> tuple[npt.NDArray[np.int64], ...]:
        """Ids, labels, positions and segments of a row, each of length ``sequence``."""
        length = self.sequence
        start = index * length
        piece = self._stream[start : start + length + 1].astype(np.int64)
        filled = len(piece) - 1
        ids = np.full(length, self.header["end"], dtype=np.int64)
        labels = np.full(length, IGNORE, dtype=np.int64)
        ids[:filled] = piece[:-1]
        labels[:filled] = piece[1:]
        first = np.searchsorted(self._documents, start)
        last = np.searchsorted(self._documents, start + length + 1)
        starts = np.asarray(self._documents[first:last]) - start
        if self.header["begin"] != self.header["end"]:
            # After "E" comes the next document's "P": a law of the packing, not of language.
            labels[starts[starts > 0] - 1] = IGNORE
        segments = np.zeros(length, dtype=np.int64)
        inside = starts[(starts > 0) & (starts < length)]
        segments[inside] = 1
        segments = segments.cumsum()
        begins = np.concatenate([[0], inside])
        return ids, labels, np.arange(length) - begins[segments], segments


def prepare(
    texts: Iterable[str],
    words: Any,  # noqa: ANN401 - transformers ships no types
    folder: Path,
    *,
    text_digest: str,
    sequence: int,
) -> Tokens:
    """Tokenise ``texts`` into ``folder``, unless it already holds exactly these tokens.

    Raises:
        DatasetError: there is no token to train on.
    """
    begin, end = tokenizer.prefix_id(words), tokenizer.end_id(words)
    known = {"format": FORMAT, "tokenizer": tokenizer.digest(words), "text": text_digest}
    header_path = folder / "header.json"
    if header_path.exists():
        header = files.read_json(header_path)
        if all(header.get(name) == value for name, value in known.items()):
            return Tokens(folder, header, sequence)
    dtype = np.dtype(np.uint16 if len(words) <= 1 << 16 else np.uint32)
    starts = array("q")
    count = 0
    with files.new_folder(folder) as aside:
        with (aside / "tokens.bin").open("wb") as out:
            for part in _batched(texts, 512):
                for ids in tokenizer.encode(words, part):
                    # With one token for both, the end of a document is the next one's begin.
                    own_begin = not starts or begin != end
                    starts.append(count if own_begin else count - 1)
                    document = ([begin] if own_begin else []) + ids + [end]
                    out.write(np.asarray(document, dtype=dtype).tobytes())
                    count += len(document)
        if count < 3:  # noqa: PLR2004 - begin, end and a token between
            raise DatasetError(f"{folder}: the dataset gives no token to train on")
        np.save(aside / "documents.npy", np.asarray(starts, dtype=np.int64))
        header = {
            **known,
            "begin": begin,
            "documents": len(starts),
            "dtype": dtype.name,
            "end": end,
            "tokens": count,
        }
        files.write_json(aside / "header.json", header)
    return Tokens(folder, header, sequence)


def prepare_all(
    folders: Sequence[Folder],
    words: Any,  # noqa: ANN401 - transformers ships no types
    cache: Path,
    sequence: int,
) -> list[Tokens]:
    """Tokens of each folder's text, below ``cache``, by the hashes of text and tokenizer."""
    known = tokenizer.digest(words)[:16]
    return [
        prepare(
            folder.texts(),
            words,
            cache / f"{folder.digest[:16]}-{known}",
            text_digest=folder.digest,
            sequence=sequence,
        )
        for folder in folders
    ]


def _batched(texts: Iterable[str], size: int) -> Iterator[list[str]]:
    part: list[str] = []
    for text in texts:
        part.append(text)
        if len(part) == size:
            yield part
            part = []
    if part:
        yield part


def shuffled(count: int, *salt: int) -> npt.NDArray[np.int64]:
    """A permutation of ``range(count)`` that the salt alone decides, on any machine.

    Sorts by SplitMix64 of the index, since numpy's and torch's streams may change between
    releases.
    """
    key = np.uint64(0)
    for value in salt:
        key = _mix(np.asarray([key ^ np.uint64(value & 0xFFFFFFFFFFFFFFFF)]))[0]
    return np.argsort(_mix(np.arange(count, dtype=np.uint64) ^ key), kind="stable")


def _mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


class Mixture:
    """New rows, with old ones drawn among them; the order is a function of (seed, epoch, step).

    An epoch is every new row once and ``ratio`` times as many old rows, drawn without
    replacement from all of ``old`` together, in one shuffled order. Nothing is kept between
    steps, so a resumed run needs one integer.
    """

    def __init__(self, new: Tokens, old: Sequence[Tokens], *, ratio: float, seed: int) -> None:
        self.sources = (new, *old)
        self._seed = seed
        self._old_rows = [tokens.rows for tokens in old]
        self.drawn = round(ratio * new.rows) if sum(self._old_rows) else 0
        self.epoch_rows = new.rows + self.drawn
        self._epoch: tuple[int, npt.NDArray[np.int64]] = (-1, np.empty((0, 2), dtype=np.int64))

    def rows(self, start: int, end: int) -> npt.NDArray[np.int64]:
        """(source, row) of places ``[start, end)`` of the run, shape ``(end - start, 2)``."""
        pieces = []
        while start < end:
            epoch, place = divmod(start, self.epoch_rows)
            take = min(end - start, self.epoch_rows - place)
            pieces.append(self._order(epoch)[place : place + take])
            start += take
        return np.concatenate(pieces) if pieces else np.empty((0, 2), dtype=np.int64)

    def batch(self, rows: npt.NDArray[np.int64]) -> Batch:
        """The rows as tensors on the CPU."""
        parts = [self.sources[source].row(int(row)) for source, row in rows]
        ids, labels, positions, segments = (
            torch.from_numpy(np.stack(column)) for column in zip(*parts, strict=True)
        )
        return Batch(ids, labels, positions, segments, torch.from_numpy(rows[:, 0] > 0))

    def _order(self, epoch: int) -> npt.NDArray[np.int64]:
        if self._epoch[0] != epoch:
            new = self.sources[0].rows
            both = np.concatenate([_pairs(0, np.arange(new)), self._draw(epoch)])
            self._epoch = (epoch, both[shuffled(len(both), self._seed, epoch, 1)])
        return self._epoch[1]

    def _draw(self, epoch: int) -> npt.NDArray[np.int64]:
        """Old rows of an epoch: whole permutations of the pool, as far as they are needed."""
        if not self.drawn:
            return np.empty((0, 2), dtype=np.int64)
        pool = np.concatenate([_pairs(i + 1, np.arange(n)) for i, n in enumerate(self._old_rows)])
        rounds = -(-self.drawn // len(pool))
        order = [shuffled(len(pool), self._seed, epoch, 2, r) for r in range(rounds)]
        return pool[np.concatenate(order)[: self.drawn]]


def _pairs(source: int, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.stack([np.full(len(rows), source, dtype=np.int64), rows.astype(np.int64)], axis=1)


def micro_batches(count: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut ``range(count)`` into ``[start, end)`` of at most ``size``."""
    for start in range(0, count, size):
        yield start, min(start + size, count)
