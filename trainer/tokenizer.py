"""Tokenizers: trained on given text, loaded from a folder, and asked without surprises.

Text is data: a Wikipedia article that quotes ``<|endoftext|>`` must not end there, so every
encoding here splits special tokens like any other characters.
"""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from twiki.errors import TrainerError

END = "<|endoftext|>"


def train_bpe(
    texts: Iterable[str], vocab_size: int, *, prefix_space: bool = False
) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE in GPT-2's manner: every text has an encoding, nothing is unknown.

    ``prefix_space``: a text is read as if a space stood before it.
    The same texts in the same order give the same tokenizer.
    """
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    bpe.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call] # HF
        tokenizer_object=bpe, bos_token=END, eos_token=END, clean_up_tokenization_spaces=False
    )


def load(source: Path | str) -> Any:  # noqa: ANN401 - transformers ships no types
    """Load a fast tokenizer from a model folder (or a hub name that is no folder).

    Raises:
        TrainerError: there is none, it is empty, or it cannot give offsets.
    """
    local = Path(source).exists()
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(source), local_files_only=local)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TrainerError(
            f"{source}: no tokenizer could be loaded ({error}); a model folder must hold "
            "tokenizer.json, or vocab.json and merges.txt with tokenizer_config.json"
        ) from error
    if not getattr(tokenizer, "is_fast", False):
        raise TrainerError(f"{source}: a fast tokenizer is needed, found {type(tokenizer)}")
    if len(tokenizer) < 2 or not tokenizer("a", add_special_tokens=False)["input_ids"]:  # noqa: PLR2004
        raise TrainerError(f"{source}: the tokenizer has {len(tokenizer)} tokens: it is empty")
    if tokenizer.eos_token_id is None and tokenizer.bos_token_id is None:
        raise TrainerError(f"{source}: the tokenizer has neither an end nor a begin token")
    return tokenizer


def prefix_id(tokenizer: Any) -> int:  # noqa: ANN401 - as above
    """The token that stands before the first: BOS, else EOS, as lm-evaluation-harness has it."""
    begin = tokenizer.bos_token_id
    return int(tokenizer.eos_token_id if begin is None else begin)


def end_id(tokenizer: Any) -> int:  # noqa: ANN401 - as above
    """The token that ends a document: EOS, else BOS."""
    end = tokenizer.eos_token_id
    return int(tokenizer.bos_token_id if end is None else end)


def encode(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:  # noqa: ANN401 - as above
    """Token ids of each text, without special tokens, even where the text spells one."""
    if not texts:
        return []
    out: list[list[int]] = tokenizer(
        list(texts), add_special_tokens=False, split_special_tokens=True, verbose=False
    )["input_ids"]
    return out


def encode_offsets(
    tokenizer: Any,  # noqa: ANN401 - as above
    texts: Sequence[str],
) -> list[tuple[list[int], list[tuple[int, int]]]]:
    """As :func:`encode`, with the characters ``[start, end)`` that each token covers."""
    if not texts:
        return []
    answer = tokenizer(
        list(texts),
        add_special_tokens=False,
        split_special_tokens=True,
        return_offsets_mapping=True,
        verbose=False,
    )
    return [
        (ids, [(int(a), int(b)) for a, b in spans])
        for ids, spans in zip(answer["input_ids"], answer["offset_mapping"], strict=True)
    ]


def digest(tokenizer: Any) -> str:  # noqa: ANN401 - as above
    """sha256 of everything that decides how the tokenizer encodes."""
    backend = str(tokenizer.backend_tokenizer.to_str())
    special = f"{tokenizer.bos_token_id},{tokenizer.eos_token_id}"
    return hashlib.sha256(f"{special}\n{backend}".encode()).hexdigest()
