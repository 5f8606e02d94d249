"""Fetching dumps: resumable, checksummed, at most two files at a time.

A file grows as ``<name>.part`` and takes its name only when it is whole and verified, so a
folder never holds a half of one; an interrupted download goes on where it stopped. Trouble on
the way (a cut, 429, 5xx) is waited out as the server asks; what a wait cannot mend is a
:class:`~twiki.errors.SourceError`.
"""

import os
import random
import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path

import msgspec
import requests
from urllib3.exceptions import HTTPError

from stream.backoff import Backoff, retry_after
from stream.clock import Clock
from stream.settings import StreamConfig, require_contact, user_agent
from twiki.dumps.files import SourceFile, open_dump, verify
from twiki.errors import ChecksumError, DumpError, SourceError
from twiki.records import Record

CONNECTIONS = 2
"""Wikimedia asks for no more than three an address; one is left to the user's browser."""
_PIECE = 1 << 18
_SMALL = 64 << 20
"""Bound of a listing, status file or list of checksums."""
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
_RANGE_NOT_SATISFIABLE = 416
_NAP_SECONDS = 1.0
"""A wait looks up so often whether the download has ended elsewhere."""

Progress = Callable[[str, int, int | None], None]
"""(name, bytes of the file so far, of how many)."""


class RemoteFile(Record, frozen=True, kw_only=True):
    """A file of a dump, where it lies and what is published about it."""

    name: str
    url: str
    size: int | None = None
    checksum: str | None = None


