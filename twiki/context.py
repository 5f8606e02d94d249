"""What the core knows beside state and revision: settings turned into values and functions."""

import bisect
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from twiki.config import CoreConfig
from twiki.errors import ConfigError
from twiki.records import CleanBlock
from twiki.text import blocks
from twiki.text.guard import Guard
from twiki.text.siteinfo import SiteInfo


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What :func:`twiki.apply.apply` is given beside state and revision.

    The same for all revisions until a window closes.
    """

    wiki: str
    repository: str
    boundaries: tuple[int, ...]
    """Window boundaries in milliseconds, ascending; the first is the oldest still kept."""
    closed: int = 0
    """End of the last window that has closed; 0: none."""
    namespaces: frozenset[int] | None = frozenset({0})
    """Namespaces of articles; None: all."""
    languages: tuple[str, ...] = ("en", "mul")
    literals: tuple[str, ...] = ()
    unchanged_rate: float = 0.0
    max_page_bytes: int = 4 << 20
    passing: bool = False
    """The state lives no longer than this run: texts are split when somebody asks for them."""
    site: SiteInfo
    split: Callable[[str], list[str]]
    resplit: Callable[[Sequence[str], str], list[str]]
    clean: Callable[[str], CleanBlock]

    def window_start(self, at: int) -> int | None:
        """Start of the window that holds ``at``; None: before the oldest kept."""
        index = bisect.bisect_right(self.boundaries, at)
        return self.boundaries[index - 1] if index else None

    def is_article(self, namespace: int | None, *, redirect: bool | None) -> bool:
        """Whether a page of that namespace is an article; an unknown redirect flag passes."""
        return not redirect and (self.namespaces is None or namespace in self.namespaces)


def build(config: CoreConfig, boundaries: Sequence[int], *, closed: int = 0) -> Context:
    """The context that the settings ask for.

    Raises:
        ConfigError: the siteinfo or template file cannot be used.
    """
    wiki, text = config.wiki, config.text
    site = SiteInfo.english() if wiki.siteinfo is None else _siteinfo(wiki.siteinfo)
    return Context(
        wiki=wiki.name,
        repository=wiki.repository,
        boundaries=tuple(boundaries),
        closed=closed,
        namespaces=None if wiki.namespaces == "all" else frozenset(wiki.namespaces),
        languages=wiki.languages,
        literals=config.facts.literals,
        unchanged_rate=config.facts.unchanged_rate,
        max_page_bytes=text.max_page_bytes,
        site=site,
        split=blocks.split,
        resplit=blocks.resplit,
        # Its worker, where a block ever needs one, is a daemon: it ends with this process.
        clean=Guard(site, text, wiki.name).prose,
    )


def _siteinfo(path: Path) -> SiteInfo:
    try:
        return SiteInfo.from_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read as a siteinfo answer: {error}") from error
