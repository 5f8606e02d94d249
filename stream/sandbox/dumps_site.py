"""The dumps site: the files of :mod:`stream.sandbox.dump_files` under ``/dumps/``.

A run is written when somebody first asks for its date. With ``gated`` a run that is not
complete at the sandbox's now shows only a ``dumpstatus.json`` that says so, as a reader that
polls for it would find it; the run of the first boundary is always there, to start from.
"""

import re
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from stream.sandbox.dump_files import write_dumps
from stream.sandbox.http import (
    Request,
    Response,
    file_response,
    json_response,
    listing,
    not_found,
)
from stream.sandbox.model import ENWIKI, WikiWorld

PREFIX = "/dumps"
_DAY = re.compile(r"/(\d{4})-?(\d\d)-?(\d\d)(?:/|$)")


class DumpsSite:
    """Answers to requests below ``/dumps/``."""

    def __init__(
        self, world: WikiWorld, folder: Path, now: Callable[[], datetime], *, gated: bool = False
    ) -> None:
        self._world = world
        self._folder = folder
        self._now = now
        self._gated = gated
        self._written: set[datetime] = set()
        self._lock = threading.Lock()

    def answer(self, request: Request) -> Response:
        """A file, a folder's list, or 404; nothing outside the folder."""
        path = request.path.removeprefix(PREFIX)
        parts = [part for part in path.split("/") if part]
        if ".." in parts or "\0" in path:
            return not_found(request.path)
        matched = _DAY.search(path)
        boundary = self._boundary("".join(matched.groups())) if matched else None
        if matched and boundary is None:
            return not_found(request.path)
        for each in self._world.boundaries:
            if boundary in (None, each) and self._is_complete(each):
                self._write(each)
        if boundary is not None and not self._is_complete(boundary):
            return self._incomplete(request, parts, boundary)
        target = self._folder.joinpath(*parts)
        if target.is_dir():
            names = [entry.name + "/" * entry.is_dir() for entry in target.iterdir()]
            return listing(request.path, ["../", *sorted(names)])
        if not target.is_file():
            return not_found(request.path)
        modified = self._world.dump_complete(boundary or self._world.boundaries[0])
        return file_response(target, request, modified)

    def _boundary(self, day: str) -> datetime | None:
        for boundary in self._world.boundaries:
            if f"{boundary:%Y%m%d}" == day:
                return boundary
        return None

    def _is_complete(self, boundary: datetime) -> bool:
        if not self._gated or boundary == self._world.boundaries[0]:
            return True
        return self._now() >= self._world.dump_complete(boundary)

    def _write(self, boundary: datetime) -> None:
        with self._lock:
            if boundary not in self._written:
                write_dumps(self._world, boundary, self._folder)
                self._written.add(boundary)

    def _incomplete(self, request: Request, parts: list[str], boundary: datetime) -> Response:
        running = self._now() >= boundary
        status_file = [ENWIKI, f"{boundary:%Y%m%d}", "dumpstatus.json"]
        if parts != status_file or not running:
            return not_found(request.path)
        jobs = ("articlesdump", "pagepropstable", "redirecttable")
        status = {job: {"status": "in-progress", "updated": "", "files": {}} for job in jobs}
        return json_response({"version": "0.8", "jobs": status})
