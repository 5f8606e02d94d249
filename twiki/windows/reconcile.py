"""Holding the state against the official dump of a boundary (L18).

Every page of the dump, and every one that stands in the state but not in the dump, ends in
exactly one :class:`Found`; the counts add up. What the stream missed is repaired from the
dump. Absence is never read as deletion: redirects, run skew and broken parts look like it::

    dump page ──skip by revision id──▶ confirmed                       (nothing is parsed)
              └─▶ repaired · restored · stream_ahead · unknown_at_boundary
    state page not in the dump ──▶ deleted · deleted_later · redirect · missing_in_dump

Under policy ``dump`` the dump's revision is pinned to the boundary wherever the ledger says
otherwise, and a page that the dump lacks is absent there.
"""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

import msgspec

from twiki.dumps import entities as entity_dumps
from twiki.dumps import xml
from twiki.dumps.entities import EntityDump
from twiki.dumps.revisions import of_entity, of_page
from twiki.engine import Engine
from twiki.records import Policy, Window
from twiki.state.layout import Id
from twiki.times import to_ms
from twiki.windows import fitting
from twiki.windows.bootstrap import ARTICLE_BYTES, ENTITY_BYTES
from twiki.windows.census import Census, Found, Progress, Tally
from twiki.windows.gate import Gate, PageProps, take_page_props

__all__ = ["Found", "Progress", "Reconciled", "Tally", "check", "reconcile"]


class Reconciled(msgspec.Struct, kw_only=True):
    """What ``reconcile.json`` says."""

    window: str
    policy: Policy
    pages: Tally
    entities: Tally
    fetch: list[tuple[Id, int]] = []
    """Revisions to be fetched by id, since the boundary's is not known (policy boundary)."""
    damaged_lines: int = 0
    damaged: list[str] = []
    """Lines of entity dumps that are no entity, the first of them: file, byte offset, reason."""

    def report(self) -> dict[str, object]:
        """The report as JSON values."""
        parts = {"pages": self.pages, "entities": self.entities}
        report: dict[str, object] = {"window": self.window, "policy": str(self.policy)}
        report |= {"damaged_lines": self.damaged_lines, "damaged": self.damaged}
        for name, tally in parts.items():
            report[name] = {**msgspec.to_builtins(tally), "completeness": tally.completeness}
        return report


def reconcile(
    engine: Engine,
    window: Window,
    articles: Iterable[Path],
    entities: Iterable[Path] = (),
    *,
    policy: Policy = Policy.BOUNDARY,
    page_props: Iterable[PageProps] = (),
    progress: Progress = lambda _stage, _more: None,
) -> Reconciled:
    """Reconcile the window's end with the dump of that boundary.

    Repairs are committed as they are made: a second run after a kill completes the first.

    Raises:
        DumpError: a file is of another wiki or older than the boundary, before anything changes;
            or damaged: check unverified ones with :func:`check` first.
    """
    articles, entities = list(articles), list(entities)
    fitting.check(engine.config.wiki.name, articles, entities, boundary=window.end)
    pages = Census(engine, window, policy, articles=True)
    for path in articles:
        _read_pages(pages, path, progress)
    if articles:
        pages.absent(progress)
    take_page_props(engine, page_props, to_ms(window.end))
    items = Census(engine, window, policy, articles=False)
    read = [_read_entities(items, path, progress) for path in entities]
    if entities:
        items.absent(progress)
    engine.progress.reconciled[to_ms(window.start)] = str(policy)
    engine.release()
    engine.commit(sync=True)
    return Reconciled(
        window=window.name,
        policy=policy,
        pages=pages.tally(),
        entities=items.tally(),
        fetch=pages.fetch,
        damaged_lines=sum(dump.damaged_lines for dump in read),
        damaged=[place for dump in read for place in fitting.damaged(dump)],
    )


def check(articles: Iterable[Path], entities: Iterable[Path] = ()) -> None:
    """Read dumps to their end without using them, so that damage shows before any write.

    Raises:
        DumpError: a file is damaged or cut.
    """
    for path in articles:
        with xml.open(path) as dump:
            for _ in dump.pages(skip=lambda _page, _rev: True):
                pass
    for path in entities:
        with entity_dumps.open(path) as items:
            for _ in items.entities(skip=lambda _id, _rev: True):
                pass


def _read_pages(census: Census, path: Path, progress: Progress) -> None:
    engine = census.engine
    tracked = engine.context.namespaces
    with xml.open(path) as dump:
        dump.file.watch = partial(progress, ARTICLE_BYTES)
        for page in dump.pages(skip=census.known):
            progress("pages", 1)
            if (
                tracked is not None
                and page.namespace not in tracked
                and not census.has(page.page_id)
            ):
                census.other()
            elif page.revisions:
                newest = max(page.revisions, key=lambda r: (r.timestamp, r.rev_id))
                wiki, boundary = engine.config.wiki.name, census.boundary
                census.take(page.page_id, of_page(wiki, page, newest, boundary=boundary))


def _read_entities(census: Census, path: Path, progress: Progress) -> EntityDump:
    engine = census.engine
    gate = Gate(engine, to_ms(census.boundary))
    with entity_dumps.open(path) as dump:
        dump.file.watch = partial(progress, ENTITY_BYTES)
        for entity in dump.entities(skip=census.known):
            progress("entities", 1)
            if entity.id[:1] not in {"Q", "P"}:
                census.other()
                continue
            revision = of_entity(
                engine.config.wiki.repository,
                entity,
                boundary=census.boundary,
                outline=gate.outline(entity, census.held(entity.id)),
            )
            census.take(entity.id, revision)
    return dump
