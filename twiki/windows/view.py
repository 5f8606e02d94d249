"""What a cut asks of the state: a window's articles by title, labels, and merges.

Everything is read as of the window's boundaries and kept in bounded caches, so that a cut's
memory does not grow with the wiki.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Protocol

from twiki import entities as wikibase
from twiki.diff import diff
from twiki.records import (
    Article,
    Diff,
    Entity,
    EntityAt,
    Paragraph,
    ParagraphKind,
    Revision,
    Window,
)
from twiki.state import layout
from twiki.state.asof import AsOf, Missing, Reading
from twiki.state.codec import decode_entity
from twiki.times import to_ms
from twiki.windows.probes import ArticleText

_ARTICLES_CACHED = 256
_ENTITIES_CACHED = 100_000
_LONGEST_CHAIN = 20
"""Redirects of redirects are resolved by bots; a longer chain is a circle."""


class EarlierRevisions(Protocol):
    """Where the last revisions of entities before a time can be had; else no Revision comes."""

    def revisions_before(
        self, wiki: str, time: datetime, titles: Sequence[str]
    ) -> Sequence[object]:
        """The last revision of each page of ``wiki`` before ``time``, in order."""


class WindowView:
    """One window's articles and entities, read from the state.

    Args:
        state: read under the policy and knowledge that count.
        window: the interval.
        earlier: where labels of entities are had that the state does not hold; None: nowhere.
    """

    def __init__(
        self, state: AsOf, window: Window, earlier: EarlierRevisions | None = None
    ) -> None:
        self.state = state
        self.window = window
        self.fetched: Counter[str] = Counter()
        """Labels asked for, by outcome: found, absent."""
        self.unread: dict[str, Missing] = {}
        """Entities of which a content could not be had at one of the boundaries."""
        self._earlier = earlier
        self._told: dict[str, str | None] = {}
        """Labels that were asked for; None: there is none."""
        self.start, self.end = to_ms(window.start), to_ms(window.end)
        self.clean = state.context.clean
        self.changed = lru_cache(_ARTICLES_CACHED)(self._changed)
        self.live = lru_cache(_ARTICLES_CACHED)(self._live)
        self.label = lru_cache(_ENTITIES_CACHED)(self._label)
        self._is_known = lru_cache(_ENTITIES_CACHED)(self._known)
        self.redirect = lru_cache(_ENTITIES_CACHED)(self._redirect)

    # --- articles: the protocol of twiki.windows.probes.Articles ---

    def _changed(self, title: str) -> ArticleText | None:
        """The article with its diff sentences; None when it has none in this window."""
        page_id = self.state.titled(title, self.end)
        if page_id is None:
            return None
        new = self.state.article(page_id, self.end)
        found = self.diff(self.state.article(page_id, self.start), new)
        if found is None or new.article is None or not found.sentences:
            return None
        return _text(new.article, [sentence.text for sentence in found.sentences])

    def _live(self, title: str) -> ArticleText | None:
        """The article live at the end with all its sentences; None if not live."""
        page_id = self.state.titled(title, self.end)
        article = None if page_id is None else self.state.article(page_id, self.end).article
        return None if article is None else _text(article, _Lazy(lambda: self.sentences(article)))

    def paragraphs(self, article: Article) -> list[Paragraph]:
        """The cleaned paragraphs of an article; none where its text cannot be had."""
        return [p for block in article.blocks or () for p in self.clean(block).paragraphs]

    def sentences(self, article: Article) -> list[str]:
        """The sentences of an article without its headings, in reading order."""
        return [
            sentence
            for paragraph in self.paragraphs(article)
            if paragraph.kind is not ParagraphKind.HEADING
            for sentence in paragraph.sentences
        ]

    def diff(self, old: Reading, new: Reading) -> Diff | None:
        """Net difference between two readings of an article; None where it cannot be told.

        An article whose new text is hidden counts as unchanged (ENGINE 2).
        """
        if new.article is None or new.article.blocks is None:
            return None
        if old.article is not None and old.article.blocks is None:
            return None
        blocks = None if old.article is None else old.article.blocks
        return diff(blocks, new.article.blocks, self.clean)

    # --- entities ---

    def entity(self, entity_id: str, at: int) -> EntityAt | None:
        """The entity as of ``at``; None where there is none or its content is not held."""
        found = self.reading(entity_id, at)
        return None if isinstance(found, Missing) else found

    def reading(self, entity_id: str, at: int) -> EntityAt | Missing | None:
        """The entity as of ``at``, or why it cannot be read; None where there is none."""
        return self.state.entity(entity_id, at)

    def article_title(self, entity: Entity, at: int) -> str | None:
        """The title of the article about an entity: by its link, else by ``page_props``."""
        if entity.sitelink is not None:
            return entity.sitelink
        page_id = self.state.store.article_of(entity.id, at)
        held = None if page_id is None else self.state.store.held(page_id)
        stood = None if held is None else self.state.stands(held, at)
        return None if stood is None else stood.title

    def may_have_article(self, entity_id: str) -> bool:
        """Whether the newest content at hand names an article, or there is none at hand."""
        held = self.state.store.held(entity_id)
        if held is None or not held.revs:
            return True
        data = self.state.store.content(entity_id, held.revs[-1])
        return data is None or self.article_title(decode_entity(data), self.end) is not None

    def _redirect(self, entity_id: str) -> str:
        """The item that ``entity_id`` had been merged into by the end; itself when none."""
        target = entity_id
        for _ in range(_LONGEST_CHAIN):
            following = self._leads_to(target)
            if following is None:
                return target
            target = following
        return entity_id

    def _leads_to(self, entity_id: str) -> str | None:
        """Where a redirect leads: by its content, else by the repository's table of redirects."""
        found = self.entity(entity_id, self.end)
        if found is not None:
            return found.entity.redirect
        noted = self.state.store.kv.get(layout.merged(self.end, entity_id))
        return None if noted is None else noted.decode()

    def _label(self, entity_id: str) -> str | None:
        """Label as of the end, of the item that it was merged into (L9)."""
        found = self.entity(self.redirect(entity_id), self.end)
        return None if found is None else self.label_of(found.entity)

    @property
    def fetches(self) -> bool:
        """Whether labels can be had that the state does not hold."""
        return self._earlier is not None

    def fetched_label(self, entity_id: str) -> str | None:
        """The label, of an entity that the state lacks from its last revision before the end."""
        target = self.redirect(entity_id)
        if self._earlier is None or self._is_known(target):
            return self.label(entity_id)
        if target not in self._told:
            self.fetch_labels([target])
        return self._told[target]

    def fetch_labels(self, entity_ids: Iterable[str]) -> None:
        """Ask for the labels of those that the state lacks, all at once."""
        if self._earlier is None:
            return
        asked = {self.redirect(each) for each in entity_ids}
        waiting = {e: e for e in asked if e not in self._told and not self._is_known(e)}
        for _ in range(_LONGEST_CHAIN):
            if not waiting:
                return
            found = self._before_end(self._earlier, sorted({*waiting.values()}))
            merged = {}
            for entity_id, target in waiting.items():
                entity = found[target]
                if entity is not None and entity.redirect is not None:
                    merged[entity_id] = entity.redirect
                else:
                    self._tell(entity_id, None if entity is None else self.label_of(entity))
            waiting = merged
        for entity_id in waiting:
            self._tell(entity_id, None)

    def _tell(self, entity_id: str, label: str | None) -> None:
        self.fetched["found" if label else "absent"] += 1
        if len(self._told) >= _ENTITIES_CACHED:
            del self._told[next(iter(self._told))]
        self._told[entity_id] = label

    def _known(self, entity_id: str) -> bool:
        """Whether the state can say what the entity was at the end: also that it was deleted."""
        if self.state.store.held(entity_id) is None:
            return False
        return not isinstance(self.state.entity(entity_id, self.end), Missing)

    def _before_end(
        self, earlier: EarlierRevisions, entity_ids: Sequence[str]
    ) -> dict[str, Entity | None]:
        context = self.state.context
        titles = [f"Property:{one}" if one.startswith("P") else one for one in entity_ids]
        told = earlier.revisions_before(context.repository, self.window.end, titles)
        return dict(zip(entity_ids, map(self._decoded, told), strict=True))

    def _decoded(self, told: object) -> Entity | None:
        if not isinstance(told, Revision) or told.content is None:
            return None
        context = self.state.context
        try:
            return wikibase.decode(
                told.content, wiki=context.wiki, languages=context.languages, claims=False
            )
        except wikibase.BadEntity:
            return None

    def label_of(self, entity: Entity) -> str | None:
        """The label in the first language that has one."""
        languages = self.state.context.languages
        return next((entity.labels[code] for code in languages if code in entity.labels), None)

    def aliases(self, entity_id: str) -> tuple[str, ...]:
        """Other names as of the end, in the languages followed."""
        found = self.entity(self.redirect(entity_id), self.end)
        if found is None:
            return ()
        languages = self.state.context.languages
        return tuple(name for code in languages for name in found.entity.aliases.get(code, ()))


def _text(article: Article, sentences: Sequence[str]) -> ArticleText:
    return ArticleText(
        page_id=article.page_id,
        title=article.title,
        rev_id=article.rev_id,
        sentences=sentences,
    )


class _Lazy(Sequence[str]):
    """Sentences that are worked out when somebody reads them: cleaning is the slow part."""

    def __init__(self, make: Callable[[], list[str]]) -> None:
        self._make = make
        self._made: list[str] | None = None

    def _list(self) -> list[str]:
        if self._made is None:
            self._made = self._make()
        return self._made

    def __getitem__(self, index):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN204 - overloads add nothing
        return self._list()[index]

    def __len__(self) -> int:
        return len(self._list())
