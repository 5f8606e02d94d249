"""The undisturbed run that a soaked one is compared with: the same log, and nothing happens.

Its worker reads the same events, doubled, out of order and lost in the same places, over a
connection that never breaks, from an API that always answers, and is never killed.
"""

import shutil
from datetime import datetime
from pathlib import Path
from typing import Self

from msgspec.structs import replace

from stream.sandbox.faults import Faults
from stream.sandbox.rehearsal import settings_for
from stream.sandbox.server import SandboxServer
from stream.sandbox.world import World
from stream.settings import Settings
from stream.soak_compare import differences, meaning
from stream.soak_worker import Job
from twiki.engine import Engine
from twiki.state.rocks import RocksKeyValues
from twiki.state.store import Store

_CALM = {
    "cuts": 0,
    "cut_at": (),
    "mutes": 0,
    "refusals": 0,
    "errors": 0,
    "api_refusals": 0.0,
    "maxlag": 0.0,
    "lagging": 0.0,
}


class Twin:
    """Begins with a copy of ``state`` in ``folder``; the server runs while the context lasts.

    ``ordered``: both runs apply changes in one order and with the same contents, so that their
    feeds must be equal. Not where the stream lost something: when a backfill finds it hangs on
    kills. Nor where bursts rest: an account without a page id is always fetched, and which of
    two accounts is taken hangs on whether they came in one chunk.
    """

    def __init__(
        self, world: World, faults: Faults, state: Path, folder: Path, *, ordered: bool
    ) -> None:
        self._folder = folder
        self._ordered = ordered
        shutil.copytree(state, folder / "state")
        self._server = SandboxServer(
            world,
            faults=replace(faults, **_CALM),
            hold=True,
            heartbeat_seconds=0.2,
            grace=None,
            gated=True,
            dumps_folder=folder / "site",
        )

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def job(self, job: Job) -> Job:
        """The same job, undisturbed."""
        here = settings_for(Settings(), self._server)
        settings = replace(
            job.settings,
            stream=replace(job.settings.stream, url=here.stream.url, hosts=here.stream.hosts),
            service=replace(job.settings.service, dumps_site=self._server.dumps_url),
        )
        state, datasets = self._folder / "state", self._folder / "datasets"
        return replace(job, settings=settings, state=state, datasets=datasets, jumps=0.0)

    def against(self, engine: Engine, until: datetime) -> list[str]:
        """What state and feed of ``engine`` do not have in common with this run's, before then."""
        store = Store(RocksKeyValues(self._folder / "state" / "db"))
        try:
            ours = meaning(engine, until)
            theirs = meaning(Engine.open(store, engine.config), until)
        finally:
            store.close()
        if not self._ordered:
            del ours["feed"], theirs["feed"]
        return list(differences(ours, theirs))
