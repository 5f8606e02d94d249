"""One HTTP connection to the event source, and what can go wrong with it.

:class:`Connection` is what :mod:`stream.eventstreams` wants of it; tests bring their own, which
cut, stall and refuse on cue.
"""

from collections.abc import Mapping
from typing import Protocol

import requests
from urllib3.exceptions import HTTPError, ReadTimeoutError

from stream.settings import StreamConfig

READ_BYTES = 1 << 16


class Cut(Exception):
    """The connection ended; ``cause`` is the label of its counter."""

    def __init__(self, cause: str, detail: str = "", wait: float | None = None) -> None:
        super().__init__(detail or cause)
        self.cause = cause
        self.wait = wait


class Connection(Protocol):
    """An answered request whose body is read as it comes."""

    @property
    def status(self) -> int:
        """HTTP status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Header fields."""

    def read(self) -> bytes:
        """What has come, decompressed; waits for at least a byte; empty at the end.

        Raises:
            Cut: silence for too long, or a broken connection.
        """

    def interrupt(self) -> None:
        """End a :meth:`read` that is waiting, from another thread or a signal handler."""

    def close(self) -> None:
        """Give the socket back."""


class Connect(Protocol):
    """Opens a connection."""

    def __call__(
        self, url: str, params: Mapping[str, str], headers: Mapping[str, str]
    ) -> Connection:
        """Send the request and read the head of the answer.

        Raises:
            Cut: nobody answered.
        """


class RequestsConnection:
    """A connection by requests."""

    def __init__(self, answer: requests.Response) -> None:
        self._answer = answer

    @property
    def status(self) -> int:
        """HTTP status."""
        return self._answer.status_code

    @property
    def headers(self) -> Mapping[str, str]:
        """Header fields."""
        return self._answer.headers

    def read(self) -> bytes:
        """What has come; ``read1`` gives a small event at once instead of filling a buffer."""
        try:
            data: bytes = self._answer.raw.read1(READ_BYTES, decode_content=True)
        except (ReadTimeoutError, TimeoutError) as error:
            raise Cut("timeout", str(error)) from error
        except (HTTPError, OSError, ValueError) as error:
            # ValueError: a chunk header that is none, or a read after close.
            raise Cut("broken", str(error)) from error
        return data

    def interrupt(self) -> None:
        """Shut the socket for reading."""
        try:
            self._answer.raw.shutdown()
        except (OSError, ValueError, RuntimeError):
            return  # closed already

    def close(self) -> None:
        """Give the socket back."""
        self._answer.close()


def connector(config: StreamConfig) -> Connect:
    """Open connections by requests, a fresh one each time."""

    def connect(
        url: str, params: Mapping[str, str], headers: Mapping[str, str]
    ) -> RequestsConnection:
        limits = (config.connect_seconds, config.read_seconds)
        try:
            answer = requests.get(
                url, params=dict(params), headers=dict(headers), stream=True, timeout=limits
            )
        except requests.Timeout as error:
            raise Cut("timeout", str(error)) from error
        except requests.RequestException as error:
            raise Cut("unreachable", str(error)) from error
        return RequestsConnection(answer)

    return connect
