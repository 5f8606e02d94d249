"""What a person would do when a window closes, done by the service.

::

    window closes ─▶ cut: v1 ─▶ dump on the site? ─▶ reconcile: v2 ─▶ late events? ─▶ v3 …
                      │                                │               text hidden? ─▶ a version
                      └──────── on_dataset("cut") ─────┴─ ("reconciled")               without it

Everything it knows it reads from the state and the folder of datasets, so that a kill at any
point leaves nothing undone. What fails is told, counted and tried again; the stream goes on.
"""

import logging
import shutil
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from stream import metrics as names
from stream.awaiting import Arrived, AwaitedDumps
from stream.clock import Clock
from stream.embedded import Contents
from stream.metrics import Metrics
from stream.settings import ServiceConfig
from twiki import suppression
from twiki.dumps.files import SourceFile
from twiki.engine import Engine
from twiki.errors import DatasetError, DumpError
from twiki.needs import Needs
from twiki.records import Policy, Window
from twiki.times import to_ms
from twiki.windows import versions
from twiki.windows.correcting import (
    correct,
    cut_again,
    is_reconciled,
    late_counts,
    withhold_published,
)
from twiki.windows.cut import Beside
from twiki.windows.publishing import RECONCILED, cut_closed, reconcile_and_cut
from twiki.windows.view import EarlierRevisions

log = logging.getLogger(__name__)

Event = Literal["cut", "reconciled", "corrected", "withdrawn"]
_META = "operator"


class Source(Contents, EarlierRevisions, Protocol):
    """Where contents and labels are had: :class:`stream.hydrate.Hydrator`."""


class Done(msgspec.Struct, kw_only=True):
    """What is dealt with, kept in the state; by start of the window."""

    late: dict[int, int] = {}
    """Late events that the current version knows."""
    looked: dict[int, int] = {}
    """Watermark at which a correction was looked for last."""


