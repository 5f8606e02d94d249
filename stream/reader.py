"""From a live source to chunks: a thread reads and decodes, the engine takes what is there.

The queue between them is bounded: when the engine is slower than the source, the thread waits,
the socket's buffer fills, and the source is held back (back-pressure, never an endless queue).
"""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator

from stream.embedded import Item

_POLL_SECONDS = 0.5


class Reader:
    """Runs ``items`` in a thread and hands them out in chunks.

    Args:
        items: an endless or finite source, e.g. decoded EventStreams.
        stop: ends the source from outside; called by :meth:`close`.
        reconnect: gives up the connection at hand.
        chunk: most items in one chunk.
        waiting: most chunks' worth of items read ahead.
    """

    def __init__(
        self,
        items: Iterable[Item],
        stop: Callable[[], None],
        *,
        reconnect: Callable[[], None] = lambda: None,
        chunk: int = 200,
        waiting: int = 10,
    ) -> None:
        self.reconnect = reconnect
        self._items = items
        self._stop = stop
        self._chunk = chunk
        self._queue: queue.Queue[Item | None] = queue.Queue(chunk * waiting)
        self._error: BaseException | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._read, name="reader", daemon=True)

    def chunks(self) -> Iterator[list[Item]]:
        """Yield what has come, an empty chunk when nothing came for a while.

        Raises:
            SourceError: the source refuses us; whatever else ended the thread.
        """
        self._thread.start()
        while True:
            try:
                first = self._queue.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                yield []
                continue
            chunk, ended = [], first is None
            while first is not None:
                chunk.append(first)
                if len(chunk) == self._chunk:
                    break
                try:
                    first = self._queue.get_nowait()
                except queue.Empty:
                    break
                ended = first is None
            if chunk:
                yield chunk
            if ended:
                break
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """End the source and the thread; what waits in the queue is dropped, unapplied."""
        self._closed.set()
        self._stop()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    def _read(self) -> None:
        try:
            for item in self._items:
                self._put(item)
                if self._closed.is_set():
                    return
        except BaseException as error:  # noqa: BLE001 - handed to the engine's thread as it is
            self._error = error
        self._put(None)

    def _put(self, item: Item | None) -> None:
        while not self._closed.is_set():
            try:
                self._queue.put(item, timeout=_POLL_SECONDS)
            except queue.Full:
                continue
            return
