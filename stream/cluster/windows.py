"""Windows of the cluster: filled from dumps, cut, reconciled, announced.

The core's own functions do the work on the gathered state (:mod:`stream.cluster.changelogs`).
What they repair goes to the workers too, as Revisions in ``revisions-*``, so that the next cut
begins from the repaired state.
"""

from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

import kafka
from kafka.errors import KafkaError

from stream.cluster.changelogs import Gathered
from stream.cluster.client import meaning, producer
from stream.settings import KafkaConfig, Settings
from stream.topics import (
    ReconciledRecord,
    RevisionRecord,
    TitleRecord,
    Topic,
    WindowRecord,
    encode,
    name_of,
    page_key,
    partition_of,
    revision_key,
    title_key,
)
from twiki import engine as engines
from twiki.apply import Applied
from twiki.engine import Engine, find_window
from twiki.errors import SourceError, UsageError
from twiki.needs import Needs, RevisionsById
from twiki.records import Policy, Revision, Window
from twiki.state.kv import MemoryKeyValues
from twiki.state.layout import Id
from twiki.state.store import Store
from twiki.times import to_ms
from twiki.windows import calendar
from twiki.windows.bootstrap import Bootstrapped, bootstrap
from twiki.windows.cut import NOTHING, Beside, CutReport, cut
from twiki.windows.dataset import Run
from twiki.windows.publishing import reconcile_and_cut
from twiki.windows.reconcile import Progress, Reconciled

SOURCE = "kafka"


def _silent(_stage: str, _more: int) -> None:
    """No display."""