class Operator:
    """Looks after one engine's windows.

    Args:
        datasets: the folder of all datasets.
        scratch: a folder of its own.
        dumps: None: windows are not reconciled.
        on_dataset: hears of every new version; it must not raise.
        beat: called while long work goes on, with what that is.
    """

    def __init__(
        self,
        engine: Engine,
        config: ServiceConfig,
        contents: Source,
        *,
        datasets: Path,
        scratch: Path,
        clock: Clock,
        metrics: Metrics,
        dumps: AwaitedDumps | None = None,
        on_dataset: Callable[[Event, Path], None] = lambda _event, _folder: None,
        beat: Callable[[str], None] = lambda _what: None,
    ) -> None:
        self._engine = engine
        self._config = config
        self._contents = contents
        self._datasets = datasets
        self._scratch = scratch
        self._clock = clock
        self._metrics = metrics
        self._dumps = dumps
        self._on_dataset = on_dataset
        self._beat = beat
        self._beside = Beside(labels=contents)
        self._done = engine.store.meta(_META, Done) or Done()
        self._arrived: list[Arrived] = []
        self._late_seen = 0
        self._whole: set[Window] = set()
        """Reconciled windows whose dataset is known to be so too."""
        self._withheld_at: float | None = None
        self._doing = ""
        self._needs = Needs(engine, contents, beat=lambda: self._beat(self._doing))

    def closed(self, window: Window) -> None:
        """Cut a window that has just closed: its first version."""
        self._trying("cut", partial(self._complete, window), window)

    def _interrupted(self, window: Window) -> None:
        """Complete a window; where a kill came before its first cut, what that lacks is fetched."""
        if not versions.folders(self._folder(window)):
            self._needs.supply()
        self._complete(window)

    def _complete(self, window: Window) -> None:
        """Cut what a closed window still lacks."""
        if not versions.folders(self._folder(window)):
            self._cut(window)
        elif self._cut_lacks(window):
            self._cut_reconciled(window)

    def _cut(self, window: Window) -> None:
        made = cut_closed(
            self._engine, window, self._datasets, beside=self._beside, progress=self._progress
        )
        self._publish("cut", window, made.folder)

    def look(self) -> None:
        """Deal with what is due now; between two steps of the engine."""
        for window in self._closed_windows():
            self._trying("cut", partial(self._interrupted, window), window)
        self._reconcile()
        self._correct()
        self._withhold()

    @property
    def idle(self) -> bool:
        """Whether every window that has closed is cut and, where dumps are read, reconciled."""
        return not self._unreconciled() if self._dumps is not None else True

    def _reconcile(self) -> None:
        waiting = self._unreconciled()
        self._metrics.set(names.WINDOWS_OPEN, len(waiting))
        if self._dumps is None or not waiting:
            return
        for window in waiting:
            self._dumps.want(window)
        self._arrived += self._dumps.ready()
        watermark = self._engine.watermark
        due = [a for a in self._arrived if watermark is not None and watermark >= a.complete_at]
        for found in due:
            self._arrived.remove(found)
            if not self._trying("reconcile", partial(self._take, found), found.window):
                self._dumps.again(found.window)

    def _take(self, found: Arrived) -> None:
        window = found.window
        if window in self._unreconciled():
            _, made = reconcile_and_cut(
                self._engine,
                window,
                [one.path for one in found.articles],
                [one.path for one in found.entities],
                self._datasets,
                policy=Policy(self._engine.config.windows.policy),
                sources=(
                    *_described(found.articles, "articles"),
                    *_described(found.entities, "entities"),
                ),
                contents=self._contents,
                beside=self._beside,
                progress=self._progress,
            )
            self._engine.release()
            self._engine.commit(sync=True)
            self._publish("reconciled", window, made.folder)
        if not self._config.keep_dumps:
            shutil.rmtree(found.folder, ignore_errors=True)

    def _cut_lacks(self, window: Window) -> bool:
        """Whether a kill came between a reconciliation and the version that it makes."""
        if to_ms(window.start) not in self._engine.progress.reconciled:
            return False
        if window not in self._whole and is_reconciled(self._folder(window)):
            self._whole.add(window)
        return window not in self._whole

    def _cut_reconciled(self, window: Window) -> None:
        made = cut_again(
            self._engine,
            window,
            self._datasets,
            corrects=RECONCILED,
            report={"window": window.name, "report": "lost: the service was killed before its cut"},
            beside=self._beside,
            progress=self._progress,
        )
        self._publish("reconciled", window, made.folder)

    def _correct(self) -> None:
        """Late events make a new version, at most one in a time, until the window is released."""
        watermark = self._engine.watermark
        if watermark is None or self._engine.progress.late == self._late_seen:
            return
        pause = timedelta(seconds=self._config.correction_seconds)
        late, waiting = late_counts(self._engine), False
        for window in self._closed_windows():
            start = to_ms(window.start)
            count = late.get(start, 0)
            if count <= self._done.late.get(start, 0):
                continue
            if to_ms(watermark - pause) < self._done.looked.get(start, to_ms(window.end)):
                waiting = True
                continue
            self._trying("correct", partial(self._correct_one, window), window)
            self._note(start, count)
        if not waiting:
            self._late_seen = self._engine.progress.late

    def _correct_one(self, window: Window) -> None:
        made = correct(
            self._engine,
            window,
            self._datasets,
            self._scratch,
            beside=self._beside,
            progress=self._progress,
        )
        if made is not None:
            self._publish("corrected", window, made.folder)

    def _withhold(self) -> None:
        now = self._clock.monotonic()
        before = self._withheld_at
        if before is not None and now - before < self._config.suppression_seconds:
            return
        self._withheld_at = now
        if next(suppression.hidden(self._engine), None) is not None:
            self._trying("withhold", self._withhold_all)

    def _withhold_all(self) -> None:
        for folder, hidden in withhold_published(
            self._engine, self._datasets, beside=self._beside, progress=self._progress
        ):
            log.warning("event=withdrawn folder=%s revisions=%d", folder, len(hidden))
            self._metrics.add(names.DATASETS, label="withdrawn")
            self._on_dataset("withdrawn", folder)

    # --- inner ---

    def _trying(self, what: str, work: Callable[[], None], window: Window | None = None) -> bool:
        """Whether the work was done; what a later try may mend is told, and the stream goes on."""
        self._doing = f"{what} {window.name}" if window else what
        try:
            work()
        except (DumpError, DatasetError) as error:
            self._metrics.add(names.TROUBLE, label=what)
            log.error("event=%s_failed error=%r", what, str(error)[:1000])  # noqa: TRY400 - told, not traced
            return False
        return True

    def _publish(self, event: Event, window: Window, folder: Path) -> None:
        self._metrics.add(names.DATASETS, label=event)
        log.info("event=dataset why=%s window=%s folder=%s", event, window.name, folder)
        start = to_ms(window.start)
        if event != "cut":
            self._note(start, late_counts(self._engine).get(start, 0))
        self._on_dataset(event, folder)

    def _note(self, start: int, count: int) -> None:
        watermark = self._engine.watermark
        self._done.late[start] = count
        self._done.looked[start] = 0 if watermark is None else to_ms(watermark)
        self._engine.batch.put_meta(_META, self._done)
        self._engine.commit()

    def _closed_windows(self) -> list[Window]:
        closed = self._engine.progress.closed
        return [w for w in self._engine.windows() if to_ms(w.end) <= closed]

    def _unreconciled(self) -> list[Window]:
        reconciled = self._engine.progress.reconciled
        return [w for w in self._closed_windows() if to_ms(w.start) not in reconciled]

    def _folder(self, window: Window) -> Path:
        wiki = self._engine.config.wiki.name
        return versions.window_folder(self._datasets, wiki, window.name)

    def _progress(self, _stage: str, _more: int) -> None:
        self._beat(self._doing)


def _described(files: tuple[SourceFile, ...], kind: str) -> tuple[dict[str, Any], ...]:
    return tuple(
        {
            "kind": kind,
            "file": one.path.name,
            "bytes": one.bytes,
            "sha256": one.sha256,
            "verified_by": one.verified_by,
        }
        for one in files
    )
