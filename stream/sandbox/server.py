"""Wikimedia in a box: a little world behind the protocols of the real one.

::

    with SandboxServer(world) as server:
        server.url          # http://127.0.0.1:40123
        server.stream_url   # …/v2/stream                          + /mediawiki.recentchange,…
        server.api_url      # …/w/api.php                          ?wiki=enwiki | wikidatawiki
        server.dumps_url    # …/dumps
        server.wiki_url("enwiki")   # …/enwiki                     + /w/api.php

One host plays all of Wikimedia's: each wiki is also there under a path of its own
(``/enwiki/w/api.php``, ``/wikidatawiki/wiki/Special:EntityData/Q1.json``), so that a client's
base address of a wiki needs no parameter. ``/books/<window>.json`` is what only a sandbox has:
what is true of a window. It listens on loopback alone.
"""

import tempfile
import threading
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

from stream.sandbox import dumps_site, streams
from stream.sandbox.connection import Pace
from stream.sandbox.dumps_site import DumpsSite
from stream.sandbox.faults import Faults
from stream.sandbox.http import Request
from stream.sandbox.listener import Listener
from stream.sandbox.log import build
from stream.sandbox.model import WikiWorld
from stream.sandbox.routes import Site
from stream.sandbox.sse import IdKind
from stream.sandbox.streams import Streams, Wire
from stream.sandbox.view import View, first_seen, openly_hidden, pages_of_actions

POLL_SECONDS = 0.05


def grace_at(rate: float | None) -> timedelta | None:
    """The grace with which every reader comes to the same result.

    At full speed months pass between an event and its reader's question, so what could be read
    once stays readable by its id; at a rate a day of the world's time is enough.
    """
    return None if rate is None else timedelta(days=1)


class SandboxServer:
    """The server, in threads of this process. Leaving the context stops it.

    Args:
        world: what there is to serve.
        rate: messages a second and reader; None: as fast as they are read. Content is the same.
        faults: what goes wrong; by default nothing.
        port: 0 takes a free one.
        hold: keep the stream open after its last message with a canary now and then, as the
            real one goes on for ever; otherwise it ends there, in order.
        ids: whether SSE ids name timestamps, as in production, or offsets.
        gzip_stream: compress the stream for readers that accept it.
        chunk_bytes: size of the stream's HTTP chunks; None: as it comes.
        content_type: of the stream; the real one names no charset.
        grace: how long the API still tells a revision by its id after it was deleted or
            hidden, in the world's time; None: always (see :mod:`stream.sandbox.view`). With
            0 a reader at full speed finds much of it gone: see :func:`grace_at`.
        retention: how far back, before now, the stream can be read; None: to the beginning.
        gated: a dump run can be read only from the moment when it is complete.
        connection_limit: concurrent streams of one reader; more get 429.
        dumps_folder: where dump files are written; by default a temporary folder.
    """

    def __init__(
        self,
        world: WikiWorld,
        *,
        rate: float | None = None,
        faults: Faults | None = None,
        port: int = 0,
        hold: bool = False,
        heartbeat_seconds: float = 5.0,
        ids: IdKind = "timestamp",
        gzip_stream: bool = False,
        chunk_bytes: int | None = None,
        content_type: str = "text/event-stream",
        grace: timedelta | None = timedelta(0),
        retention: timedelta | None = None,
        gated: bool = False,
        connection_limit: int | None = None,
        dumps_folder: Path | None = None,
    ) -> None:
        self.world = world
        faults = faults or Faults()
        self._grace = grace
        self._seen = first_seen(world)
        self._openly_hidden = openly_hidden(world)
        self._pages_of_actions = pages_of_actions(world)
        self._temporary = tempfile.TemporaryDirectory(prefix="sandbox-dumps-")
        self.streams = Streams(
            build(world.events, start=world.boundaries[0], end=world.now, faults=faults),
            faults,
            start=world.boundaries[0],
            pace=Pace(rate=rate, hold=hold, heartbeat_seconds=heartbeat_seconds),
            wire=Wire(
                ids=ids, gzip=gzip_stream, chunk_bytes=chunk_bytes, content_type=content_type
            ),
            retention=retention,
            connection_limit=connection_limit,
        )
        folder = dumps_folder or Path(self._temporary.name)
        dumps = DumpsSite(world, folder, lambda: self.now, gated=gated)
        self._listener = Listener(port, Site(lambda: self.view, dumps, faults), self.streams)
        self._thread = threading.Thread(
            target=self._listener.serve_forever, args=(POLL_SECONDS,), daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def serve_forever(self) -> None:
        """Serve in this thread, until :meth:`close` is called elsewhere or a signal raises."""
        self._listener.serve_forever(POLL_SECONDS)

    def close(self) -> None:
        """Stop serving, end all connections, remove the temporary folder."""
        self.streams.stopping.set()
        if self._thread.is_alive():
            self._listener.shutdown()
            self._thread.join()
        self._listener.hang_up()
        self._listener.server_close()
        self._temporary.cleanup()

    @property
    def requests(self) -> tuple[Request, ...]:
        """The newest requests, oldest first."""
        return tuple(self._listener.requests)

    @property
    def url(self) -> str:
        """Base address."""
        return f"http://127.0.0.1:{self._listener.server_address[1]}"

    @property
    def stream_url(self) -> str:
        """Address of the streams, without their names."""
        return self.url + streams.PREFIX

    @property
    def api_url(self) -> str:
        """Address of the action API; the wiki goes into ``wiki=``."""
        return self.url + "/w/api.php"

    @property
    def dumps_url(self) -> str:
        """Address of the dumps site."""
        return self.url + dumps_site.PREFIX

    def wiki_url(self, wiki: str) -> str:
        """What stands for ``https://en.wikipedia.org`` or ``https://www.wikidata.org``."""
        return f"{self.url}/{wiki}"

    @property
    def now(self) -> datetime:
        """The arrival time of the newest event served; before any, the world's beginning."""
        return self.streams.now

    @property
    def view(self) -> View:
        """The world at :attr:`now`."""
        return View(
            world=self.world,
            now=self.now,
            seen=self._seen,
            grace=self._grace,
            openly_hidden=self._openly_hidden,
            pages_of_actions=self._pages_of_actions,
        )
