"""Log lines that programs read too: one JSON object a line on standard error.

::

    {"time":"2026-11-05T12:00:00.123Z","level":"warning","logger":"stream.vitals",
     "event":"kind_silent","message":"event=kind_silent kind=enwiki/restore …"}
"""

import logging
import re
from datetime import UTC, datetime

import msgspec

_EVENT = re.compile(r"event=(\w+)")


class JsonLines(logging.Formatter):
    """A record as JSON; ``event`` is taken out of the message, the exception stands whole."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        message = record.getMessage()
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {
            "time": time.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message,
        }
        if found := _EVENT.match(message):
            line["event"] = found[1]
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


def to_stderr(*, as_json: bool, level: int = logging.INFO) -> None:
    """Send all records to standard error, as JSON or as plain lines for people."""
    handler = logging.StreamHandler()
    plain = logging.Formatter("%(asctime)s %(levelname)-7s %(message)s")
    handler.setFormatter(JsonLines() if as_json else plain)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
