"""Settings of the core: one frozen record a section of the TOML file, defaults here only.

The edge adds ``[stream]`` (:mod:`stream.settings`), the trainer ``[trainer]``
(:mod:`trainer.config`); :func:`load` reads all of them and refuses unknown names.
"""

from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from twiki.errors import ConfigError


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all sections: immutable, unknown names refused."""


class WikiConfig(Section, frozen=True, kw_only=True):
    """``[wiki]``: which wiki is followed and how its pages are read."""

    name: str = "enwiki"
    repository: str = "wikidatawiki"
    url: str = "https://en.wikipedia.org"
    repository_url: str = "https://www.wikidata.org"
    languages: tuple[str, ...] = ("en", "mul")
    """Label languages, the first that has one wins (L9)."""
    namespaces: tuple[int, ...] | Literal["all"] = (0,)
    """Namespaces whose pages are articles."""
    siteinfo: Path | None = None
    """A saved ``action=query&meta=siteinfo`` answer; None: English names."""


class TextConfig(Section, frozen=True, kw_only=True):
    """``[text]``: cleaning."""

    math: Literal["tex", "drop"] = "tex"
    templates: Path | None = None
    """More inline templates, TOML, merged over the built-in table."""
    max_page_bytes: int = 4 << 20
    max_block_seconds: float = 5.0
    max_block_megabytes: int = 512


class FactConfig(Section, frozen=True, kw_only=True):
    """``[facts]``: which statements are facts, and the sample of Unchanged."""

    literals: tuple[str, ...] = ("time", "quantity", "monolingualtext", "string")
    unchanged_rate: float = 0.001
    """Share of Unchanged facts kept, chosen by hash (L13)."""


class QualityConfig(Section, frozen=True, kw_only=True):
    """``[quality]``: the paper's quality control (L10 to L12)."""

    max_object_words: int = 5
    subject_cap: float = 0.01
    relation_cap: float = 0.05
    object_cap: float = 0.05
    aliases: bool = False
    """An alias of the object counts as evidence."""
    fold_diacritics: bool = False


class WindowConfig(Section, frozen=True, kw_only=True):
    """``[windows]``: closing, correcting and what a dataset holds."""

    lateness_seconds: int = 3600
    """A window closes when the watermark passes its end by this much (L17)."""
    correction_windows: int = 2
    """A window is released when it is reconciled and so many more have closed."""
    policy: Literal["boundary", "dump"] = "boundary"
    lighttuning_facts: int = 500
    nondiff_characters: int = 24_000_000
    """About 10,000 inputs of 512 GPT-2 tokens at 4.7 characters a token."""


class CoreConfig(Section, frozen=True, kw_only=True):
    """The core's sections."""

    wiki: WikiConfig = WikiConfig()
    text: TextConfig = TextConfig()
    facts: FactConfig = FactConfig()
    quality: QualityConfig = QualityConfig()
    windows: WindowConfig = WindowConfig()


C = TypeVar("C")


def load(path: Path | None, kind: type[C], overrides: dict[str, Any] | None = None) -> C:
    """Read ``path`` as ``kind`` (a Struct of sections); ``overrides`` win over the file.

    Raises:
        ConfigError: the file cannot be read, or a name or value in it is wrong.
    """
    try:
        data: dict[str, Any] = msgspec.toml.decode(path.read_bytes()) if path else {}
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as TOML: {error}") from error
    for dotted, value in (overrides or {}).items():
        section, _, name = dotted.partition(".")
        data.setdefault(section, {})[name] = value
    try:
        return msgspec.convert(data, kind, dec_hook=to_path)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path or 'settings'}: {error}") from error


def to_path(kind: type, value: object) -> object:
    """The ``dec_hook`` of every section: msgspec itself knows no paths.

    Raises:
        NotImplementedError: a section has a field of a kind that no TOML value stands for.
    """
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise NotImplementedError(f"{kind} is not a type of setting")