class Publisher:
    """Sends revisions to the workers; leaving the context waits for every acknowledgement."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._config: KafkaConfig = settings.kafka
        self._producer: kafka.KafkaProducer = producer(settings.kafka)
        self._waiting: list[kafka.future.Future] = []
        self.count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._producer.close(timeout=10)

    def revision(
        self, page: Id, revision: Revision, *, first: int, closed: int, supplied: bool = False
    ) -> None:
        """Send one; what is above the limit of a record goes without its content."""
        wiki = self._settings.wiki
        key = page_key(wiki.name if isinstance(page, int) else wiki.repository, page)
        told = RevisionRecord(
            revision=revision, first=first, closed=closed, page=page, supplied=supplied
        )
        topic = Topic.PAGES if isinstance(page, int) else Topic.ENTITIES
        number = partition_of(key, self._config.partitions)
        own = revision_key(key, revision, supplied=supplied)
        self._send(topic, own, encode(told), number)
        self.count += 1

    def title(self, page: Id, revision: Revision) -> None:
        """Send which page bears a title: what the log of an event does not say."""
        title = revision.change.title
        if isinstance(page, int) and title:
            key = title_key(self._settings.wiki.name, title)
            number = partition_of(key, self._config.partitions)
            self._send(Topic.TITLES, key, encode(TitleRecord(page=page)), number)

    def reconciled(self, window: Window, policy: Policy, first: int) -> str:
        """Tell every partition that a window's corrections are complete; the run's name."""
        self.acknowledged()
        name = f"{window.name}|{policy}|{self.count}".encode()
        run = blake2b(name, digest_size=8).hexdigest()
        record = ReconciledRecord(
            start=to_ms(window.start),
            end=to_ms(window.end),
            run=run,
            count=self.count,
            policy=str(policy),
            first=first,
        )
        for topic in (Topic.PAGES, Topic.ENTITIES):
            for number in range(self._config.partitions):
                key = f"!reconciled/{record.start}".encode()
                self._send(topic, key, encode(record), number)
        self.acknowledged()
        return run

    def announce(self, event: str, window: str, report: CutReport | None = None) -> None:
        """Tell the listeners of a window."""
        record = WindowRecord(
            event=event,
            window=window,
            wiki=self._settings.wiki.name,
            version=None if report is None else report.version,
            folder=None if report is None else str(report.folder),
        )
        key = f"{window}/{record.version}".encode()
        self._send(Topic.WINDOWS, key, encode(record), partition_of(key, self._config.partitions))
        self.acknowledged()

    def acknowledged(self) -> None:
        """Wait for every answer.

        Raises:
            SourceError: a broker does not take what was sent.
        """
        try:
            self._producer.flush(timeout=120)
            waiting, self._waiting = self._waiting, []
            for future in waiting:
                future.get(timeout=60)
        except KafkaError as error:
            raise meaning(error, self._config) from error

    def _send(self, topic: Topic, key: bytes, value: bytes, number: int) -> None:
        try:
            self._waiting.append(
                self._producer.send(
                    name_of(topic, self._config), key=key, value=value, partition=number
                )
            )
        except KafkaError as error:
            raise meaning(error, self._config) from error
        if len(self._waiting) >= _IN_FLIGHT:
            self.acknowledged()


_IN_FLIGHT = 2000


class PublishingEngine(Engine):
    """An engine over the gathered state whose corrections go to the workers too."""

    publisher: Publisher

    def apply(self, revision: Revision, key: Id | None = None) -> Applied | None:
        """Apply here, and send."""
        key = self.key_of(revision) if key is None else key
        if key is not None:
            self._publish(key, revision)
        return super().apply(revision, key)

    def supply(self, key: Id, revision: Revision) -> Applied:
        """Supply here, and send."""
        self._publish(key, revision, supplied=True)
        return super().supply(key, revision)

    def _publish(self, key: Id, revision: Revision, *, supplied: bool = False) -> None:
        first, closed = self.progress.first, self.progress.closed
        self.publisher.revision(
            key, revision, first=first, closed=0 if supplied else closed, supplied=supplied
        )


class _Seeding(PublishingEngine):
    """Sends only: nothing is kept here."""

    def apply(self, revision: Revision, key: Id | None = None) -> Applied | None:
        key = self.key_of(revision) if key is None else key
        if key is not None:
            self._publish(key, revision)
            self.publisher.title(key, revision)
        return None


def fill(
    settings: Settings,
    as_of: datetime,
    articles: Sequence[Path],
    entities: Sequence[Path],
    *,
    progress: Progress = _silent,
) -> Bootstrapped:
    """Send the dumps of a boundary to the workers: where every state begins.

    Raises:
        DumpError: a file is damaged.
        SourceError: no broker answers, or it refuses us.
    """
    made = engines.Progress(
        wiki=settings.wiki.name, repository=settings.wiki.repository, first=to_ms(as_of)
    )
    with Publisher(settings) as publisher:
        engine = _Seeding(Store(MemoryKeyValues()), settings, made)
        engine.publisher = publisher
        done = bootstrap(engine, articles, entities, progress=progress)
        publisher.acknowledged()
    return done


def cut_window(
    settings: Settings,
    found: Gathered,
    name: str,
    root: Path,
    *,
    corrections: bool = False,
    contents: RevisionsById | None = None,
    beside: Beside = NOTHING,
    progress: Progress = _silent,
) -> CutReport:
    """Cut a window that has closed in every partition, and announce the dataset.

    Args:
        corrections: with what arrived after the window closed.
        contents: fetches revisions that the workers still lack; None: they are counted.
        beside: what the cut may use beside the state.

    Raises:
        UsageError: the window has not closed everywhere, or the one before is not reconciled
            everywhere under policy ``dump``.
    """
    engine = Engine.open(found.store, settings)
    window = _closed_window(engine, found, name)
    policy = Policy(settings.windows.policy)
    _check_before(found, engine, window, policy)
    if contents is not None:
        Needs(engine, contents).supply()
    start = to_ms(window.start)
    reconciled = found.reconciled(start)
    known = None if corrections or reconciled else start
    report = cut(
        engine.as_of(known=known, pins=window if policy is Policy.DUMP and reconciled else None),
        window,
        settings,
        root,
        run=Run(engine=SOURCE, policy=policy, details=_details(engine)),
        corrects="late events" if corrections else "",
        beside=beside,
        progress=progress,
    )
    with Publisher(settings) as publisher:
        publisher.announce("dataset", window.name, report)
    return report


def reconcile_window(
    settings: Settings,
    found: Gathered,
    name: str,
    articles: Sequence[Path],
    entities: Sequence[Path],
    root: Path,
    *,
    sources: tuple[dict[str, Any], ...] = (),
    contents: RevisionsById | None = None,
    beside: Beside = NOTHING,
    progress: Progress = _silent,
) -> tuple[Reconciled, CutReport]:
    """Reconcile a closed window, repair the workers' state, cut, and announce the dataset.

    Raises:
        DumpError: a dump is damaged.
        UsageError: the window has not closed everywhere.
    """
    made = engines.read_progress(found.store)
    if made is None:
        raise SourceError("the changelogs hold no state yet")
    engine = PublishingEngine(found.store, settings, made)
    window = _closed_window(engine, found, name)
    policy = Policy(settings.windows.policy)
    _check_before(found, engine, window, policy)
    with Publisher(settings) as publisher:
        engine.publisher = publisher
        first = engine.progress.first
        report, written = reconcile_and_cut(
            engine,
            window,
            articles,
            entities,
            root,
            policy=policy,
            sources=sources,
            contents=contents,
            beside=beside,
            progress=progress,
            source=SOURCE,
        )
        publisher.reconciled(window, policy, first)
        publisher.announce("dataset", window.name, written)
    return report, written


def _closed_window(engine: Engine, found: Gathered, name: str) -> Window:
    window = calendar.parse(name)
    behind = found.open_in(window)
    if behind:
        raise UsageError(
            f"window {name} has not closed in {len(behind)} of {len(found.partitions)} partitions "
            f"({', '.join(behind[:4])} …): wait until the workers have caught up with its close"
        )
    return find_window(engine, name)


def _check_before(found: Gathered, engine: Engine, window: Window, policy: Policy) -> None:
    before = calendar.preceding(window)
    start = to_ms(before.start)
    if policy is Policy.DUMP and start >= engine.progress.first and not found.reconciled(start):
        raise UsageError(
            f"under policy dump {before.name} must be reconciled in every partition before "
            f"{window.name} is cut: `twiki window reconcile {before.name} --kafka …`"
        )


def _details(engine: Engine) -> dict[str, Any]:
    return {"watermarks": dict(sorted(engine.progress.watermarks.items()))}
