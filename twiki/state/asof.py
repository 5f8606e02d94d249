"""Reading the state as of a boundary: ``article(page, t)`` and ``entity(id, t)`` (L15).

What cannot be had is said, not guessed: :class:`Missing` tells a text that is hidden from
one that is still to be fetched. Policy ``dump`` reads a boundary's pins.
"""

from enum import StrEnum

import msgspec

from twiki.context import Context
from twiki.records import Article, EntityAt
from twiki.state import codec
from twiki.state.codec import Held
from twiki.state.contents import Texts
from twiki.state.ledger import Standing, hidden_revisions, standing
from twiki.state.store import Store
from twiki.times import from_ms


class Missing(StrEnum):
    """Why an article that stands has no text, or an entity no content."""

    HIDDEN = "hidden"
    """Hidden at this boundary and at the one before: live, without text."""
    NEEDED = "needed"
    """Its revision is known but not held: fetch it, or reconcile."""


class Reading(msgspec.Struct, frozen=True):
    """An article as of a boundary, or why there is none to read."""

    article: Article | None = None
    missing: Missing | None = None


class AsOf:
    """A store read as of boundaries under one policy.

    Args:
        store: what is read.
        context: boundaries, namespaces and site.
        known: see :func:`twiki.state.ledger.standing`; None counts late events too.
        pins: policy ``dump``.
        floor: no boundary before it lends its text where one is hidden. A pair of dumps has
            nothing before its first, so that policy ``dump`` looks no further (L19).
    """

    def __init__(
        self,
        store: Store,
        context: Context,
        *,
        known: int | None = None,
        pins: bool = False,
        floor: int = 0,
    ) -> None:
        self.store = store
        self.context = context
        self.known = known
        self.pins = pins
        self.floor = floor

    def article(self, page_id: int, at: int) -> Reading:
        """The live article ``page_id`` as of ``at``, with its text where that can be had."""
        held = self.store.held(page_id)
        return Reading() if held is None else self.read(page_id, held, at)

    def read(self, page_id: int, held: Held, at: int) -> Reading:
        """The same for a ledger record that is at hand."""
        stood = self.stands(held, at)
        if stood is None or not self._is_article(stood):
            return Reading()
        hidden = hidden_revisions(held.entries)
        textual: Standing | None = stood
        if stood.rev in hidden:
            textual = self._boundary_before(held, at, hidden)
        blocks = None
        if textual is not None and textual.rev in held.revs:
            blocks = Texts(lambda rev: self.store.content(page_id, rev)).blocks(textual.rev)
        missing = None
        if blocks is None:
            missing = Missing.HIDDEN if textual is None or stood.rev in hidden else Missing.NEEDED
        article = Article(
            page_id=page_id,
            title=stood.title or "",
            rev_id=stood.rev,
            rev_dt=from_ms(stood.rev_ms or 0),
            blocks=blocks,
        )
        return Reading(article, missing)

    def entity(self, entity_id: str, at: int) -> EntityAt | Missing | None:
        """The entity as of ``at``; None where there was none."""
        held = self.store.held(entity_id)
        stood = None if held is None else self.stands(held, at)
        if held is None or stood is None:
            return None
        data = self.store.content(entity_id, stood.rev) if stood.rev in held.revs else None
        if data is None:
            hidden = stood.rev in hidden_revisions(held.entries)
            return Missing.HIDDEN if hidden else Missing.NEEDED
        return EntityAt(
            entity=codec.decode_entity(data),
            rev_id=stood.rev,
            rev_dt=from_ms(stood.rev_ms or 0),
        )

    def stands(self, held: Held, at: int) -> Standing | None:
        """The revision that stands as of ``at``, before any test."""
        return standing(held.entries, at, known=self.known, pins=self.pins)

    def is_article(self, held: Held, at: int) -> bool:
        """Whether a live article stands as of ``at``."""
        stood = self.stands(held, at)
        return stood is not None and self._is_article(stood)

    def titled(self, title: str, at: int) -> int | None:
        """The live article that bore ``title`` as of ``at``."""
        for page_id in self.store.pages_titled(title):
            held = self.store.held(page_id)
            stood = None if held is None else self.stands(held, at)
            if stood is not None and stood.title == title and self._is_article(stood):
                return page_id
        return None

    def _is_article(self, stood: Standing) -> bool:
        return self.context.is_article(stood.namespace, redirect=stood.redirect)

    def _boundary_before(self, held: Held, at: int, hidden: set[int]) -> Standing | None:
        """What stood at the boundary before ``at``, where its text is no redirect or hidden."""
        earlier = [b for b in self.context.boundaries if self.floor <= b < at]
        stood = self.stands(held, earlier[-1]) if earlier else None
        if stood is None or stood.rev in hidden or not self._is_article(stood):
            return None
        return stood
