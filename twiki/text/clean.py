"""Wikitext → paragraphs of prose, block by block (L1).

``expand`` takes out templates, links and tables, ``inline`` tags, quotes and entities,
``lines`` makes paragraphs, ``sentences`` cuts them. Nothing outside a block changes its
result. Example::

    Cleaner(SiteInfo.english(), TextConfig()).block("'''Ada''' was [[poet|a poet]].<ref>x</ref>")
    ->  CleanBlock(paragraphs=(Paragraph(PROSE, ("Ada was a poet.",)),), dropped=())
"""

from collections import Counter
from collections.abc import Iterable

from twiki.config import TextConfig
from twiki.records import CleanBlock, Paragraph, ParagraphKind
from twiki.text import inline, sentences
from twiki.text.blocks import split
from twiki.text.expand import Expander
from twiki.text.lines import paragraphs
from twiki.text.siteinfo import SiteInfo, redirect_end
from twiki.text.templates import load

_CACHE_BLOCKS = 4096
_CACHE_LENGTH = 20_000


class Cleaner:
    """Cleans the blocks of one wiki's pages. Pure: equal blocks give equal results."""

    def __init__(self, site: SiteInfo, config: TextConfig, wiki: str = "enwiki") -> None:
        self._site = site
        self._config = config
        self._table = load(language=site.language, wiki=wiki, extra=config.templates)
        self._cache: dict[str, CleanBlock] = {}

    def block(self, block: str) -> CleanBlock:
        """The prose of one block."""
        cached = self._cache.get(block)
        if cached is None:
            cached = self._clean(block)
            if len(block) <= _CACHE_LENGTH:
                if len(self._cache) >= _CACHE_BLOCKS:
                    self._cache.clear()
                self._cache[block] = cached
        return cached

    def article(self, text: str) -> list[Paragraph]:
        """The paragraphs of a whole page: those of its blocks, in order."""
        return [p for block in split(text) for p in self.block(block).paragraphs]

    def _clean(self, block: str) -> CleanBlock:
        text = inline.clear(block)
        if not text.strip():
            return CleanBlock()
        if (start := redirect_end(text, self._site)) > 0:
            text = text[start:]
        unknown: Counter[str] = Counter()
        expander = Expander(self._site, self._table, math=self._config.math, unknown=unknown)
        text = expander.expand(text)
        if self._site.variants and "-{" in text:
            text = inline.variants(text, self._site.variants)
        text = inline.tags(text)
        text = inline.quotes(text)
        text = inline.external(text)
        text = inline.loose(text)
        if "__" in text:
            text = inline.switches(text, self._site.switches)
        return CleanBlock(
            paragraphs=tuple(self._paragraphs(text)), dropped=tuple(sorted(unknown.items()))
        )

    def _paragraphs(self, text: str) -> Iterable[Paragraph]:
        for kind, raw in paragraphs(text):
            shown = inline.mend(inline.decode(raw))
            if not any(map(str.isalnum, shown)):
                continue
            if kind is ParagraphKind.HEADING:
                yield Paragraph(kind=kind, sentences=(shown,))
            else:
                cut = tuple(sentences.segment(shown, self._site.language))
                yield Paragraph(kind=kind, sentences=cut)
