"""Cleaning under a bound of time and memory, in a worker that is killed when it breaks it.

Cleaning is linear and its depth bounded, so ordinary blocks are cleaned where they are. A
block that is unusual (long, or dense in markup) goes to a worker process with a limit on
its memory; one that outstays ``max_block_seconds`` is killed, and the next block gets a new
worker. The page that broke the bound is told by :class:`~twiki.errors.CleanError`; the
others go on. Example::

    with Guard(SiteInfo.english(), TextConfig()) as guard:
        guard.block("{{a|" * 8000)
"""

import multiprocessing
import resource
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from twiki.closing import Closing
from twiki.config import TextConfig
from twiki.errors import CleanError
from twiki.records import CleanBlock
from twiki.text.blocks import split
from twiki.text.clean import Cleaner
from twiki.text.siteinfo import SiteInfo

UNUSUAL_LENGTH = 100_000
UNUSUAL_MARKUP = 4_000
"""Characters, or openings of templates and links, from which a block goes to the worker."""

_REMEMBERED = 100
"""Broken blocks kept in mind; each may be a page long."""
_OUT_OF_MEMORY = "memory"


class Guard(Closing):
    """A cleaner of one wiki's blocks that no block can stop. Use as a context manager."""

    def __init__(self, site: SiteInfo, config: TextConfig, wiki: str = "enwiki") -> None:
        self._cleaner = Cleaner(site, config, wiki)
        self._made_of = (site, config, wiki)
        self._config = config
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._broken: dict[str, CleanBlock] = {}

    def block(self, block: str) -> CleanBlock:
        """The prose of one block.

        Raises:
            CleanError: the block took more time or memory than the settings allow.
        """
        if len(block) < UNUSUAL_LENGTH and (
            len(block) < UNUSUAL_MARKUP or block.count("{{") + block.count("[[") < UNUSUAL_MARKUP
        ):
            return self._cleaner.block(block)
        return self._apart(block)

    def prose(self, block: str) -> CleanBlock:
        """The prose of one block; of one that breaks its bound none, and the reason.

        Such a block costs its bound once: later calls remember it.
        """
        if block in self._broken:
            return self._broken[block]
        try:
            return self.block(block)
        except CleanError as error:
            if len(self._broken) >= _REMEMBERED:
                self._broken.clear()
            self._broken[block] = CleanBlock(broken=str(error))
            return self._broken[block]

    def article(self, text: str) -> list[CleanBlock]:
        """The prose of a page, block by block.

        Raises:
            CleanError: the page is larger than ``max_page_bytes``, or one block breaks its bound.
        """
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > self._config.max_page_bytes:
            raise CleanError(
                f"page of {size:,} bytes: more than max_page_bytes = "
                f"{self._config.max_page_bytes:,}; raise it in [text] or leave the page out"
            )
        return [self.block(block) for block in split(text)]

    def close(self) -> None:
        """End the worker, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
            self._process = None
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None

    def _apart(self, block: str) -> CleanBlock:
        seconds, megabytes = self._config.max_block_seconds, self._config.max_block_megabytes
        pipe = self._pipe or self._start()
        try:
            pipe.send(block)
            answer = pipe.recv() if pipe.poll(seconds) else None
        except (EOFError, ConnectionError):
            answer = _OUT_OF_MEMORY
        if isinstance(answer, CleanBlock):
            return answer
        self.close()
        broken = f"more than {seconds} s" if answer is None else f"more than {megabytes} MB"
        raise CleanError(
            f"block of {len(block):,} characters starting {block[:40]!r} took {broken} to clean; "
            f"raise max_block_seconds or max_block_megabytes in [text], or leave the page out"
        )

    def _start(self) -> Connection:
        # spawn: a forked child would share the locks and threads of RocksDB and of torch
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        limit = self._config.max_block_megabytes << 20
        self._process = context.Process(
            target=_serve, args=(theirs, limit, *self._made_of), daemon=True
        )
        self._process.start()
        theirs.close()
        if self._pipe.poll(None):  # it says when it is ready: its start is not the block's time
            self._pipe.recv()
        return self._pipe


def _serve(pipe: Connection, memory: int, site: SiteInfo, config: TextConfig, wiki: str) -> None:
    """The worker: clean what comes, until the pipe closes."""
    cleaner = Cleaner(site, config, wiki)
    cleaner.block("'''Warm''' [[up]].")
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    bound = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
    pipe.send("ready")
    while True:
        try:
            answer: CleanBlock | str = cleaner.block(pipe.recv())
        except EOFError:
            return
        except MemoryError:
            answer = _OUT_OF_MEMORY
        pipe.send(answer)
