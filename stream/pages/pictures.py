"""Pictures of the pages for ``docs/pages.md``: chromium without a window, a file a page.

::

    twiki demo && twiki serve --state demo/state --datasets demo/datasets &
    python -m stream.pages.pictures http://127.0.0.1:8600 docs/pages
"""

import json
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote

from stream.pages.reading import object_digest
from twiki.errors import EngineError, TwikiError, UsageError

_SIZE = (1000, 760)
_TIMEOUT_SECONDS = 120
_SETTLE_MS = 4_000
"""Chromium's own time for what moves; a stream never ends by itself."""


def addresses(base: str) -> dict[str, str]:
    """Picture → address below ``base``, of the newest window there."""
    told = _json(f"{base}/api/v1/windows")
    current = next((row["current"] for row in told["windows"] if row["current"]), None)
    if current is None:
        raise EngineError(f"{base}: expected a dataset to show, found none: run twiki demo")
    rows = _json(f"{base}/api/v1/datasets/{current}/rows/probes_changed?limit=20")["rows"]
    probe = next((row for row in rows if row["previous_object"]), rows[0])
    evaluations = [e for e in _json(f"{base}/api/v1/models")["evaluations"] if current in e]
    pair = "&".join(
        f"{name}={quote(one)}" for name, one in zip("ab", evaluations[-2:], strict=False)
    )
    found = {
        "now": "/now",
        "windows": "/windows",
        "dataset": f"/datasets/{current}",
        "article": f"/datasets/{current}/articles/{probe['page_id']}",
        "probe": _page_of(current, probe),
        "search": f"/search?q={quote(probe['subject'])}",
        "models": "/models",
        "api": "/api",
    }
    if len(evaluations) > 1:
        found["compare"] = f"/models/compare?{pair}"
    return found


def take(base: str, out: Path) -> list[Path]:
    """Take every picture; return the files.

    Raises:
        EngineError: there is no chromium, or it made no picture.
    """
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise EngineError("no chromium on the PATH: apt install chromium")
    out.mkdir(parents=True, exist_ok=True)
    places = addresses(base).items()
    return [_take(chromium, base + path, out / f"{name}.png") for name, path in places]


def _take(chromium: str, address: str, file: Path) -> Path:
    with tempfile.TemporaryDirectory(prefix="twiki-pictures-") as profile:
        command = [
            chromium,
            "--headless=new",
            "--no-sandbox",
            "--hide-scrollbars",
            f"--user-data-dir={profile}",
            f"--window-size={_SIZE[0]},{_SIZE[1]}",
            f"--timeout={_SETTLE_MS}",
            f"--screenshot={file.resolve()}",
            address,
        ]
        done = subprocess.run(  # noqa: S603 - chromium, with what we made
            command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS
        )
    if not file.is_file():
        raise EngineError(f"{address}: chromium made no picture: {done.stderr[-300:]}")
    return file


def _page_of(current: str, probe: dict[str, Any]) -> str:
    digest = object_digest(probe["object_qid_or_value"])
    place = f"{probe['subject_qid']}/{probe['relation_pid']}/{digest}"
    return f"/datasets/{current}/facts/probes_changed/{place}"


def _json(address: str) -> Any:  # noqa: ANN401 - JSON
    if not address.startswith(("http://127.0.0.1", "http://localhost", "http://[::1]")):
        raise UsageError(f"{address}: expected the address of twiki serve on this machine")
    with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310 - loopback, checked
        return json.load(answer)


if __name__ == "__main__":
    try:
        taken = take(sys.argv[1].rstrip("/"), Path(sys.argv[2]))
    except (TwikiError, OSError) as error:
        sys.exit(str(error))
    sys.stdout.write("".join(f"{path}\n" for path in taken))