class _TryAgainError(Exception):
    """A failure that a wait may mend."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class Downloads:
    """Polite HTTP for one site."""

    def __init__(self, config: StreamConfig, clock: Clock, chance: random.Random) -> None:
        self._config = config
        self._clock = clock
        self._backoff = Backoff(config, chance)
        self._session = requests.Session()
        # Dumps are compressed themselves; an encoding on top would break ranges.
        headers = {"User-Agent": user_agent(config), "Accept-Encoding": "identity"}
        self._session.headers.update(headers)

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def small(self, url: str) -> bytes | None:
        """Return the body at ``url``; None: there is none (404).

        Raises:
            ConfigError: the host wants a contact and there is none.
            SourceError: it cannot be had.
        """
        require_contact(self._config, url)
        for attempt in range(self._config.attempts):
            try:
                return self._small(url)
            except _TryAgainError as error:
                self._wait(url, attempt, error, threading.Event())
        raise SourceError(f"{url}: given up")

    def files(
        self,
        files: Sequence[RemoteFile],
        folder: Path,
        progress: Progress | None = None,
    ) -> list[SourceFile]:
        """Fetch ``files`` into ``folder``, two at a time; those that are there are verified.

        Raises:
            ConfigError: the host wants a contact and there is none.
            SourceError: a file cannot be had.
            DumpError: a file is not what is published about it, or the disk has no room.
        """
        for file in files:
            require_contact(self._config, file.url)
        folder.mkdir(parents=True, exist_ok=True)
        _check_room(files, folder)
        ended = threading.Event()
        with ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="download") as pool:
            running = [
                pool.submit(self._file, file, folder, progress or _silent, ended) for file in files
            ]
            try:
                return [future.result() for future in running]
            finally:  # after the first failure or Ctrl-C the others stop at their next piece
                ended.set()
                for future in running:
                    future.cancel()

    def _small(self, url: str) -> bytes | None:
        limits = (self._config.connect_seconds, self._config.read_seconds)
        try:
            with self._session.get(url, timeout=limits, stream=True) as answer:
                if answer.status_code == HTTPStatus.NOT_FOUND:
                    return None
                self._check(url, answer)
                body = b""
                for piece in answer.iter_content(_PIECE):
                    body += piece
                    if len(body) > _SMALL:
                        raise SourceError(f"{url}: expected a short list, found over {_SMALL:,} B")
                return body
        except (requests.RequestException, HTTPError) as error:
            raise _TryAgainError(str(error)) from error

    def _file(
        self,
        file: RemoteFile,
        folder: Path,
        progress: Progress,
        ended: threading.Event,
    ) -> SourceFile:
        final = folder / file.name
        if final.exists():
            try:
                return verify(final, file.checksum)
            except ChecksumError:
                pass  # of another run, or damaged: fetched anew and replaced
        part = final.with_name(file.name + ".part")
        resumed = part.exists()
        self._fill(file, part, progress, ended)
        try:
            source = verify(part, file.checksum)
        except ChecksumError:
            part.unlink()
            if not resumed:
                raise
            # What was resumed may have been of a run that was repeated since.
            self._fill(file, part, progress, ended)
            source = verify(part, file.checksum)
        open_dump(part).close()
        part.replace(final)
        return msgspec.structs.replace(source, path=final)

    def _fill(
        self,
        file: RemoteFile,
        part: Path,
        progress: Progress,
        ended: threading.Event,
    ) -> None:
        attempt = 0
        while True:
            before = _size(part)
            try:
                self._once(file, part, progress, ended)
            except _TryAgainError as error:
                if _size(part) > before:
                    attempt = 0
                self._wait(file.url, attempt, error, ended)
                attempt += 1
            else:
                return

    def _once(
        self,
        file: RemoteFile,
        part: Path,
        progress: Progress,
        ended: threading.Event,
    ) -> None:
        """Ask for what is missing of ``part`` and append it."""
        have = _size(part)
        if file.size is not None and have >= file.size:
            if have == file.size:
                return
            part.unlink()
            have = 0
        headers = {"Range": f"bytes={have}-"} if have else {}
        limits = (self._config.connect_seconds, self._config.read_seconds)
        try:
            with self._session.get(
                file.url, headers=headers, timeout=limits, stream=True
            ) as answer:
                if answer.status_code == _RANGE_NOT_SATISFIABLE and have:
                    if answer.headers.get("Content-Range", "").endswith(f"/{have}"):
                        return
                    part.unlink()
                    raise _TryAgainError("the file has changed")
                self._check(file.url, answer)
                if "html" in answer.headers.get("Content-Type", ""):
                    raise SourceError(f"{file.url}: expected a file, found an HTML page")
                if not _continues(answer, have):
                    have = 0
                self._append(file, part, have, answer, progress, ended)
        except (requests.RequestException, HTTPError) as error:
            raise _TryAgainError(str(error)) from error

    def _append(
        self,
        file: RemoteFile,
        part: Path,
        have: int,
        answer: requests.Response,
        progress: Progress,
        ended: threading.Event,
    ) -> None:
        length = answer.headers.get("Content-Length", "")
        total = have + int(length) if length.isdigit() else file.size
        try:
            with part.open("ab" if have else "wb") as target:
                # Undecoded: some servers call a .gz file an encoding.
                for piece in answer.raw.stream(_PIECE, decode_content=False):
                    target.write(piece)
                    have += len(piece)
                    progress(file.name, have, total)
                    if ended.is_set() or self._clock.stopped:
                        raise SourceError(f"{file.name}: interrupted; the same command resumes it")
                target.flush()
                os.fsync(target.fileno())
        except (requests.RequestException, HTTPError):
            raise
        except OSError as error:
            raise DumpError(f"{part}: cannot be written: {error.strerror}") from error
        if file.size is not None and have < file.size:
            raise _TryAgainError(f"ended after {have:,} of {file.size:,} bytes")

    def _check(self, url: str, answer: requests.Response) -> None:
        status = answer.status_code
        if status in _TRANSIENT:
            wait = retry_after(answer.headers, self._clock.now())
            raise _TryAgainError(f"answered {status}", wait)
        if status not in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
            raise SourceError(f"{url}: expected a file, found status {status} {answer.reason}")

    def _wait(self, url: str, attempt: int, error: _TryAgainError, ended: threading.Event) -> None:
        if attempt + 1 >= self._config.attempts:
            raise SourceError(f"{url}: given up after {attempt + 1} tries: {error}") from error
        left = self._backoff.delay(attempt, error.wait)
        while left > 0 and not ended.is_set():
            self._clock.sleep(min(left, _NAP_SECONDS))
            left -= _NAP_SECONDS
        if ended.is_set() or self._clock.stopped:
            raise SourceError(f"{url}: interrupted") from error


def _continues(answer: requests.Response, have: int) -> bool:
    """Whether the answer goes on after ``have`` bytes; else it is the whole file."""
    if answer.status_code != HTTPStatus.PARTIAL_CONTENT:
        return False
    span = answer.headers.get("Content-Range", "")
    if not span.startswith(f"bytes {have}-"):
        raise SourceError(f"{answer.url}: asked for bytes from {have}, found {span!r}")
    return True


def _check_room(files: Sequence[RemoteFile], folder: Path) -> None:
    needed = sum(
        (file.size or 0) - _size(folder / f"{file.name}.part")
        for file in files
        if not (folder / file.name).exists()
    )
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise DumpError(
            f"{folder}: {needed:,} bytes are to come, the disk has room for {free:,}: make room"
        )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _silent(_name: str, _have: int, _total: int | None) -> None:
    pass
